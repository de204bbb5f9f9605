//! Bodies that callers send. Producers' and administrators' bodies refuse unknown fields by
//! name; agents' bodies ignore them, so that old and new versions mix.

use crate::{
    Backoff, BootId, ClaimId, FailureKind, JobId, JobType, LeaseId, Phase, QueueName, QueuePattern, Status,
    View, WorkerId,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

/// A job to enqueue.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJob {
    /// The caller's own id; 32 hex digits are made when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub id: Option<JobId>,
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub kind: JobType,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub queue: Option<QueueName>,
    /// Any JSON value; `{}` when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub params: Option<Box<RawValue>>,
    /// Higher is sooner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// `null` means no limit; left out means the default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "nullable")]
    #[schema(value_type = Option<i64>)]
    pub max_runtime_ms: Option<Option<i64>>,
    /// Not before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_at: Option<i64>,
    /// Not before this long from now; not together with `run_at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<i64>,
    /// Fails with `expired` when still pending at this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// The same key again answers with the first job; lives as long as the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// A shell line, run only where the operator allows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solver_url: Option<String>,
    /// sha256 of the solver, 64 hex digits; required with `solver_url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solver_checksum: Option<String>,
}

fn nullable<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<i64>>, D::Error> {
    Option::<i64>::deserialize(deserializer).map(Some)
}

/// A worker asks for work.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Claim {
    #[schema(value_type = String)]
    pub worker_id: WorkerId,
    /// Job types to take; none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub types: Vec<JobType>,
    /// Queues to take from (`ns/*` for all below); none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub queues: Vec<QueuePattern>,
    /// How long to wait for a job, at most 60,000 ms; without it the answer is immediate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// How many jobs at most; its presence makes the answer an array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free: Option<Free>,
    /// A repeated claim with the same id returns the same jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub claim_id: Option<ClaimId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub boot_id: Option<BootId>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct Free {
    pub slots: Option<u32>,
    pub cores: Option<f64>,
    pub ram_gb: Option<f64>,
}

/// Who speaks for a lease: the lease itself, or at least the worker.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Heartbeat {
    #[schema(value_type = String)]
    pub worker_id: WorkerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub lease_id: Option<LeaseId>,
    #[serde(default)]
    pub phase: Phase,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct JobResult {
    #[schema(value_type = String)]
    pub worker_id: WorkerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub lease_id: Option<LeaseId>,
    #[schema(value_type = Object)]
    pub result: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_hash: Option<String>,
    /// What the worker measured: CPU time, peak memory, wall time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub usage: Option<Box<RawValue>>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct JobFailure {
    #[schema(value_type = String)]
    pub worker_id: WorkerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub lease_id: Option<LeaseId>,
    pub reason: String,
    #[serde(default)]
    pub kind: FailureKind,
    /// No further attempt.
    #[serde(default)]
    pub permanent: bool,
    /// Overrides the backoff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_in_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub usage: Option<Box<RawValue>>,
}

/// One entry of `POST /api/jobs/results`: a result when `result` is there, else a failure.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Report {
    #[schema(value_type = String)]
    pub job_id: JobId,
    #[schema(value_type = String)]
    pub worker_id: WorkerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub lease_id: Option<LeaseId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default)]
    pub kind: FailureKind,
    #[serde(default)]
    pub permanent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_in_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub usage: Option<Box<RawValue>>,
}

/// Gives a job back: at once, or to be tried after `delay_ms`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Release {
    #[schema(value_type = String)]
    pub worker_id: WorkerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub lease_id: Option<LeaseId>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Snooze {
    #[schema(value_type = String)]
    pub worker_id: WorkerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub lease_id: Option<LeaseId>,
    pub delay_ms: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ReportProgress {
    #[schema(value_type = String)]
    pub worker_id: WorkerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub lease_id: Option<LeaseId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Register {
    #[schema(value_type = String)]
    pub worker_id: WorkerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ram_gb: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub types: Vec<JobType>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub queues: Vec<QueuePattern>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub boot_id: Option<BootId>,
    /// What this process still has to do or to report; its presence asks for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holding: Option<Vec<Holding>>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Holding {
    #[schema(value_type = String)]
    pub lease_id: LeaseId,
    #[serde(default)]
    pub phase: Phase,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct WorkerHeartbeat {
    #[serde(default)]
    pub holding: Vec<Holding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_kb: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outbox: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub boot_id: Option<BootId>,
}

/// Changes to a pending job.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchJob {
    pub priority: Option<i16>,
    pub run_at: Option<i64>,
    #[schema(value_type = Option<String>)]
    pub queue: Option<QueueName>,
}

/// Which jobs. All given fields must match.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobFilter {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<View>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    #[param(value_type = Option<String>)]
    pub kind: Option<JobType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    #[param(value_type = Option<String>)]
    pub queue: Option<QueueName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    #[param(value_type = Option<String>)]
    pub worker_id: Option<WorkerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Created at or after; with `worker_id`, finished at or after, or still going on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// Created before; with `worker_id`, claimed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<i64>,
    /// Start of the id, or part of type, tag or fail reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BulkAction {
    Retry,
    Cancel,
    Kill,
    Delete,
    RunNow,
    SetPriority,
}

/// One action on every job that matches.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    pub action: BulkAction,
    pub filter: JobFilter,
    /// For `set_priority`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i16>,
    /// Only count, and show a sample.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What a person calls it.
    pub name: String,
    pub scope: Scope,
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Producer,
    Worker,
    Viewer,
    Admin,
}

impl Scope {
    pub const ALL: [Self; 4] = [Self::Producer, Self::Worker, Self::Viewer, Self::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Worker => "worker",
            Self::Viewer => "viewer",
            Self::Admin => "admin",
        }
    }
}
