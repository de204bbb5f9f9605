//! A job as its producers and watchers see it.

use crate::{JobId, JobType, QueueName, WorkerId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Pending,
    Assigned,
    Running,
    Completed,
    Failed,
    Quarantined,
}

impl Status {
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Assigned, Self::Running, Self::Completed, Self::Failed, Self::Quarantined];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Assigned => "assigned",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Quarantined => "quarantined",
        }
    }

    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Quarantined)
    }

    pub fn is_live(self) -> bool {
        matches!(self, Self::Assigned | Self::Running)
    }
}

/// A derived view on jobs, for listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// Pending, never tried, due in the future.
    Scheduled,
    /// Pending, tried before, due in the future.
    Retrying,
    /// Waiting for something other than time.
    Blocked,
    /// Quarantined.
    Dead,
    /// Failed because somebody cancelled it.
    Cancelled,
}

impl View {
    pub const ALL: [Self; 5] = [Self::Scheduled, Self::Retrying, Self::Blocked, Self::Dead, Self::Cancelled];
}

/// What a worker is doing with a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Preparing,
    #[default]
    Running,
    Reporting,
}

/// How an attempt ended without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailureKind {
    /// The work itself failed.
    #[default]
    Error,
    /// It ran longer than it may.
    Timeout,
    /// Nobody heard of it for a lease time.
    Expired,
    /// It was stopped on request.
    Cancelled,
}

impl FailureKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackoffKind {
    /// Due again at once.
    None,
    /// Always `first_ms`.
    Fixed,
    /// `first_ms * factor^(n-1)`, at most `max_ms`.
    Exponential,
    /// `n^4 + 15 + uniform(0, 30 (n+1))` seconds, n = failures before this one.
    Sidekiq,
    /// `factor^n` seconds, n counting this failure; no jitter, no cap.
    Power,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Jitter {
    /// Exactly the computed delay.
    None,
    /// Uniform between half and all of it.
    Half,
    /// Uniform between nothing and all of it.
    Full,
}

/// How long a failed job waits for its next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Backoff {
    pub kind: BackoffKind,
    /// The first delay.
    #[serde(default = "Backoff::default_first_ms")]
    pub first_ms: u64,
    /// What each further delay is multiplied by; the base for `power`.
    #[serde(default = "Backoff::default_factor")]
    pub factor: f64,
    /// The longest delay.
    #[serde(default = "Backoff::default_max_ms")]
    pub max_ms: u64,
    #[serde(default = "Backoff::default_jitter")]
    pub jitter: Jitter,
}

impl Backoff {
    fn default_first_ms() -> u64 {
        1_000
    }
    fn default_factor() -> f64 {
        2.0
    }
    fn default_max_ms() -> u64 {
        3_600_000
    }
    fn default_jitter() -> Jitter {
        Jitter::Full
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            kind: BackoffKind::Exponential,
            first_ms: Self::default_first_ms(),
            factor: Self::default_factor(),
            max_ms: Self::default_max_ms(),
            jitter: Self::default_jitter(),
        }
    }
}

/// One entry of a job's `fail_history`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Failure {
    pub reason: String,
    #[schema(value_type = Option<String>)]
    pub worker_id: Option<WorkerId>,
    pub ts: i64,
    pub attempt: u32,
    pub kind: FailureKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<String>,
}

/// How one claim of a job went.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Attempt {
    pub attempt: u32,
    #[schema(value_type = Option<String>)]
    pub worker_id: Option<WorkerId>,
    /// Since when the job waited for this attempt.
    pub due_at: Option<i64>,
    /// From here on the worker prepares it: it fetches the solver.
    pub claimed_at: Option<i64>,
    /// From here on it runs.
    pub started_at: Option<i64>,
    /// When the hub learned how it ended. What is left of `started_at..ended_at` after the
    /// `wall_ms` of `usage` went by until the report arrived.
    pub ended_at: Option<i64>,
    /// `assigned`, `running`, `completed`, `failed`, `timeout`, `expired`, `released`,
    /// `snoozed` or `cancelled`.
    pub outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<String>,
    /// What the worker measured: CPU time, peak memory, wall time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub usage: Option<Box<RawValue>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub at: i64,
}

/// A job as `GET /api/jobs/{id}` answers it. Times are milliseconds since 1970.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Job {
    #[schema(value_type = String)]
    pub id: JobId,
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub kind: JobType,
    #[schema(value_type = String)]
    pub queue: QueueName,
    #[schema(value_type = Object)]
    pub params: Box<RawValue>,
    pub status: Status,
    pub priority: i16,
    #[schema(value_type = Option<String>)]
    pub worker_id: Option<WorkerId>,
    #[schema(value_type = Option<Object>)]
    pub result: Option<Box<RawValue>>,
    pub result_hash: Option<String>,
    pub created_at: i64,
    pub run_at: i64,
    pub claimed_at: Option<i64>,
    pub started_at: Option<i64>,
    pub heartbeat_at: Option<i64>,
    pub completed_at: Option<i64>,
    /// When it reached its final state, whichever that is.
    pub finished_at: Option<i64>,
    /// When it will be tried again, for a job that failed and waits.
    pub next_retry_at: Option<i64>,
    pub expires_at: Option<i64>,
    /// How many times it was claimed; only grows.
    pub attempt: u32,
    /// How much of `max_attempts` is spent.
    pub attempts: u32,
    pub max_attempts: u32,
    pub max_runtime_ms: Option<i64>,
    pub cancel_requested: bool,
    pub fail_reason: Option<String>,
    pub fail_history: Vec<Failure>,
    pub solver_url: Option<String>,
    pub solver_checksum: Option<String>,
    pub command: Option<String>,
    pub backoff: Option<Backoff>,
    pub tags: Vec<String>,
    pub progress: Option<Progress>,
}
