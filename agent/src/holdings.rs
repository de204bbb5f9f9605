//! What this agent holds: the leases that heartbeats carry, and how each of them is stopped.

use forge_shared::{LeaseId, Phase, request::Holding, response::Requires};
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

/// What a machine has for jobs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Room {
    pub cores: f64,
    pub ram_gb: f64,
}

#[derive(Debug, Clone)]
pub struct Holdings {
    room: Room,
    held: Arc<Mutex<HashMap<LeaseId, Held>>>,
}

#[derive(Debug)]
struct Held {
    phase: Phase,
    /// Its turn has come; until then it waits for the job before it.
    begun: bool,
    requires: Requires,
    stop: Stop,
}

#[derive(Debug, Clone, Default)]
struct Stop {
    token: CancellationToken,
    why: Arc<OnceLock<Why>>,
}

impl Holdings {
    pub fn new(room: Room) -> Self {
        Self { room, held: Arc::default() }
    }

    /// It waits for its turn, and until then takes no room.
    pub fn add(&self, lease: LeaseId, requires: Requires) -> Hold {
        let stop = Stop::default();
        let held = Held { phase: Phase::Preparing, begun: false, requires, stop: stop.clone() };
        self.held().insert(lease.clone(), held);
        Hold { holdings: self.clone(), lease, stop }
    }

    /// What is left for another job.
    pub fn left(&self) -> Room {
        left(self.room, &self.held())
    }

    pub fn list(&self) -> Vec<Holding> {
        let held = self.held();
        held.iter().map(|(lease, held)| Holding { lease_id: lease.clone(), phase: held.phase }).collect()
    }

    /// Jobs that are being prepared or run.
    pub fn busy(&self) -> usize {
        self.held().values().filter(|held| held.takes_room()).count()
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
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn left(room: Room, held: &HashMap<LeaseId, Held>) -> Room {
    let taken = |part: fn(&Requires) -> Option<f64>| -> f64 {
        held.values().filter(|held| held.takes_room()).filter_map(|held| part(&held.requires)).sum()
    };
    Room {
        cores: (room.cores - taken(|requires| requires.cores)).max(0.0),
        ram_gb: (room.ram_gb - taken(|requires| requires.ram_gb)).max(0.0),
    }
}

impl Held {
    /// A job that waits for its turn, or whose outcome is only still to be told, does not.
    fn takes_room(&self) -> bool {
        self.begun && self.phase != Phase::Reporting
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
    /// Its turn has come. `false` when the jobs that run here leave too little for it: it must go back. That can
    /// happen when two slots ask at the same time. A job that is alone begins in any case.
    #[must_use]
    pub fn begin(&self) -> bool {
        let mut held = self.holdings.held();
        let left = left(self.holdings.room, &held);
        let is_alone = !held.values().any(Held::takes_room);
        let Some(own) = held.get_mut(&self.lease) else { return false };
        let fits = own.requires.cores.is_none_or(|cores| cores <= left.cores)
            && own.requires.ram_gb.is_none_or(|ram_gb| ram_gb <= left.ram_gb);
        own.begun = fits || is_alone;
        own.begun
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

    const ROOM: Room = Room { cores: 4.0, ram_gb: 8.0 };

    fn needs(cores: f64, ram_gb: f64) -> Requires {
        Requires { cores: Some(cores), ram_gb: Some(ram_gb) }
    }

    fn lease(text: &str) -> LeaseId {
        LeaseId::trusted(text)
    }

    #[test]
    fn lease_is_listed_while_it_is_held_and_the_first_reason_counts() {
        let holdings = Holdings::new(ROOM);
        let lease = lease("a-1-b");
        let hold = holdings.add(lease.clone(), Requires::default());
        assert_eq!((holdings.list().len(), holdings.busy()), (1, 0));
        assert!(hold.begin());
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

    #[test]
    fn running_jobs_leave_what_they_do_not_require() {
        let holdings = Holdings::new(ROOM);
        let modest = holdings.add(lease("a-1-a"), Requires::default());
        assert!(modest.begin());
        assert_eq!(holdings.left(), ROOM, "a job that names nothing takes nothing");
        let large = holdings.add(lease("b-1-b"), needs(3.0, 2.0));
        assert_eq!(holdings.left(), ROOM, "a job that waits for its turn takes nothing");
        assert!(large.begin());
        assert_eq!(holdings.left(), Room { cores: 1.0, ram_gb: 6.0 });
        drop(modest);
        large.enter(Phase::Running);
        assert_eq!(holdings.left(), Room { cores: 1.0, ram_gb: 6.0 });
        large.enter(Phase::Reporting);
        assert_eq!(holdings.left(), ROOM, "a job that is over takes nothing");
    }

    #[test]
    fn job_that_does_not_fit_beside_the_others_does_not_begin() {
        let holdings = Holdings::new(ROOM);
        let first = holdings.add(lease("a-1-a"), needs(3.0, 2.0));
        assert!(first.begin());
        for too_large in [needs(2.0, 1.0), needs(1.0, 6.5)] {
            let refused = holdings.add(lease("b-1-b"), too_large);
            assert!(!refused.begin());
            assert_eq!(holdings.left(), Room { cores: 1.0, ram_gb: 6.0 }, "{too_large:?}");
            assert_eq!(holdings.list().len(), 2, "its lease is alive until it is given back");
        }
        let second = holdings.add(lease("b-1-b"), needs(1.0, 6.0));
        assert!(second.begin());
        assert_eq!(holdings.left(), Room { cores: 0.0, ram_gb: 0.0 });
        drop((first, second));
        let alone = holdings.add(lease("c-1-c"), needs(64.0, 512.0));
        assert!(alone.begin());
        assert_eq!(holdings.left(), Room { cores: 0.0, ram_gb: 0.0 });
        assert!(!holdings.add(lease("d-1-d"), needs(1.0, 0.0)).begin());
    }
}
