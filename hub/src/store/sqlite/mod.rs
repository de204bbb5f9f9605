//! The SQLite store: one writer thread that owns the only write connection and commits in
//! batches, read-only connections for everything else, and a second file for logs and metrics.

mod admin;
pub mod copy;
mod event_log;
pub mod inspect;
mod list;
mod load;
mod open;
mod overview;
mod readers;
mod rows;
mod save;
pub mod side;
mod view;
mod watch;
mod writer;

pub use open::{beside, lock_for_hub};
pub use watch::Watch;
pub use writer::Observer;

use super::{
    Decided, Error, EventRange, Figures, HistoryTier, JobCount, JobPage, JobsOverview, LogAppend, LogSlice,
    NodeRecord, Operation, Overdue, Page, Retention, SessionRecord, Store, TokenRecord,
};
use crate::{clock::Clock, disk::Space, fleet::Bucket};
use anyhow::Context as _;
use async_trait::async_trait;
use bytes::Bytes;
use forge_engine::{
    Command, Now,
    lifecycle::{Policy, RUNTIME_GRACE_MS},
};
use forge_shared::{
    JobId, JobType, NodeId, QueueName, WorkerId,
    event::Event,
    job::Attempt,
    request::JobFilter,
    response::{AuditEntry, Worker},
};
use readers::Readers;
use rusqlite::{Connection, OptionalExtension as _, params};
use side::SideFile;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
        mpsc::{SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
};
use tokio::sync::oneshot;
use writer::{Message, Plain, Writer};

/// Commands that may wait for the writer; beyond that callers are told to come back.
const INBOX_MAX: usize = 8_192;
/// How many reads go on at once in a hub.
const READERS: u32 = 4;

pub struct Sqlite {
    path: PathBuf,
    inbox: SyncSender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
    readers: Readers,
    /// Opened when it is first needed, at the latest when the store serves a hub.
    side: OnceLock<SideFile>,
    opening_side: Mutex<()>,
    clock: Arc<dyn Clock>,
    policy: Policy,
    waiting_claims: Arc<AtomicU64>,
    observer: Arc<dyn Observer>,
}

/// Opens the database and its side file, or explains why that cannot be.
pub fn open(
    path: &Path,
    clock: Arc<dyn Clock>,
    policy: Policy,
    observer: Arc<dyn Observer>,
) -> anyhow::Result<Arc<Sqlite>> {
    let store = start(path, clock, policy, observer, open::Look::Through)?;
    let _ = store.side.set(open_side(path, store.observer.clone())?);
    Ok(store)
}

/// Opens a database for a short while, beside other programs that use it: without reading all of
/// it first, and without what the caller may never need.
pub fn join(
    path: &Path,
    clock: Arc<dyn Clock>,
    policy: Policy,
    observer: Arc<dyn Observer>,
) -> anyhow::Result<Arc<Sqlite>> {
    start(path, clock, policy, observer, open::Look::Brief)
}

fn start(
    path: &Path,
    clock: Arc<dyn Clock>,
    policy: Policy,
    observer: Arc<dyn Observer>,
    look: open::Look,
) -> anyhow::Result<Arc<Sqlite>> {
    let connection = open::writer(path, look)?;
    let count = if look == open::Look::Through { READERS } else { 1 };
    let readers =
        Readers::open(path, count).with_context(|| format!("cannot read the database {}", path.display()))?;
    let (inbox, receiver) = sync_channel(INBOX_MAX);
    let waiting_claims = Arc::new(AtomicU64::new(0));
    let writer = Writer {
        connection,
        inbox: receiver,
        clock: clock.clone(),
        observer: observer.clone(),
        policy,
        started_ms: clock.now().mono_ms,
        waiting_claims: waiting_claims.clone(),
        optimize: look == open::Look::Through,
        log_tried: None,
        runtime: tokio::runtime::Handle::try_current().ok(),
    };
    let thread = std::thread::Builder::new()
        .name("writer".to_owned())
        .spawn(move || writer.run())
        .context("cannot start the writer thread")?;
    Ok(Arc::new(Sqlite {
        path: path.to_owned(),
        inbox,
        thread: Mutex::new(Some(thread)),
        readers,
        side: OnceLock::new(),
        opening_side: Mutex::new(()),
        clock,
        policy,
        waiting_claims,
        observer,
    }))
}

