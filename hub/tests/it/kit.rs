//! What every test here needs: clocks set by hand, a store that can be closed and opened again,
//! and short words for commands.

use async_trait::async_trait;
use forge_engine::{
    Command, Job, Now, Refusal, Reply,
    command::{
        Action, Claim, Completion, Due, Enqueued, FailureReport, Filter, Holder, JobState, NewJob, Outcome,
        Report, Ticket,
    },
    job::Spec,
};
use forge_hub::{clock::Clock, store::Store};
use forge_shared::{
    Backoff, BackoffKind, FailureKind, Jitter, JobId, JobType, Phase, QueueName, QueuePattern, Status,
    WorkerId, event::Event,
};
use std::{
    ops::Deref,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

/// When every test begins.
pub(crate) const START: i64 = 1_800_000_000_000;
pub(crate) const LEASE_MS: i64 = 60_000;

/// Both clocks stand still until they are moved.
pub(crate) struct StepClock(Mutex<Now>);

impl StepClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Now { wall_ms: START, mono_ms: START })))
    }

    /// Time passes.
    pub(crate) fn pass(&self, ms: i64) {
        self.step(ms, ms);
    }

    /// Somebody sets the clocks, or the machine starts again.
    pub(crate) fn step(&self, wall_ms: i64, mono_ms: i64) {
        let mut now = self.0.lock().expect("nobody panics with the lock");
        now.wall_ms += wall_ms;
        now.mono_ms += mono_ms;
    }
}

impl Clock for StepClock {
    fn now(&self) -> Now {
        *self.0.lock().expect("nobody panics with the lock")
    }
}

/// A kind of store.
pub(crate) trait Backend {
    /// Where a new, empty database will be.
    fn place(&self) -> Box<dyn Place>;
}

/// One database, which outlives the stores opened on it.
#[async_trait]
pub(crate) trait Place: Send + Sync {
    async fn open(&self, clock: Arc<StepClock>) -> Arc<dyn Store>;
}

/// An open store and the clocks it goes by.
pub(crate) struct Rig {
    pub(crate) clock: Arc<StepClock>,
    pub(crate) store: Arc<dyn Store>,
    place: Box<dyn Place>,
    tickets: AtomicU64,
}

impl Deref for Rig {
    type Target = dyn Store;
    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}

impl Rig {
    pub(crate) async fn new(backend: &dyn Backend) -> Self {
        let (place, clock) = (backend.place(), StepClock::new());
        let store = place.open(clock.clone()).await;
        Self { clock, store, place, tickets: AtomicU64::new(1) }
    }

    /// Another store on the same database.
    pub(crate) async fn open_another(&self) -> Arc<dyn Store> {
        self.place.open(self.clock.clone()).await
    }

    pub(crate) async fn reopen(&mut self) {
        self.store.close().await;
        self.store = self.open_another().await;
    }

    pub(crate) fn now(&self) -> i64 {
        self.clock.now().wall_ms
    }

    pub(crate) async fn decide(&self, command: Command) -> Result<Reply, Refusal> {
        self.submit(command, None).await.expect("the store works")
    }

    pub(crate) async fn done(&self, command: Command) -> Reply {
        self.decide(command).await.expect("nothing speaks against it")
    }

    pub(crate) async fn refused(&self, command: Command) -> Refusal {
        self.decide(command).await.expect_err("it must be refused")
    }

    pub(crate) async fn add(&self, jobs: Vec<NewJob>) -> Vec<Enqueued> {
        match self.done(Command::Enqueue(jobs)).await {
            Reply::Enqueued(enqueued) => enqueued,
            other => panic!("not an answer to an enqueue: {other:?}"),
        }
    }

    /// Adds plain jobs with these ids.
    pub(crate) async fn add_ids(&self, ids: &[&str]) {
        self.add(ids.iter().map(|id| new_job(id)).collect()).await;
    }

