//! The one door for adapters: submits commands, hands out claimed jobs, waits for ends.

use crate::{
    clock::Clock,
    events::Events,
    metrics::Metrics,
    problems::{DISK_FULL, Problems},
    store::{self, Store},
};
use forge_engine::{
    Command, Job, Refusal, Reply,
    command::{Claim, Holder, Ticket},
    lifecycle::Policy,
};
use forge_shared::{
    JobId,
    response::{AuditEntry, ClaimedJob},
};
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// What a caller is told whose write found the disk full.
pub const NO_ROOM: &str =
    "the hub's disk is full, so nothing was changed: free some space on it, then send this again";
/// How often a worker should send a heartbeat.
pub const HEARTBEAT_MS: i64 = 10_000;
/// Leases extended in one command when the hub starts.
const RESUME_CHUNK: u32 = 500;

/// Why something did not happen: the caller may not, or the machine could not.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Denied {
    #[error("{0}")]
    Refused(Refusal),
    #[error(transparent)]
    Failed(#[from] store::Error),
}

impl From<Refusal> for Denied {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

pub struct Hub {
    pub store: Arc<dyn Store>,
    pub events: Arc<Events>,
    pub clock: Arc<dyn Clock>,
    pub metrics: Arc<Metrics>,
    pub policy: Policy,
    tickets: AtomicU64,
}

impl Hub {
    pub fn new(
        store: Arc<dyn Store>,
        events: Arc<Events>,
        clock: Arc<dyn Clock>,
        metrics: Arc<Metrics>,
        policy: Policy,
    ) -> Self {
        Self { store, events, clock, metrics, policy, tickets: AtomicU64::new(1) }
    }

    pub fn now_ms(&self) -> i64 {
        self.clock.now().wall_ms
    }

    pub async fn submit(&self, command: Command, note: Option<AuditEntry>) -> Result<Reply, Denied> {
        Ok(self.store.submit(command, note).await??)
    }

    /// A hub that starts reclaims nothing that is alive: every live lease gets a full lease time
    /// before the reaper may look.
    pub async fn extend_leases(&self) -> Result<u64, Denied> {
        let (mut after, mut extended) = (0, 0);
        loop {
            let jobs = self.store.live_jobs(after, RESUME_CHUNK).await?;
            let Some(last) = jobs.last().copied() else { return Ok(extended) };
            after = last;
            if let Reply::Count(n) = self.submit(Command::Resume { jobs }, None).await? {
                extended += n;
            }
        }
    }

    /// Claims jobs, waiting up to `wait` for one. A caller that goes away before it has the
    /// answer has its leases given back.
    pub async fn claim(
        self: &Arc<Self>,
        mut claim: Claim,
        wait: Option<Duration>,
        ends: [&CancellationToken; 2],
    ) -> Result<Claimed, Denied> {
        let started = Instant::now();
        claim.ticket = Ticket(self.tickets.fetch_add(1, Ordering::Relaxed));
        claim.wait = wait.is_some();
        let ticket = claim.ticket;
        self.metrics.claims.inc();
        let hub = self.clone();
        let answer = Box::pin(async move { hub.submit(Command::Claim(claim), None).await });
        let mut claimed = Claimed { hub: self.clone(), ticket, state: State::Asked(answer) };
        let State::Asked(answer) = &mut claimed.state else { unreachable!("set above") };
        if let Some(wait) = wait {
            let _polling = self.metrics.long_poll();
            tokio::select! {
                biased;
                reply = answer.as_mut() => return claimed.answered(reply, started),
                () = tokio::time::sleep(wait) => {}
                () = ends[0].cancelled() => {}
                () = ends[1].cancelled() => {}
            }
            self.submit(Command::CallOff(ticket), None).await?;
        }
        let reply = answer.as_mut().await;
        claimed.answered(reply, started)
    }

