//! SQLite as a backend of the common suite, and what only SQLite has to show.

mod opening;
mod plans;
mod sharing;

use crate::kit::{Backend, Place, StepClock};
use async_trait::async_trait;
use forge_engine::lifecycle::Policy;
use forge_hub::store::{EventBatch, Store, sqlite};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tempfile::TempDir;

pub(crate) struct Sqlite;

impl Backend for Sqlite {
    fn place(&self) -> Box<dyn Place> {
        Box::new(Folder::new())
    }
}

/// A database file in a folder that goes with it.
pub(crate) struct Folder {
    folder: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder for the database") }
    }

    /// In memory when the machine has such a file system: SQLite does all it does on a disk.
    pub(crate) fn in_memory() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self { folder: folder.expect("a folder for the database") }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("forge-fleet.sqlite")
    }

    pub(crate) fn try_open(&self, clock: Arc<StepClock>) -> anyhow::Result<Arc<sqlite::Sqlite>> {
        sqlite::open(&self.file(), clock, Policy::default(), Arc::new(Quiet))
    }
}

#[async_trait]
impl Place for Folder {
    async fn open(&self, clock: Arc<StepClock>) -> Arc<dyn Store> {
        self.try_open(clock).expect("the database opens")
    }
}

struct Quiet;

impl sqlite::Observer for Quiet {
    fn committed(&self, _: EventBatch) {}
    fn batch(&self, _: usize, _: Duration) {}
}
