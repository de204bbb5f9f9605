//! A disk so small that it can be full.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

pub struct SmallDisk {
    mounted: TempDir,
    /// Holds the file that a loop device shows as a disk.
    _image: Option<TempDir>,
}

impl SmallDisk {
    /// In memory. `None`, with the reason printed, where mounting is not allowed.
    pub fn mount(kib: u32) -> Option<Self> {
        let mounted = TempDir::new().expect("make a folder");
        let size = format!("size={kib}k");
        match run(Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(mounted.path())) {
            Ok(()) => Some(Self { mounted, _image: None }),
            Err(why) => {
                eprintln!("SKIPPED: no small disk can be mounted here: {why}");
                None
            }
        }
    }

    /// A real file system on a loop device; one in memory where there is none.
    pub fn file_system(mib: u32) -> Option<Self> {
        let (image, mounted) =
            (TempDir::new().expect("make a folder"), TempDir::new().expect("make a folder"));
        let file = image.path().join("disk");
        let made = (|| {
            let disk = File::create(&file).map_err(|error| error.to_string())?;
            disk.set_len(u64::from(mib) << 20).map_err(|error| error.to_string())?;
            run(Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0"]).arg(&file))?;
            run(Command::new("mount").args(["-o", "loop"]).arg(&file).arg(mounted.path()))
        })();
        match made {
            Ok(()) => Some(Self { mounted, _image: Some(image) }),
            Err(why) => {
                eprintln!("no loop device can be used here ({why}); a disk in memory takes its place");
                Self::mount(mib * 1024)
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.mounted.path()
    }

    /// Fills the disk but for this many bytes. What was free before is free again after
    /// [`make_room`](Self::make_room).
    pub fn fill(&self, spare: usize) {
        let mut ballast =
            File::options().create(true).append(true).open(self.ballast()).expect("open the ballast");
        for piece in [1 << 20, 64 << 10, 4 << 10, 512] {
            loop {
                match ballast.write_all(&vec![1; piece]).and_then(|()| ballast.sync_all()) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("cannot fill the disk: {error}"),
                }
            }
        }
        let size = ballast.metadata().expect("look at the ballast").len();
        ballast.set_len(size.saturating_sub(spare as u64)).expect("shorten the ballast");
        ballast.sync_all().expect("sync the ballast");
    }

    pub fn make_room(&self) {
        fs::remove_file(self.ballast()).expect("remove what fills the disk");
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(format!("{}: {error}", command.get_program().display())),
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process that the test is about to end may still be on it.
        let _ = Command::new("umount").arg("--lazy").arg(self.mounted.path()).status();
    }
}
