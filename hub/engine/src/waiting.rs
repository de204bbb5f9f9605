//! Claims that wait for a job, served first come within what they can take.

use crate::{
    command::{Claim, Filter, Ticket},
    lane::LaneKey,
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};
use forge_shared::WorkerId;

#[derive(Debug, Clone, Default)]
pub struct Waiting {
    claims: BTreeMap<Ticket, Claim>,
    /// Claims that take the same jobs stand in one line, so that a new job is compared with a
    /// few lines, not with every waiting claim.
    lines: BTreeMap<Arc<Filter>, BTreeSet<Ticket>>,
    by_worker: BTreeMap<WorkerId, BTreeSet<Ticket>>,
}

impl Waiting {
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    pub fn len(&self) -> usize {
        self.claims.len()
    }

    pub fn add(&mut self, claim: Claim) {
        self.lines.entry(claim.filter.clone()).or_default().insert(claim.ticket);
        self.by_worker.entry(claim.worker.clone()).or_default().insert(claim.ticket);
        self.claims.insert(claim.ticket, claim);
    }

    pub fn remove(&mut self, ticket: Ticket) -> Option<Claim> {
        let claim = self.claims.remove(&ticket)?;
        drop_from(&mut self.lines, &claim.filter, ticket);
        drop_from(&mut self.by_worker, &claim.worker, ticket);
        Some(claim)
    }

    /// The first of each line that takes something from one of these lanes, oldest first.
    pub fn first_for(&self, lanes: &[LaneKey]) -> Vec<Ticket> {
        let mut firsts: Vec<Ticket> = self
            .lines
            .iter()
            .filter(|(filter, _)| lanes.iter().any(|lane| filter.takes(&lane.queue, &lane.kind)))
            .filter_map(|(_, line)| line.first().copied())
            .collect();
        firsts.sort_unstable();
        firsts
    }

    pub fn get(&self, ticket: Ticket) -> Option<&Claim> {
        self.claims.get(&ticket)
    }

    pub fn of_worker(&self, worker: &WorkerId) -> Vec<Ticket> {
        self.by_worker.get(worker).into_iter().flatten().copied().collect()
    }
}

fn drop_from<K: Ord + Clone>(sets: &mut BTreeMap<K, BTreeSet<Ticket>>, key: &K, ticket: Ticket) {
    if let Some(tickets) = sets.get_mut(key) {
        tickets.remove(&ticket);
        if tickets.is_empty() {
            sets.remove(key);
        }
    }
}
