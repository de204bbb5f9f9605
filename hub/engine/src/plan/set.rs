//! The jobs that a batch works on.

use super::{
    changes::{Changes, Inserted},
    needs::KnownKey,
};
use crate::{
    command::{Completion, Idempotency},
    job::{Job, Spec},
    lane::{Entry, LaneKey, Lanes},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    vec::Vec,
};
use forge_shared::{JobId, Status, WorkerId};

#[derive(Debug, Default)]
pub(super) struct WorkingSet {
    slots: BTreeMap<i64, Slot>,
    ids: BTreeMap<JobId, Option<i64>>,
    pub(super) keys: BTreeMap<Arc<str>, Option<KnownKey>>,
    /// Jobs that workers hold, or held when the batch began.
    pub(super) live: BTreeMap<WorkerId, BTreeSet<i64>>,
    pub(super) completions: BTreeMap<i64, Option<Completion>>,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) job: Job,
    new: Option<(Spec, Option<Idempotency>)>,
    pub(super) dirty: bool,
    pub(super) deleted: bool,
    /// Where it stands in the lanes, as the lanes know it.
    pub(super) laned: Option<(LaneKey, Entry)>,
}

pub(super) fn lane_place(job: &Job) -> Option<(LaneKey, Entry)> {
    (job.status == Status::Pending).then(|| (lane_key(job), (job.run_at, job.seq)))
}

fn lane_key(job: &Job) -> LaneKey {
    LaneKey { queue: job.queue.clone(), kind: job.kind.clone(), priority: job.priority }
}

impl WorkingSet {
    /// Takes in a stored job, unless the batch has its own idea of it already.
    pub(super) fn load(&mut self, job: Job) {
        self.ids.entry(job.id.clone()).or_insert(Some(job.seq));
        self.slots.entry(job.seq).or_insert_with(|| {
            let laned = lane_place(&job);
            Slot { job, new: None, dirty: false, deleted: false, laned }
        });
    }

    /// Notes that an id was looked up.
    pub(super) fn know_id(&mut self, id: &JobId) {
        self.ids.entry(id.clone()).or_insert(None);
    }

    /// `named`: the caller chose the id. Nobody else can name the job before it is answered.
    pub(super) fn insert(&mut self, job: Job, spec: Spec, idempotency: Option<Idempotency>, named: bool) {
        let seq = job.seq;
        if named {
            self.ids.insert(job.id.clone(), Some(seq));
        }
        if let Some(Idempotency { key, body }) = &idempotency {
            self.keys.insert(key.clone(), Some(KnownKey { job: seq, body: *body }));
        }
        let slot = Slot { job, new: Some((spec, idempotency)), dirty: true, deleted: false, laned: None };
        self.slots.insert(seq, slot);
    }

    pub(super) fn by_id(&self, id: &JobId) -> Option<i64> {
        self.ids.get(id).copied().flatten()
    }

    pub(super) fn knows(&self, seq: i64) -> bool {
        self.slots.contains_key(&seq)
    }

    pub(super) fn slot(&mut self, seq: i64) -> Option<&mut Slot> {
        self.slots.get_mut(&seq).filter(|slot| !slot.deleted)
    }

    pub(super) fn job(&self, seq: i64) -> Option<&Job> {
        self.slots.get(&seq).filter(|slot| !slot.deleted).map(|slot| &slot.job)
    }

    /// Forgets the names of a job that is being removed.
    pub(super) fn forget(&mut self, seq: i64) {
        if let Some(slot) = self.slots.get_mut(&seq) {
            slot.deleted = true;
            self.ids.insert(slot.job.id.clone(), None);
            for known in self.keys.values_mut() {
                if known.as_ref().is_some_and(|known| known.job == seq) {
                    *known = None;
                }
            }
        }
    }

    /// What a worker holds now.
    pub(super) fn held_by(&self, worker: &WorkerId) -> Vec<i64> {
        let seqs = self.live.get(worker).into_iter().flatten().copied();
        let holds = |job: &Job| {
            job.status.is_live() && job.lease.as_ref().is_some_and(|lease| lease.worker == *worker)
        };
        seqs.filter(|seq| self.job(*seq).is_some_and(holds)).collect()
    }

    pub(super) fn lane_entries(&self) -> BTreeMap<i64, Option<Entry>> {
        self.slots.iter().map(|(seq, slot)| (*seq, slot.laned.as_ref().map(|(_, entry)| *entry))).collect()
    }

    pub(super) fn lane_of(&self, seq: i64) -> Option<&LaneKey> {
        self.slots.get(&seq)?.laned.as_ref().map(|(key, _)| key)
    }

    /// Turns what was touched into what is to be saved.
    pub(super) fn drain_into(self, changes: &mut Changes, lanes: &Lanes) {
        let mut gone = BTreeSet::new();
        for (seq, slot) in self.slots {
            let lane = slot.laned.as_ref().and_then(|(key, _)| lanes.id(key));
            match (slot.new, slot.deleted) {
                // Made and removed in one batch: only its events remain.
                (Some(_), true) => {
                    gone.insert(seq);
                }
                (None, true) => {
                    gone.insert(seq);
                    changes.deleted.push((seq, slot.job.id));
                }
                (Some((spec, idempotency)), false) => {
                    changes.inserted.push(Inserted { job: slot.job, spec, idempotency, lane });
                }
                (None, false) if slot.dirty => changes.updated.push((slot.job, lane)),
                (None, false) => {}
            }
        }
        if !gone.is_empty() {
            changes.entries.retain(|entry| !gone.contains(&entry.job));
            changes.completions.retain(|(job, _)| !gone.contains(job));
            changes.progress.retain(|(job, _)| !gone.contains(job));
        }
    }
}
