//! Bytes through the machine's disks and network interfaces.
//!
//! On Linux they come from two files of `/proc`: one read each, however many containers there
//! are. The same bytes pass several layers (a partition, its disk, a mapping over it; a
//! container's interface, a bridge, the card), so only the hardware is counted.

use super::Totals;

#[cfg(target_os = "linux")]
pub(super) use linux::Counters;
#[cfg(not(target_os = "linux"))]
pub(super) use portable::Counters;

#[cfg(target_os = "linux")]
pub(super) mod linux {
    use super::Totals;
    use std::{collections::HashMap, fs::File, io::Read, path::Path};

    /// The kernel counts sectors of this size, whatever the disk's own are.
    const SECTOR_BYTES: u64 = 512;

    pub(in crate::metrics) struct Counters {
        text: String,
        /// Whether there is hardware behind a name.
        disks: HashMap<String, bool>,
        interfaces: HashMap<String, bool>,
    }

    impl Counters {
        pub(in crate::metrics) fn new() -> Self {
            Self { text: String::new(), disks: HashMap::new(), interfaces: HashMap::new() }
        }

        pub(in crate::metrics) fn read(&mut self) -> Totals {
            let Self { text, disks, interfaces } = self;
            read_file("/proc/diskstats", text);
            let (read, written) = sum_disks(text, |name| known(disks, "/sys/block", name));
            read_file("/proc/net/dev", text);
            let (received, sent) = sum_interfaces(text, |name| known(interfaces, "/sys/class/net", name));
            Totals { read, written, received, sent }
        }
    }

    fn read_file(path: &str, text: &mut String) {
        text.clear();
        if File::open(path).and_then(|mut file| file.read_to_string(text)).is_err() {
            text.clear();
        }
    }

    fn known(names: &mut HashMap<String, bool>, class: &str, name: &str) -> bool {
        if let Some(hardware) = names.get(name) {
            return *hardware;
        }
        // A disk's folder is named with `!` where its name has a `/`.
        let hardware = Path::new(class).join(name.replace('/', "!")).join("device").exists();
        names.insert(name.to_owned(), hardware);
        hardware
    }

    /// Partitions are not in `/sys/block`, and mappings have no device.
    pub(in crate::metrics) fn sum_disks(text: &str, mut hardware: impl FnMut(&str) -> bool) -> (u64, u64) {
        let mut sums = (0, 0);
        for line in text.lines() {
            let mut fields = line.split_ascii_whitespace().skip(2);
            let Some(name) = fields.next() else { continue };
            let sectors = |field: Option<&str>| field.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
            let read = sectors(fields.nth(2));
            let written = sectors(fields.nth(3));
            if (read > 0 || written > 0) && hardware(name) {
                sums.0 += read * SECTOR_BYTES;
                sums.1 += written * SECTOR_BYTES;
            }
        }
        sums
    }

    /// In a container no interface has hardware behind it: then all but loopback count.
    pub(in crate::metrics) fn sum_interfaces(
        text: &str,
        mut hardware: impl FnMut(&str) -> bool,
    ) -> (u64, u64) {
        let (mut cards, mut all, mut any_card) = ((0, 0), (0, 0), false);
        for line in text.lines() {
            let Some((name, numbers)) = line.split_once(':') else { continue };
            let name = name.trim();
            if name == "lo" {
                continue;
            }
            let mut numbers = numbers.split_ascii_whitespace().map(|text| text.parse::<u64>().unwrap_or(0));
            let (received, sent) = (numbers.next().unwrap_or(0), numbers.nth(7).unwrap_or(0));
            all = (all.0 + received, all.1 + sent);
            if hardware(name) {
                any_card = true;
                cards = (cards.0 + received, cards.1 + sent);
            }
        }
        if any_card { cards } else { all }
    }
}

#[cfg(not(target_os = "linux"))]
mod portable {
    use super::Totals;
    use sysinfo::{DiskRefreshKind, Disks, Networks};

    pub(in crate::metrics) struct Counters {
        disks: Option<Disks>,
        networks: Option<Networks>,
    }

    impl Counters {
        pub(in crate::metrics) fn new() -> Self {
            let kind = DiskRefreshKind::nothing().with_io_usage();
            Self {
                disks: Disks::new_with_refreshed_list_specifics(kind).ok(),
                networks: Networks::new_with_refreshed_list().ok(),
            }
        }

        pub(in crate::metrics) fn read(&mut self) -> Totals {
            let mut totals = Totals::default();
            if let Some(disks) = &mut self.disks {
                disks.refresh_specifics(true, DiskRefreshKind::nothing().with_io_usage());
                for disk in disks.iter() {
                    totals.read += disk.usage().total_read_bytes;
                    totals.written += disk.usage().total_written_bytes;
                }
            }
            if let Some(networks) = &mut self.networks {
                networks.refresh(true);
                let loopback = |name: &std::ffi::OsStr| name == "lo" || name == "lo0";
                for (_, data) in networks.iter().filter(|(name, _)| !loopback(name)) {
                    totals.received += data.total_received();
                    totals.sent += data.total_transmitted();
                }
            }
            totals
        }
    }
}
