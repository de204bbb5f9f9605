//! What this agent holds: the leases that heartbeats carry, and how each of them is stopped.

use forge_shared::{LeaseId, Phase, request::Holding};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};
use tokio_util::sync::CancellationToken;

/// Why a job is stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Somebody asked the hub to.
    Cancelled,
    /// The lease is no longer ours; nobody wants the outcome.
    Gone,
    /// This agent leaves or drains; the job goes back.
    Leaving,
}

#[derive(Debug, Clone, Default)]
pub struct Holdings(Arc<Mutex<HashMap<LeaseId, Held>>>);

#[derive(Debug)]
struct Held {
    phase: Phase,
    /// Its turn has come; until then it waits for the job before it.
    begun: bool,
    stop: Stop,
}

#[derive(Debug, Clone, Default)]
struct Stop {
    token: CancellationToken,
    why: Arc<OnceLock<Why>>,
}

impl Holdings {
    pub fn add(&self, lease: LeaseId) -> Hold {
        let stop = Stop::default();
        self.held().insert(lease.clone(), Held { phase: Phase::Preparing, begun: false, stop: stop.clone() });
        Hold { holdings: self.clone(), lease, stop }
    }

    pub fn list(&self) -> Vec<Holding> {
        let held = self.held();
        held.iter().map(|(lease, held)| Holding { lease_id: lease.clone(), phase: held.phase }).collect()
    }

    /// Jobs that are being prepared or run.
    pub fn busy(&self) -> usize {
        self.held().values().filter(|held| held.begun && held.phase != Phase::Reporting).count()
    }

    pub fn stop(&self, lease: &LeaseId, why: Why) {
        if let Some(held) = self.held().get(lease) {
            held.stop.now(why);
        }
    }

    pub fn stop_all(&self, why: Why) {
        self.held().values().for_each(|held| held.stop.now(why));
    }

    fn held(&self) -> MutexGuard<'_, HashMap<LeaseId, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stop {
    fn now(&self, why: Why) {
        // The first reason counts.
        let _ = self.why.set(why);
        self.token.cancel();
    }
}

/// One lease, listed for as long as this lives.
#[derive(Debug)]
pub struct Hold {
    holdings: Holdings,
    lease: LeaseId,
    stop: Stop,
}

impl Hold {
    pub fn begin(&self) {
        if let Some(held) = self.holdings.held().get_mut(&self.lease) {
            held.begun = true;
        }
    }

    pub fn enter(&self, phase: Phase) {
        if let Some(held) = self.holdings.held().get_mut(&self.lease) {
            held.phase = phase;
        }
    }

    pub fn stopping(&self) -> &CancellationToken {
        &self.stop.token
    }

    pub fn stop(&self, why: Why) {
        self.stop.now(why);
    }

    pub fn why(&self) -> Option<Why> {
        self.stop.why.get().copied()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.holdings.held().remove(&self.lease);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_is_listed_while_it_is_held_and_the_first_reason_counts() {
        let holdings = Holdings::default();
        let lease = LeaseId::trusted("a-1-b");
        let hold = holdings.add(lease.clone());
        assert_eq!((holdings.list().len(), holdings.busy()), (1, 0));
        hold.begin();
        assert_eq!((holdings.list().len(), holdings.busy()), (1, 1));
        hold.enter(Phase::Reporting);
        assert_eq!((holdings.list()[0].phase, holdings.busy()), (Phase::Reporting, 0));
        holdings.stop(&lease, Why::Gone);
        holdings.stop_all(Why::Leaving);
        assert!(hold.stopping().is_cancelled());
        assert_eq!(hold.why(), Some(Why::Gone));
        drop(hold);
        assert!(holdings.list().is_empty());
    }
}
