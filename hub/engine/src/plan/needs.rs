//! What the planner must know before it can decide.

use super::{Ctx, Planner, ViewKey};
use crate::{
    claim,
    command::{Command, Completion, NewJob},
    job::Job,
    lane::{Entry, HeadsWanted},
    worker::Worker,
};
use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};
use forge_shared::{JobId, WorkerId, request::Holding};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Needs {
    /// Jobs by number.
    pub jobs: Vec<i64>,
    /// Jobs by id.
    pub ids: Vec<JobId>,
    /// Idempotency keys.
    pub keys: Vec<Arc<str>>,
    pub workers: Vec<WorkerId>,
    /// All jobs that these workers hold.
    pub live_of: Vec<WorkerId>,
    /// The recorded completions of these jobs.
    pub completions: Vec<i64>,
    /// More of these lanes.
    pub heads: Vec<HeadsWanted>,
    /// How many pending jobs have a due time after the first and up to the second, and later than
    /// their creation.
    pub became_due: Option<(i64, i64)>,
}

/// What a store found. Whatever was asked for and is not here does not exist.
#[derive(Debug, Default)]
pub struct Found {
    pub jobs: Vec<Job>,
    pub keys: Vec<(Arc<str>, KnownKey)>,
    pub workers: Vec<Worker>,
    pub live_of: Vec<(WorkerId, Vec<i64>)>,
    pub completions: Vec<(i64, Completion)>,
    /// In the order of `Needs::heads`.
    pub heads: Vec<Vec<Entry>>,
    pub became_due: BecameDue,
}

/// Jobs whose time has come, by the view they were counted in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BecameDue {
    pub jobs: Vec<(ViewKey, u64)>,
    /// Those up to this time; a store may stop early when there are very many.
    pub upto_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownKey {
    pub job: i64,
    pub body: [u8; 32],
}

impl Needs {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn jobs(jobs: Vec<i64>) -> Self {
        Self { jobs, ..Self::default() }
    }

    pub(super) fn heads(heads: Vec<HeadsWanted>) -> Self {
        Self { heads, ..Self::default() }
    }

    pub(super) fn completion(job: i64) -> Self {
        Self { completions: alloc::vec![job], ..Self::default() }
    }

    /// Several commands may want the same.
    pub(super) fn tidy(&mut self) {
        fn unique<T: Ord>(list: &mut Vec<T>) {
            list.sort_unstable();
            list.dedup();
        }
        unique(&mut self.jobs);
        unique(&mut self.ids);
        unique(&mut self.keys);
        unique(&mut self.workers);
        unique(&mut self.live_of);
    }
}

impl Planner {
    /// What can be known up front about a command.
    pub(super) fn needs_of(&self, command: &Command, needs: &mut Needs) {
        match command {
            Command::Enqueue(jobs) => {
                for NewJob { id, idempotency, .. } in jobs {
                    needs.ids.extend(id.clone());
                    needs.keys.extend(idempotency.as_ref().map(|idempotency| idempotency.key.clone()));
                }
            }
            Command::Replace { job, .. } => needs.ids.extend(job.id.clone()),
            Command::Claim(claim) => {
                self.need_worker(&claim.worker, needs);
                if claim.claim_id.is_some() {
                    needs.live_of.push(claim.worker.clone());
                }
            }
            Command::Heartbeat { job, .. }
            | Command::Release { job, .. }
            | Command::Snooze { job, .. }
            | Command::Progress { job, .. }
            | Command::CheckLease { job, .. } => needs.ids.push(job.clone()),
            Command::Report(reports) => needs.ids.extend(reports.iter().map(|report| report.job.clone())),
            Command::Act { jobs, .. } => needs.ids.extend(jobs.iter().cloned()),
            Command::Register(register) => {
                self.need_worker(&register.worker, needs);
                if let Some(holding) = &register.holding {
                    needs.live_of.push(register.worker.clone());
                    need_held(holding, needs);
                }
            }
            Command::WorkerHeartbeat(heartbeat) => {
                self.need_worker(&heartbeat.worker, needs);
                needs.live_of.push(heartbeat.worker.clone());
                need_held(&heartbeat.holding, needs);
            }
            Command::Drain { worker, .. } | Command::Forget(worker) => self.need_worker(worker, needs),
            Command::Vanished(workers) => needs.live_of.extend(workers.iter().cloned()),
            Command::Reap { jobs, workers } => {
                needs.jobs.extend(jobs);
                for worker in workers {
                    self.need_worker(worker, needs);
                }
            }
            Command::Resume { jobs } | Command::Prune { jobs } => needs.jobs.extend(jobs),
            Command::CallOff(_) | Command::Tick => {}
        }
    }

    fn need_worker(&self, worker: &WorkerId, needs: &mut Needs) {
        if !self.workers.contains_key(worker) {
            needs.workers.push(worker.clone());
        }
    }

    /// Takes in what was asked for.
    pub fn supply(&mut self, needs: &Needs, found: Found) {
        let set = &mut self.batch.set;
        for job in found.jobs {
            set.load(job);
        }
        for id in &needs.ids {
            set.know_id(id);
        }
        for key in &needs.keys {
            set.keys.entry(key.clone()).or_insert(None);
        }
        for (key, known) in found.keys {
            set.keys.insert(key, Some(known));
        }
        for id in &needs.workers {
            self.workers.entry(id.clone()).or_insert(None);
        }
        for mut worker in found.workers {
            let Ctx { now, started_ms, .. } = self.batch.ctx;
            // A planner may be loaded long after the hub started; before that nobody was listening.
            let silent_ms =
                worker.last_heartbeat.map_or(i64::MAX, |at| now.wall_ms.saturating_sub(at).max(0));
            worker.heard_ms = now.mono_ms.saturating_sub(silent_ms).max(started_ms);
            self.workers.insert(worker.id.clone(), Some(worker));
        }
        for (worker, jobs) in found.live_of {
            set.live.entry(worker).or_default().extend(jobs);
        }
        // Asked for before anything is decided, so the batch has changed none of these jobs yet.
        if !found.became_due.jobs.is_empty() {
            self.settled_ms = found.became_due.upto_ms;
        }
        for (key, n) in found.became_due.jobs {
            let left = self.views.entry(key.clone()).or_insert(0);
            *left -= i64::try_from(n).unwrap_or(i64::MAX);
            self.batch.changes.counted_views.insert(key);
        }
        let set = &mut self.batch.set;
        for job in &needs.completions {
            set.completions.entry(*job).or_insert(None);
        }
        for (job, completion) in found.completions {
            set.completions.insert(job, Some(completion));
        }
        if !found.heads.is_empty() {
            let mut overlay: BTreeMap<i64, Option<Entry>> = set.lane_entries();
            overlay.extend(self.batch.picked.iter().map(|seq| (*seq, None)));
            for (wanted, rows) in core::mem::take(&mut self.batch.refills).iter().zip(found.heads) {
                let Some(key) = self.lanes.try_key(wanted.lane) else { continue };
                let here = overlay
                    .iter()
                    .map(|(seq, entry)| (*seq, entry.filter(|_| self.batch.set.lane_of(*seq) == Some(key))))
                    .collect();
                self.lanes.refill(wanted, &rows, &here);
            }
        }
    }
}

fn need_held(holding: &[Holding], needs: &mut Needs) {
    needs.jobs.extend(holding.iter().filter_map(|held| claim::job_of(&held.lease_id)));
}
