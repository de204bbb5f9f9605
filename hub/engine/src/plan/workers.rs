//! Commands about workers and all that one holds.

use super::Planner;
use crate::{
    claim::job_of,
    command::{Holder, Refusal, Register, Reply, WorkerHeartbeat},
    job::LeaseState,
    lifecycle::Input,
    worker::Worker,
};
use alloc::{collections::VecDeque, sync::Arc, vec::Vec};
use forge_shared::{
    LeaseId, Phase, Status, WorkerId,
    event::{Event, EventKind},
    request::Holding,
    response::{LeaseAction, LeaseAnswer, WorkerOrder},
};

/// A lease that its worker does not mention is given back once it is this old: the answer to the
/// claim may still be on its way before that.
const UNLISTED_AFTER_MS: i64 = 20_000;

impl Planner {
    pub(super) fn register(&mut self, register: &Register) -> Result<Reply, Refusal> {
        let now = self.batch.ctx.now;
        let known = self.workers.get(&register.worker).cloned().flatten();
        if let (Some(worker), Some(boot)) = (&known, &register.boot)
            && worker.was_superseded(boot)
        {
            return Err(Refusal::SupersededBoot);
        }
        let mut worker = known.unwrap_or_else(|| new_worker(&register.worker, now.wall_ms));
        let new_boot = register.boot.is_some() && worker.boot != register.boot;
        worker.take_over(register.boot.clone());
        worker.about = register.about.clone();
        worker.registered_at = now.wall_ms;
        worker.last_heartbeat = Some(now.wall_ms);
        worker.heard_ms = now.mono_ms;
        worker.lost = false;
        let order = order_for(&worker);
        self.save_worker(worker);
        self.worker_event(EventKind::WorkerRegistered, &register.worker);
        if new_boot {
            // An older process under this name gets no more work, and is told so.
            for ticket in self.waiting.of_worker(&register.worker) {
                let stale = self.waiting.get(ticket).is_some_and(|claim| claim.boot != register.boot);
                if stale {
                    self.answer_waiting(ticket, Err(Refusal::SupersededBoot));
                }
            }
        }
        let Some(holding) = &register.holding else {
            return Ok(Reply::Leases { leases: Vec::new(), order });
        };
        for seq in self.batch.set.held_by(&register.worker) {
            let Some(job) = self.batch.set.job(seq) else { continue };
            let Some(lease) = &job.lease else { continue };
            let earlier = lease.boot != register.boot || register.boot.is_none();
            if !earlier || is_listed(holding, &lease.id) {
                continue;
            }
            let _ = match job.status {
                Status::Assigned => self.apply(seq, Input::Release { holder: None }),
                _ => self.apply(seq, Input::LeaseOver { at_once: true }),
            };
        }
        Ok(Reply::Leases { leases: self.answer_held(&register.worker, holding), order })
    }

    pub(super) fn worker_heartbeat(&mut self, heartbeat: &WorkerHeartbeat) -> Result<Reply, Refusal> {
        let now = self.batch.ctx.now;
        let known = self.workers.get(&heartbeat.worker).cloned().flatten();
        let mut worker = known.ok_or(Refusal::UnknownWorker)?;
        if worker.is_superseded(heartbeat.boot.as_ref()) {
            // Its leases stay valid, but it no longer speaks for the name.
            let leases = self.answer_held(&heartbeat.worker, &heartbeat.holding);
            return Ok(Reply::Leases { leases, order: WorkerOrder::Drain });
        }
        worker.busy = heartbeat.busy;
        worker.rss_kb = heartbeat.rss_kb;
        worker.outbox = heartbeat.outbox;
        worker.last_heartbeat = Some(now.wall_ms);
        worker.heard_ms = now.mono_ms;
        worker.lost = false;
        let order = order_for(&worker);
        self.save_worker(worker);
        for seq in self.batch.set.held_by(&heartbeat.worker) {
            let Some(lease) = self.batch.set.job(seq).and_then(|job| job.lease.as_ref()) else { continue };
            let own = heartbeat.boot.is_none() || lease.boot == heartbeat.boot;
            let old = now.mono_ms.saturating_sub(lease.granted_ms) > UNLISTED_AFTER_MS;
            if own && old && !is_listed(&heartbeat.holding, &lease.id) {
                let _ = self.apply(seq, Input::Release { holder: None });
            }
        }
        Ok(Reply::Leases { leases: self.answer_held(&heartbeat.worker, &heartbeat.holding), order })
    }

