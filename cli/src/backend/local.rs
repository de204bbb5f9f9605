//! The engine on a `queue.db` that other processes may be using at the same moment.
//!
//! There is no hub: whoever looks at the jobs also notices that a worker is gone, by the process
//! that its id names. A lease ends with that process and never by time.

use super::{Backend, Counts, Deed, FullPages, Job, LogPieces, NewJob, Pages, RunLog, State, no_such_job};
use crate::{
    local::{folder::Folder, identity, runtime::Runtime, settings::Settings},
    problem::Problem,
};
use async_trait::async_trait;
use bytes::Bytes;
use forge_engine::{
    Command, Refusal, Reply,
    command::{Action, Claim, Due, Filter, Holder, NewJob as EngineJob, Ticket},
    job::Spec,
    lifecycle::{OnTimeout, Policy},
    retry::DELAY_MS_MAX,
};
use forge_hub::{
    clock::{SystemClock, wall_ms},
    store::{self, EventBatch, LogAppend, Order, Page, Store, sqlite},
};
use forge_shared::{
    Backoff, BackoffKind, Jitter, JobId, JobType, QueueName, Status, View, WorkerId,
    job::Attempt,
    request::{Bulk, BulkAction, JobFilter, PatchJob},
    response::BulkAnswer,
};
use futures_util::future::try_join_all;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Jobs read at a time.
const PAGE: u32 = 200;
/// Ids that a dry run shows.
const SAMPLE: u32 = 10;
/// Jobs handed to the writer together, which commits them together.
const ENQUEUE_CHUNK: usize = 256;
const LOG_READ_BYTES: usize = 1 << 20;
/// How often a log that is followed is looked at: nobody here tells that it grew.
const LOOK_AT_LOG: Duration = Duration::from_millis(200);
/// How long others may keep the file busy before a command gives up, and how long it waits between
/// tries, each of which has waited seconds itself.
const PATIENCE: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) struct Local {
    store: Arc<sqlite::Sqlite>,
    runtime: Runtime,
}

/// A job that this worker has to run.
pub(crate) struct Claimed {
    pub(crate) job: forge_shared::Job,
    pub(crate) holder: Holder,
}

impl Local {
    pub(crate) async fn open(folder: &Folder) -> Result<Self, Problem> {
        let started = Instant::now();
        loop {
            let opened =
                sqlite::join(&folder.queue(), Arc::new(SystemClock::new()), policy(), Arc::new(Unwatched));
            match opened {
                Ok(store) => return Ok(Self { store, runtime: Runtime::at(folder) }),
                // Others are making or closing the file at this moment.
                Err(error) if is_busy(&error) && started.elapsed() < PATIENCE => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(Problem::Storage(format!("{error:#}"))),
            }
        }
    }

    async fn submit(&self, command: Command) -> Result<Result<Reply, Refusal>, Problem> {
        patiently(|| self.store.submit(command.clone(), None)).await
    }

    /// As [`submit`](Self::submit), where a refusal is nothing to be expected.
    pub(crate) async fn decide(&self, command: Command) -> Result<Reply, Problem> {
        self.submit(command).await?.map_err(|refusal| Problem::Refused(refusal.to_string()))
    }

    /// Gives back what workers held that have ended without a word.
    pub(crate) async fn reclaim(&self) -> Result<(), Problem> {
        let holders = patiently(|| self.store.live_jobs_by_worker()).await?;
        let gone: Vec<WorkerId> = holders.into_keys().filter(identity::is_gone).collect();
        if !gone.is_empty() {
            self.decide(Command::Vanished(gone)).await?;
        }
        Ok(())
    }

    pub(crate) async fn claim(&self, worker: &WorkerId) -> Result<Option<Claimed>, Problem> {
        let claim = Claim {
            ticket: Ticket(0),
            worker: worker.clone(),
            boot: None,
            claim_id: None,
            filter: Arc::new(Filter { types: vec![job_type()], queues: Vec::new() }),
            max: 1,
            wait: false,
        };
        let Reply::Claimed(leased) = self.decide(Command::Claim(claim)).await? else { return Ok(None) };
        let jobs = patiently(|| self.store.claimed_jobs(&leased)).await?;
        let lease = leased.first().and_then(|job| job.lease.as_ref()).map(|lease| lease.id.clone());
        Ok(jobs
            .into_iter()
            .next()
            .map(|job| Claimed { job, holder: Holder { worker: worker.clone(), lease } }))
    }

