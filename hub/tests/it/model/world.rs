//! The jobs, workers and waiting claims of one sequence, as a naive hub would keep them.

use super::job::{Held, Job, Lease, Told};
use crate::kit::LEASE_MS;
use forge_engine::{
    Command, Now, Refusal, Reply,
    command::{Action, Claim, Due, Enqueued, Holder, NewJob, Outcome, Register, Ticket, WorkerHeartbeat},
};
use forge_shared::{
    BootId, JobId, LeaseId, Phase, Status, WorkerId,
    event::EventKind::JobUpdated,
    request::Holding,
    response::{LeaseAction, LeaseAnswer, WorkerOrder},
};
use std::{collections::BTreeMap, sync::Arc};

const UNLISTED_MS: i64 = 20_000;

#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) jobs: BTreeMap<i64, Job>,
    pub(super) keys: BTreeMap<Arc<str>, (i64, [u8; 32])>,
    pub(super) workers: BTreeMap<WorkerId, Worker>,
    pub(super) waiting: BTreeMap<Ticket, Claim>,
    /// Events that the store must have written, in order.
    pub(super) told: Vec<Told>,
    pub(super) hub_started: i64,
}

#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) boot: Option<BootId>,
    pub(super) superseded: Vec<BootId>,
    pub(super) draining: bool,
}

/// What the store must answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expected {
    Reply(Result<Reply, Refusal>),
    /// These jobs, with leases of the store's own making.
    Jobs(Vec<i64>),
    /// Nothing yet.
    Waits,
}

/// Answers to claims that waited.
pub(super) type Served = Vec<(Ticket, Expected)>;

fn reply(reply: Reply) -> Expected {
    Expected::Reply(Ok(reply))
}

impl World {
    fn by_id(&mut self, id: &JobId) -> Result<&mut Job, Refusal> {
        self.jobs.values_mut().find(|job| job.id == *id).ok_or(Refusal::UnknownJob)
    }

    /// Applies a change to a job and keeps its events.
    fn change<T>(
        &mut self,
        id: &JobId,
        change: impl FnOnce(&mut Job) -> Result<Vec<Told>, Refusal>,
        then: impl FnOnce(&Job) -> T,
    ) -> Result<T, Refusal> {
        let job = self.by_id(id)?;
        let told = change(job)?;
        let answer = then(job);
        self.told.extend(told);
        Ok(answer)
    }

    /// Decides one command. `next` is the number that the next job gets.
    pub(super) fn apply(&mut self, command: &Command, now: Now, next: &mut i64) -> (Expected, Served) {
        let mut served = Vec::new();
        let alive = |job: &Job| Reply::Alive { cancel: job.cancelling, attempt: job.attempt };
        let state = |job: &Job| Reply::Released(job.state());
        let expected = match command {
            Command::Enqueue(jobs) => Expected::Reply(self.enqueue(jobs, now, next)),
            Command::Claim(claim) => self.claim(claim, now),
            Command::CallOff(ticket) => {
                if self.waiting.remove(ticket).is_some() {
                    served.push((*ticket, Expected::Jobs(vec![])));
                }
                reply(Reply::Done)
            }
            Command::Heartbeat { job, holder, phase } => {
                Expected::Reply(self.change(job, |job| job.heartbeat(holder, *phase, now), alive))
            }
            Command::Report(reports) => {
                let states = reports.iter().map(|report| {
                    let holder = &report.holder;
                    let change = |job: &mut Job| match &report.outcome {
                        Outcome::Completed(completion) => job.complete(holder, completion),
                        Outcome::Failed(failure) => job.fail(holder, failure, now),
                    };
                    self.change(&report.job, change, Job::state)
                });
                reply(Reply::Reported(states.collect()))
            }
            Command::Release { job, holder } => {
                Expected::Reply(self.change(job, |job| job.give_back(Some(holder), None, now), state))
            }
            Command::Snooze { job, holder, delay_ms } => {
                let change = |job: &mut Job| job.give_back(Some(holder), Some(*delay_ms), now);
                Expected::Reply(self.change(job, change, state))
            }
            Command::Progress { job, holder, .. } => {
                Expected::Reply(self.change(job, |job| job.progress(holder, now), state))
            }
            Command::CheckLease { job, holder } => {
                let check = |job: &mut Job| match job.last(holder)?.held {
                    Held::GivenBack => Err(Refusal::LeaseLost),
                    _ => Ok(vec![]),
                };
                Expected::Reply(self.change(job, check, alive))
            }
            Command::Act { jobs, action } => {
                reply(Reply::Acted(jobs.iter().map(|id| self.act(id, action, now)).collect()))
            }
            Command::Register(register) => Expected::Reply(self.register(register, now, &mut served)),
            Command::WorkerHeartbeat(heartbeat) => Expected::Reply(self.worker_heartbeat(heartbeat, now)),
            Command::Drain { worker, draining } => {
                Expected::Reply(self.drain(worker, *draining, &mut served))
            }
            Command::Reap { jobs, .. } => {
                reply(Reply::Count(jobs.iter().filter(|seq| self.reap(**seq, now)).count() as u64))
            }
            Command::Prune { jobs } => {
                let ids: Vec<JobId> =
                    jobs.iter().filter_map(|seq| Some(self.jobs.get(seq)?.id.clone())).collect();
                let removed = ids.iter().filter(|id| self.act(id, &Action::Delete, now).is_ok());
                reply(Reply::Count(removed.count() as u64))
            }
            Command::Tick => reply(Reply::Done),
            other => panic!("the model does not know {other:?}"),
        };
        served.extend(self.serve(now));
        (expected, served)
    }