    /// Renews what a worker says it has, and tells it what to do with each.
    fn answer_held(&mut self, worker: &WorkerId, holding: &[Holding]) -> Vec<LeaseAnswer> {
        let answer = |planner: &mut Self, held: &Holding| {
            let Some(seq) = job_of(&held.lease_id) else { return LeaseAction::Gone };
            let holder = Holder { worker: worker.clone(), lease: Some(held.lease_id.clone()) };
            let renewed = planner.apply(seq, Input::Heartbeat { holder: &holder, phase: held.phase }).is_ok();
            match planner.batch.set.job(seq) {
                Some(job) if renewed && job.cancel_requested && held.phase != Phase::Reporting => {
                    LeaseAction::Cancel
                }
                Some(_) if renewed => LeaseAction::Keep,
                // A result that is ready is still good while nobody else has the job.
                Some(job) if held.phase == Phase::Reporting && is_last(job, &held.lease_id) => {
                    LeaseAction::Keep
                }
                _ => LeaseAction::Gone,
            }
        };
        holding
            .iter()
            .map(|held| LeaseAnswer { lease_id: held.lease_id.clone(), action: answer(self, held) })
            .collect()
    }

    pub(super) fn drain(&mut self, id: &WorkerId, draining: bool) -> Result<Reply, Refusal> {
        let mut worker = self.workers.get(id).cloned().flatten().ok_or(Refusal::UnknownWorker)?;
        if worker.draining == draining {
            return Ok(Reply::Done);
        }
        worker.draining = draining;
        self.save_worker(worker);
        if draining {
            for ticket in self.waiting.of_worker(id) {
                self.answer_waiting(ticket, Ok(Reply::Claimed(Vec::new())));
            }
        }
        let kind = if draining { EventKind::WorkerDraining } else { EventKind::WorkerResumed };
        self.worker_event(kind, id);
        Ok(Reply::Done)
    }

    pub(super) fn forget(&mut self, id: &WorkerId) -> Result<Reply, Refusal> {
        self.workers.get(id).cloned().flatten().ok_or(Refusal::UnknownWorker)?;
        self.workers.insert(id.clone(), None);
        self.batch.changes.workers.retain(|worker| worker.id != *id);
        self.batch.changes.forgotten.push(id.clone());
        self.worker_event(EventKind::WorkerForgotten, id);
        Ok(Reply::Done)
    }

    /// Marks a worker lost that was not heard of for a lease time.
    pub(super) fn lose(&mut self, id: &WorkerId) -> bool {
        let Some(mut worker) = self.workers.get(id).cloned().flatten() else { return false };
        let silent_ms = self.batch.ctx.now.mono_ms.saturating_sub(worker.heard_ms);
        if worker.lost || silent_ms <= self.batch.ctx.policy.lease_ms {
            return false;
        }
        worker.lost = true;
        self.save_worker(worker);
        self.worker_event(EventKind::WorkerLost, id);
        true
    }

    /// Notes that a registered worker is alive.
    pub(super) fn hear(&mut self, id: &WorkerId) {
        let now = self.batch.ctx.now;
        if let Some(Some(worker)) = self.workers.get_mut(id)
            && worker.hear(now.wall_ms, now.mono_ms)
        {
            let worker = worker.clone();
            self.save_worker(worker);
        }
    }

    fn save_worker(&mut self, worker: Worker) {
        self.batch.changes.workers.retain(|other| other.id != worker.id);
        self.batch.changes.forgotten.retain(|id| *id != worker.id);
        self.workers.insert(worker.id.clone(), Some(worker.clone()));
        self.batch.changes.workers.push(worker);
    }

    fn worker_event(&mut self, kind: EventKind, worker: &WorkerId) {
        self.batch.changes.events.push(Event {
            seq: self.next_event,
            kind,
            ts: self.batch.ctx.now.wall_ms,
            job_id: None,
            job_type: None,
            queue: None,
            worker_id: Some(worker.clone()),
            status: None,
            attempt: None,
            attempts: None,
            wait_ms: None,
            run_ms: None,
            run_at: None,
            reason: None,
            progress: None,
        });
        self.next_event += 1;
    }
}

fn new_worker(id: &WorkerId, now: i64) -> Worker {
    Worker {
        id: id.clone(),
        about: Arc::from("{}"),
        boot: None,
        superseded: VecDeque::new(),
        draining: false,
        lost: false,
        registered_at: now,
        last_heartbeat: None,
        heard_ms: 0,
        busy: None,
        rss_kb: None,
        outbox: None,
    }
}

fn order_for(worker: &Worker) -> WorkerOrder {
    if worker.draining { WorkerOrder::Drain } else { WorkerOrder::Run }
}

fn is_listed(holding: &[Holding], lease: &LeaseId) -> bool {
    holding.iter().any(|held| held.lease_id == *lease)
}

fn is_last(job: &crate::Job, lease: &LeaseId) -> bool {
    job.lease.as_ref().is_some_and(|last| last.id == *lease && last.state == LeaseState::Expired)
}
