//! Registration, heartbeats, claims: what makes this machine a worker.

mod claims;

use crate::{
    backoff::Backoff,
    finishing::Finishing,
    holdings::{Holdings, Why},
    hub::{Failed, Hub},
    job::Workshop,
    metrics,
    outbox::Outbox,
    reporter::HeldBack,
    runner::Settings,
};
use forge_shared::{
    BootId, JobType, Phase,
    request::{Holding, Register, WorkerHeartbeat},
    response::{LeaseAction, LeaseAnswer, WorkerOrder},
};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

const HEARTBEAT_EVERY: Duration = Duration::from_secs(10);
/// After a definite no to a claim, which only a person can change.
const REFUSED_PAUSE: Duration = Duration::from_secs(30);
/// How long a leaving agent tries to tell its last outcomes; they are on disk in any case.
const LAST_WORDS: Duration = Duration::from_secs(5);

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
}