    fn enqueue(&mut self, new: &[NewJob], now: Now, next: &mut i64) -> Result<Reply, Refusal> {
        for (index, job) in new.iter().enumerate() {
            let refuse = |refusal| Err(Refusal::InBatch { index, refusal: Box::new(refusal) });
            if let Some(idempotency) = &job.idempotency
                && let Some((seq, body)) = self.keys.get(&idempotency.key)
            {
                if *body == idempotency.body {
                    continue;
                }
                return refuse(Refusal::KeyReused { id: Some(self.jobs[seq].id.clone()) });
            }
            let id = job.id.as_ref().expect("the model names its jobs");
            if self.by_id(id).is_ok() {
                return refuse(Refusal::IdTaken { id: id.clone() });
            }
        }
        Ok(Reply::Enqueued(new.iter().map(|job| self.enqueue_one(job, now, next)).collect()))
    }

    fn enqueue_one(&mut self, new: &NewJob, now: Now, next: &mut i64) -> Enqueued {
        if let Some(idempotency) = &new.idempotency {
            if let Some((seq, _)) = self.keys.get(&idempotency.key) {
                let job = &self.jobs[seq];
                return Enqueued { id: job.id.clone(), status: job.status, created: false };
            }
            self.keys.insert(idempotency.key.clone(), (*next, idempotency.body));
        }
        let id = new.id.clone().expect("the model names its jobs");
        let job = Job {
            seq: *next,
            id: id.clone(),
            queue: new.queue.clone(),
            kind: new.kind.clone(),
            priority: new.priority,
            status: Status::Pending,
            run_at: match new.due {
                Due::Now => now.wall_ms,
                Due::At(at) => at.max(now.wall_ms),
                Due::After(ms) => now.wall_ms + ms,
            },
            expires_at: new.expires_at,
            attempt: 0,
            attempts: 0,
            max_attempts: new.max_attempts,
            max_runtime_ms: new.max_runtime_ms,
            wait_ms: new.backoff.expect("the model's jobs say how long they wait").first_ms as i64,
            given_back: 0,
            silent: 0,
            cancelling: false,
            reason: None,
            result: None,
            history: vec![],
            told_at: None,
            lease: None,
            leases: vec![],
        };
        self.told.extend(job.created());
        self.jobs.insert(*next, job);
        *next += 1;
        Enqueued { id, status: Status::Pending, created: true }
    }

    fn claim(&mut self, claim: &Claim, now: Now) -> Expected {
        if let Some(worker) = self.workers.get(&claim.worker) {
            if is_other(&worker.boot, &claim.boot) {
                return Expected::Reply(Err(Refusal::SupersededBoot));
            }
            if worker.draining {
                return Expected::Jobs(vec![]);
            }
        }
        if claim.claim_id.is_some() {
            let again: Vec<i64> = self
                .held_by(&claim.worker)
                .filter(|job| job.lease.as_ref().is_some_and(|lease| lease.claim_id == claim.claim_id))
                .map(|job| job.seq)
                .collect();
            if !again.is_empty() {
                return Expected::Jobs(again);
            }
        }
        let jobs = self.take(claim, now);
        if jobs.is_empty() && claim.wait {
            self.waiting.insert(claim.ticket, claim.clone());
            return Expected::Waits;
        }
        Expected::Jobs(jobs)
    }

