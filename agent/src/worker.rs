//! Registration, heartbeats, claims: what makes this machine a worker.

use crate::{
    backoff::{Backoff, fraction},
    finishing::Finishing,
    holdings::{Hold, Holdings, Room, Why},
    hub::{Failed, Hub, random_hex},
    job::{Done, Workshop},
    metrics,
    outbox::{Outbox, Outcome},
    reporter::HeldBack,
    runner::{Settings, Slot},
};
use forge_shared::{
    BootId, ClaimId, JobType, Phase,
    request::{Claim, Free, Holding, Register, WorkerHeartbeat},
    response::{ClaimedJob, LeaseAction, LeaseAnswer, WorkerOrder},
};
use std::{pin::Pin, sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

const HEARTBEAT_EVERY: Duration = Duration::from_secs(10);
const CLAIM_WAIT_MS: f64 = 25_000.0;
/// A hub that answers "nothing" sooner than this does not wait for us.
const ANSWERED_AT_ONCE: Duration = Duration::from_secs(1);
/// After a definite no to a claim, which only a person can change.
const REFUSED_PAUSE: Duration = Duration::from_secs(30);
/// How long a leaving agent tries to tell its last outcomes; they are on disk in any case.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// After a job that took less, the next one is claimed while one runs.
const SHORT: Duration = Duration::from_secs(1);
/// How long a job that was claimed ahead waits for the one before it.
const UNSTARTED_MAX: Duration = Duration::from_secs(1);
/// How long a free slot waits for the answer to what it asked ahead. Then it asks again: by then a
/// new connection helps more than patience.
const SETTLE_MAX: Duration = Duration::from_secs(2);

/// A job that is this slot's.
struct Taken {
    claimed: ClaimedJob,
    hold: Hold,
}

/// What a slot knows of its next job while one runs.
#[derive(Default)]
struct Ahead {
    asking: Option<Asking>,
    taken: Option<Taken>,
    /// Of a question whose answer did not arrive.
    claim_id: Option<ClaimId>,
}

type Asking = Pin<Box<dyn Future<Output = Result<Option<ClaimedJob>, Failed>> + Send>>;

async fn answered(asking: &mut Option<Asking>) -> Result<Option<ClaimedJob>, Failed> {
    match asking {
        Some(asking) => asking.as_mut().await,
        None => std::future::pending().await,
    }
}

fn new_claim_id() -> ClaimId {
    // Without randomness no agent starts.
    ClaimId::trusted(random_hex().expect("the system gives randomness"))
}

/// Whether this worker takes jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Run,
    /// The hub wants it to finish and wait.
    Drain,
    /// It finishes and ends.
    Leave,
}

pub struct Worker {
    pub hub: Hub,
    pub workshop: Workshop,
    pub outbox: Outbox,
    pub held_back: HeldBack,
    pub runner: Settings,
    pub boot: BootId,
    /// What registering says, without what is held.
    pub about: Register,
    pub slots: u32,
    pub types: Vec<JobType>,
    pub poll_every: Duration,
    pub grace: Duration,
    pub mode: watch::Sender<Mode>,
    pub holdings: Holdings,
    /// Somebody else took this machine's name.
    pub superseded: CancellationToken,
    pub finishing: Finishing,
    /// Nobody wants to wait any more.
    pub hurry: CancellationToken,
}

impl Worker {
    /// Works until told to leave, and until then never gives up.
    pub async fn run(self: Arc<Self>) {
        let stop = CancellationToken::new();
        let reporting = tokio::spawn(crate::reporter::run(
            self.hub.clone(),
            self.outbox.clone(),
            self.held_back.clone(),
            stop.clone(),
        ));
        let beating = tokio::spawn(self.clone().beat(stop.clone()));
        let patience = tokio::spawn(self.clone().stop_what_takes_too_long(stop.clone()));
        let mut mode = self.mode.subscribe();
        let asked_to_leave = async {
            let _ = mode.wait_for(|mode| *mode == Mode::Leave).await;
            Instant::now()
        };
        let ((), asked_at) = tokio::join!(self.serve_all(), asked_to_leave);
        let too_late = async {
            tokio::select! {
                () = tokio::time::sleep_until(asked_at + self.grace) => {}
                () = self.hurry.cancelled() => {}
            }
        };
        self.finishing
            .all_safe(async {
                tokio::join!(too_late, tokio::time::sleep(LAST_WORDS));
            })
            .await;
        let told = tokio::time::timeout(LAST_WORDS, async {
            while !self.outbox.is_empty() {
                self.held_back.nothing_to_tell().await;
            }
        });
        if told.await.is_err() {
            tracing::warn!(
                outcomes = self.outbox.len(),
                "outcomes are on disk and not told yet; they are sent when the agent starts again"
            );
        }
        stop.cancel();
        let _ = tokio::join!(reporting, beating, patience);
    }

