//! What a batch wants saved.

use crate::{
    command::{Completion, Idempotency},
    job::{Entry, Job, Spec},
    lane::{LaneId, LaneRow},
    worker::Worker,
};
use alloc::{collections::BTreeSet, vec::Vec};
use forge_shared::{JobId, JobType, QueueName, Status, WorkerId, event::Event, job::Progress};

/// Jobs are counted by queue, type and status.
pub type CountKey = (QueueName, JobType, Status);

#[derive(Debug, Default)]
pub struct Changes {
    pub inserted: Vec<Inserted>,
    pub updated: Vec<(Job, Option<LaneId>)>,
    pub deleted: Vec<(i64, JobId)>,
    pub entries: Vec<Entry>,
    pub completions: Vec<(i64, Completion)>,
    pub progress: Vec<(i64, Progress)>,
    pub workers: Vec<Worker>,
    pub forgotten: Vec<WorkerId>,
    pub lanes: Vec<LaneRow>,
    pub counts: Vec<(CountKey, i64)>,
    pub events: Vec<Event>,
    pub next_job: i64,
    pub next_event: u64,
    pub(super) counted: BTreeSet<CountKey>,
}

#[derive(Debug)]
pub struct Inserted {
    pub job: Job,
    pub spec: Spec,
    pub idempotency: Option<Idempotency>,
    pub lane: Option<LaneId>,
}

impl Changes {
    /// Nothing to write: the transaction can be dropped.
    pub fn is_empty(&self) -> bool {
        self.inserted.is_empty()
            && self.updated.is_empty()
            && self.deleted.is_empty()
            && self.entries.is_empty()
            && self.completions.is_empty()
            && self.progress.is_empty()
            && self.workers.is_empty()
            && self.forgotten.is_empty()
            && self.lanes.is_empty()
            && self.events.is_empty()
    }
}
