//! Handing out jobs.

use super::{Planner, needs::Needs};
use crate::{
    claim::{CLAIM_MAX, new_lease},
    command::{Claim, Refusal, Reply, Ticket},
    job::Job,
    lane::Best,
    lifecycle::Input,
};
use alloc::{sync::Arc, vec::Vec};

type Decided = Result<Reply, Refusal>;

impl Planner {
    /// `None`: the claim waits.
    pub(super) fn claim(&mut self, claim: &Claim) -> Result<Option<Decided>, Needs> {
        if let Some(Some(worker)) = self.workers.get(&claim.worker) {
            if worker.is_superseded(claim.boot.as_ref()) {
                return Ok(Some(Err(Refusal::SupersededBoot)));
            }
            if worker.draining {
                self.hear(&claim.worker);
                return Ok(Some(Ok(Reply::Claimed(Vec::new()))));
            }
        }
        // A claim comes back here after each round of loading; once it has jobs in hand, they are
        // no earlier call's, and nobody else's turn comes before it is done.
        let in_hand = !(self.batch.picked.is_empty() && self.batch.taken.is_empty());
        if !in_hand || self.batch.serving.is_some() {
            // Whoever waited goes before whoever comes.
            self.serve_waiting()?;
            let again = self.claimed_before(claim);
            if !again.is_empty() {
                return Ok(Some(Ok(Reply::Claimed(again))));
            }
        }
        let jobs = self.take_jobs(claim)?;
        self.hear(&claim.worker);
        Ok(if jobs.is_empty() && claim.wait { None } else { Some(Ok(Reply::Claimed(jobs))) })
    }

    /// Jobs that an earlier call with the same claim id got and that are still its own.
    fn claimed_before(&self, claim: &Claim) -> Vec<Arc<Job>> {
        let Some(claim_id) = &claim.claim_id else { return Vec::new() };
        let held =
            self.batch.set.held_by(&claim.worker).into_iter().filter_map(|seq| self.batch.set.job(seq));
        held.filter(|job| job.lease.as_ref().is_some_and(|lease| lease.claim_id.as_ref() == Some(claim_id)))
            .map(|job| Arc::new(job.clone()))
            .collect()
    }

    fn take_jobs(&mut self, claim: &Claim) -> Result<Vec<Arc<Job>>, Needs> {
        let max = claim.max.min(CLAIM_MAX) as usize;
        loop {
            while self.batch.picked.len() + self.batch.taken.len() < max {
                match self.lanes.best(&claim.filter) {
                    Best::Job(lane, entry) => {
                        let key = self.lanes.key(lane).clone();
                        self.lanes.remove(&key, entry);
                        self.batch.picked.push(entry.1);
                        // It is out of its lane from here on, loaded or not.
                        if let Some(slot) = self.batch.set.slot(entry.1) {
                            slot.laned = None;
                        }
                    }
                    Best::Unknown(heads) => return Err(Needs::heads(heads)),
                    Best::Nothing => break,
                }
            }
            let missing: Vec<i64> =
                self.batch.picked.iter().copied().filter(|seq| !self.batch.set.knows(*seq)).collect();
            if !missing.is_empty() {
                return Err(Needs::jobs(missing));
            }
            if self.batch.picked.is_empty() {
                return Ok(core::mem::take(&mut self.batch.taken));
            }
            for seq in core::mem::take(&mut self.batch.picked) {
                let taken = self.take_one(claim, seq);
                self.batch.taken.extend(taken);
            }
        }
    }

    fn take_one(&mut self, claim: &Claim, seq: i64) -> Option<Arc<Job>> {
        let now = self.batch.ctx.now;
        let slot = self.batch.set.slot(seq)?;
        slot.laned = None;
        if slot.job.is_expired(now.wall_ms) {
            let _ = self.apply(seq, Input::Expire);
            return None;
        }
        let lease = new_lease(claim, &slot.job, now, self.batch.ctx.policy.lease_ms, &mut self.batch.entropy);
        self.apply(seq, Input::Claim(lease)).ok()?;
        self.batch.set.job(seq).map(|job| Arc::new(job.clone()))
    }

    /// Gives what has become claimable to those who wait, first come first served.
    pub(super) fn serve_waiting(&mut self) -> Result<(), Needs> {
        if self.batch.serving.is_none() {
            self.batch.stirred = self.lanes.take_stirred();
        }
        if self.waiting.is_empty() || self.batch.stirred.is_empty() {
            return Ok(());
        }
        loop {
            // After a round of loading it goes on with the claim it was at, then with those behind.
            let from = self.batch.serving.take();
            let line = self.waiting.first_for(&self.batch.stirred);
            let mut served = false;
            for ticket in line.into_iter().skip_while(|ticket| from.is_some_and(|from| *ticket < from)) {
                let Some(claim) = self.waiting.get(ticket).cloned() else { continue };
                self.batch.serving = Some(ticket);
                let jobs = self.take_jobs(&claim)?;
                self.batch.serving = None;
                if !jobs.is_empty() {
                    self.answer_waiting(ticket, Ok(Reply::Claimed(jobs)));
                    served = true;
                    break;
                }
            }
            if !served {
                return Ok(());
            }
        }
    }

    pub(super) fn answer_waiting(&mut self, ticket: Ticket, answer: Decided) {
        if let Some(claim) = self.waiting.remove(ticket) {
            self.batch.answered.push(claim);
            self.batch.outcome.served.push((ticket, answer));
        }
    }
}
