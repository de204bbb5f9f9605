//! The plain records that a store keeps beside jobs.

use forge_engine::plan::{Flow, ViewKey};
use forge_shared::{
    JobId, JobType, NodeId, QueueName, Status, WorkerId,
    event::Event,
    request::{BulkAction, JobFilter, Scope},
};
use std::{collections::BTreeMap, sync::Arc};

/// Where a listing starts and how much of it is wanted.
#[derive(Debug, Clone)]
pub struct Page {
    pub limit: u32,
    pub offset: u32,
    pub order: Order,
    /// Only jobs behind this place.
    pub after: Option<Place>,
    pub now_ms: i64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    NewestFirst,
    /// By when they are due. Only for views of jobs that wait for their time.
    SoonestFirst,
}

/// A job's place in a list, whatever its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub run_at: i64,
    pub seq: i64,
}

#[derive(Debug, Clone, Default)]
pub struct JobPage {
    pub jobs: Vec<forge_shared::Job>,
    /// Pass as `after` for the next page.
    pub next: Option<Place>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCount {
    pub queue: QueueName,
    pub kind: JobType,
    pub status: Status,
    pub n: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueCount {
    pub queue: QueueName,
    pub status: Status,
    pub n: u64,
}

/// What came to an end in a minute or a day that starts at `ts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowAt {
    pub ts: i64,
    /// `None` for all queues together.
    pub queue: Option<QueueName>,
    pub flow: Flow,
}

/// All jobs at a glance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobsOverview {
    pub counts: Vec<QueueCount>,
    /// The views that are no status, by queue, as of now.
    pub views: BTreeMap<ViewKey, u64>,
    /// Since when the first job of a lane has been due, by queue; a queue may have several lanes.
    pub oldest: Vec<(QueueName, i64)>,
    /// By queue.
    pub minutes: Vec<FlowAt>,
    pub days: Vec<FlowAt>,
    /// Since the beginning: removing jobs takes nothing back.
    pub total: Flow,
}

#[derive(Debug, Clone, Default)]
pub struct Overdue {
    pub jobs: Vec<i64>,
    pub workers: Vec<WorkerId>,
}

/// How long finished jobs are kept.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    pub now_ms: i64,
    pub completed_ms: i64,
    pub failed_ms: i64,
    /// Failed and dead jobs beyond this many go first.
    pub failed_max: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRange {
    /// Changes when a database is restored: older ids mean nothing any more.
    pub epoch: u64,
    /// The lowest number still there (or the next one, when there is none).
    pub first: u64,
    /// The highest number given out.
    pub last: u64,
}

#[derive(Clone)]
pub struct TokenRecord {
    pub id: String,
    pub name: String,
    pub scope: Scope,
    /// sha256 of the secret; the secret itself is kept nowhere.
    pub hash: [u8; 32],
    pub worker_id: Option<WorkerId>,
    pub created_at: i64,
    pub last_used_at: Option<i64>,
}

#[derive(Clone)]
pub struct SessionRecord {
    pub hash: [u8; 32],
    /// The token it was opened with; `None` is the administrator's secret.
    pub token_id: Option<String>,
    pub created_at: i64,
    pub expires_at: i64,
}

/// A bulk action in progress. It survives a restart and goes on where it was.
#[derive(Debug, Clone)]
pub struct Operation {
    pub id: String,
    pub action: BulkAction,
    pub priority: Option<i16>,
    pub filter: JobFilter,
    /// Jobs up to here are done.
    pub after: i64,
    /// Jobs above this came later and are left alone.
    pub upto: i64,
    pub matched: u64,
    pub changed: u64,
    pub skipped: u64,
    pub done: bool,
    pub created_at: i64,
}

#[derive(Debug, Clone)]
pub struct NodeRecord {
    pub id: NodeId,
    pub name: String,
    pub last_seen: i64,
    /// The newest snapshot, as JSON.
    pub latest: Option<String>,
}

/// How finely the past of machines is kept, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryTier {
    Minutes,
    QuarterHours,
    QuarterDays,
}

impl HistoryTier {
    pub const ALL: [Self; 3] = [Self::Minutes, Self::QuarterHours, Self::QuarterDays];

    pub fn width_ms(self) -> i64 {
        match self {
            Self::Minutes => 60_000,
            Self::QuarterHours => 15 * 60_000,
            Self::QuarterDays => 6 * 3_600_000,
        }
    }

    pub fn keep_ms(self) -> i64 {
        const DAY_MS: i64 = 24 * 3_600_000;
        match self {
            Self::Minutes => 7 * DAY_MS,
            Self::QuarterHours => 90 * DAY_MS,
            Self::QuarterDays => 730 * DAY_MS,
        }
    }

    /// The start of the bucket that a time belongs to.
    pub fn start_of(self, ts: i64) -> i64 {
        ts.div_euclid(self.width_ms()) * self.width_ms()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogAppend {
    /// The offset after the last byte the store has.
    Stored(u64),
    /// The bytes do not start where the log ends; it has this many.
    Gap(u64),
}

#[derive(Debug, Clone, Default)]
pub struct LogSlice {
    /// Where `bytes` starts; later than asked for when the oldest were dropped.
    pub offset: u64,
    pub bytes: Vec<u8>,
    /// Where the log ends now.
    pub end: u64,
}

/// What the store did lately, for `/metrics`.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// Of both files.
    pub database_bytes: u64,
    /// Of the one with logs and machine history.
    pub side_bytes: u64,
    pub waiting_claims: u64,
    /// Room on the disk; 0 when that is not known.
    pub disk_free_bytes: u64,
}

/// Events of one commit, as they are published.
pub type EventBatch = Arc<[Event]>;

/// Ids of jobs that were removed, so that what else is kept of them can go too.
pub type Removed = Vec<JobId>;
