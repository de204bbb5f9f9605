//! The thread that owns the side file's only write connection. It commits whatever has queued up
//! while the previous commit ran.

use super::{super::Observer, Limits, history, logs, schema, to_error};
use crate::{
    fleet::Bucket,
    store::{Error, LogAppend},
};
use bytes::Bytes;
use forge_shared::{JobId, NodeId};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
    mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
};
use tokio::sync::oneshot;

/// Requests that may wait; beyond this the caller is told to come again.
const INBOX_MAX: usize = 1024;
/// Log bytes that may wait.
const INBOX_BYTES_MAX: usize = 64 << 20;
/// Of these, what one transaction takes.
const BATCH_MAX: usize = 256;
const BATCH_BYTES_MAX: usize = 8 << 20;

pub(super) enum Work {
    Append { job: JobId, attempt: u32, offset: u64, bytes: Bytes },
    DeleteLogs(Vec<JobId>),
    SaveSnapshots(Vec<(NodeId, i64, String)>),
    AddHistory(Vec<(NodeId, i64, Bucket)>),
    PruneHistory { now_ms: i64 },
    Ping,
    TryWrite,
}

#[derive(Clone)]
pub(super) enum Done {
    Appended(LogAppend),
    Nothing,
}

struct Request {
    work: Work,
    reply: oneshot::Sender<Result<Done, Error>>,
}

impl Work {
    fn bytes(&self) -> usize {
        match self {
            Self::Append { bytes, .. } => bytes.len(),
            Self::SaveSnapshots(latest) => latest.iter().map(|(_, _, json)| json.len()).sum(),
            Self::DeleteLogs(_) | Self::AddHistory(_) | Self::PruneHistory { .. } => 0,
            Self::Ping | Self::TryWrite => 0,
        }
    }

    fn apply(&self, transaction: &Transaction<'_>, limits: &Limits) -> rusqlite::Result<Done> {
        match self {
            Self::Append { job, attempt, offset, bytes } => {
                logs::append(transaction, limits, job.as_str(), *attempt, *offset, bytes).map(Done::Appended)
            }
            Self::DeleteLogs(jobs) => {
                for job in jobs {
                    logs::delete(transaction, job.as_str())?;
                }
                Ok(Done::Nothing)
            }
            Self::SaveSnapshots(latest) => {
                let mut save = transaction.prepare_cached(include_str!("sql/save_snapshot.sql"))?;
                for (node, last_seen, json) in latest {
                    save.execute(params![node.as_str(), last_seen, json])?;
                }
                Ok(Done::Nothing)
            }
            Self::AddHistory(minutes) => history::add(transaction, minutes).map(|()| Done::Nothing),
            Self::PruneHistory { now_ms } => history::prune(transaction, *now_ms).map(|()| Done::Nothing),
            // The transaction around this took the write lock, which is the proof asked for.
            Self::Ping => {
                transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(Done::Nothing))
            }
            Self::TryWrite => schema::rewrite_version(transaction).map(|()| Done::Nothing),
        }
    }
}

/// The way in for everyone else.
pub(super) struct Inbox {
    requests: SyncSender<Request>,
    waiting_bytes: Arc<AtomicUsize>,
}

impl Inbox {
    /// Hands work over. The answer comes after the commit.
    pub(super) fn send(&self, work: Work) -> Result<oneshot::Receiver<Result<Done, Error>>, Error> {
        let size = work.bytes();
        if self.waiting_bytes.fetch_add(size, Ordering::Relaxed) + size > INBOX_BYTES_MAX {
            self.waiting_bytes.fetch_sub(size, Ordering::Relaxed);
            return Err(Error::Busy);
        }
        let (reply, answer) = oneshot::channel();
        self.requests.try_send(Request { work, reply }).map_err(|error| {
            self.waiting_bytes.fetch_sub(size, Ordering::Relaxed);
            match error {
                TrySendError::Full(_) => Error::Busy,
                TrySendError::Disconnected(_) => Error::Closed,
            }
        })?;
        Ok(answer)
    }
}

/// Starts the thread. It ends, after everything accepted is committed, when the inbox is dropped.
pub(super) fn start(
    connection: Connection,
    limits: Limits,
    observer: Arc<dyn Observer>,
) -> std::io::Result<(Inbox, std::thread::JoinHandle<()>)> {
    let (requests, inbox) = sync_channel(INBOX_MAX);
    let waiting_bytes = Arc::new(AtomicUsize::new(0));
    let taken = Arc::clone(&waiting_bytes);
    let thread = std::thread::Builder::new()
        .name("side-writer".to_owned())
        .spawn(move || run(connection, &limits, &*observer, &inbox, &taken))?;
    Ok((Inbox { requests, waiting_bytes }, thread))
}

fn run(
    mut connection: Connection,
    limits: &Limits,
    observer: &dyn Observer,
    inbox: &Receiver<Request>,
    waiting_bytes: &AtomicUsize,
) {
    while let Ok(first) = inbox.recv() {
        let mut size = first.work.bytes();
        let mut batch = vec![first];
        while batch.len() < BATCH_MAX
            && size < BATCH_BYTES_MAX
            && let Ok(request) = inbox.try_recv()
        {
            size += request.work.bytes();
            batch.push(request);
        }
        waiting_bytes.fetch_sub(size, Ordering::Relaxed);
        answer(&mut connection, limits, observer, batch);
    }
    if let Err(error) = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)") {
        tracing::warn!(%error, "the side file's log was left for the next start to fold in");
    }
}

fn answer(connection: &mut Connection, limits: &Limits, observer: &dyn Observer, batch: Vec<Request>) {
    let together = commit(connection, limits, batch.iter().map(|request| &request.work));
    match together {
        Ok(done) => {
            for (request, done) in batch.into_iter().zip(done) {
                let _ = request.reply.send(Ok(done));
            }
        }
        // One piece of work that cannot be done must not take its neighbours with it.
        Err(_) if batch.len() > 1 => {
            for request in batch {
                answer(connection, limits, observer, vec![request]);
            }
        }
        Err(error) => {
            let error = to_error(&error);
            match &error {
                Error::Full(_) => observer.no_room(&error),
                _ => tracing::error!(%error, "the side file could not be written"),
            }
            for request in batch {
                let _ = request.reply.send(Err(error.clone()));
            }
        }
    }
}

fn commit<'a>(
    connection: &mut Connection,
    limits: &Limits,
    batch: impl Iterator<Item = &'a Work>,
) -> rusqlite::Result<Vec<Done>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = batch.map(|work| work.apply(&transaction, limits)).collect::<rusqlite::Result<Vec<_>>>()?;
    transaction.commit()?;
    Ok(done)
}
