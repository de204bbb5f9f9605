//! `queuectl_runtime/`: which workers live, and whether they should leave.
//!
//! A worker holds a lock on its pid file, which the system takes back however it ends: a file
//! without a lock is stale, whoever has that number now.

use crate::{local::folder::Folder, problem::Problem};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

#[derive(Debug, Clone)]
pub(crate) struct Runtime {
    folder: PathBuf,
}

/// This process, announced as a worker until it is dropped.
pub(crate) struct Announced {
    path: PathBuf,
    _locked: File,
}

impl Drop for Announced {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Runtime {
    /// To look; nothing is made.
    pub(crate) fn at(folder: &Folder) -> Self {
        Self { folder: folder.runtime() }
    }

    pub(crate) fn open(folder: &Folder) -> Result<Self, Problem> {
        let runtime = Self::at(folder);
        fs::create_dir_all(&runtime.folder).map_err(|error| runtime.unusable(&runtime.folder, &error))?;
        Ok(runtime)
    }

    fn unusable(&self, path: &Path, error: &io::Error) -> Problem {
        Problem::Storage(format!("{} cannot be used: {error}; check its permissions", path.display()))
    }

    fn stop_file(&self) -> PathBuf {
        self.folder.join("STOP")
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop_file().exists()
    }

    /// Lets workers work.
    pub(crate) fn allow(&self) -> Result<(), Problem> {
        match fs::remove_file(self.stop_file()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.unusable(&self.stop_file(), &error))
            }
            _ => Ok(()),
        }
    }

    /// Asks every worker to leave after its job; answers how many there are. The signal is for
    /// those that would miss the file because somebody starts workers again before they look.
    pub(crate) fn stop(&self) -> Result<usize, Problem> {
        let path = self.stop_file();
        fs::write(&path, "").map_err(|error| self.unusable(&path, &error))?;
        let workers = self.workers();
        for pid in &workers {
            let _ = kill(Pid::from_raw(*pid), Signal::SIGTERM);
        }
        Ok(workers.len())
    }

    /// The processes of live workers. Stale files are removed.
    pub(crate) fn workers(&self) -> Vec<i32> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let name = entry.file_name();
                let pid = name.to_str()?.strip_prefix("worker-")?.strip_suffix(".pid")?.parse().ok()?;
                let file = File::open(entry.path()).ok()?;
                match file.try_lock_shared() {
                    Err(TryLockError::WouldBlock) => Some(pid),
                    Err(TryLockError::Error(_)) => None,
                    Ok(()) => {
                        let _ = fs::remove_file(entry.path());
                        None
                    }
                }
            })
            .collect()
    }

    pub(crate) fn announce(&self) -> Result<Announced, Problem> {
        let pid = std::process::id();
        let path = self.folder.join(format!("worker-{pid}.pid"));
        // Locked before it has its name, so that nobody takes it for stale.
        let unnamed = self.folder.join(format!(".worker-{pid}"));
        let locked = File::create(&unnamed).and_then(|mut file| {
            file.lock()?;
            writeln!(file, "{pid}")?;
            fs::rename(&unnamed, &path)?;
            Ok(file)
        });
        let locked = locked.map_err(|error| self.unusable(&path, &error))?;
        Ok(Announced { path, _locked: locked })
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.folder.join("workers.log")
    }

    /// Where workers without a terminal say what went wrong.
    pub(crate) fn log(&self) -> Result<File, Problem> {
        let path = self.log_path();
        OpenOptions::new().create(true).append(true).open(&path).map_err(|error| self.unusable(&path, &error))
    }
}