    /// The best due jobs, one after the other: priority, then due time, then age.
    fn take(&mut self, claim: &Claim, now: Now) -> Vec<i64> {
        let mut taken = Vec::new();
        while taken.len() < claim.max as usize {
            let fits = |job: &&mut Job| job.is_due(now) && claim.filter.takes(&job.queue, &job.kind);
            let rank = |job: &&mut Job| (-i32::from(job.priority), job.run_at, job.seq);
            let Some(job) = self.jobs.values_mut().filter(fits).min_by_key(rank) else { break };
            if job.is_expired(now) {
                self.told.extend(job.expire());
                continue;
            }
            self.told.extend(job.claim(Lease {
                id: None,
                worker: claim.worker.clone(),
                boot: claim.boot.clone(),
                claim_id: claim.claim_id.clone(),
                held: Held::Live,
                granted: now.mono_ms,
                until: now.mono_ms + LEASE_MS,
                started: None,
            }));
            taken.push(job.seq);
        }
        taken
    }

    /// First come, first served.
    pub(super) fn serve(&mut self, now: Now) -> Served {
        let mut served = Vec::new();
        for claim in self.waiting.values().cloned().collect::<Vec<_>>() {
            let jobs = self.take(&claim, now);
            if !jobs.is_empty() {
                self.waiting.remove(&claim.ticket);
                served.push((claim.ticket, Expected::Jobs(jobs)));
            }
        }
        served
    }

    /// The store made this lease.
    pub(super) fn learn(&mut self, seq: i64, id: &LeaseId) {
        let job = self.jobs.get_mut(&seq).expect("it was claimed");
        let lease = job.lease.as_mut().expect("it was claimed");
        lease.id = Some(id.clone());
        if job.leases.last().is_none_or(|(last, _)| last != id) {
            job.leases.push((id.clone(), lease.worker.clone()));
        }
    }

    pub(super) fn held_by<'a>(&'a self, worker: &'a WorkerId) -> impl Iterator<Item = &'a Job> {
        self.jobs.values().filter(move |job| {
            job.is_live() && job.lease.as_ref().is_some_and(|lease| lease.worker == *worker)
        })
    }

    fn act(
        &mut self,
        id: &JobId,
        action: &Action,
        now: Now,
    ) -> Result<forge_engine::command::JobState, Refusal> {
        let change = |job: &mut Job| match action {
            Action::Cancel { even_running } => job.cancel(*even_running),
            Action::Retry => job.retry(now),
            Action::RunNow => job.while_pending(|job| {
                let early = job.run_at > now.wall_ms;
                job.run_at = job.run_at.min(now.wall_ms);
                if early { vec![JobUpdated] } else { vec![] }
            }),
            Action::Kill => job.while_pending(|job| {
                job.lease = None;
                job.reason = Some("killed".to_owned());
                job.status = Status::Quarantined;
                vec![forge_shared::event::EventKind::JobQuarantined]
            }),
            Action::Patch { priority, run_at, queue } => job.while_pending(|job| {
                job.priority = priority.unwrap_or(job.priority);
                job.run_at = run_at.unwrap_or(job.run_at);
                job.queue = queue.clone().unwrap_or(job.queue.clone());
                vec![JobUpdated]
            }),
            Action::Delete => job.delete(),
        };
        let state = self.change(id, change, Job::state)?;
        if *action == Action::Delete {
            self.jobs.retain(|_, job| job.id != *id);
            self.keys.retain(|_, (seq, _)| self.jobs.contains_key(seq));
        }
        Ok(state)
    }

    pub(super) fn reap(&mut self, seq: i64, now: Now) -> bool {
        let told = self.jobs.get_mut(&seq).and_then(|job| job.reap(now, self.hub_started));
        let changed = told.is_some();
        self.told.extend(told.into_iter().flatten());
        changed
    }