    /// Waits until a job has reached its final state, or the time is up. `None`: no such job.
    pub async fn job_when_done(
        &self,
        id: &JobId,
        wait: Duration,
        ends: [&CancellationToken; 2],
    ) -> Result<Option<forge_shared::Job>, store::Error> {
        // Subscribed before the first look, so that no end falls in between.
        let mut newest = self.events.subscribe();
        let mut cursor = *newest.borrow_and_update();
        let deadline = tokio::time::sleep(wait);
        tokio::pin!(deadline);
        loop {
            let job = self.store.job(id).await?;
            if job.as_ref().is_none_or(|job| job.status.is_terminal()) {
                return Ok(job);
            }
            'quiet: loop {
                let _polling = self.metrics.long_poll();
                tokio::select! {
                    changed = newest.changed() => if changed.is_err() { return Ok(job) },
                    () = &mut deadline => return Ok(job),
                    () = ends[0].cancelled() => return Ok(job),
                    () = ends[1].cancelled() => return Ok(job),
                }
                loop {
                    let batches = self.events.after(&*self.store, cursor).await?;
                    let Some(last) = batches.last().and_then(|batch| batch.events.last()) else { break };
                    cursor = last.seq;
                    let mut events = batches.iter().flat_map(|batch| batch.events.iter());
                    if events.any(|event| event.job_id.as_ref() == Some(id)) {
                        break 'quiet;
                    }
                }
            }
        }
    }
}

/// Jobs that a caller is about to get. Dropped before [`Claimed::delivered`], they go back.
pub struct Claimed {
    hub: Arc<Hub>,
    ticket: Ticket,
    state: State,
}

enum State {
    Asked(Pin<Box<dyn Future<Output = Result<Reply, Denied>> + Send>>),
    Have(Vec<Arc<Job>>),
    Delivered,
}

impl Claimed {
    fn answered(mut self, reply: Result<Reply, Denied>, started: Instant) -> Result<Self, Denied> {
        self.state = State::Delivered;
        let Reply::Claimed(jobs) = reply? else { return Ok(self) };
        if !jobs.is_empty() {
            self.hub.metrics.claim_seconds.observe(started.elapsed().as_secs_f64());
        }
        self.state = State::Have(jobs);
        Ok(self)
    }

    /// The jobs with all that a worker needs to run them.
    pub async fn jobs(&mut self) -> Result<Vec<ClaimedJob>, store::Error> {
        let State::Have(leased) = &self.state else { return Ok(Vec::new()) };
        if leased.is_empty() {
            return Ok(Vec::new());
        }
        let jobs = self.hub.store.claimed_jobs(leased).await?;
        let with_lease = jobs.into_iter().filter_map(|job| {
            let lease = leased.iter().find(|leased| leased.id == job.id)?.lease.as_ref()?;
            Some(ClaimedJob {
                job,
                lease_id: lease.id.clone(),
                lease_ms: self.hub.policy.lease_ms,
                heartbeat_ms: HEARTBEAT_MS,
                requires: None,
            })
        });
        Ok(with_lease.collect())
    }

    /// The answer is on its way: from here on the lease decides.
    pub fn delivered(mut self) {
        self.state = State::Delivered;
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        let state = std::mem::replace(&mut self.state, State::Delivered);
        let (hub, ticket) = (self.hub.clone(), self.ticket);
        match state {
            State::Delivered => {}
            State::Have(jobs) if jobs.is_empty() => {}
            State::Have(jobs) => {
                tokio::spawn(async move { give_back(&hub, jobs).await });
            }
            State::Asked(answer) => {
                tokio::spawn(async move {
                    let _ = hub.submit(Command::CallOff(ticket), None).await;
                    if let Ok(Reply::Claimed(jobs)) = answer.await {
                        give_back(&hub, jobs).await;
                    }
                });
            }
        }
    }
}

async fn give_back(hub: &Hub, jobs: Vec<Arc<Job>>) {
    for job in jobs {
        let Some(lease) = &job.lease else { continue };
        let holder = Holder { worker: lease.worker.clone(), lease: Some(lease.id.clone()) };
        if let Err(error) = hub.submit(Command::Release { job: job.id.clone(), holder }, None).await {
            tracing::debug!(job.id = %job.id, %error, "a lease nobody took could not be given back");
        }
    }
}

/// Tells watchers and metrics about commits. The events are known only after the store is open,
/// so they are set once, before anything is submitted.
#[derive(Default)]
pub struct Publisher {
    pub events: std::sync::OnceLock<Arc<Events>>,
    pub metrics: Arc<Metrics>,
    pub problems: Arc<Problems>,
}

impl store::sqlite::Observer for Publisher {
    fn committed(&self, batch: store::EventBatch) {
        if let Some(events) = self.events.get() {
            events.publish(batch);
        }
    }

    fn batch(&self, commands: usize, commit: Duration) {
        self.metrics.committed(commands, commit);
    }

    fn no_room(&self, error: &store::Error) {
        if self.problems.raise(DISK_FULL, NO_ROOM) {
            tracing::error!(%error, "the disk is full: writes are refused until there is room; reads go on");
        }
    }
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