    pub(crate) fn ticket(&self) -> Ticket {
        Ticket(self.tickets.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn claim_of(&self, worker: &str, max: u32) -> Claim {
        Claim {
            ticket: self.ticket(),
            worker: worker_id(worker),
            boot: None,
            claim_id: None,
            filter: Arc::default(),
            max,
            wait: false,
        }
    }

    pub(crate) async fn take(&self, claim: Claim) -> Vec<Arc<Job>> {
        claimed(self.done(Command::Claim(claim)).await)
    }

    pub(crate) async fn take_ids(&self, claim: Claim) -> Vec<String> {
        self.take(claim).await.iter().map(|job| job.id.to_string()).collect()
    }

    /// Claims the next job; there must be one.
    pub(crate) async fn take_one(&self, worker: &str) -> Arc<Job> {
        self.take(self.claim_of(worker, 1)).await.pop().expect("there is a job to claim")
    }

    /// Adds a job and claims it.
    pub(crate) async fn add_and_take(&self, job: NewJob, worker: &str) -> Arc<Job> {
        let id = self.add(vec![job]).await.remove(0).id;
        let taken = self.take_one(worker).await;
        assert_eq!(taken.id, id, "another job was waiting");
        taken
    }

    /// Adds a job, claims it and reports that it runs.
    pub(crate) async fn add_and_run(&self, job: NewJob, worker: &str) -> Arc<Job> {
        let job = self.add_and_take(job, worker).await;
        self.done(beat(&job)).await;
        job
    }

    pub(crate) async fn report(&self, job: &Job, outcome: Outcome) -> Result<JobState, Refusal> {
        let report = Report { job: job.id.clone(), holder: holder(job), outcome };
        match self.done(Command::Report(vec![report])).await {
            Reply::Reported(mut states) => states.remove(0),
            other => panic!("not an answer to a report: {other:?}"),
        }
    }

    pub(crate) async fn act(&self, id: &str, action: Action) -> Result<JobState, Refusal> {
        match self.done(Command::Act { jobs: vec![job_id(id)], action }).await {
            Reply::Acted(mut states) => states.remove(0),
            other => panic!("not an answer to an action: {other:?}"),
        }
    }

    /// One round of the reaper: how much it ended.
    pub(crate) async fn reap(&self) -> u64 {
        let overdue = self.overdue(self.clock.now(), 500).await.expect("the store works");
        count(self.done(Command::Reap { jobs: overdue.jobs, workers: overdue.workers }).await)
    }

    pub(crate) async fn see(&self, id: &str) -> forge_shared::Job {
        self.job(&job_id(id)).await.expect("the store works").expect("the job exists")
    }

    pub(crate) async fn status(&self, id: &str) -> Status {
        self.see(id).await.status
    }

    pub(crate) async fn all_events(&self) -> Vec<Event> {
        self.events_after(0, usize::MAX).await.expect("the store works")
    }
}

pub(crate) fn claimed(reply: Reply) -> Vec<Arc<Job>> {
    match reply {
        Reply::Claimed(jobs) => jobs,
        other => panic!("not an answer to a claim: {other:?}"),
    }
}

pub(crate) fn count(reply: Reply) -> u64 {
    match reply {
        Reply::Count(n) => n,
        other => panic!("not a count: {other:?}"),
    }
}

pub(crate) fn job_id(text: &str) -> JobId {
    JobId::new(text).expect("a valid id")
}

pub(crate) fn worker_id(text: &str) -> WorkerId {
    WorkerId::new(text).expect("a valid id")
}

pub(crate) fn job_type(text: &str) -> JobType {
    JobType::new(text).expect("a valid type")
}

pub(crate) fn queue(text: &str) -> QueueName {
    QueueName::new(text).expect("a valid queue")
}

pub(crate) fn filter(types: &[&str], queues: &[&str]) -> Arc<Filter> {
    Arc::new(Filter {
        types: types.iter().map(|kind| job_type(kind)).collect(),
        queues: queues.iter().map(|name| QueuePattern::new(name).expect("a valid pattern")).collect(),
    })
}

/// Always the same wait.
pub(crate) fn fixed(first_ms: u64) -> Backoff {
    Backoff { kind: BackoffKind::Fixed, first_ms, factor: 1.0, max_ms: first_ms, jitter: Jitter::None }
}

pub(crate) fn new_job(id: &str) -> NewJob {
    NewJob {
        id: Some(job_id(id)),
        kind: job_type("work"),
        queue: QueueName::default_queue(),
        priority: 0,
        max_attempts: 3,
        max_runtime_ms: Some(300_000),
        due: Due::Now,
        expires_at: None,
        backoff: Some(fixed(1_000)),
        idempotency: None,
        spec: Spec { params: Arc::from("{}"), ..Spec::default() },
    }
}

pub(crate) fn holder(job: &Job) -> Holder {
    let lease = job.lease.as_ref().expect("a claimed job has a lease");
    Holder { worker: lease.worker.clone(), lease: Some(lease.id.clone()) }
}

pub(crate) fn beat(job: &Job) -> Command {
    Command::Heartbeat { job: job.id.clone(), holder: holder(job), phase: Phase::Running }
}

pub(crate) fn completed(result: &str) -> Outcome {
    Outcome::Completed(Completion { result: Arc::from(result), hash: None, key: None, usage: None })
}

pub(crate) fn failure(reason: &str) -> FailureReport {
    FailureReport {
        reason: reason.to_owned(),
        kind: FailureKind::Error,
        permanent: false,
        retry_in_ms: None,
        error_class: None,
        backtrace: None,
        usage: None,
    }
}

pub(crate) fn failed(reason: &str) -> Outcome {
    Outcome::Failed(failure(reason))
}
