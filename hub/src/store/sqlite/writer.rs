//! The one writer: takes every command that waits, decides them together, commits once, then
//! publishes and answers. There is no batching timer: the batch is what queued up during the
//! previous commit.

use super::{load, save};
use crate::{
    clock::Clock,
    store::{Decided, Error, EventBatch},
};
use forge_engine::{
    Command, Ctx, Plan, Planner, Reply,
    command::{Outcome as Reported, Ticket},
    lifecycle::Policy,
    plan::{Loaded, Outcome},
    waiting::Waiting,
};
use forge_shared::response::AuditEntry;
use rusqlite::{Connection, ErrorCode, ffi};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// Limits of one batch; a single command beyond them runs alone.
const BATCH_COMMANDS_MAX: usize = 512;
const BATCH_CLAIMS_MAX: usize = 1_000;
const BATCH_BYTES_MAX: usize = 8 << 20;
/// How long the writer sleeps at most while something is due in the future.
const DUE_CHECK_MAX: Duration = Duration::from_secs(5);

/// On a full disk, how long until moving the log into the file is tried again.
const LOG_TRY_PAUSE: Duration = Duration::from_secs(1);

type Respond = oneshot::Sender<Result<Decided, Error>>;
/// A write that is no decision about jobs: tokens, audit, nodes.
pub(super) type Plain = Box<dyn FnOnce(&Connection) -> rusqlite::Result<()> + Send>;

pub(super) enum Message {
    Command { command: Command, note: Option<AuditEntry>, respond: Respond },
    Plain { write: Plain, respond: oneshot::Sender<Result<(), Error>> },
    Close,
}

/// What the writer tells the rest of the program.
pub trait Observer: Send + Sync + 'static {
    /// After the commit, before any answer.
    fn committed(&self, events: EventBatch);
    /// For metrics.
    fn batch(&self, commands: usize, commit: Duration);
    /// A write found the disk full and changed nothing.
    fn no_room(&self, _error: &Error) {}
}

pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) inbox: Receiver<Message>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) policy: Policy,
    pub(super) started_ms: i64,
    pub(super) waiting_claims: Arc<AtomicU64>,
    /// Whether to look after the file's statistics at the end.
    pub(super) optimize: bool,
    /// When the log was last moved into the file because the disk was full.
    pub(super) log_tried: Option<Instant>,
    /// Where callers wait for their answers.
    pub(super) runtime: Option<tokio::runtime::Handle>,
}

struct Request {
    command: Command,
    note: Option<AuditEntry>,
    respond: Respond,
}

/// The planner and the state of the file it is valid for.
struct Mind {
    planner: Planner,
    data_version: i64,
}

impl Writer {
    pub(super) fn run(mut self) {
        let mut mind: Option<Mind> = None;
        let mut parked: HashMap<Ticket, Respond> = HashMap::new();
        let mut held: Option<Message> = None;
        loop {
            let first = match held.take() {
                Some(message) => Some(message),
                None => self.wait(mind.as_ref()),
            };
            let mut requests = Vec::new();
            let mut closing = false;
            match first {
                Some(Message::Close) => closing = true,
                Some(Message::Plain { write, respond }) => {
                    self.plain(write, respond);
                    continue;
                }
                Some(Message::Command { command, note, respond }) => {
                    requests.push(Request { command, note, respond });
                    held = self.gather(&mut requests);
                }
                // Somebody waits and something may have become due.
                None => {
                    let (respond, _) = oneshot::channel();
                    requests.push(Request { command: Command::Tick, note: None, respond });
                }
            }
            if closing {
                for (_, respond) in parked.drain() {
                    let _ = respond.send(Ok(Ok(Reply::Claimed(Vec::new()))));
                }
                break;
            }
            self.batch(&mut mind, &mut parked, requests);
            let waiting = mind.as_ref().map_or(0, |mind| mind.planner.waiting());
            self.waiting_claims.store(waiting as u64, Ordering::Relaxed);
        }
        if self.optimize {
            let _ = self.connection.execute_batch("PRAGMA optimize");
        }
        if let Err((_, error)) = self.connection.close() {
            tracing::warn!(%error, "the database did not close cleanly");
        }
    }

