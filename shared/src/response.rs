//! Bodies that the hub answers with.

use crate::{BootId, Job, JobId, JobType, LeaseId, QueuePattern, Status, WorkerId, request::Scope};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Every error looks like this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// What a person can act on.
    pub error: String,
    /// A word for programs.
    pub code: String,
    /// The field of the request that is at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Enqueued {
    #[schema(value_type = String)]
    pub id: JobId,
    pub status: Status,
}

/// A job handed to a worker.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ClaimedJob {
    #[serde(flatten)]
    pub job: Job,
    #[schema(value_type = String)]
    pub lease_id: LeaseId,
    /// Without a heartbeat for this long, the job goes to somebody else.
    pub lease_ms: i64,
    /// How often to send one.
    pub heartbeat_ms: i64,
    /// Agents read it already; hubs do not send it yet, and so do not describe it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    pub requires: Option<Requires>,
}

/// What a job takes of its machine while it runs. What is not named is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Requires {
    #[serde(default)]
    pub cores: Option<f64>,
    #[serde(default)]
    pub ram_gb: Option<f64>,
}

/// Reads the text twice: what a derived `flatten` keeps of a job has lost the digits of its
/// params, and is refused.
impl<'de> Deserialize<'de> for ClaimedJob {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Lease {
            lease_id: LeaseId,
            lease_ms: i64,
            heartbeat_ms: i64,
            #[serde(default)]
            requires: Option<Requires>,
        }
        let text = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        let job = serde_json::from_str(text.get()).map_err(serde::de::Error::custom)?;
        let Lease { lease_id, lease_ms, heartbeat_ms, requires } =
            serde_json::from_str(text.get()).map_err(serde::de::Error::custom)?;
        Ok(Self { job, lease_id, lease_ms, heartbeat_ms, requires })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatAnswer {
    pub cancel: bool,
}

/// The state of a job after a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reported {
    #[schema(value_type = String)]
    pub id: JobId,
    pub status: Status,
    /// When it will be tried again, if it will.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_retry_at: Option<i64>,
}

