//! Graphics cards, asked on a thread of their own: a driver can take tens of milliseconds to
//! answer, or hang, and what speaks to it is bound to its thread.

use super::{MIB, percent, sensors::Sensors};
use forge_shared::fleet::Gpu;
use std::{
    path::Path,
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};
use sysinfo::Gpus;
use tracing::warn;

/// Not for every snapshot: asking is dear.
const REFRESH_INTERVAL: Duration = Duration::from_secs(10);
/// Where Linux tells about the devices on its bus.
const PCI_DEVICES: &str = "/sys/bus/pci/devices";

pub(super) struct GpuMeter {
    latest: Arc<Mutex<Option<Vec<Gpu>>>>,
    refresh: mpsc::SyncSender<()>,
    asked_at: Instant,
}

impl GpuMeter {
    pub(super) fn new() -> Self {
        let latest = Arc::new(Mutex::new(None));
        let (refresh, wanted) = mpsc::sync_channel(1);
        let answers = Arc::clone(&latest);
        let started = std::thread::Builder::new().name("gpus".to_owned()).spawn(move || {
            // A machine without any is not asked again.
            let Some(mut gpus) = find() else { return };
            loop {
                let described = (0..).zip(gpus.iter()).map(|(index, gpu)| describe(index, gpu)).collect();
                *answers.lock().expect("nothing panics while it holds the measurements") = Some(described);
                if wanted.recv().is_err() {
                    return;
                }
                gpus.refresh(false);
            }
        });
        if let Err(error) = started {
            warn!(%error, "graphics cards are not measured: no thread for them");
        }
        Self { latest, refresh, asked_at: Instant::now() }
    }

    /// The latest answer, a little old; nothing where there are no cards.
    pub(super) fn measure(&mut self) -> Option<Vec<Gpu>> {
        // A refusal says that the last question is not answered yet, or that there is nobody to ask.
        if self.asked_at.elapsed() >= REFRESH_INTERVAL && self.refresh.try_send(()).is_ok() {
            self.asked_at = Instant::now();
        }
        self.latest.lock().expect("nothing panics while it holds the measurements").clone()
    }
}

pub(super) fn names() -> Vec<String> {
    let name = |gpu: &sysinfo::Gpu| gpu.model().or(gpu.vendor()).unwrap_or("unknown").to_owned();
    find().map_or_else(Vec::new, |gpus| gpus.iter().map(name).collect())
}

fn find() -> Option<Gpus> {
    Gpus::new_with_refreshed_list().ok().filter(|gpus| gpus.iter().next().is_some())
}

fn describe(index: u32, gpu: &sysinfo::Gpu) -> Gpu {
    let sensors = Sensors::read(&Path::new(PCI_DEVICES).join(gpu.pci().to_string()));
    Gpu {
        index,
        model: gpu.model().map(ToOwned::to_owned),
        vendor: gpu.vendor().map(ToOwned::to_owned),
        vram_total: gpu.total_memory().map(|bytes| bytes as f64 / MIB),
        vram_used: gpu.used_memory().map(|bytes| bytes as f64 / MIB),
        utilization_gpu: gpu.usage().map(|usage| percent(usage.into())),
        utilization_memory: None,
        clock_core: sensors.clock_core_mhz,
        clock_memory: sensors.clock_memory_mhz,
        temperature_gpu: sensors.temperature_c,
        fan_speed: sensors.fan_percent,
    }
}