fn open_side(main: &Path, observer: Arc<dyn Observer>) -> anyhow::Result<SideFile> {
    let path = side::path_beside(main);
    open::make_private(&path).with_context(|| format!("cannot make {}", path.display()))?;
    Ok(SideFile::open(&path, side::Limits::default(), observer)?)
}

impl Sqlite {
    fn send(&self, message: Message) -> Result<(), Error> {
        self.inbox.try_send(message).map_err(|error| match error {
            TrySendError::Full(_) => Error::Busy,
            TrySendError::Disconnected(_) => Error::Closed,
        })
    }

    async fn write(&self, write: Plain) -> Result<(), Error> {
        let (respond, answer) = oneshot::channel();
        self.send(Message::Plain { write, respond })?;
        answer.await.map_err(|_| Error::Closed)?
    }

    async fn read<T, F>(&self, read: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.readers.read(read).await
    }

    fn now(&self) -> Now {
        self.clock.now()
    }

    fn side(&self) -> Result<&SideFile, Error> {
        if let Some(side) = self.side.get() {
            return Ok(side);
        }
        let _opening = self.opening_side.lock().expect("nobody panics with the lock");
        if let Some(side) = self.side.get() {
            return Ok(side);
        }
        let side =
            open_side(&self.path, self.observer.clone()).map_err(|error| match error.downcast_ref() {
                Some(side::OpenError::Busy(_)) => Error::Busy,
                _ => Error::Database(format!("{error:#}")),
            })?;
        Ok(self.side.get_or_init(|| side))
    }
}

#[async_trait]
impl Store for Sqlite {
    async fn submit(&self, command: Command, note: Option<AuditEntry>) -> Result<Decided, Error> {
        let (respond, answer) = oneshot::channel();
        if cfg!(feature = "fault-ack-early")
            && let Some(reply) = early_answer(&command)
        {
            self.send(Message::Command { command, note, respond })?;
            return Ok(Ok(reply));
        }
        self.send(Message::Command { command, note, respond })?;
        answer.await.map_err(|_| Error::Closed)?
    }

    async fn job(&self, id: &JobId) -> Result<Option<forge_shared::Job>, Error> {
        let id = id.clone();
        self.read(move |connection| {
            connection
                .prepare_cached(&view::select_jobs("", "WHERE j.id = ?1"))?
                .query_row([id.as_str()], |row| view::job(connection, row))
                .optional()
        })
        .await
        .map(|found| found.map(|(_, _, job)| job))
    }

    async fn claimed_jobs(&self, jobs: &[Arc<forge_engine::Job>]) -> Result<Vec<forge_shared::Job>, Error> {
        match self.readers.at_once(|connection| view::claimed(connection, jobs)) {
            Some(Ok(Some(jobs))) => Ok(jobs),
            // All readers are busy, or the jobs are large or have a history.
            None | Some(Ok(None)) => self.jobs_by_seq(jobs.iter().map(|job| job.seq).collect()).await,
            Some(Err(error)) => Err(error),
        }
    }