    /// Appends to the log of a run; answers where it ends now.
    pub(crate) async fn append_log(
        &self,
        job: &JobId,
        attempt: u32,
        offset: u64,
        bytes: Bytes,
    ) -> Result<u64, Problem> {
        let append = |offset| {
            let bytes = bytes.clone();
            patiently(move || self.store.append_log(job, attempt, offset, bytes.clone()))
        };
        match append(offset).await? {
            LogAppend::Stored(end) => Ok(end),
            // Somebody removed the beginning: the rest is better than nothing.
            LogAppend::Gap(end) => match append(end).await? {
                LogAppend::Stored(end) | LogAppend::Gap(end) => Ok(end),
            },
        }
    }

    /// Events that nobody can want any more.
    pub(crate) async fn prune_events(&self, before_ms: i64) -> Result<(), Problem> {
        while patiently(|| self.store.prune_events(before_ms)).await? {}
        Ok(())
    }

    async fn replace(&self, new: NewJob) -> Result<JobId, Problem> {
        let id = new.id.clone();
        let known = patiently(|| self.store.job(&id)).await?.is_some();
        let spent = new.attempts;
        let command = Command::Replace { job: Box::new(engine_job(new)), spent };
        match self.submit(command).await? {
            Ok(_) => {}
            Err(Refusal::WrongState { .. }) => {
                return Err(Problem::refused(
                    &format!("Job {id} is being processed"),
                    "wait until it has ended, or choose another id",
                ));
            }
            Err(refusal) => return Err(Problem::Refused(refusal.to_string())),
        }
        if known {
            // What the job before it wrote is not this one's.
            patiently(|| self.store.delete_logs(vec![id.clone()])).await?;
        }
        Ok(id)
    }

    async fn find(&self, id: &JobId) -> Result<Option<Job>, Problem> {
        let job = patiently(|| self.store.job(id)).await?;
        Ok(job.map(|job| Job::shown(job, wall_ms())))
    }

    /// Numbers of jobs that may be in this state, above `after`.
    async fn numbers(&self, state: Option<State>, after: i64, upto: i64) -> Result<Vec<i64>, Problem> {
        let (status, view) = match state {
            Some(State::Processing) => return patiently(|| self.store.live_jobs(after, PAGE)).await,
            None => (None, None),
            Some(State::Pending) => (Some(Status::Pending), None),
            Some(State::Completed) => (Some(Status::Completed), None),
            Some(State::Failed) => (None, Some(View::Retrying)),
            Some(State::Dead) => (Some(Status::Quarantined), None),
        };
        let filter = JobFilter { status, view, ..JobFilter::default() };
        let found = patiently(|| self.store.matching(filter.clone(), after, upto, PAGE)).await?;
        Ok(found.into_iter().map(|(seq, _)| seq).collect())
    }
}

#[async_trait]
impl Backend for Local {
    async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<Job>, Problem> {
        let mut shown = Vec::with_capacity(jobs.len());
        for chunk in jobs.chunks(ENQUEUE_CHUNK) {
            let ids = try_join_all(chunk.iter().cloned().map(|job| self.replace(job))).await?;
            for id in ids {
                shown.extend(self.find(&id).await?);
            }
        }
        Ok(shown)
    }

    async fn counts(&self) -> Result<Counts, Problem> {
        self.reclaim().await?;
        let overview = patiently(|| self.store.overview(wall_ms())).await?;
        let of = |wanted: &[Status]| {
            let counts = overview.counts.iter().filter(|count| wanted.contains(&count.status));
            counts.map(|count| count.n).sum::<u64>()
        };
        let retrying: u64 =
            overview.views.iter().filter(|((view, _), _)| *view == View::Retrying).map(|(_, n)| n).sum();
        Ok(Counts {
            pending: of(&[Status::Pending]).saturating_sub(retrying),
            processing: of(&[Status::Assigned, Status::Running]),
            completed: of(&[Status::Completed]),
            failed: of(&[Status::Failed]) + retrying,
            dead: of(&[Status::Quarantined]),
            active_workers: self.runtime.workers().len() as u64,
        })
    }

    async fn list(&self, state: Option<State>, pages: Pages<'_>) -> Result<(), Problem> {
        self.reclaim().await?;
        let upto = patiently(|| self.store.last_job()).await?;
        let mut after = 0;
        loop {
            let seqs = self.numbers(state, after, upto).await?;
            let Some(last) = seqs.last().copied() else { return Ok(()) };
            after = last;
            let found = patiently(|| self.store.jobs_by_seq(seqs.clone())).await?;
            let now_ms = wall_ms();
            let wanted = |job: &Job| state.map_or(job.state != State::Dead, |state| job.state == state);
            let jobs: Vec<Job> =
                found.into_iter().map(|job| Job::shown(job, now_ms)).filter(wanted).collect();
            pages(&jobs)?;
        }
    }

