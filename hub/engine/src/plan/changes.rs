//! What a batch wants saved.

use crate::{
    command::{Completion, Idempotency},
    job::{Entry, Job, Spec},
    lane::{LaneId, LaneRow},
    worker::Worker,
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use forge_shared::{JobId, JobType, QueueName, Status, View, WorkerId, event::Event, job::Progress};

/// Jobs are counted by queue, type and status.
pub type CountKey = (QueueName, JobType, Status);

/// Views that are no status are counted by queue. Those that wait for their time come first.
pub type ViewKey = (View, QueueName);

/// What came to an end. These only grow: removing a job takes nothing back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flow {
    pub completed: u64,
    /// Jobs that ended as failed or quarantined.
    pub failed: u64,
    /// Attempts that failed, ran too long or were lost, whether or not the job was tried again.
    pub failed_attempts: u64,
}

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
    pub views: Vec<(ViewKey, i64)>,
    /// Due times up to here no longer count as ahead.
    pub settled_ms: i64,
    /// What ended in this batch, by queue.
    pub flow: BTreeMap<QueueName, Flow>,
    /// When the batch was decided.
    pub at_ms: i64,
    pub events: Vec<Event>,
    pub next_job: i64,
    pub next_event: u64,
    pub(super) counted: BTreeSet<CountKey>,
    pub(super) counted_views: BTreeSet<ViewKey>,
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
            && self.views.is_empty()
            && self.events.is_empty()
    }
}
