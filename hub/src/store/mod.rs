//! Where everything durable lives. [`Store`] speaks of jobs, workers, events, tokens and logs; it
//! names no database. A store decides nothing about jobs: it loads and saves what the engine's
//! planner asks for, in one transaction a batch.

mod error;
mod records;
pub mod sqlite;

pub use error::Error;
pub use records::*;

use crate::fleet::Bucket;
use async_trait::async_trait;
use bytes::Bytes;
use forge_engine::{Command, Refusal, Reply};
use forge_shared::{
    JobId, NodeId, WorkerId,
    event::Event,
    job::Attempt,
    request::JobFilter,
    response::{AuditEntry, Worker},
};
use std::{collections::BTreeMap, sync::Arc};

/// A decision's answer: what happened, or why it may not.
pub type Decided = Result<Reply, Refusal>;

#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Decides and saves. The answer comes after the commit is on disk. A command with an audit
    /// note writes that note in the same transaction, unless it is refused.
    async fn submit(&self, command: Command, note: Option<AuditEntry>) -> Result<Decided, Error>;

    async fn job(&self, id: &JobId) -> Result<Option<forge_shared::Job>, Error>;
    /// Just claimed jobs with their params, for handing them over.
    async fn claimed_jobs(&self, jobs: &[Arc<forge_engine::Job>]) -> Result<Vec<forge_shared::Job>, Error>;
    /// Jobs by their numbers in the store.
    async fn jobs_by_seq(&self, seqs: Vec<i64>) -> Result<Vec<forge_shared::Job>, Error>;
    async fn jobs(&self, filter: JobFilter, page: Page) -> Result<JobPage, Error>;
    /// Ids of matching jobs with a number above `after`, oldest first, for bulk work.
    async fn matching(
        &self,
        filter: JobFilter,
        after: i64,
        upto: i64,
        max: u32,
    ) -> Result<Vec<(i64, JobId)>, Error>;
    async fn count_matching(&self, filter: JobFilter) -> Result<u64, Error>;
    /// The highest number given to a job.
    async fn last_job(&self) -> Result<i64, Error>;
    async fn attempts(&self, id: &JobId) -> Result<Option<Vec<Attempt>>, Error>;
    /// How many jobs there are by queue, type and status.
    async fn counts(&self) -> Result<Vec<JobCount>, Error>;
    /// The same at a glance, with what came to an end lately; costs the same however many jobs
    /// there are.
    async fn overview(&self, now_ms: i64) -> Result<JobsOverview, Error>;
    async fn live_jobs_by_worker(&self) -> Result<BTreeMap<WorkerId, u64>, Error>;
    async fn workers(&self) -> Result<Vec<Worker>, Error>;
    async fn worker(&self, id: &WorkerId) -> Result<Option<Worker>, Error>;

    /// What may have run out of time; the engine looks again before anything happens.
    async fn overdue(&self, now: forge_engine::Now, max: u32) -> Result<Overdue, Error>;
    /// Numbers of live jobs above `after`.
    async fn live_jobs(&self, after: i64, max: u32) -> Result<Vec<i64>, Error>;
    /// Numbers of finished jobs that have been kept long enough.
    async fn prunable(&self, keep: Retention, max: u32) -> Result<Vec<i64>, Error>;
    /// Removes some events from before this time, oldest first. True when there may be more.
    async fn prune_events(&self, before_ms: i64) -> Result<bool, Error>;

    /// The event log's epoch and the numbers it holds.
    async fn event_range(&self) -> Result<EventRange, Error>;
    /// Events numbered above `seq`, at most about `max` of them, in order.
    async fn events_after(&self, seq: u64, max: usize) -> Result<Vec<Event>, Error>;

    async fn tokens(&self) -> Result<Vec<TokenRecord>, Error>;
    async fn save_token(&self, token: TokenRecord, note: Option<AuditEntry>) -> Result<(), Error>;
    /// Removes a token and its sessions. False when there is none.
    async fn delete_token(&self, id: &str, note: AuditEntry) -> Result<bool, Error>;
    async fn sessions(&self) -> Result<Vec<SessionRecord>, Error>;
    async fn save_session(&self, session: SessionRecord) -> Result<(), Error>;
    async fn delete_session(&self, hash: [u8; 32]) -> Result<(), Error>;
    async fn audit(&self, note: AuditEntry) -> Result<(), Error>;
    /// Newest first.
    async fn audit_log(&self, before: Option<i64>, max: u32) -> Result<Vec<(i64, AuditEntry)>, Error>;

    async fn operation(&self, id: &str) -> Result<Option<Operation>, Error>;
    async fn save_operation(&self, operation: Operation, note: Option<AuditEntry>) -> Result<(), Error>;
    async fn unfinished_operations(&self) -> Result<Vec<Operation>, Error>;

    async fn nodes(&self) -> Result<Vec<NodeRecord>, Error>;
    /// Durable: used for a node's first push and a changed name.
    async fn save_node(&self, node: NodeRecord) -> Result<(), Error>;
    /// May lose the last seconds: the newest snapshot of each node.
    async fn save_snapshots(&self, latest: Vec<(NodeId, i64, String)>) -> Result<(), Error>;

    /// Adds to the minutes of these nodes' past, and to all that is made of them. May lose the
    /// last seconds.
    async fn add_history(&self, minutes: Vec<(NodeId, i64, Bucket)>) -> Result<(), Error>;
    /// The buckets of a node that start at `from` or later, oldest first.
    async fn history(&self, node: &NodeId, tier: HistoryTier, from: i64)
    -> Result<Vec<(i64, Bucket)>, Error>;
    /// Removes what was kept long enough.
    async fn prune_history(&self, now_ms: i64) -> Result<(), Error>;

    /// Appends to the log of one attempt, dropping the oldest beyond its limit. May lose the
    /// last seconds.
    async fn append_log(
        &self,
        job: &JobId,
        attempt: u32,
        offset: u64,
        bytes: Bytes,
    ) -> Result<LogAppend, Error>;
    async fn read_log(&self, job: &JobId, attempt: u32, offset: u64, max: usize) -> Result<LogSlice, Error>;
    async fn delete_logs(&self, jobs: Vec<JobId>) -> Result<(), Error>;

    /// Really writes to both files, without changing anything: is there room again?
    async fn try_write(&self) -> Result<(), Error>;
    /// A cheap proof that both files can still be read and written.
    async fn ping(&self) -> Result<(), Error>;
    fn figures(&self) -> Figures;
    /// Finishes what was accepted and closes the files.
    async fn close(&self);
}
