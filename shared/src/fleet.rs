//! Machine metrics, in the shape that push agents send and dashboards read.

use crate::NodeId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One measurement of a machine. Fields the hub does not know are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// Percent of all cores.
    pub cpu: f64,
    /// Percent of each core.
    #[serde(default)]
    pub cpu_cores: Vec<f64>,
    pub memory: Memory,
    /// MiB/s.
    pub disk: DiskRate,
    /// MiB/s.
    pub network: NetworkRate,
    pub load: Load,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<Vec<Gpu>>,
}

/// Percent, GiB, GiB.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Memory {
    pub percent: f64,
    pub used: f64,
    pub total: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DiskRate {
    pub read: f64,
    pub write: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NetworkRate {
    pub rx: f64,
    pub tx: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Load {
    pub avg1: f64,
    pub avg5: f64,
    pub avg15: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gpu {
    pub index: u32,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub vendor: Option<String>,
    /// MB.
    #[serde(default)]
    pub vram_total: Option<f64>,
    /// MB.
    #[serde(default)]
    pub vram_used: Option<f64>,
    /// Percent.
    #[serde(default)]
    pub utilization_gpu: Option<f64>,
    /// Percent.
    #[serde(default)]
    pub utilization_memory: Option<f64>,
    /// MHz.
    #[serde(default)]
    pub clock_core: Option<f64>,
    /// MHz.
    #[serde(default)]
    pub clock_memory: Option<f64>,
    /// Degrees Celsius.
    #[serde(default)]
    pub temperature_gpu: Option<f64>,
    /// Percent.
    #[serde(default)]
    pub fan_speed: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeStatus {
    /// Heard of within 15 s.
    Online,
    /// Within 60 s.
    Degraded,
    Offline,
}

/// A machine as the fleet view shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    #[schema(value_type = String)]
    pub id: NodeId,
    pub name: String,
    /// Milliseconds since 1970.
    pub last_seen: i64,
    pub status: NodeStatus,
    pub latest: Option<Snapshot>,
    /// The last 60 snapshots, oldest first.
    pub history: Vec<Snapshot>,
}

/// How far back a machine's history goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum HistoryRange {
    #[serde(rename = "1h")]
    Hour,
    #[serde(rename = "12h")]
    HalfDay,
    #[serde(rename = "24h")]
    Day,
    #[serde(rename = "7d")]
    Week,
    #[serde(rename = "30d")]
    Month,
    #[serde(rename = "1y")]
    Year,
}

impl HistoryRange {
    pub const ALL: [Self; 6] = [Self::Hour, Self::HalfDay, Self::Day, Self::Week, Self::Month, Self::Year];

    pub fn ms(self) -> i64 {
        const HOUR_MS: i64 = 3_600_000;
        match self {
            Self::Hour => HOUR_MS,
            Self::HalfDay => 12 * HOUR_MS,
            Self::Day => 24 * HOUR_MS,
            Self::Week => 7 * 24 * HOUR_MS,
            Self::Month => 30 * 24 * HOUR_MS,
            Self::Year => 365 * 24 * HOUR_MS,
        }
    }
}

/// What a machine did, in at most 600 points. A time without a snapshot has no point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeHistory {
    pub range: HistoryRange,
    /// Milliseconds since 1970.
    pub from: i64,
    pub to: i64,
    /// Each point stands for this much time from its `ts` on.
    pub step_ms: i64,
    /// Oldest first.
    pub points: Vec<HistoryPoint>,
}

/// The smallest, mean and largest of a number over a point's time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Spread {
    pub min: f32,
    pub mean: f32,
    pub max: f32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HistoryPoint {
    /// When it starts.
    pub ts: i64,
    /// How many snapshots it is made of.
    pub samples: u32,
    /// Percent of all cores.
    pub cpu: Spread,
    /// Mean percent of each core; null when the machine did not say.
    pub cores: Option<Vec<f32>>,
    /// Percent.
    pub memory: Spread,
    /// GiB.
    pub memory_used: Spread,
    /// MiB/s.
    pub disk_read: Spread,
    /// MiB/s.
    pub disk_write: Spread,
    /// MiB/s.
    pub network_rx: Spread,
    /// MiB/s.
    pub network_tx: Spread,
    /// The one-minute load average.
    pub load: Spread,
    pub gpus: Vec<GpuHistory>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GpuHistory {
    pub index: u32,
    pub model: Option<String>,
    /// Percent; null when the machine did not say.
    pub utilization: Option<Spread>,
    /// MB; null when the machine did not say.
    pub vram_used: Option<Spread>,
}