    async fn jobs_by_seq(&self, seqs: Vec<i64>) -> Result<Vec<forge_shared::Job>, Error> {
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(&view::select_jobs("", "WHERE j.seq = ?1"))?;
            let mut jobs = Vec::with_capacity(seqs.len());
            for seq in seqs {
                let job = statement.query_row([seq], |row| view::job(connection, row)).optional()?;
                jobs.extend(job.map(|(_, _, job)| job));
            }
            Ok(jobs)
        })
        .await
    }

    async fn jobs(&self, filter: JobFilter, page: Page) -> Result<JobPage, Error> {
        self.read(move |connection| list::jobs(connection, &filter, &page)).await
    }

    async fn matching(
        &self,
        filter: JobFilter,
        after: i64,
        upto: i64,
        max: u32,
    ) -> Result<Vec<(i64, JobId)>, Error> {
        let now = self.now().wall_ms;
        self.read(move |connection| list::matching(connection, &filter, now, (after, upto), max)).await
    }

    async fn count_matching(&self, filter: JobFilter) -> Result<u64, Error> {
        let now = self.now().wall_ms;
        self.read(move |connection| list::count(connection, &filter, now)).await
    }

    async fn last_job(&self) -> Result<i64, Error> {
        self.read(|connection| {
            connection.query_row("SELECT next_job - 1 FROM position", [], |row| row.get(0))
        })
        .await
    }

    async fn attempts(&self, id: &JobId) -> Result<Option<Vec<Attempt>>, Error> {
        let id = id.clone();
        self.read(move |connection| {
            let sql = format!("SELECT {} FROM jobs j WHERE j.id = ?1", rows::JOB_COLUMNS);
            let job = connection.prepare_cached(&sql)?.query_row([id.as_str()], rows::job).optional()?;
            job.map(|job| view::attempts(connection, &job)).transpose()
        })
        .await
    }

    async fn counts(&self) -> Result<Vec<JobCount>, Error> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT queue, type, status, n FROM counts WHERE n > 0")?
                .query_map([], |row| {
                    Ok(JobCount {
                        queue: QueueName::trusted(rows::text(row, 0)?),
                        kind: JobType::trusted(rows::text(row, 1)?),
                        status: rows::status_of(row.get(2)?, 2)?,
                        n: row.get::<_, i64>(3)?.unsigned_abs(),
                    })
                })?
                .collect()
        })
        .await
    }

    async fn overview(&self, now_ms: i64) -> Result<JobsOverview, Error> {
        self.read(move |connection| overview::read(connection, now_ms)).await
    }

    async fn live_jobs_by_worker(&self) -> Result<BTreeMap<WorkerId, u64>, Error> {
        self.read(list::live_by_worker).await
    }

    async fn workers(&self) -> Result<Vec<Worker>, Error> {
        let (stored, live) = self
            .read(|connection| {
                let stored = connection
                    .prepare_cached(
                        "SELECT id, about, boot, superseded, draining, lost, registered_at, last_heartbeat, busy, \
                         rss_kb, outbox FROM workers ORDER BY id",
                    )?
                    .query_map([], load::worker)?
                    .collect::<rusqlite::Result<Vec<_>>>()?;
                Ok((stored, list::live_by_worker(connection)?))
            })
            .await?;
        stored
            .into_iter()
            .map(|worker| {
                let jobs = live.get(&worker.id).copied().unwrap_or(0);
                view::worker(worker, jobs)
            })
            .collect()
    }

    async fn worker(&self, id: &WorkerId) -> Result<Option<Worker>, Error> {
        Ok(self.workers().await?.into_iter().find(|worker| worker.id == *id))
    }

    async fn overdue(&self, now: Now, max: u32) -> Result<Overdue, Error> {
        let Policy { lease_ms, prepare_ms, .. } = self.policy;
        self.read(move |connection| {
            let mut jobs: Vec<i64> = connection
                .prepare_cached(include_str!("sql/overdue_jobs.sql"))?
                .query_map(params![now.mono_ms, prepare_ms, max, RUNTIME_GRACE_MS], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            let expired = connection
                .prepare_cached(
                    "SELECT seq FROM jobs INDEXED BY jobs_expiring \
                     WHERE expires_at IS NOT NULL AND lane IS NOT NULL AND expires_at <= ?1 LIMIT ?2",
                )?
                .query_map(params![now.wall_ms, max], |row| row.get(0))?
                .collect::<rusqlite::Result<Vec<i64>>>()?;
            jobs.extend(expired);
            jobs.truncate(max as usize);
            // After a step back of the clock a last heartbeat may seem to be in the future.
            let workers = connection
                .prepare_cached(
                    "SELECT id FROM workers WHERE lost = 0 AND \
                     (last_heartbeat < ?1 - ?2 OR last_heartbeat > ?1 + ?2) LIMIT ?3",
                )?
                .query_map(params![now.wall_ms, lease_ms, max], |row| {
                    Ok(WorkerId::trusted(rows::text(row, 0)?))
                })?
                .collect::<rusqlite::Result<_>>()?;
            Ok(Overdue { jobs, workers })
        })
        .await
    }

    async fn live_jobs(&self, after: i64, max: u32) -> Result<Vec<i64>, Error> {
        self.read(move |connection| {
            connection
                .prepare_cached(
                    "SELECT seq FROM jobs INDEXED BY jobs_live WHERE status IN (1, 2) AND seq > ?1 \
                     ORDER BY seq LIMIT ?2",
                )?
                .query_map(params![after, max], |row| row.get(0))?
                .collect()
        })
        .await
    }

    async fn prunable(&self, keep: Retention, max: u32) -> Result<Vec<i64>, Error> {
        self.read(move |connection| list::prunable(connection, &keep, max)).await
    }

    async fn prune_events(&self, before_ms: i64) -> Result<bool, Error> {
        let (tell, told) = oneshot::channel();
        self.write(Box::new(move |connection| {
            let mut prune = connection.prepare_cached(include_str!("sql/prune_events.sql"))?;
            let _ = tell.send(prune.execute([before_ms])? > 0);
            Ok(())
        }))
        .await?;
        Ok(told.await.unwrap_or(false))
    }

    async fn event_range(&self) -> Result<EventRange, Error> {
        self.read(|connection| {
            let (epoch, next): (i64, i64) =
                connection.query_row("SELECT epoch, next_event FROM position", [], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
            let first: Option<i64> =
                connection.query_row("SELECT min(first) FROM events", [], |row| row.get(0))?;
            Ok(EventRange {
                epoch: epoch.unsigned_abs(),
                first: first.unwrap_or(next).unsigned_abs(),
                last: (next - 1).unsigned_abs(),
            })
        })
        .await
    }

    async fn events_after(&self, seq: u64, max: usize) -> Result<Vec<Event>, Error> {
        self.read(move |connection| event_log::after(connection, seq, max)).await
    }

    async fn tokens(&self) -> Result<Vec<TokenRecord>, Error> {
        self.read(admin::tokens).await
    }

    async fn save_token(&self, token: TokenRecord, note: Option<AuditEntry>) -> Result<(), Error> {
        self.write(Box::new(move |connection| {
            admin::save_token(connection, &token)?;
            note.iter().try_for_each(|note| save::note(connection, note))
        }))
        .await
    }

    async fn delete_token(&self, id: &str, note: AuditEntry) -> Result<bool, Error> {
        let id = id.to_owned();
        let (tell, told) = oneshot::channel();
        self.write(Box::new(move |connection| {
            let found = admin::delete_token(connection, &id)?;
            if found {
                save::note(connection, &note)?;
            }
            let _ = tell.send(found);
            Ok(())
        }))
        .await?;
        Ok(told.await.unwrap_or(false))
    }

    async fn sessions(&self) -> Result<Vec<SessionRecord>, Error> {
        self.read(admin::sessions).await
    }

    async fn save_session(&self, session: SessionRecord) -> Result<(), Error> {
        self.write(Box::new(move |connection| admin::save_session(connection, &session))).await
    }

    async fn delete_session(&self, hash: [u8; 32]) -> Result<(), Error> {
        self.write(Box::new(move |connection| {
            connection.prepare_cached("DELETE FROM sessions WHERE hash = ?1")?.execute([hash]).map(drop)
        }))
        .await
    }

    async fn audit(&self, note: AuditEntry) -> Result<(), Error> {
        self.write(Box::new(move |connection| save::note(connection, &note))).await
    }

    async fn audit_log(&self, before: Option<i64>, max: u32) -> Result<Vec<(i64, AuditEntry)>, Error> {
        self.read(move |connection| admin::audit_log(connection, before, max)).await
    }

    async fn operation(&self, id: &str) -> Result<Option<Operation>, Error> {
        let id = id.to_owned();
        self.read(move |connection| admin::operation(connection, &id)).await
    }

    async fn save_operation(&self, operation: Operation, note: Option<AuditEntry>) -> Result<(), Error> {
        self.write(Box::new(move |connection| {
            admin::save_operation(connection, &operation)?;
            note.iter().try_for_each(|note| save::note(connection, note))
        }))
        .await
    }

    async fn unfinished_operations(&self) -> Result<Vec<Operation>, Error> {
        self.read(admin::unfinished_operations).await
    }

    async fn nodes(&self) -> Result<Vec<NodeRecord>, Error> {
        let mut nodes = self.read(admin::nodes).await?;
        let mut newest: BTreeMap<NodeId, (i64, String)> = self
            .side()?
            .latest_snapshots()
            .await?
            .into_iter()
            .map(|(node, seen, snapshot)| (node, (seen, snapshot)))
            .collect();
        for node in &mut nodes {
            if let Some((seen, snapshot)) =
                newest.remove(&node.id).filter(|(seen, _)| *seen >= node.last_seen)
            {
                node.last_seen = seen;
                node.latest = Some(snapshot);
            }
        }
        Ok(nodes)
    }

    async fn save_node(&self, node: NodeRecord) -> Result<(), Error> {
        self.write(Box::new(move |connection| admin::save_node(connection, &node))).await
    }

    async fn save_snapshots(&self, latest: Vec<(NodeId, i64, String)>) -> Result<(), Error> {
        self.side()?.save_snapshots(latest).await
    }

    async fn add_history(&self, minutes: Vec<(NodeId, i64, Bucket)>) -> Result<(), Error> {
        self.side()?.add_history(minutes).await
    }

    async fn history(
        &self,
        node: &NodeId,
        tier: HistoryTier,
        from: i64,
    ) -> Result<Vec<(i64, Bucket)>, Error> {
        self.side()?.history(node, tier, from).await
    }

    async fn prune_history(&self, now_ms: i64) -> Result<(), Error> {
        self.side()?.prune_history(now_ms).await
    }

    async fn append_log(
        &self,
        job: &JobId,
        attempt: u32,
        offset: u64,
        bytes: Bytes,
    ) -> Result<LogAppend, Error> {
        self.side()?.append_log(job, attempt, offset, bytes).await
    }

    async fn read_log(&self, job: &JobId, attempt: u32, offset: u64, max: usize) -> Result<LogSlice, Error> {
        self.side()?.read_log(job, attempt, offset, max).await
    }

    async fn delete_logs(&self, jobs: Vec<JobId>) -> Result<(), Error> {
        self.side()?.delete_logs(jobs).await
    }

    async fn try_write(&self) -> Result<(), Error> {
        self.write(Box::new(open::rewrite_version)).await?;
        self.side()?.try_write().await
    }

    async fn ping(&self) -> Result<(), Error> {
        self.write(Box::new(|_| Ok(()))).await?;
        self.read(|connection| connection.query_row("SELECT epoch FROM position", [], |_| Ok(()))).await?;
        self.side()?.ping().await
    }

    fn figures(&self) -> Figures {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        let mut wal = self.path.clone().into_os_string();
        wal.push("-wal");
        let side_bytes = self.side.get().map_or(0, SideFile::bytes);
        Figures {
            database_bytes: size(&self.path) + size(Path::new(&wal)) + side_bytes,
            side_bytes,
            waiting_claims: self.waiting_claims.load(Ordering::Relaxed),
            disk_free_bytes: self
                .path
                .parent()
                .and_then(|folder| Space::under(folder).ok())
                .map_or(0, |space| space.free),
        }
    }

    async fn close(&self) {
        // Readers first: the last connection to close folds the log into the database file.
        self.readers.close().await;
        // The writer takes everything that was sent before this.
        let inbox = self.inbox.clone();
        let thread = self.thread.lock().expect("nobody panics with the lock").take();
        let joined = tokio::task::spawn_blocking(move || {
            let _ = inbox.send(Message::Close);
            thread.map(JoinHandle::join)
        });
        if let Ok(Some(Err(_))) = joined.await {
            tracing::error!("the writer thread panicked");
        }
        if let Some(side) = self.side.get() {
            side.close().await;
        }
    }
}

/// Test-only: what an acknowledgement before the commit would look like.
fn early_answer(command: &Command) -> Option<forge_engine::Reply> {
    use forge_engine::command::Enqueued;
    let Command::Enqueue(jobs) = command else { return None };
    let enqueued = jobs.iter().map(|job| {
        Some(Enqueued { id: job.id.clone()?, status: forge_shared::Status::Pending, created: true })
    });
    enqueued.collect::<Option<Vec<_>>>().map(forge_engine::Reply::Enqueued)
}
