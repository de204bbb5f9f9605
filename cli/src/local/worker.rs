//! A worker: takes one job at a time, runs it by `bash -lc`, records how it went.

use crate::{
    backend::{Backend as _, Claimed, Local},
    local::{folder::Folder, identity, runtime::Runtime},
    problem::Problem,
};
use bytes::{Bytes, BytesMut};
use forge_agent::runner::{Ended, Finished, Run, Settings, Slot};
use forge_engine::{
    Command, Reply,
    command::{Completion, FailureReport, Outcome, Report},
};
use forge_hub::{clock::wall_ms, store::sqlite::Watch};
use forge_shared::{FailureKind, WorkerId};
use nix::sys::resource::{Resource, getrlimit};
use std::{
    io::Write as _,
    path::PathBuf,
    time::{Duration, Instant},
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

/// How often a worker without a job looks whether there is one.
const TICK: Duration = Duration::from_millis(100);
/// How often it looks for workers that ended without a word.
const LOOK_FOR_THE_DEAD: Duration = Duration::from_secs(1);
/// Before it tries again what a disk or a missing program did not allow.
const AFTER_TROUBLE: Duration = Duration::from_secs(1);
/// Pieces of a log that may wait for the disk; beyond that a job's output is dropped, which the log
/// tells.
const LOG_PIECES_MAX: usize = 4_096;
const LOG_CHUNK_BYTES: usize = 256 << 10;
const EVENTS_KEPT_MS: i64 = 7 * 24 * 3_600_000;
/// What a job prints is all its log, in the order in which it came: the runner passes standard
/// error on as it comes, and nothing is read from standard output.
const BOTH_TO_THE_LOG: &str = "exec bash -lc \"$1\" >&2";

struct Worker {
    backend: Local,
    runtime: Runtime,
    watch: Watch,
    settings: Settings,
    here: PathBuf,
    slot: Option<(Slot, WorkerId)>,
    looked_for_the_dead: Option<Instant>,
    stop: Stop,
}

/// A request to leave lets the job finish, however often it is made. Only a second Ctrl-C means now.
#[derive(Clone, Default)]
struct Stop {
    after_the_job: CancellationToken,
    now: CancellationToken,
}

/// Works until it is told to stop.
pub(crate) async fn run(folder: &Folder, detached: bool) -> Result<(), Problem> {
    if detached {
        // Fails only for the leader of a process group, which no longer belongs to the terminal's.
        let _ = nix::unistd::setsid();
    }
    let runtime = Runtime::open(folder)?;
    if runtime.is_stopping() {
        return Err(Problem::refused(
            "Workers are asked to stop",
            "queuectl_runtime/STOP is there; `queuectl worker start` removes it",
        ));
    }
    let stop = Stop::default();
    listen(stop.clone())?;
    let announced = runtime.announce()?;
    let backend = Local::open(folder).await?;
    let here = std::env::current_dir()
        .map_err(|error| Problem::Storage(format!("the current folder cannot be used: {error}")))?;
    let mut settings = Settings::new(folder.runtime());
    settings.env = std::env::vars_os().collect();
    settings.permanent_exit_codes = Vec::new();
    if let Ok((open_files, _)) = getrlimit(Resource::RLIMIT_NOFILE) {
        settings.open_files = open_files;
    }
    let watch = Watch::open(&folder.queue()).map_err(|error| Problem::Storage(format!("{error:#}")))?;
    let mut worker =
        Worker { backend, runtime, watch, settings, here, slot: None, looked_for_the_dead: None, stop };
    worker.ready_slot().await?;
    worker.backend.prune_events(wall_ms() - EVENTS_KEPT_MS).await?;
    if detached {
        // Nobody listens any more when `worker start` was interrupted; the worker works all the same.
        let _ = writeln!(std::io::stdout(), "ready");
    }
    worker.work().await;
    if let Some((slot, _)) = worker.slot.take() {
        slot.close().await;
    }
    worker.backend.close().await;
    drop(announced);
    Ok(())
}

fn listen(stop: Stop) -> Result<(), Problem> {
    let unusable = |error| Problem::Storage(format!("signals cannot be received: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(unusable)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unusable)?;
    tokio::spawn(async move {
        loop {
            let leave_now = tokio::select! {
                _ = terminate.recv() => false,
                _ = interrupt.recv() => stop.after_the_job.is_cancelled(),
            };
            stop.after_the_job.cancel();
            if leave_now {
                return stop.now.cancel();
            }
        }
    });
    Ok(())
}

impl Worker {
    async fn work(&mut self) {
        while !self.is_leaving() {
            if let Err(problem) = self.turn().await {
                eprintln!("queuectl worker {}: {problem}", std::process::id());
                self.pause(AFTER_TROUBLE).await;
            }
        }
    }

    fn is_leaving(&self) -> bool {
        self.stop.after_the_job.is_cancelled() || self.runtime.is_stopping()
    }

    async fn pause(&self, time: Duration) {
        tokio::select! {
            () = self.stop.after_the_job.cancelled() => {}
            () = tokio::time::sleep(time) => {}
        }
    }

    /// One job, or a wait for one.
    async fn turn(&mut self) -> Result<(), Problem> {
        if self.looked_for_the_dead.is_none_or(|at| at.elapsed() >= LOOK_FOR_THE_DEAD) {
            self.backend.reclaim().await?;
            self.looked_for_the_dead = Some(Instant::now());
        }
        let worker = self.ready_slot().await?;
        // Looked at before the claim, so that nothing that comes after it is missed.
        self.watch.changed().map_err(unreadable)?;
        match self.backend.claim(&worker).await? {
            Some(claimed) => self.run(claimed).await,
            None => self.idle().await,
        }
    }

    /// Until another process changed something, a job is due, or somebody may have died.
    async fn idle(&mut self) -> Result<(), Problem> {
        let began = Instant::now();
        let due = self.watch.next_due().map_err(unreadable)?;
        while began.elapsed() < LOOK_FOR_THE_DEAD && !self.is_leaving() {
            let until_due = due.and_then(|due| u64::try_from(due - wall_ms()).ok());
            self.pause(until_due.map_or(TICK, |ms| TICK.min(Duration::from_millis(ms)))).await;
            if self.watch.changed().map_err(unreadable)? || due.is_some_and(|due| due <= wall_ms()) {
                break;
            }
        }
        Ok(())
    }

    /// A supervisor to run jobs, and this worker's name while it has that one.
    async fn ready_slot(&mut self) -> Result<WorkerId, Problem> {
        if let Some((_, id)) = &self.slot {
            return Ok(id.clone());
        }
        let failed = |why: String| Problem::Storage(format!("the job runner does not start: {why}"));
        let slot = Slot::start(self.settings.clone()).await.map_err(|error| failed(format!("{error:#}")))?;
        let id = slot.supervisor_pid().and_then(identity::worker_id);
        let id = id.ok_or_else(|| failed("/proc does not tell about it".to_owned()))?;
        self.slot = Some((slot, id.clone()));
        Ok(id)
    }

    async fn run(&mut self, Claimed { job, holder }: Claimed) -> Result<(), Problem> {
        let Some((slot, _)) = &mut self.slot else { return Ok(()) };
        let command = job.command.clone().unwrap_or_default();
        let run = Run {
            argv: ["/bin/sh", "-c", BOTH_TO_THE_LOG, "queuectl", &command].map(Into::into).to_vec(),
            params: None,
            env: Vec::new(),
            name: job.id.to_string(),
            memory_max: None,
            max_runtime: job.max_runtime_ms.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis),
            work_dir: Some(self.here.clone()),
        };
        let (to_log, from_job) = mpsc::channel(LOG_PIECES_MAX);
        let log = Log { backend: &self.backend, job: &job, end: 0 };
        let (finished, log) = tokio::join!(slot.run(run, to_log, &self.stop.now), log.keep(from_job));
        let finished = finished.map_err(|error| format!("{error:#}"));
        if finished.is_err() {
            // With its supervisor the job has ended, too.
            self.slot = None;
        }
        let command = match outcome(finished) {
            None => Command::Release { job: job.id.clone(), holder },
            Some(outcome) => {
                if let Outcome::Failed(FailureReport { backtrace: Some(why), .. }) = &outcome {
                    log.say(why).await;
                }
                Command::Report(vec![Report { job: job.id.clone(), holder, outcome }])
            }
        };
        self.record(command).await;
        Ok(())
    }

    /// An outcome is kept until it is written, or nobody wants to wait any more: then the job will
    /// be found without its worker, and run again.
    async fn record(&self, command: Command) {
        loop {
            match self.backend.decide(command.clone()).await {
                Ok(Reply::Reported(states)) => {
                    for refusal in states.into_iter().filter_map(Result::err) {
                        eprintln!(
                            "queuectl worker {}: an outcome came too late: {refusal}",
                            std::process::id()
                        );
                    }
                    return;
                }
                Ok(_) | Err(Problem::Refused(_)) => return,
                Err(problem) if self.stop.now.is_cancelled() => {
                    eprintln!("queuectl worker {}: an outcome is lost: {problem}", std::process::id());
                    return;
                }
                Err(problem) => {
                    eprintln!("queuectl worker {}: an outcome waits: {problem}", std::process::id());
                    tokio::time::sleep(AFTER_TROUBLE).await;
                }
            }
        }
    }
}

/// `None`: it was stopped, and somebody else may have it.
fn outcome(finished: Result<Finished, String>) -> Option<Outcome> {
    let failed = |reason: String, kind, why: Option<String>, usage| {
        Some(Outcome::Failed(FailureReport {
            reason,
            kind,
            permanent: false,
            retry_in_ms: None,
            error_class: None,
            backtrace: why,
            usage,
        }))
    };
    let Finished { ended, usage, .. } = match finished {
        Ok(finished) => finished,
        Err(why) => return failed("supervisor_lost".to_owned(), FailureKind::Error, Some(why), None),
    };
    let usage = serde_json::to_string(&usage).ok();
    match ended {
        Ended::Exited(0) => Some(Outcome::Completed(Completion {
            result: r#"{"exit_code":0}"#.into(),
            hash: None,
            key: None,
            usage,
        })),
        Ended::Exited(code) => failed(format!("exit_code:{code}"), FailureKind::Error, None, usage),
        Ended::Signaled(signal) => failed(format!("signal:{signal}"), FailureKind::Error, None, usage),
        Ended::TimedOut => {
            let why = "it ran longer than its timeout_ms and was ended".to_owned();
            failed("max_runtime_exceeded".to_owned(), FailureKind::Timeout, Some(why), usage)
        }
        Ended::NotStarted(why) => failed("not_started".to_owned(), FailureKind::Error, Some(why), usage),
        Ended::OutputTooLarge => failed("output_too_large".to_owned(), FailureKind::Error, None, usage),
        Ended::Stopped => None,
    }
}

/// What a run wrote, on its way to the disk.
struct Log<'a> {
    backend: &'a Local,
    job: &'a forge_shared::Job,
    end: u64,
}

impl Log<'_> {
    /// Keeps all until the run has ended.
    async fn keep(mut self, mut from_job: mpsc::Receiver<Bytes>) -> Self {
        while let Some(first) = from_job.recv().await {
            let mut chunk = BytesMut::from(&first[..]);
            while chunk.len() < LOG_CHUNK_BYTES
                && let Ok(more) = from_job.try_recv()
            {
                chunk.extend_from_slice(&more);
            }
            self.append(chunk.freeze()).await;
        }
        self
    }

    /// A line of the worker's own.
    async fn say(mut self, line: &str) {
        self.append(format!("queuectl: {line}\n").into()).await;
    }

    /// A log that cannot be kept must not stop the job.
    async fn append(&mut self, bytes: Bytes) {
        match self.backend.append_log(&self.job.id, self.job.attempt, self.end, bytes).await {
            Ok(end) => self.end = end,
            Err(problem) => eprintln!("queuectl worker {}: a log is lost: {problem}", std::process::id()),
        }
    }
}

fn unreadable(error: impl std::fmt::Display) -> Problem {
    Problem::Storage(format!("queue.db cannot be read: {error}"))
}