    async fn retry_dead(&self, id: &str) -> Result<Option<Job>, Problem> {
        let Ok(id) = JobId::new(id) else { return Ok(None) };
        let act = Command::Act { jobs: vec![id.clone()], action: Action::Retry };
        match self.decide(act).await? {
            Reply::Acted(states) if states.iter().all(Result::is_ok) => self.find(&id).await,
            _ => Ok(None),
        }
    }

    async fn logs(&self, id: &str, attempt: Option<u32>) -> Result<Option<Vec<RunLog>>, Problem> {
        let Ok(id) = JobId::new(id) else { return Ok(None) };
        let Some(job) = patiently(|| self.store.job(&id)).await? else { return Ok(None) };
        let mut logs = Vec::new();
        for attempt in (1..=job.attempt).filter(|run| attempt.is_none_or(|wanted| wanted == *run)) {
            let mut log = RunLog { attempt, bytes: Vec::new() };
            let mut offset = 0;
            loop {
                let slice = patiently(|| self.store.read_log(&id, attempt, offset, LOG_READ_BYTES)).await?;
                offset = slice.offset + slice.bytes.len() as u64;
                if slice.bytes.is_empty() {
                    break;
                }
                log.bytes.extend(slice.bytes);
            }
            logs.push(log);
        }
        Ok(Some(logs))
    }

    async fn follow_logs(&self, id: &str, pieces: LogPieces<'_>) -> Result<(), Problem> {
        let id = JobId::new(id).map_err(|_| no_such_job(id))?;
        let (mut attempt, mut offset) = (1, 0);
        loop {
            // Looked at before the log is read for the last time, so that nothing is left out.
            let job = self.job(id.as_str()).await?.ok_or_else(|| no_such_job(id.as_str()))?;
            loop {
                let slice = patiently(|| self.store.read_log(&id, attempt, offset, LOG_READ_BYTES)).await?;
                if slice.bytes.is_empty() {
                    break;
                }
                offset = slice.offset + slice.bytes.len() as u64;
                pieces(attempt, &slice.bytes)?;
            }
            if job.attempt > attempt {
                (attempt, offset) = (attempt + 1, 0);
            } else if job.status.is_terminal() {
                return Ok(());
            } else {
                tokio::time::sleep(LOOK_AT_LOG).await;
            }
        }
    }

    async fn job(&self, id: &str) -> Result<Option<forge_shared::Job>, Problem> {
        let Ok(id) = JobId::new(id) else { return Ok(None) };
        self.reclaim().await?;
        patiently(|| self.store.job(&id)).await
    }

    async fn attempts(&self, id: &str) -> Result<Vec<Attempt>, Problem> {
        let Ok(id) = JobId::new(id) else { return Ok(Vec::new()) };
        Ok(patiently(|| self.store.attempts(&id)).await?.unwrap_or_default())
    }

    async fn jobs(&self, filter: &JobFilter, most: u64, pages: FullPages<'_>) -> Result<(), Problem> {
        self.reclaim().await?;
        let (mut left, mut after) = (most, None);
        while left > 0 {
            let limit = u32::try_from(left).unwrap_or(PAGE).min(PAGE);
            let page = || Page { limit, offset: 0, order: Order::NewestFirst, after, now_ms: wall_ms() };
            let found = patiently(|| self.store.jobs(filter.clone(), page())).await?;
            left = left.saturating_sub(found.jobs.len() as u64);
            pages(found.jobs)?;
            after = found.next;
            if after.is_none() {
                break;
            }
        }
        Ok(())
    }

    async fn act(&self, id: &str, deed: &Deed) -> Result<Option<Status>, Problem> {
        let id = JobId::new(id).map_err(|_| no_such_job(id))?;
        self.reclaim().await?;
        let act = Command::Act { jobs: vec![id.clone()], action: action(deed) };
        let Reply::Acted(mut states) = self.decide(act).await? else { return Err(no_such_job(id.as_str())) };
        match states.pop() {
            Some(Ok(_)) if matches!(deed, Deed::Delete) => {
                patiently(|| self.store.delete_logs(vec![id.clone()])).await?;
                Ok(None)
            }
            Some(Ok(state)) => Ok(Some(state.status)),
            Some(Err(refusal @ Refusal::WrongState { .. })) => {
                Err(Problem::refused(&format!("Job {id} is not in a state for this"), refusal))
            }
            _ => Err(no_such_job(id.as_str())),
        }
    }

