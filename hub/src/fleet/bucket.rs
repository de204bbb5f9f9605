//! What a machine did over a time: the smallest, mean and largest of each number.

use forge_shared::fleet::{GpuHistory, HistoryPoint, Spread};
use serde::{Deserialize, Serialize};

/// What each of a bucket's numbers is, in order. New ones are added at the end.
const METRICS: usize = 8;

/// One snapshot, reduced to what history keeps of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// cpu, memory, memory used, disk read and write, network rx and tx, load.
    pub(super) values: [f32; METRICS],
    pub(super) cores: Box<[f32]>,
    pub(super) gpus: Box<[GpuSample]>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct GpuSample {
    pub(super) index: u32,
    pub(super) model: Option<Box<str>>,
    pub(super) utilization: Option<f32>,
    pub(super) vram_used: Option<f32>,
}

/// Count, smallest, mean and largest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Stat(u32, f32, f32, f32);

impl Stat {
    fn one(value: f32) -> Self {
        Self(1, value, value, value)
    }

    fn merge(&mut self, other: &Self) {
        let Self(n, min, mean, max) = other;
        self.2 = weighted((self.0, self.2), (*n, *mean));
        self.0 += n;
        self.1 = self.1.min(*min);
        self.3 = self.3.max(*max);
    }

    fn spread(self) -> Spread {
        Spread { min: self.1, mean: self.2, max: self.3 }
    }
}

fn weighted((n, a): (u32, f32), (m, b): (u32, f32)) -> f32 {
    let (n, m) = (f64::from(n), f64::from(m));
    ((f64::from(a) * n + f64::from(b) * m) / (n + m)) as f32
}

fn merge_maybe(mine: &mut Option<Stat>, other: Option<&Stat>) {
    match (mine.as_mut(), other) {
        (Some(mine), Some(other)) => mine.merge(other),
        (None, Some(other)) => *mine = Some(*other),
        (_, None) => {}
    }
}

/// Many samples together. The names are short because there is one of these for each machine and
/// minute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    #[serde(rename = "n")]
    samples: u32,
    #[serde(rename = "v")]
    values: [Stat; METRICS],
    /// How many samples had cores, and their means.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    cores: Option<(u32, Vec<f32>)>,
    #[serde(rename = "g", default, skip_serializing_if = "Vec::is_empty")]
    gpus: Vec<GpuBucket>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct GpuBucket {
    #[serde(rename = "i")]
    index: u32,
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    model: Option<Box<str>>,
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    utilization: Option<Stat>,
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    vram_used: Option<Stat>,
}

impl From<&Sample> for Bucket {
    fn from(sample: &Sample) -> Self {
        Self {
            samples: 1,
            values: sample.values.map(Stat::one),
            cores: (!sample.cores.is_empty()).then(|| (1, sample.cores.to_vec())),
            gpus: sample
                .gpus
                .iter()
                .map(|gpu| GpuBucket {
                    index: gpu.index,
                    model: gpu.model.clone(),
                    utilization: gpu.utilization.map(Stat::one),
                    vram_used: gpu.vram_used.map(Stat::one),
                })
                .collect(),
        }
    }
}

impl Bucket {
    pub fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        for (mine, others) in self.values.iter_mut().zip(&other.values) {
            mine.merge(others);
        }
        match (&mut self.cores, &other.cores) {
            (Some((n, mine)), Some((m, others))) if mine.len() == others.len() => {
                for (mine, other) in mine.iter_mut().zip(others) {
                    *mine = weighted((*n, *mine), (*m, *other));
                }
                *n += m;
            }
            // The machine was rebuilt with another processor: the later one counts.
            (mine, Some(others)) => *mine = Some(others.clone()),
            (_, None) => {}
        }
        for gpu in &other.gpus {
            match self.gpus.iter_mut().find(|mine| mine.index == gpu.index) {
                Some(mine) => {
                    mine.model = gpu.model.clone().or(mine.model.take());
                    merge_maybe(&mut mine.utilization, gpu.utilization.as_ref());
                    merge_maybe(&mut mine.vram_used, gpu.vram_used.as_ref());
                }
                None => self.gpus.push(gpu.clone()),
            }
        }
    }

    pub fn point(self, ts: i64) -> HistoryPoint {
        let [cpu, memory, memory_used, disk_read, disk_write, network_rx, network_tx, load] =
            self.values.map(Stat::spread);
        HistoryPoint {
            ts,
            samples: self.samples,
            cpu,
            cores: self.cores.map(|(_, means)| means),
            memory,
            memory_used,
            disk_read,
            disk_write,
            network_rx,
            network_tx,
            load,
            gpus: self.gpus.into_iter().map(GpuBucket::history).collect(),
        }
    }
}

impl GpuBucket {
    fn history(self) -> GpuHistory {
        GpuHistory {
            index: self.index,
            model: self.model.map(Into::into),
            utilization: self.utilization.map(Stat::spread),
            vram_used: self.vram_used.map(Stat::spread),
        }
    }
}
