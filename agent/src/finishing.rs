//! From a job's end until its outcome is safe: on disk, or with the hub.
//!
//! The outbox comes first. When its disk takes nothing, the hub is told at once while writing is
//! tried again; whichever succeeds first has the outcome. Both may: telling it twice changes nothing.

use crate::{
    backoff::Backoff,
    holdings::Hold,
    hub::Hub,
    job::Done,
    outbox::{Outbox, Outcome},
    reporter::{self, HeldBack},
    shipping::Shipping,
};
use forge_shared::{LeaseId, Phase};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

#[derive(Clone)]
pub struct Finishing {
    hub: Hub,
    outbox: Outbox,
    held_back: HeldBack,
    tasks: TaskTracker,
    too_late: CancellationToken,
}

impl Finishing {
    pub fn new(hub: Hub, outbox: Outbox, held_back: HeldBack) -> Self {
        Self { hub, outbox, held_back, tasks: TaskTracker::new(), too_late: CancellationToken::new() }
    }

    /// Works in the background: the slot is free for the next job. The lease is kept alive meanwhile. When `more`
    /// outcomes are about to come, it waits a moment for them.
    pub fn start(&self, lease: LeaseId, done: Done, hold: Hold, more: bool) {
        let Done { outcome: Some(outcome), shipping } = done else { return };
        hold.enter(Phase::Reporting);
        self.held_back.add(lease.clone());
        let this = self.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = this.save(&outcome, shipping, more) => {}
                () = this.too_late.cancelled() => tracing::error!(
                    job.id = %outcome.job_id(),
                    "AN OUTCOME IS LOST: neither the disk of {} nor the hub took it in time; the job is run again when its lease is over",
                    this.outbox.dir().display()
                ),
            }
            this.held_back.remove(&lease);
            // From here on the outbox speaks for the lease, or the hub knows.
            drop(hold);
        });
    }

    /// Returns when every outcome is safe, or shortly after `too_late` what could not be saved is
    /// given up. Nothing may be started any more.
    pub async fn all_safe(&self, too_late: impl Future<Output = ()>) {
        self.tasks.close();
        tokio::select! {
            () = self.tasks.wait() => {}
            () = too_late => {
                self.too_late.cancel();
                self.tasks.wait().await;
            }
        }
    }

    async fn save(&self, outcome: &Outcome, shipping: Option<Shipping>, more: bool) {
        let written = self.outbox.put(outcome.clone(), more).await;
        // The hub takes no more of a job's log once it knows the outcome.
        if let Some(shipping) = shipping {
            shipping.flushed().await;
        }
        let Err(error) = written else { return };
        let job_id = outcome.job_id();
        tracing::error!(job.id = %job_id, "an outcome cannot be kept, so the hub is told at once: {error}");
        tokio::select! {
            () = reporter::tell(&self.hub, outcome.clone()) => {
                tracing::info!(job.id = %job_id, "the hub has the outcome that could not be kept");
            }
            () = self.write_until_it_works(outcome) => {
                tracing::info!(job.id = %job_id, "the outcome is on disk after all");
            }
        }
    }

    async fn write_until_it_works(&self, outcome: &Outcome) {
        let mut backoff = Backoff::default();
        loop {
            let wait = backoff.next(None);
            tokio::time::sleep(wait).await;
            match self.outbox.put(outcome.clone(), false).await {
                Ok(_) => return,
                Err(error) => {
                    tracing::warn!(job.id = %outcome.job_id(), "an outcome still cannot be kept: {error}");
                }
            }
        }
    }
}