/// One answer of `POST /api/jobs/results`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReportAnswer {
    #[schema(value_type = String)]
    pub id: JobId,
    /// The code the single call would have answered.
    pub code: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LeaseAction {
    /// Go on.
    Keep,
    /// Stop it and report the failure.
    Cancel,
    /// It is somebody else's or nobody's now; drop it.
    Gone,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseAnswer {
    #[schema(value_type = String)]
    pub lease_id: LeaseId,
    pub action: LeaseAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkerOrder {
    Run,
    Drain,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerHeartbeatAnswer {
    pub leases: Vec<LeaseAnswer>,
    pub worker: WorkerOrder,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Registered {
    pub leases: Vec<LeaseAnswer>,
    pub worker: WorkerOrder,
    pub protocol: u32,
    pub abilities: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkerState {
    /// Heard of within a lease time.
    Online,
    /// Finishes what it has, takes nothing new.
    Draining,
    /// Not heard of for a lease time.
    Lost,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    #[schema(value_type = String)]
    pub id: WorkerId,
    pub name: Option<String>,
    pub state: WorkerState,
    pub draining: bool,
    pub cores: u32,
    pub ram_gb: f64,
    pub tags: Vec<String>,
    pub hostname: Option<String>,
    pub pid: Option<u32>,
    pub version: Option<String>,
    pub os: Option<String>,
    pub arch: Option<String>,
    pub slots: u32,
    #[schema(value_type = Vec<String>)]
    pub types: Vec<JobType>,
    #[schema(value_type = Vec<String>)]
    pub queues: Vec<QueuePattern>,
    #[schema(value_type = Option<String>)]
    pub boot_id: Option<BootId>,
    pub registered_at: i64,
    pub last_heartbeat: Option<i64>,
    pub busy: Option<u32>,
    pub rss_kb: Option<u64>,
    pub outbox: Option<u32>,
    /// Jobs it holds now.
    pub jobs: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BulkAnswer {
    /// Absent for a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    pub done: bool,
    /// How many matched (so far, while it is not done).
    pub matched: u64,
    pub changed: u64,
    /// Matched, but the action does not fit their state.
    pub skipped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub sample: Option<Vec<JobId>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogOffset {
    /// How many bytes of this attempt's log the hub has taken.
    pub offset: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Solver {
    pub sha256: String,
    pub bytes: u64,
    pub created_at: i64,
}

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    pub id: String,
    pub name: String,
    pub scope: Scope,
    /// The only worker that may use it, once one has.
    #[schema(value_type = Option<String>)]
    pub worker_id: Option<WorkerId>,
    pub created_at: i64,
    pub last_used_at: Option<i64>,
}

/// The answer to making a token: the only time its secret is shown.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct CreatedToken {
    #[serde(flatten)]
    pub token: Token,
    pub secret: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    pub ts: i64,
    /// The token's id, or `admin` for the administrator's secret.
    pub actor: String,
    pub action: String,
    pub target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    pub scope: Scope,
    pub token_id: String,
    pub name: String,
    pub expires_at: i64,
}

/// A program that machines fetch from the hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Download {
    /// Such as `forge-agent-linux-x86_64`; it is at `/downloads/<name>`.
    pub name: String,
    pub bytes: u64,
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    pub ok: bool,
    pub mode: String,
    /// Open event streams.
    pub clients: u64,
    pub nodes: u64,
    pub version: String,
    /// What the hub was built from: a commit's first digits, or a word where there is none.
    pub commit: String,
    pub uptime_ms: i64,
    /// `degraded` while there are problems: the hub answers, but cannot do all that it should.
    pub status: HealthStatus,
    pub problems: Vec<Problem>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    Ok,
    Degraded,
}

/// Something about the hub that needs a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A word for programs, such as `disk_full`.
    pub code: String,
    /// What it is and what to do about it.
    pub message: String,
    /// Since when, in ms since 1970.
    pub since: i64,
}

/// What a hub is and how it is set up. Sizes are bytes, spans of time milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Settings {
    pub version: String,
    /// What the hub was built from: a commit's first digits, or a word where there is none.
    pub commit: String,
    pub started_at: i64,
    /// Jobs, workers, tokens and events.
    pub database_bytes: u64,
    /// Logs and machine history.
    pub log_bytes: u64,
    pub solvers_bytes: u64,
    pub retention: Kept,
    pub limits: Limits,
}

/// How long things are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Kept {
    pub completed_ms: i64,
    /// Failed and dead jobs, and at most `failed_max` of them.
    pub failed_ms: i64,
    pub failed_max: u64,
    pub events_ms: i64,
    /// Machine history: every snapshot, then by the minute, quarter hour and quarter day.
    pub history_seconds_ms: i64,
    pub history_minutes_ms: i64,
    pub history_quarter_hours_ms: i64,
    pub history_quarter_days_ms: i64,
}

/// How much a caller may send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Limits {
    pub params_bytes: u64,
    pub result_bytes: u64,
    /// Of one attempt; the oldest go first.
    pub log_bytes: u64,
    pub batch_jobs: u64,
    pub solver_bytes: u64,
    pub lease_ms: i64,
    /// Of one scoped token.
    pub requests_per_second: u32,
}

/// A dashboard that is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoggedIn {
    pub id: String,
    /// What it logged in with; `admin` is the administrator's secret.
    pub token_id: String,
    pub name: String,
    pub scope: Scope,
    pub created_at: i64,
    pub expires_at: i64,
    /// Whether it is the one that asks.
    pub current: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_job_is_read_as_it_was_written() {
        let text = r#"{"id":"a","type":"t","queue":"default","params":{"n":1.10},"status":"assigned","priority":0,"created_at":1,"run_at":1,"attempt":1,"attempts":1,"max_attempts":3,"cancel_requested":false,"fail_history":[],"tags":[],"lease_id":"l","lease_ms":60000,"heartbeat_ms":10000}"#;
        let claimed: ClaimedJob = serde_json::from_str(text).unwrap();
        assert_eq!((claimed.lease_id.as_str(), claimed.job.params.get()), ("l", r#"{"n":1.10}"#));
        let again: serde_json::Value = serde_json::to_value(&claimed).unwrap();
        assert_eq!(again["params"].to_string(), r#"{"n":1.1}"#);
    }
}
