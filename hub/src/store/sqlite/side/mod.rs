//! The second SQLite file: log chunks, the newest snapshot and the past of each node. It has its own writer
//! and a looser sync than the main file, so that a chatty job never delays another job's commit.
//! What it answers is committed, and may lose its last seconds when the power fails.

mod history;
mod logs;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

pub use schema::OpenError;
pub(super) use schema::{APPLICATION_ID, VERSION};

use super::{
    super::{Error, HistoryTier, LogAppend, LogSlice},
    Observer,
    writer::to_error,
};
use crate::fleet::Bucket;
use bytes::Bytes;
use forge_shared::{JobId, NodeId};
use rusqlite::Connection;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
    thread::JoinHandle,
};
use tokio::sync::Semaphore;
use writer::{Done, Inbox, Work};

const READERS: usize = 2;
/// Jobs whose logs one transaction removes: each may have hundreds of chunks.
const DELETE_JOBS_MAX: usize = 16;

/// How much of a log is kept, and in pieces of which size.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Of one attempt; the oldest chunks go first.
    pub log_bytes: usize,
    pub chunk_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { log_bytes: 16 << 20, chunk_bytes: 64 << 10 }
    }
}

pub struct SideFile {
    path: PathBuf,
    inbox: RwLock<Option<Inbox>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    readers: Arc<Readers>,
}

/// Where the side file of a main file is: `forge-fleet.sqlite` has `forge-fleet.side.sqlite`.
pub fn path_beside(main: &Path) -> PathBuf {
    let extension = main.extension().map(|extension| {
        let mut name = std::ffi::OsString::from("side.");
        name.push(extension);
        name
    });
    main.with_extension(extension.unwrap_or_else(|| "side".into()))
}

impl SideFile {
    /// Opens or makes the file. Blocks while it looks.
    pub fn open(path: &Path, limits: Limits, observer: Arc<dyn Observer>) -> Result<Self, OpenError> {
        let unusable = |why: String| OpenError::Unusable { path: path.to_owned(), why };
        let connection = schema::open_writer(path)?;
        let readers = Readers::open(path).map_err(|error| unusable(error.to_string()))?;
        let (inbox, thread) =
            writer::start(connection, limits, observer).map_err(|error| unusable(error.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            inbox: RwLock::new(Some(inbox)),
            thread: Mutex::new(Some(thread)),
            readers: Arc::new(readers),
        })
    }

    /// Appends to one attempt's log. What is there already is not stored again; a hole is refused.
    pub async fn append_log(
        &self,
        job: &JobId,
        attempt: u32,
        offset: u64,
        bytes: Bytes,
    ) -> Result<LogAppend, Error> {
        match self.write(Work::Append { job: job.clone(), attempt, offset, bytes }).await? {
            Done::Appended(append) => Ok(append),
            Done::Nothing => unreachable!("an append is answered with an append"),
        }
    }

    pub async fn read_log(
        &self,
        job: &JobId,
        attempt: u32,
        offset: u64,
        max: usize,
    ) -> Result<LogSlice, Error> {
        let job = job.clone();
        self.readers.read(move |connection| logs::read(connection, job.as_str(), attempt, offset, max)).await
    }

    pub async fn delete_logs(&self, jobs: Vec<JobId>) -> Result<(), Error> {
        for some in jobs.chunks(DELETE_JOBS_MAX) {
            self.write(Work::DeleteLogs(some.to_vec())).await?;
        }
        Ok(())
    }

    /// The newest snapshot of each of these nodes: id, when it came, and its JSON.
    pub async fn save_snapshots(&self, latest: Vec<(NodeId, i64, String)>) -> Result<(), Error> {
        self.write(Work::SaveSnapshots(latest)).await.map(drop)
    }

    pub async fn latest_snapshots(&self) -> Result<Vec<(NodeId, i64, String)>, Error> {
        self.readers
            .read(|connection| {
                connection
                    .prepare_cached("SELECT node, last_seen, json FROM snapshot ORDER BY node")?
                    .query_map([], |row| {
                        Ok((NodeId::trusted(row.get::<_, String>(0)?), row.get(1)?, row.get(2)?))
                    })?
                    .collect()
            })
            .await
    }

    pub async fn add_history(&self, minutes: Vec<(NodeId, i64, Bucket)>) -> Result<(), Error> {
        self.write(Work::AddHistory(minutes)).await.map(drop)
    }

    pub async fn history(
        &self,
        node: &NodeId,
        tier: HistoryTier,
        from: i64,
    ) -> Result<Vec<(i64, Bucket)>, Error> {
        let node = node.clone();
        self.readers.read(move |connection| history::read(connection, &node, tier, from)).await
    }

    pub async fn prune_history(&self, now_ms: i64) -> Result<(), Error> {
        self.write(Work::PruneHistory { now_ms }).await.map(drop)
    }

    /// Proves that the file can be read and its write lock be had.
    pub async fn ping(&self) -> Result<(), Error> {
        self.write(Work::Ping).await?;
        self.readers
            .read(|connection| connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())))
            .await
    }

    /// Really writes, without changing anything.
    pub async fn try_write(&self) -> Result<(), Error> {
        self.write(Work::TryWrite).await.map(drop)
    }

    /// How much disk it takes, with what is not folded in yet.
    pub fn bytes(&self) -> u64 {
        let mut wal = self.path.clone().into_os_string();
        wal.push("-wal");
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        size(&self.path) + size(Path::new(&wal))
    }

    /// Commits what was accepted and closes the file. Everything after it is `Closed`.
    pub async fn close(&self) {
        self.inbox.write().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let joined = tokio::task::spawn_blocking(move || thread.join()).await;
            if !matches!(joined, Ok(Ok(()))) {
                tracing::error!("the side file's writer ended by a panic");
            }
        }
        self.readers.close();
    }

    async fn write(&self, work: Work) -> Result<Done, Error> {
        let answer = {
            let inbox = self.inbox.read().unwrap_or_else(PoisonError::into_inner);
            inbox.as_ref().ok_or(Error::Closed)?.send(work)?
        };
        answer.await.unwrap_or(Err(Error::Closed))
    }
}

/// A few read-only connections; whoever finds none free waits.
struct Readers {
    path: PathBuf,
    free: Arc<Semaphore>,
    connections: Mutex<Vec<Connection>>,
}

impl Readers {
    fn open(path: &Path) -> rusqlite::Result<Self> {
        let connections = (0..READERS).map(|_| schema::open_reader(path)).collect::<Result<_, _>>()?;
        Ok(Self {
            path: path.to_owned(),
            free: Arc::new(Semaphore::new(READERS)),
            connections: Mutex::new(connections),
        })
    }

    async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let readers = Arc::clone(self);
        let permit = Arc::clone(&self.free).acquire_owned().await.map_err(|_| Error::Closed)?;
        let answer = tokio::task::spawn_blocking(move || {
            // Held here, so that callers who hang up cannot have more queries running than this.
            let _permit = permit;
            let kept = readers.connections().pop();
            let connection = kept.map_or_else(|| schema::open_reader(&readers.path), Ok)?;
            let answer = query(&connection);
            let mut connections = readers.connections();
            if !readers.free.is_closed() {
                connections.push(connection);
            }
            answer
        })
        .await;
        match answer {
            Ok(answer) => answer.map_err(|error| {
                tracing::error!(%error, "the side file could not be read");
                to_error(&error)
            }),
            Err(panic) => Err(Error::Database(panic.to_string())),
        }
    }

    fn connections(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.free.close();
        self.connections().clear();
    }
}
