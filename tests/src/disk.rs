//! A disk so small that it can be full.

use std::{path::Path, process::Command};
use tempfile::TempDir;

pub struct SmallDisk(TempDir);

impl SmallDisk {
    /// `None`, with the reason printed, where mounting is not allowed.
    pub fn mount(kib: u32) -> Option<Self> {
        let dir = TempDir::new().expect("make a folder");
        let size = format!("size={kib}k");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(dir.path()).output();
        match mount {
            Ok(output) if output.status.success() => Some(Self(dir)),
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr).into_owned();
                eprintln!("SKIPPED: no small disk can be mounted here: {}", why.trim());
                None
            }
            Err(error) => {
                eprintln!("SKIPPED: no small disk can be mounted here: mount: {error}");
                None
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process that the test is about to end may still be on it.
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}
