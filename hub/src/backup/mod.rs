//! Backups: a folder with copies of both database files and of the solvers, all of one moment, and
//! a manifest with their checksums. A folder with a manifest is a whole backup: it gets its name
//! last, when everything in it is on disk.

mod keep;
mod make;
mod manifest;
mod restore;

pub use keep::{newest, rotate};
pub use make::{Made, Order, make};
pub use manifest::{Entry, Manifest};
pub use restore::{Restored, restore, verify};

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

const NAME: &str = "forge-backup-";
const DATABASE: &str = "database.sqlite";
const SIDE: &str = "side.sqlite";
const SOLVERS: &str = "solvers";
const SECRET: &str = "secret";

/// Where backups go when nothing else is said: `backups` beside the database.
pub fn default_folder(database: &Path) -> PathBuf {
    database.with_file_name("backups")
}

/// A folder for its owner's eyes, removed unless it gets its final name.
struct Unfinished(PathBuf);

impl Unfinished {
    fn make(path: PathBuf) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `20261116T171503Z`: sorts by time, and fits into a file name everywhere.
fn stamp(now_ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(now_ms).unwrap_or_default();
    time.strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// A rename lasts only once its folder is synced.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(if path.as_os_str().is_empty() { Path::new(".") } else { path })?.sync_all()
}