    fn register(&mut self, register: &Register, now: Now, served: &mut Served) -> Result<Reply, Refusal> {
        let worker = self.workers.entry(register.worker.clone()).or_default();
        if register.boot.as_ref().is_some_and(|boot| worker.superseded.contains(boot)) {
            return Err(Refusal::SupersededBoot);
        }
        if worker.boot != register.boot {
            if let Some(old) = std::mem::replace(&mut worker.boot, register.boot.clone()) {
                worker.superseded.push(old);
            }
            if register.boot.is_some() {
                let stale = |claim: &Claim| claim.worker == register.worker && claim.boot != register.boot;
                for (ticket, _) in self.waiting.extract_if(.., |_, claim| stale(claim)) {
                    served.push((ticket, Expected::Reply(Err(Refusal::SupersededBoot))));
                }
            }
        }
        let order = if worker.draining { WorkerOrder::Drain } else { WorkerOrder::Run };
        let Some(holding) = &register.holding else {
            return Ok(Reply::Leases { leases: vec![], order });
        };
        let dropped: Vec<i64> = self
            .held_by(&register.worker)
            .filter(|job| {
                let lease = job.lease.as_ref().expect("a held job has a lease");
                (register.boot.is_none() || lease.boot != register.boot) && !lists(holding, lease)
            })
            .map(|job| job.seq)
            .collect();
        for seq in dropped {
            let job = self.jobs.get_mut(&seq).expect("listed above");
            let told = match job.status {
                Status::Assigned => job.give_back(None, None, now).expect("it is live"),
                _ => job.lease_over(),
            };
            self.told.extend(told);
        }
        Ok(Reply::Leases { leases: self.renew(&register.worker, holding, now), order })
    }

    fn worker_heartbeat(&mut self, heartbeat: &WorkerHeartbeat, now: Now) -> Result<Reply, Refusal> {
        let worker = self.workers.get(&heartbeat.worker).ok_or(Refusal::UnknownWorker)?;
        let superseded = is_other(&worker.boot, &heartbeat.boot);
        let order = if worker.draining || superseded { WorkerOrder::Drain } else { WorkerOrder::Run };
        if !superseded {
            let dropped: Vec<i64> = self
                .held_by(&heartbeat.worker)
                .filter(|job| {
                    let lease = job.lease.as_ref().expect("a held job has a lease");
                    (heartbeat.boot.is_none() || lease.boot == heartbeat.boot)
                        && now.mono_ms - lease.granted > UNLISTED_MS
                        && !lists(&heartbeat.holding, lease)
                })
                .map(|job| job.seq)
                .collect();
            for seq in dropped {
                let job = self.jobs.get_mut(&seq).expect("listed above");
                let told = job.give_back(None, None, now).expect("it is live");
                self.told.extend(told);
            }
        }
        Ok(Reply::Leases { leases: self.renew(&heartbeat.worker, &heartbeat.holding, now), order })
    }

    fn renew(&mut self, worker: &WorkerId, holding: &[Holding], now: Now) -> Vec<LeaseAnswer> {
        let mut answer = |held: &Holding| {
            let holder = Holder { worker: worker.clone(), lease: Some(held.lease_id.clone()) };
            let named = |job: &&mut Job| job.leases.iter().any(|(id, _)| *id == held.lease_id);
            let Some(job) = self.jobs.values_mut().find(named) else { return LeaseAction::Gone };
            match job.heartbeat(&holder, held.phase, now) {
                Ok(told) => {
                    self.told.extend(told);
                    let stop = job.cancelling && held.phase != Phase::Reporting;
                    if stop { LeaseAction::Cancel } else { LeaseAction::Keep }
                }
                Err(_) => {
                    let last = job.lease.as_ref().is_some_and(|lease| {
                        lease.id.as_ref() == Some(&held.lease_id) && lease.held == Held::Late
                    });
                    if last && held.phase == Phase::Reporting { LeaseAction::Keep } else { LeaseAction::Gone }
                }
            }
        };
        holding
            .iter()
            .map(|held| LeaseAnswer { lease_id: held.lease_id.clone(), action: answer(held) })
            .collect()
    }

    fn drain(&mut self, id: &WorkerId, draining: bool, served: &mut Served) -> Result<Reply, Refusal> {
        let worker = self.workers.get_mut(id).ok_or(Refusal::UnknownWorker)?;
        if draining && !worker.draining {
            for (ticket, _) in self.waiting.extract_if(.., |_, claim| claim.worker == *id) {
                served.push((ticket, Expected::Jobs(vec![])));
            }
        }
        worker.draining = draining;
        Ok(Reply::Done)
    }

    /// The hub stopped and started again.
    pub(super) fn restart(&mut self, now: Now) {
        self.hub_started = now.mono_ms;
        self.waiting.clear();
        self.jobs.values_mut().for_each(|job| job.resume(now));
    }
}

fn is_other(current: &Option<BootId>, caller: &Option<BootId>) -> bool {
    matches!((current, caller), (Some(current), Some(caller)) if current != caller)
}

fn lists(holding: &[Holding], lease: &Lease) -> bool {
    holding.iter().any(|held| Some(&held.lease_id) == lease.id.as_ref())
}