    fn wait(&self, mind: Option<&Mind>) -> Option<Message> {
        let due = mind.and_then(|mind| mind.planner.next_due());
        let Some(due) = due else { return Some(self.inbox.recv().unwrap_or(Message::Close)) };
        let until = u64::try_from(due - self.clock.now().wall_ms).unwrap_or(0);
        match self.inbox.recv_timeout(Duration::from_millis(until).min(DUE_CHECK_MAX)) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Message::Close),
        }
    }

    /// Adds what waits in the inbox. Returns the first message that does not fit.
    fn gather(&self, requests: &mut Vec<Request>) -> Option<Message> {
        let mut weight = Weight::default();
        weight.add(&requests[0].command);
        while requests.len() < BATCH_COMMANDS_MAX && weight.fits() {
            match self.inbox.try_recv() {
                Ok(Message::Command { command, note, respond }) => {
                    let mut with = weight;
                    with.add(&command);
                    if !with.fits() {
                        return Some(Message::Command { command, note, respond });
                    }
                    weight = with;
                    requests.push(Request { command, note, respond });
                }
                Ok(other) => return Some(other),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Some(Message::Close),
            }
        }
        None
    }

    fn batch(
        &mut self,
        mind: &mut Option<Mind>,
        parked: &mut HashMap<Ticket, Respond>,
        requests: Vec<Request>,
    ) {
        let mut commands = Vec::with_capacity(requests.len());
        let mut notes = Vec::with_capacity(requests.len());
        let mut responds = Vec::with_capacity(requests.len());
        for Request { command, note, respond } in requests {
            commands.push(command);
            notes.push(note);
            responds.push(respond);
        }
        match self.decide(mind, commands, &notes) {
            Ok(outcome) => self.deliver(answers(outcome, responds, parked)),
            Err((error, _)) if responds.len() == 1 => {
                self.report(&error);
                for respond in responds {
                    let _ = respond.send(Err(error.clone()));
                }
            }
            // One of them may be at fault; the others must not suffer for it.
            Err((error, commands)) => {
                if !matches!(error, Error::Full(_)) {
                    tracing::warn!(%error, commands = commands.len(), "a batch failed; trying its commands one by one");
                }
                for ((command, note), respond) in commands.into_iter().zip(notes).zip(responds) {
                    self.batch(mind, parked, vec![Request { command, note, respond }]);
                }
            }
        }
    }

    /// One transaction. On error nothing was written, the planner is dropped, and the commands
    /// come back.
    fn decide(
        &mut self,
        mind: &mut Option<Mind>,
        commands: Vec<Command>,
        notes: &[Option<AuditEntry>],
    ) -> Result<Outcome, (Error, Vec<Command>)> {
        let count = commands.len();
        let mut commands = Some(commands);
        match self.try_decide(mind, &mut commands, notes) {
            Ok((outcome, events, commit)) => {
                self.observer.batch(count, commit);
                if !events.is_empty() {
                    self.observer.committed(events);
                }
                Ok(outcome)
            }
            Err(error) => {
                abort_if_sync_failed(&error);
                if !self.connection.is_autocommit() {
                    let _ = self.connection.execute_batch("ROLLBACK");
                }
                let commands = match (commands, mind.take()) {
                    // The planner has not seen them.
                    (Some(commands), before) => {
                        *mind = before;
                        commands
                    }
                    (None, None) => Vec::new(),
                    (None, Some(Mind { planner, .. })) => {
                        let (waiting, commands) = planner.abandon();
                        let planner = Planner::new(Loaded::default(), waiting);
                        // Valid for no state of the file: it is loaded again before it is used.
                        *mind = Some(Mind { planner, data_version: -1 });
                        commands
                    }
                };
                Err((to_error(&error), commands))
            }
        }
    }

    fn try_decide(
        &mut self,
        mind: &mut Option<Mind>,
        commands: &mut Option<Vec<Command>>,
        notes: &[Option<AuditEntry>],
    ) -> rusqlite::Result<(Outcome, EventBatch, Duration)> {
        let connection = &self.connection;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let data_version: i64 =
            connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if mind.as_ref().is_none_or(|mind| mind.data_version != data_version) {
            let waiting = mind.take().map_or_else(Waiting::default, |mind| mind.planner.into_waiting());
            *mind = Some(Mind { planner: Planner::new(load::planner(connection)?, waiting), data_version });
        }
        let planner = &mut mind.as_mut().expect("loaded above").planner;
        let mut entropy = [0u8; 32];
        getrandom::fill(&mut entropy).expect("the system gives randomness");
        let now = self.clock.now();
        let ctx = Ctx { now, started_ms: self.started_ms, entropy, policy: self.policy };
        planner.begin(ctx, commands.take().unwrap_or_default());
        while let Plan::Need(needs) = planner.step() {
            let found = load::found(connection, &needs)?;
            planner.supply(&needs, found);
        }
        let (mut changes, outcome) = planner.finish();
        let noted: Vec<&AuditEntry> = notes
            .iter()
            .zip(&outcome.replies)
            .filter_map(|(note, reply)| note.as_ref().filter(|_| took_effect(reply.as_ref())))
            .collect();
        if changes.is_empty() && noted.is_empty() {
            connection.prepare_cached("ROLLBACK")?.execute([])?;
            return Ok((outcome, Arc::from([]), Duration::ZERO));
        }
        save::changes(connection, &changes)?;
        for note in noted {
            save::note(connection, note)?;
        }
        let started = Instant::now();
        connection.prepare_cached("COMMIT")?.execute([])?;
        Ok((outcome, std::mem::take(&mut changes.events).into(), started.elapsed()))
    }

    fn plain(&mut self, write: Plain, respond: oneshot::Sender<Result<(), Error>>) {
        let result = (|| {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
            write(&self.connection)?;
            self.connection.execute_batch("COMMIT")
        })();
        if let Err(error) = &result {
            abort_if_sync_failed(error);
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        let result = result.map_err(|error| to_error(&error));
        if let Err(error) = &result {
            self.report(error);
        }
        let _ = respond.send(result);
    }

    /// A full disk fails every write alike: the observer says so once.
    fn report(&mut self, error: &Error) {
        match error {
            Error::Full(_) => {
                self.observer.no_room(error);
                self.reuse_log();
            }
            _ => tracing::error!(%error, "a write failed and was rolled back"),
        }
    }

    /// What the log holds may fit into the file although the log cannot grow. Then its room is
    /// used again, and small writes work on a full disk.
    fn reuse_log(&mut self) {
        if self.log_tried.is_some_and(|tried| tried.elapsed() < LOG_TRY_PAUSE) {
            return;
        }
        self.log_tried = Some(Instant::now());
        if let Err(error) = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
            abort_if_sync_failed(&error);
        }
    }

    /// Answers from inside the runtime when there is one: waking callers there is a push to a
    /// local queue, while from this thread each would cost a system call.
    fn deliver(&self, answers: Vec<(Respond, Result<Decided, Error>)>) {
        let send = move || {
            for (respond, answer) in answers {
                let _ = respond.send(answer);
            }
        };
        match &self.runtime {
            Some(runtime) => drop(runtime.spawn(async move { send() })),
            None => send(),
        }
    }
}

