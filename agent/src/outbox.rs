//! Outcomes on disk until the hub has them.
//!
//! A result, a failure or a job given back is synced to disk before the first try to send it and
//! stays until the hub has answered definitely, across restarts of either side. Outcomes are
//! appended to segment files; a removed one is marked in place, and a segment in which nothing is
//! pending is deleted. What cannot be read is set aside as `*.damaged` and never stops the rest.

mod record;
#[cfg(test)]
mod tests;
mod writer;

use anyhow::{Context, bail};
use forge_shared::{JobId, LeaseId, request::Report};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, DirBuilder, File, TryLockError},
    io::{self, Write},
    ops::Range,
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, mpsc},
    thread::JoinHandle,
};
use tokio::sync::{Notify, oneshot};
use tracing::{error, warn};
use writer::{Command, Writer, segment_path, sync_dir};

/// How a job ended here.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Report(Report),
    Release { job_id: JobId, lease_id: LeaseId },
}

impl Outcome {
    pub fn job_id(&self) -> &JobId {
        match self {
            Self::Report(report) => &report.job_id,
            Self::Release { job_id, .. } => job_id,
        }
    }

    pub fn lease_id(&self) -> Option<&LeaseId> {
        match self {
            Self::Report(report) => report.lease_id.as_ref(),
            Self::Release { lease_id, .. } => Some(lease_id),
        }
    }
}

/// Names one entry; a later entry has a higher one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(u64);

#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    #[error("no space left for the outbox in {}; free some space there", dir.display())]
    Full { dir: PathBuf },
    #[error("cannot write to the outbox in {}: {source}", dir.display())]
    Write { dir: PathBuf, source: io::Error },
    #[error("the outbox is closed")]
    Closed,
}

impl OutboxError {
    fn new(dir: &Path, source: io::Error) -> Self {
        let dir = dir.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { dir },
            _ => Self::Write { dir, source },
        }
    }
}

#[derive(Clone)]
pub struct Outbox {
    inner: Arc<Inner>,
}

struct Inner {
    dir: PathBuf,
    shared: Arc<Shared>,
    inbox: Option<mpsc::Sender<Command>>,
    writer: Option<JoinHandle<()>>,
    /// Held until the writer has ended, and the last to go.
    _lock: File,
}

struct Shared {
    pending: Mutex<BTreeMap<EntryId, Pending>>,
    put: Notify,
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, BTreeMap<EntryId, Pending>> {
        self.pending.lock().expect("nothing panics while it holds the outbox")
    }
}

struct Pending {
    place: Place,
    outcome: Arc<Outcome>,
}

#[derive(Clone, Copy)]
struct Place {
    segment: u64,
    at: u64,
}

impl Outbox {
    /// Reads what is left from before, and keeps every other process away from the folder.
    pub fn open(dir: &Path) -> anyhow::Result<Self> {
        let shown = dir.display();
        // A folder that was there before keeps its mode: it may hold more than the outbox, and
        // every file in here is its owner's alone anyway.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .with_context(|| format!("cannot make the outbox folder {shown}"))?;
        let lock = lock(dir)?;
        let left = read_dir(dir).with_context(|| format!("cannot read the outbox in {shown}"))?;
        let put = Notify::new();
        if !left.pending.is_empty() {
            put.notify_one();
        }
        let shared = Arc::new(Shared { pending: Mutex::new(left.pending), put });
        let writer = Writer {
            dir: dir.to_owned(),
            shared: Arc::clone(&shared),
            next_id: left.next_id,
            next_segment: left.highest_segment + 1,
            live: left.live,
            active: None,
        };
        let (inbox, commands) = mpsc::channel();
        let writer = std::thread::Builder::new()
            .name("outbox".to_owned())
            .spawn(move || writer.run(&commands))
            .context("cannot start the thread that writes the outbox")?;
        let inner =
            Inner { dir: dir.to_owned(), shared, inbox: Some(inbox), writer: Some(writer), _lock: lock };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// On disk when it returns. Goes on when the caller stops waiting. When `more` outcomes are about to come, it
    /// waits a moment for them, to share a sync and a call to the hub.
    pub async fn put(&self, outcome: Outcome, more: bool) -> Result<EntryId, OutboxError> {
        let (reply, answer) = oneshot::channel();
        self.inner.send(Command::Put { outcome: Arc::new(outcome), more, reply })?;
        answer.await.map_err(|_| OutboxError::Closed)?
    }

    /// Everything that the hub has not answered definitely, oldest first.
    pub fn pending(&self) -> Vec<(EntryId, Arc<Outcome>)> {
        let pending = self.inner.shared.pending();
        pending.iter().map(|(id, entry)| (*id, Arc::clone(&entry.outcome))).collect()
    }

    pub fn len(&self) -> usize {
        self.inner.shared.pending().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The leases that must not be given up, because their outcome is still to be sent.
    pub fn leases(&self) -> Vec<LeaseId> {
        let pending = self.inner.shared.pending();
        pending.values().filter_map(|entry| entry.outcome.lease_id().cloned()).collect()
    }

    /// After the hub's definite answers.
    pub async fn remove(&self, ids: &[EntryId]) {
        let places = {
            let mut pending = self.inner.shared.pending();
            ids.iter().filter_map(|id| pending.remove(id)).map(|entry| entry.place).collect()
        };
        let (done, removed) = oneshot::channel();
        if self.inner.send(Command::Remove { places, done }).is_ok() {
            // An error says that the writer is gone, and with it the wish to wait for it.
            drop(removed.await);
        }
    }

    /// Resolves when something was put since this was last awaited, or left from before. For one
    /// waiting task: a second one would take the first one's wake-up.
    pub async fn changed(&self) {
        self.inner.shared.put.notified().await;
    }
}

impl Inner {
    fn send(&self, command: Command) -> Result<(), OutboxError> {
        let inbox = self.inbox.as_ref().expect("the inbox is taken only when this is dropped");
        inbox.send(command).map_err(|_| OutboxError::Closed)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.inbox.take());
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            error!("the thread that writes the outbox has panicked");
        }
    }
}

