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
