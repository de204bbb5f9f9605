//! What this machine is doing, and what it is.

mod counters;
mod gpus;
mod sensors;
#[cfg(test)]
mod tests;

use counters::Counters;
use forge_shared::fleet::{DiskRate, Load, Memory, NetworkRate, Snapshot};
use gpus::GpuMeter;
use std::{
    collections::VecDeque,
    pin::pin,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use sysinfo::{MemoryRefreshKind, System};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// A quarter of an hour at the usual interval.
pub const BACKLOG_MAX: usize = 180;

const GIB: f64 = (1_u64 << 30) as f64;
const MIB: f64 = (1_u64 << 20) as f64;

/// Measures this machine. Rates are averages over the time since the last measurement.
pub struct Meter {
    system: Option<System>,
    gpus: GpuMeter,
    counters: Counters,
    last: Counted,
}

#[derive(Clone, Copy)]
struct Counted {
    at: Instant,
    totals: Totals,
}

/// Bytes since the machine started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Totals {
    read: u64,
    written: u64,
    received: u64,
    sent: u64,
}

impl Default for Meter {
    fn default() -> Self {
        Self::new()
    }
}

impl Meter {
    pub fn new() -> Self {
        let mut system = new_system();
        if let Some(system) = &mut system {
            system.refresh_cpu_usage();
        }
        let mut counters = Counters::new();
        let last = Counted { at: Instant::now(), totals: counters.read() };
        Self { system, gpus: GpuMeter::new(), counters, last }
    }

    pub fn measure(&mut self) -> Snapshot {
        let (cpu, cpu_cores, memory) = match &mut self.system {
            Some(system) => {
                system.refresh_cpu_usage();
                system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
                let cores = system.cpus().iter().map(|core| percent(core.usage().into())).collect();
                (percent(system.global_cpu_usage().into()), cores, memory(system))
            }
            None => (0.0, Vec::new(), Memory { percent: 0.0, used: 0.0, total: 0.0 }),
        };
        let now = Counted { at: Instant::now(), totals: self.counters.read() };
        let (disk, network) = rates(self.last, now);
        self.last = now;
        let load = System::load_average().unwrap_or_default();
        let load = Load { avg1: load.one, avg5: load.five, avg15: load.fifteen };
        Snapshot {
            timestamp: now_ms(),
            cpu,
            cpu_cores,
            memory,
            disk,
            network,
            load,
            gpus: self.gpus.measure(),
        }
    }
}

fn new_system() -> Option<System> {
    System::new().inspect_err(|error| warn!(%error, "load and memory cannot be measured here")).ok()
}

fn memory(system: &System) -> Memory {
    let (used, total) = (system.used_memory() as f64, system.total_memory() as f64);
    let share = if total > 0.0 { percent(used / total * 100.0) } else { 0.0 };
    Memory { percent: share, used: used / GIB, total: total / GIB }
}

/// A counter that went back (a disk or an interface is gone) counts as still.
fn rates(last: Counted, now: Counted) -> (DiskRate, NetworkRate) {
    let seconds = now.at.duration_since(last.at).as_secs_f64();
    let rate = |before: u64, after: u64| {
        if seconds > 0.0 { after.saturating_sub(before) as f64 / MIB / seconds } else { 0.0 }
    };
    let (before, after) = (last.totals, now.totals);
    (
        DiskRate { read: rate(before.read, after.read), write: rate(before.written, after.written) },
        NetworkRate { rx: rate(before.received, after.received), tx: rate(before.sent, after.sent) },
    )
}

fn percent(value: f64) -> f64 {
    if value.is_finite() { value.clamp(0.0, 100.0) } else { 0.0 }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The newest snapshots that the hub does not have.
#[derive(Debug, Default)]
pub struct Backlog {
    snapshots: VecDeque<Snapshot>,
}

impl Backlog {
    pub fn push(&mut self, snapshot: Snapshot) {
        self.snapshots.push_back(snapshot);
        self.forget_oldest();
    }

    /// All of them, oldest first.
    pub fn take_batch(&mut self) -> Vec<Snapshot> {
        self.snapshots.drain(..).collect()
    }

    /// A batch that could not be sent, before what came since.
    pub fn put_back(&mut self, batch: Vec<Snapshot>) {
        for snapshot in batch.into_iter().rev() {
            self.snapshots.push_front(snapshot);
        }
        self.forget_oldest();
    }

    pub fn len(&self) -> usize {
        self.snapshots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.snapshots.is_empty()
    }

    fn forget_oldest(&mut self) {
        let over = self.snapshots.len().saturating_sub(BACKLOG_MAX);
        self.snapshots.drain(..over);
    }
}

/// Measures at every tick, also while a send hangs, and sends what the hub does not have: usually
/// one snapshot, after an absence of the hub many. `send` answers whether the hub has them now.
pub async fn push_loop(
    mut meter: Meter,
    interval: Duration,
    send: impl AsyncFn(Vec<Snapshot>) -> bool,
    stop: CancellationToken,
) {
    let mut backlog = Backlog::default();
    let mut ticks = tokio::time::interval(interval);
    // After the machine slept, ticks come at the same phase and not all at once.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            _ = ticks.tick() => backlog.push(meter.measure()),
        }
        let batch = backlog.take_batch();
        let mut sending = pin!(send(batch.clone()));
        let delivered = loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                delivered = &mut sending => break delivered,
                _ = ticks.tick() => backlog.push(meter.measure()),
            }
        };
        if !delivered {
            backlog.put_back(batch);
        }
    }
}

/// What this machine is.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    pub cores: u32,
    pub ram_gb: f64,
    pub os: String,
    pub arch: String,
    pub hostname: String,
    pub gpus: Vec<String>,
}

impl Machine {
    /// As much of the machine as this process may use: a container's limits count.
    pub fn detect() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let ram = new_system().map_or(0, |mut system| {
            system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
            let total = system.total_memory();
            system.cgroup_limits().map_or(total, |limits| limits.total_memory.min(total))
        });
        Self {
            cores: u32::try_from(cores).unwrap_or(u32::MAX),
            ram_gb: ram as f64 / GIB,
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            hostname: System::host_name().unwrap_or_else(|_| "unknown".to_owned()),
            gpus: gpus::names(),
        }
    }
}

/// How much memory this process occupies.
pub fn own_rss_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