    async fn act_on_all(&self, bulk: &Bulk) -> Result<BulkAnswer, Problem> {
        self.reclaim().await?;
        let upto = patiently(|| self.store.last_job()).await?;
        let page =
            |after, most| patiently(move || self.store.matching(bulk.filter.clone(), after, upto, most));
        let mut answer =
            BulkAnswer { operation: None, done: true, matched: 0, changed: 0, skipped: 0, sample: None };
        if bulk.dry_run {
            answer.matched = patiently(|| self.store.count_matching(bulk.filter.clone())).await?;
            answer.sample = Some(page(0, SAMPLE).await?.into_iter().map(|(_, id)| id).collect());
            return Ok(answer);
        }
        let deed = deed(bulk);
        let mut after = 0;
        loop {
            let found = page(after, PAGE).await?;
            let Some((last, _)) = found.last() else { return Ok(answer) };
            after = *last;
            let jobs: Vec<JobId> = found.into_iter().map(|(_, id)| id).collect();
            answer.matched += jobs.len() as u64;
            let act = Command::Act { jobs: jobs.clone(), action: action(&deed) };
            let Reply::Acted(states) = self.decide(act).await? else { continue };
            let changed: Vec<JobId> =
                jobs.into_iter().zip(&states).filter(|(_, state)| state.is_ok()).map(|(id, _)| id).collect();
            answer.changed += changed.len() as u64;
            answer.skipped += (states.len() - changed.len()) as u64;
            if bulk.action == BulkAction::Delete {
                patiently(|| self.store.delete_logs(changed.clone())).await?;
            }
        }
    }

    async fn close(&self) {
        self.store.close().await;
    }
}

fn action(deed: &Deed) -> Action {
    match deed.clone() {
        // Nobody here tells a worker that its job is not wanted any more.
        Deed::Cancel => Action::Cancel { even_running: false },
        Deed::Retry => Action::Retry,
        Deed::RunNow => Action::RunNow,
        Deed::Kill => Action::Kill,
        Deed::Delete => Action::Delete,
        Deed::Change(PatchJob { priority, run_at, queue }) => Action::Patch { priority, run_at, queue },
    }
}

fn deed(bulk: &Bulk) -> Deed {
    match bulk.action {
        BulkAction::Retry => Deed::Retry,
        BulkAction::Cancel => Deed::Cancel,
        BulkAction::Kill => Deed::Kill,
        BulkAction::Delete => Deed::Delete,
        BulkAction::RunNow => Deed::RunNow,
        BulkAction::SetPriority => Deed::Change(PatchJob { priority: bulk.priority, ..PatchJob::default() }),
    }
}

fn policy() -> Policy {
    Policy {
        // A lease is over when its process is, however long that takes.
        lease_ms: DELAY_MS_MAX,
        prepare_ms: DELAY_MS_MAX,
        on_timeout: OnTimeout::Retry,
        ..Policy::default()
    }
}

fn job_type() -> JobType {
    JobType::trusted("command")
}

fn engine_job(new: NewJob) -> EngineJob {
    let defaults = Settings::default();
    EngineJob {
        id: Some(new.id),
        kind: job_type(),
        queue: QueueName::default_queue(),
        priority: new.priority,
        max_attempts: new.max_retries.unwrap_or(defaults.max_retries).saturating_add(1),
        max_runtime_ms: new.timeout_ms,
        due: new.run_at.map_or(Due::Now, Due::At),
        expires_at: None,
        backoff: Some(Backoff {
            kind: BackoffKind::Power,
            factor: new.backoff_base.unwrap_or(defaults.backoff_base()),
            jitter: Jitter::None,
            ..Backoff::default()
        }),
        idempotency: None,
        spec: Spec { params: "{}".into(), command: Some(new.command), ..Spec::default() },
    }
}

/// Tries again while others keep the file busy: nobody should have to read that it was locked.
async fn patiently<T, F>(mut ask: impl FnMut() -> F) -> Result<T, Problem>
where
    F: Future<Output = Result<T, store::Error>>,
{
    let started = Instant::now();
    loop {
        match ask().await {
            Err(store::Error::Busy) if started.elapsed() < PATIENCE => tokio::time::sleep(PAUSE).await,
            Err(store::Error::Busy) => {
                return Err(Problem::Storage(
                    "other processes kept queue.db busy for ten minutes; look for one that hangs, then try again"
                        .to_owned(),
                ));
            }
            Err(error) => return Err(Problem::Storage(error.to_string())),
            Ok(answer) => return Ok(answer),
        }
    }
}

/// The store's words for a file that others hold.
fn is_busy(error: &anyhow::Error) -> bool {
    let text = format!("{error:#}");
    text.contains("is locked")
}

/// Nobody watches: other processes look for themselves.
struct Unwatched;

impl sqlite::Observer for Unwatched {
    fn committed(&self, _: EventBatch) {}
    fn batch(&self, _: usize, _: Duration) {}
}
