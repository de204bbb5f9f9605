//! How much room there is on a disk.

use std::{io, path::Path};

/// Less than this is little on any disk.
const LOW_BYTES: u64 = 1 << 30;
/// On a small disk, less than this part of it is.
const LOW_PART: u64 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// What this program may still use.
    pub free: u64,
    pub total: u64,
}

impl Space {
    pub fn under(folder: &Path) -> io::Result<Self> {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let stat = nix::sys::statvfs::statvfs(here)?;
        let bytes = |blocks: nix::libc::fsblkcnt_t| blocks.saturating_mul(stat.fragment_size());
        Ok(Self { free: bytes(stat.blocks_available()), total: bytes(stat.blocks()) })
    }

    pub fn is_low(self) -> bool {
        self.free < LOW_BYTES.min(self.total / LOW_PART)
    }
}

/// Whether an error says that there is no room.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_a_tenth_of_a_small_disk_and_a_gigabyte_of_a_large_one() {
        let gib = 1u64 << 30;
        for (free, total, low) in
            [(1, 100, true), (10, 100, false), (gib - 1, 100 * gib, true), (gib, 100 * gib, false)]
        {
            assert_eq!(Space { free, total }.is_low(), low, "{free} of {total}");
        }
        let here = Space::under(Path::new("")).unwrap();
        assert!(here.free <= here.total && here.total > 0);
    }
}
