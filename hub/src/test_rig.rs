//! For tests: a hub on the real store in a folder of its own, and a clock that only tests move.

use crate::{
    clock::{Clock, wall_ms},
    events::Events,
    hub::{Denied, Hub, Publisher},
    metrics::Metrics,
    store::{Store, sqlite},
};
use forge_engine::{
    Command, Now, Reply,
    command::{Claim, Completion, Due, FailureReport, Holder, NewJob, Outcome, Report, Ticket},
    job::Spec,
    lifecycle::Policy,
};
use forge_shared::{
    FailureKind, JobId, JobType, Phase, QueueName, WorkerId, event::EventKind, response::ClaimedJob,
};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Stands still until it is stepped.
pub(crate) struct StepClock(Mutex<Now>);

impl StepClock {
    pub(crate) fn new() -> Arc<Self> {
        let now_ms = wall_ms();
        Arc::new(Self(Mutex::new(Now { wall_ms: now_ms, mono_ms: now_ms })))
    }

    pub(crate) fn step(&self, ms: i64) {
        let mut now = self.0.lock().unwrap();
        now.wall_ms += ms;
        now.mono_ms += ms;
    }
}

impl Clock for StepClock {
    fn now(&self) -> Now {
        *self.0.lock().unwrap()
    }
}

/// A hub without its duties: what time brings about happens when a test asks for it.
pub(crate) struct Bench {
    pub(crate) hub: Arc<Hub>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<StepClock>,
    pub(crate) folder: Arc<TempDir>,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::on(Arc::new(TempDir::new().unwrap()), StepClock::new()).await
    }

    /// A hub on what an earlier one left in a folder.
    pub(crate) async fn on(folder: Arc<TempDir>, clock: Arc<StepClock>) -> Self {
        let policy = Policy::default();
        let metrics = Arc::new(Metrics::new());
        let publisher = Arc::new(Publisher { metrics: metrics.clone(), ..Publisher::default() });
        let path = folder.path().join("fleet.sqlite");
        let store: Arc<dyn Store> = sqlite::open(&path, clock.clone(), policy, publisher.clone()).unwrap();
        let events = Arc::new(Events::new(store.event_range().await.unwrap()));
        let _ = publisher.events.set(events.clone());
        let hub = Arc::new(Hub::new(store.clone(), events, clock.clone(), metrics, policy));
        Self { hub, store, clock, folder }
    }

    /// Closes the store and opens it again.
    pub(crate) async fn restart(self) -> Self {
        self.store.close().await;
        Self::on(self.folder, self.clock).await
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("fleet.sqlite")
    }

    pub(crate) async fn submit(&self, command: Command) -> Result<Reply, Denied> {
        self.hub.submit(command, None).await
    }

    pub(crate) async fn enqueue(&self, id: &str) {
        self.submit(Command::Enqueue(vec![new_job(id)])).await.unwrap();
    }

    /// What there is for a worker at once.
    pub(crate) async fn claim(&self, name: &str) -> Option<ClaimedJob> {
        let never = CancellationToken::new();
        let mut claimed = self.hub.claim(claim_of(name), None, [&never, &never]).await.unwrap();
        let mut jobs = claimed.jobs().await.unwrap();
        claimed.delivered();
        jobs.pop()
    }

    pub(crate) async fn start(&self, job: &ClaimedJob) {
        let (id, holder) = (job.job.id.clone(), holder_of(job));
        self.submit(Command::Heartbeat { job: id, holder, phase: Phase::Running }).await.unwrap();
    }

    pub(crate) async fn complete(&self, job: &ClaimedJob) {
        let completion = Completion { result: "1".into(), hash: None, key: None, usage: None };
        self.report(job, Outcome::Completed(completion)).await;
    }

    /// Fails a job for good.
    pub(crate) async fn fail(&self, job: &ClaimedJob) {
        let failure = FailureReport {
            reason: "it broke".to_owned(),
            kind: FailureKind::default(),
            permanent: true,
            retry_in_ms: None,
            error_class: None,
            backtrace: None,
            usage: None,
        };
        self.report(job, Outcome::Failed(failure)).await;
    }

    async fn report(&self, job: &ClaimedJob, outcome: Outcome) {
        let report = Report { job: job.job.id.clone(), holder: holder_of(job), outcome };
        let Ok(Reply::Reported(answers)) = self.submit(Command::Report(vec![report])).await else {
            panic!("a report is answered");
        };
        answers.into_iter().for_each(|answer| drop(answer.unwrap()));
    }

    /// Waits for the first event of a kind.
    pub(crate) async fn heard(&self, kind: EventKind) {
        let mut newest = self.hub.events.subscribe();
        loop {
            let events = self.store.events_after(0, usize::MAX).await.unwrap();
            if events.iter().any(|event| event.kind == kind) {
                return;
            }
            newest.changed().await.unwrap();
        }
    }

    pub(crate) async fn job(&self, id: &str) -> forge_shared::Job {
        self.store.job(&job_id(id)).await.unwrap().unwrap()
    }
}

pub(crate) fn job_id(id: &str) -> JobId {
    JobId::new(id).unwrap()
}

pub(crate) fn new_job(id: &str) -> NewJob {
    NewJob {
        id: Some(job_id(id)),
        kind: JobType::new("t").unwrap(),
        queue: QueueName::new("default").unwrap(),
        priority: 0,
        max_attempts: 3,
        max_runtime_ms: Some(300_000),
        due: Due::Now,
        expires_at: None,
        backoff: None,
        idempotency: None,
        spec: Spec { params: "{}".into(), ..Spec::default() },
    }
}

pub(crate) fn claim_of(name: &str) -> Claim {
    Claim {
        ticket: Ticket(0),
        worker: WorkerId::new(name).unwrap(),
        boot: None,
        claim_id: None,
        filter: Arc::default(),
        max: 1,
        wait: false,
    }
}

pub(crate) fn holder_of(job: &ClaimedJob) -> Holder {
    let worker = job.job.worker_id.clone().expect("a claimed job has a worker");
    Holder { worker, lease: Some(job.lease_id.clone()) }
}