fn lock(dir: &Path) -> anyhow::Result<File> {
    let path = dir.join("lock");
    let cannot = || format!("cannot lock the outbox with {}", path.display());
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .with_context(cannot)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "another agent uses the outbox in {}: stop it, or give this one a folder of its own",
            dir.display()
        ),
        Err(TryLockError::Error(error)) => Err(error).with_context(cannot),
    }
}

#[derive(Default)]
struct Left {
    pending: BTreeMap<EntryId, Pending>,
    live: BTreeMap<u64, usize>,
    next_id: u64,
    highest_segment: u64,
}

fn read_dir(dir: &Path) -> io::Result<Left> {
    let mut left = Left::default();
    let mut segments = BTreeSet::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        // Files that are set aside count too, so that no two of them ever get the same name.
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let digits = name.split('.').next().unwrap_or_default();
        let Ok(number) = digits.parse::<u64>() else { continue };
        left.highest_segment = left.highest_segment.max(number);
        if path == segment_path(dir, number) {
            segments.insert(number);
        }
    }
    for number in segments {
        let path = segment_path(dir, number);
        match fs::read(&path) {
            Ok(bytes) => read_segment(dir, number, &bytes, &mut left),
            Err(error) => error!(%error, path = %path.display(), "outcomes in the outbox cannot be read"),
        }
    }
    Ok(left)
}

fn read_segment(dir: &Path, number: u64, bytes: &[u8], left: &mut Left) {
    let scan = record::scan(bytes);
    let mut live = scan.pending.len();
    for (range, why) in scan.damaged {
        let (at, length) = (range.start, range.len());
        match set_aside(dir, number, bytes, range) {
            Ok(path) => {
                warn!(%why, length, path = %path.display(), "a damaged outcome in the outbox was set aside");
            }
            Err(error) => {
                // Counts as pending for good, so that the file is never deleted with it.
                live += 1;
                let path = segment_path(dir, number);
                error!(%error, %why, at, length, path = %path.display(), "a damaged outcome stays where it is");
            }
        }
    }
    if live == 0 {
        drop(fs::remove_file(segment_path(dir, number)));
        return;
    }
    left.live.insert(number, live);
    for (at, outcome) in scan.pending {
        let place = Place { segment: number, at };
        left.pending.insert(EntryId(left.next_id), Pending { place, outcome: Arc::new(outcome) });
        left.next_id += 1;
    }
}

/// Copies the bytes out, synced, before it blanks them in the segment.
fn set_aside(dir: &Path, number: u64, bytes: &[u8], range: Range<usize>) -> io::Result<PathBuf> {
    let path = dir.join(format!("{number:08}.{}.damaged", range.start));
    let mut copy = File::options().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
    copy.write_all(&bytes[range.clone()])?;
    copy.sync_all()?;
    sync_dir(dir)?;
    let segment = File::options().write(true).open(segment_path(dir, number))?;
    segment.write_all_at(&vec![record::BLANK; range.len()], range.start as u64)?;
    Ok(path)
}