/// Pairs the answers of a batch with those who wait for them.
fn answers(
    outcome: Outcome,
    responds: Vec<Respond>,
    parked: &mut HashMap<Ticket, Respond>,
) -> Vec<(Respond, Result<Decided, Error>)> {
    let mut answers = Vec::with_capacity(responds.len());
    let waits: HashMap<usize, Ticket> = outcome.parked.into_iter().collect();
    for (at, (respond, reply)) in responds.into_iter().zip(outcome.replies).enumerate() {
        match (reply, waits.get(&at)) {
            (Some(reply), _) => answers.push((respond, Ok(reply))),
            (None, Some(ticket)) => {
                parked.insert(*ticket, respond);
            }
            (None, None) => {
                answers.push((respond, Err(Error::Database("a command was not decided".to_owned()))));
            }
        }
    }
    for (ticket, reply) in outcome.served {
        if let Some(respond) = parked.remove(&ticket) {
            answers.push((respond, Ok(reply)));
        }
    }
    answers
}

/// A refused action leaves no trace in the audit log.
fn took_effect(reply: Option<&Decided>) -> bool {
    match reply {
        Some(Ok(Reply::Acted(states))) => states.iter().any(Result::is_ok),
        Some(Ok(_)) => true,
        Some(Err(_)) | None => false,
    }
}

#[derive(Clone, Copy, Default)]
struct Weight {
    bytes: usize,
    claims: usize,
}

impl Weight {
    fn fits(self) -> bool {
        self.bytes <= BATCH_BYTES_MAX && self.claims <= BATCH_CLAIMS_MAX
    }

    fn add(&mut self, command: &Command) {
        const ROW: usize = 512;
        match command {
            Command::Enqueue(jobs) => {
                self.bytes += jobs.iter().map(|job| ROW + job.spec.params.len()).sum::<usize>()
            }
            Command::Claim(claim) => self.claims += claim.max as usize,
            Command::Report(reports) => {
                self.bytes += reports
                    .iter()
                    .map(|report| match &report.outcome {
                        Reported::Completed(completion) => ROW + completion.result.len(),
                        Reported::Failed(failure) => ROW + failure.backtrace.as_ref().map_or(0, String::len),
                    })
                    .sum::<usize>();
            }
            Command::Act { jobs, .. } => self.bytes += jobs.len() * ROW,
            Command::Reap { jobs, .. } | Command::Resume { jobs } | Command::Prune { jobs } => {
                self.bytes += jobs.len() * ROW;
            }
            _ => self.bytes += ROW,
        }
    }
}

pub(super) fn to_error(error: &rusqlite::Error) -> Error {
    // The index of the log is a file too, and has a code of its own when it cannot grow.
    let extended = error.sqlite_error().map(|error| error.extended_code);
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::Full(error.to_string()),
        _ if extended == Some(ffi::SQLITE_IOERR_SHMSIZE) => Error::Full(error.to_string()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy,
        _ => Error::Database(error.to_string()),
    }
}

/// After a failed sync nobody knows what is on disk: going on could acknowledge what is lost.
fn abort_if_sync_failed(error: &rusqlite::Error) {
    let code = error.sqlite_error().map(|error| error.extended_code);
    if matches!(code, Some(ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC)) {
        tracing::error!(%error, "the disk did not confirm a write; stopping at once to lose nothing");
        std::process::abort();
    }
}