    /// Returns when no slot is left, and then this worker leaves.
    async fn serve_all(self: &Arc<Self>) {
        if self.registered().await {
            let mut slots = JoinSet::new();
            for _ in 0..self.slots {
                slots.spawn(self.clone().serve());
            }
            while let Some(ended) = slots.join_next().await {
                if let Err(error) = ended {
                    tracing::error!(%error, "a slot ended");
                }
            }
        }
        self.mode.send_replace(Mode::Leave);
    }

    /// Stops what runs and does not wait for a hub that does not answer.
    pub fn leave_now(&self) {
        self.holdings.stop_all(Why::Leaving);
        self.hurry.cancel();
    }

    /// Registers, however long that takes. `false` when told to leave before.
    async fn registered(&self) -> bool {
        let mut backoff = Backoff::default();
        let mut mode = self.mode.subscribe();
        loop {
            let answer = tokio::select! {
                answer = self.register() => answer,
                _ = mode.wait_for(|mode| *mode == Mode::Leave) => return false,
            };
            let Err(error) = answer else { return true };
            let wait = match error {
                Failed::Refused { .. } => REFUSED_PAUSE,
                Failed::Later { .. } => backoff.next(error.wait()),
            };
            tracing::warn!(retry_in_ms = wait.as_millis() as u64, "not registered yet: {error}");
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                _ = mode.wait_for(|mode| *mode == Mode::Leave) => return false,
            }
        }
    }

    async fn register(&self) -> Result<(), Failed> {
        let register = Register { holding: Some(self.holding()), ..self.about.clone() };
        let answer = self.hub.register(&register).await?;
        tracing::info!(worker.id = %self.hub.worker_id(), protocol = answer.protocol, "registered");
        self.obey(answer.leases, answer.worker);
        Ok(())
    }

    /// Every lease that is not told of yet.
    fn holding(&self) -> Vec<Holding> {
        let mut holding = self.holdings.list();
        for lease_id in self.outbox.leases() {
            if !holding.iter().any(|held| held.lease_id == lease_id) {
                holding.push(Holding { lease_id, phase: Phase::Reporting });
            }
        }
        holding
    }

    fn obey(&self, leases: Vec<LeaseAnswer>, order: WorkerOrder) {
        for LeaseAnswer { lease_id, action } in leases {
            match action {
                LeaseAction::Keep => {}
                LeaseAction::Cancel => self.holdings.stop(&lease_id, Why::Cancelled),
                LeaseAction::Gone => self.holdings.stop(&lease_id, Why::Gone),
            }
        }
        self.mode.send_if_modified(|mode| {
            let wanted = match (*mode, order) {
                (Mode::Leave, _) => Mode::Leave,
                (_, WorkerOrder::Run) => Mode::Run,
                (_, WorkerOrder::Drain) => Mode::Drain,
            };
            let changed = *mode != wanted;
            if changed {
                tracing::info!(?wanted, "the hub's order for this worker changed");
            }
            *mode = wanted;
            changed
        });
    }

    async fn beat(self: Arc<Self>, stop: CancellationToken) {
        let mut away = false;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(HEARTBEAT_EVERY) => {}
            }
            let heartbeat = WorkerHeartbeat {
                holding: self.holding(),
                busy: u32::try_from(self.holdings.busy()).ok(),
                rss_kb: metrics::own_rss_kb(),
                outbox: u32::try_from(self.outbox.len()).ok(),
                boot_id: Some(self.boot.clone()),
            };
            match self.hub.heartbeat(&heartbeat).await {
                Ok(answer) => {
                    if std::mem::take(&mut away) {
                        tracing::info!("the hub is back");
                    }
                    self.obey(answer.leases, answer.worker);
                }
                Err(error) if error.status() == Some(404) => {
                    tracing::info!("the hub does not know this worker; registering again");
                    if let Err(error) = self.register().await {
                        tracing::warn!("not registered: {error}");
                    }
                }
                Err(error) if error.is("superseded_boot") => self.give_way(),
                Err(error) => {
                    if !std::mem::replace(&mut away, true) {
                        tracing::warn!("no heartbeat; jobs go on running: {error}");
                    }
                }
            }
        }
    }

    /// Two agents with one name: the newer one has it.
    fn give_way(&self) {
        if !self.superseded.is_cancelled() {
            tracing::error!(
                worker.id = %self.hub.worker_id(),
                "another agent has registered with this id; give each machine its own NODE_ID. This one finishes what it has and ends"
            );
            self.superseded.cancel();
            self.mode.send_replace(Mode::Leave);
        }
    }

    /// A worker that drains or leaves lets its jobs finish for a while, then gives them back.
    async fn stop_what_takes_too_long(self: Arc<Self>, stop: CancellationToken) {
        let mut mode = self.mode.subscribe();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                changed = mode.wait_for(|mode| *mode != Mode::Run) => if changed.is_err() { return },
            }
            tokio::select! {
                () = stop.cancelled() => return,
                _ = mode.wait_for(|mode| *mode == Mode::Run) => continue,
                () = tokio::time::sleep(self.grace) => self.holdings.stop_all(Why::Leaving),
            }
            tokio::select! {
                () = stop.cancelled() => return,
                _ = mode.wait_for(|mode| *mode == Mode::Run) => {}
            }
        }
    }

    /// One slot: claims a job, runs it, claims again at once.
    async fn serve(self: Arc<Self>) {
        let mut mode = self.mode.subscribe();
        let mut slot = None;
        let mut backoff = Backoff::default();
        let mut ahead = Ahead::default();
        let mut last_was_short = false;
        loop {
            let now = *mode.borrow_and_update();
            if now != Mode::Run
                && let Some(taken) = ahead.taken.take()
            {
                self.give_back(taken);
            }
            match now {
                Mode::Run => {}
                Mode::Leave => break,
                Mode::Drain => {
                    let _ = mode.changed().await;
                    continue;
                }
            }
            // Ready before a job is claimed, so that a job never waits for it or dies of it.
            if slot.is_none() {
                match Slot::start(self.runner.clone()).await {
                    Ok(started) => slot = Some(started),
                    Err(error) => {
                        tracing::error!("no job can be run here: {error:#}");
                        tokio::select! {
                            () = tokio::time::sleep(backoff.next(None)) => {}
                            _ = mode.changed() => {}
                        }
                        continue;
                    }
                }
            }
            let taken = match ahead.taken.take() {
                Some(taken) => Some(taken),
                None => tokio::select! {
                    taken = self.claim(&mut ahead.claim_id) => taken,
                    // A request that is dropped gives back what it was about to get.
                    _ = mode.wait_for(|mode| *mode != Mode::Run) => continue,
                },
            };
            let Some(Taken { claimed, hold }) = taken else { continue };
            backoff.reset();
            tracing::info!(job.id = %claimed.job.id, job.r#type = %claimed.job.kind, job.attempt = claimed.job.attempt, "job claimed");
            let began = Instant::now();
            let done = {
                let work = self.workshop.work(&mut slot, &claimed, &hold);
                tokio::pin!(work);
                if last_was_short { self.work_and_claim(work.as_mut(), &mut ahead).await } else { work.await }
            };
            last_was_short = began.elapsed() < SHORT;
            self.finishing.start(claimed.lease_id, done, hold);
            self.settle(&mut ahead).await;
        }
        if let Some(slot) = slot {
            slot.close().await;
        }
    }

    /// While a job runs that is probably short, asks for the next one, which then starts without
    /// delay. A job that has to wait nevertheless goes back after a while: somebody else may be free.
    async fn work_and_claim<W: Future<Output = Done>>(
        self: &Arc<Self>,
        mut work: Pin<&mut W>,
        ahead: &mut Ahead,
    ) -> Done {
        let id = ahead.claim_id.get_or_insert_with(new_claim_id).clone();
        let (hub, claim) = (self.hub.clone(), self.claim_for(id, None));
        ahead.asking = Some(Box::pin(async move { hub.claim(&claim).await }));
        loop {
            let waits = ahead.taken.is_some();
            tokio::select! {
                biased;
                done = work.as_mut() => return done,
                answer = answered(&mut ahead.asking), if ahead.asking.is_some() => self.answered_ahead(ahead, answer),
                () = tokio::time::sleep(UNSTARTED_MAX), if waits => {
                    if let Some(taken) = ahead.taken.take() {
                        self.give_back(taken);
                    }
                }
            }
        }
    }

    /// The answer to a question that was asked ahead, which is on its way.
    async fn settle(&self, ahead: &mut Ahead) {
        if ahead.asking.is_none() {
            return;
        }
        match tokio::time::timeout(SETTLE_MAX, answered(&mut ahead.asking)).await {
            Ok(answer) => self.answered_ahead(ahead, answer),
            // Asked again under the same id, so an answer that is on its way is not lost.
            Err(_) => ahead.asking = None,
        }
    }

    fn answered_ahead(&self, ahead: &mut Ahead, answer: Result<Option<ClaimedJob>, Failed>) {
        ahead.asking = None;
        // After a failure the same question is asked again, so that its answer is not lost.
        if let Ok(found) = answer {
            ahead.claim_id = None;
            ahead.taken = found.and_then(|claimed| self.take(claimed));
        }
    }

    /// Unless what runs here leaves too little for it; then it goes back at once.
    fn take(&self, claimed: ClaimedJob) -> Option<Taken> {
        let requires = claimed.requires.unwrap_or_default();
        match self.holdings.add(claimed.lease_id.clone(), requires) {
            Ok(hold) => Some(Taken { claimed, hold }),
            Err(hold) => {
                tracing::info!(job.id = %claimed.job.id, ?requires, "given back: there is too little left beside what runs");
                self.give_back(Taken { claimed, hold });
                None
            }
        }
    }

    fn give_back(&self, Taken { claimed, hold }: Taken) {
        let ClaimedJob { job, lease_id, .. } = claimed;
        let outcome = Outcome::Release { job_id: job.id, lease_id: lease_id.clone() };
        self.finishing.start(lease_id, Done { outcome: Some(outcome), shipping: None }, hold);
    }

    /// Asks for a job until there is one, or there is none for now. The same question has the same
    /// id however often it is asked, so an answer that got lost is given again.
    async fn claim(&self, claim_id: &mut Option<ClaimId>) -> Option<Taken> {
        let mut backoff = Backoff::default();
        let id = claim_id.take().unwrap_or_else(new_claim_id);
        let claim = self.claim_for(id, Some((CLAIM_WAIT_MS * (0.9 + 0.2 * fraction())) as u64));
        loop {
            let asked = Instant::now();
            match self.hub.claim(&claim).await {
                Ok(Some(claimed)) => {
                    let taken = self.take(claimed);
                    if taken.is_none() {
                        // The hub did not look at what is left here, and would hand it out again.
                        self.pause().await;
                    }
                    return taken;
                }
                Ok(None) => {
                    if asked.elapsed() < ANSWERED_AT_ONCE {
                        self.pause().await;
                    }
                    return None;
                }
                Err(error) if error.is("superseded_boot") => {
                    self.give_way();
                    return None;
                }
                Err(error) => {
                    let wait = match error {
                        Failed::Refused { .. } => REFUSED_PAUSE,
                        Failed::Later { .. } => backoff.next(error.wait()),
                    };
                    tracing::warn!(retry_in_ms = wait.as_millis() as u64, "no job claimed: {error}");
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    async fn pause(&self) {
        tokio::time::sleep(self.poll_every.mul_f64(0.75 + 0.5 * fraction())).await;
    }

    fn claim_for(&self, claim_id: ClaimId, wait_ms: Option<u64>) -> Claim {
        let Room { cores, ram_gb } = self.holdings.left();
        Claim {
            worker_id: self.hub.worker_id().clone(),
            types: self.types.clone(),
            queues: Vec::new(),
            wait_ms,
            max: None,
            free: Some(Free { slots: Some(1), cores: Some(cores), ram_gb: Some(ram_gb) }),
            claim_id: Some(claim_id),
            boot_id: Some(self.boot.clone()),
        }
    }
}
