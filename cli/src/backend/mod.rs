//! What commands ask for, whoever answers: the engine on the `queue.db` of this folder, or a hub.
//! Nothing about a job's next state is decided on this side; states are only named.

mod hub;
mod local;

pub(crate) use local::{Claimed, Local};

use crate::{
    output::{Record, Shape},
    problem::Problem,
    span::iso,
};
use async_trait::async_trait;
use forge_shared::{
    Status,
    job::Attempt,
    request::{Bulk, JobFilter, PatchJob},
    response::BulkAnswer,
};
use serde_json::Value;

/// The words for states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum State {
    /// Waits for a worker
    Pending,
    /// A worker has it
    Processing,
    /// Succeeded
    Completed,
    /// Failed and waits for its next try
    Failed,
    /// Failed too often
    Dead,
}

impl State {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Dead => "dead",
        }
    }

    fn of(job: &forge_shared::Job, now_ms: i64) -> Self {
        match job.status {
            Status::Pending if job.attempt > 0 && job.run_at > now_ms => Self::Failed,
            Status::Pending => Self::Pending,
            Status::Assigned | Status::Running => Self::Processing,
            Status::Completed => Self::Completed,
            Status::Failed => Self::Failed,
            Status::Quarantined => Self::Dead,
        }
    }
}

/// A job to add.
#[derive(Debug, Clone)]
pub(crate) struct NewJob {
    pub(crate) id: forge_shared::JobId,
    pub(crate) command: String,
    /// `None` leaves it to the hub, as below.
    pub(crate) max_retries: Option<u32>,
    /// Failed runs that it begins with.
    pub(crate) attempts: u32,
    pub(crate) priority: i16,
    pub(crate) run_at: Option<i64>,
    pub(crate) timeout_ms: Option<i64>,
    pub(crate) backoff_base: Option<f64>,
}

/// A job as it is shown.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) state: State,
    command: String,
    attempts: u32,
    max_retries: u32,
    created_at: i64,
    updated_at: i64,
    priority: i16,
    run_at: Option<i64>,
    timeout_ms: Option<i64>,
}

/// Jobs in a list.
pub(crate) const JOBS: Shape = Shape {
    fields: &[
        "id",
        "command",
        "state",
        "attempts",
        "max_retries",
        "created_at",
        "updated_at",
        "priority",
        "run_at",
        "timeout_ms",
    ],
    columns: &["id", "state", "attempts", "max_retries", "updated_at", "command"],
};

impl Job {
    fn shown(job: forge_shared::Job, now_ms: i64) -> Self {
        let state = State::of(&job, now_ms);
        // A run is counted when it begins; shown are those that failed.
        let not_failed = matches!(state, State::Processing | State::Completed);
        Self {
            state,
            attempts: job.attempts.saturating_sub(u32::from(not_failed)),
            max_retries: job.max_attempts.saturating_sub(1),
            updated_at: last_change(&job, now_ms),
            created_at: job.created_at,
            priority: job.priority,
            run_at: Some(job.run_at).filter(|at| job.status == Status::Pending && *at > now_ms),
            timeout_ms: job.max_runtime_ms,
            command: job.command.unwrap_or_default(),
            id: job.id.to_string(),
        }
    }

    pub(crate) fn record(&self) -> Record {
        Record(vec![
            ("id", self.id.clone().into()),
            ("command", self.command.clone().into()),
            ("state", self.state.as_str().into()),
            ("attempts", self.attempts.into()),
            ("max_retries", self.max_retries.into()),
            ("created_at", iso(self.created_at)),
            ("updated_at", iso(self.updated_at)),
            ("priority", if self.priority == 0 { Value::Null } else { self.priority.into() }),
            ("run_at", self.run_at.map_or(Value::Null, iso)),
            ("timeout_ms", self.timeout_ms.map_or(Value::Null, Value::from)),
        ])
    }
}

/// When it came into the state that it is in. A job becomes due without anybody writing it down.
fn last_change(job: &forge_shared::Job, now_ms: i64) -> i64 {
    let waiting_since = || {
        let due = Some(job.run_at).filter(|at| *at <= now_ms);
        job.fail_history.last().map(|failure| failure.ts).max(due).unwrap_or(job.created_at)
    };
    job.finished_at.or(job.started_at).or(job.claimed_at).unwrap_or_else(waiting_since).max(job.created_at)
}

/// How many jobs there are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) pending: u64,
    pub(crate) processing: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) dead: u64,
    pub(crate) active_workers: u64,
}

/// What a person does to a job.
#[derive(Debug, Clone)]
pub(crate) enum Deed {
    Cancel,
    Retry,
    RunNow,
    Kill,
    Delete,
    Change(PatchJob),
}

/// What one run of a job wrote.
#[derive(Debug, Clone)]
pub(crate) struct RunLog {
    pub(crate) attempt: u32,
    pub(crate) bytes: Vec<u8>,
}

/// Takes jobs page by page.
pub(crate) type Pages<'a> = &'a mut (dyn FnMut(&[Job]) -> std::io::Result<()> + Send);
/// The same with all that is known of them.
pub(crate) type FullPages<'a> = &'a mut (dyn FnMut(Vec<forge_shared::Job>) -> std::io::Result<()> + Send);

/// Takes a run's log piece by piece.
pub(crate) type LogPieces<'a> = &'a mut (dyn FnMut(u32, &[u8]) -> std::io::Result<()> + Send);

#[async_trait]
pub(crate) trait Backend: Sync {
    /// Adds jobs, each in place of the one with its id. Answers them as they are now.
    async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<Job>, Problem>;
    async fn counts(&self) -> Result<Counts, Problem>;
    /// Oldest first. Without a state: all that are not dead.
    async fn list(&self, state: Option<State>, pages: Pages<'_>) -> Result<(), Problem>;
    /// `None`: there is no dead job with this id.
    async fn retry_dead(&self, id: &str) -> Result<Option<Job>, Problem>;
    /// What every run of a job wrote, or only one, oldest first. `None`: there is no such job.
    async fn logs(&self, id: &str, attempt: Option<u32>) -> Result<Option<Vec<RunLog>>, Problem>;
    /// Hands on what a job writes, of every run, until the job has ended.
    async fn follow_logs(&self, id: &str, pieces: LogPieces<'_>) -> Result<(), Problem>;
    async fn job(&self, id: &str) -> Result<Option<forge_shared::Job>, Problem>;
    async fn attempts(&self, id: &str) -> Result<Vec<Attempt>, Problem>;
    /// At most so many, newest first.
    async fn jobs(&self, filter: &JobFilter, most: u64, pages: FullPages<'_>) -> Result<(), Problem>;
    /// Answers the state that the job is in now; `None`: it is gone.
    async fn act(&self, id: &str, deed: &Deed) -> Result<Option<Status>, Problem>;
    /// Returns when all is done.
    async fn act_on_all(&self, bulk: &Bulk) -> Result<BulkAnswer, Problem>;
    /// What was begun is finished, and files are closed.
    async fn close(&self);
}

pub(crate) fn no_such_job(id: &str) -> Problem {
    Problem::refused("Job not found", format!("'{id}' is no job; `queuectl list` shows them"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CREATED: i64 = 1_800_000_000_000;

    fn job(fields: Value) -> forge_shared::Job {
        let mut job = json!({
            "id": "a", "type": "command", "queue": "default", "params": {}, "status": "pending", "priority": 0,
            "created_at": CREATED, "run_at": CREATED, "attempt": 0, "attempts": 0, "max_attempts": 4,
            "cancel_requested": false, "fail_history": [], "tags": [], "command": "true",
        });
        for (name, value) in fields.as_object().expect("fields") {
            job[name] = value.clone();
        }
        serde_json::from_value(job).expect("a job")
    }

    fn check(fields: Value, after_ms: i64, expected: (&str, u32, i64)) {
        let shown = Job::shown(job(fields), CREATED + after_ms);
        assert_eq!((shown.state.as_str(), shown.attempts, shown.updated_at - CREATED), expected);
    }

    #[test]
    fn states_have_their_words_and_attempts_are_failed_runs() {
        let failure =
            json!([{"reason": "x", "worker_id": null, "ts": CREATED + 10, "attempt": 1, "kind": "error"}]);
        check(json!({}), 5, ("pending", 0, 0));
        check(json!({"run_at": CREATED + 9_000}), 5, ("pending", 0, 0));
        check(
            json!({"status": "assigned", "attempt": 1, "attempts": 1, "claimed_at": CREATED + 3}),
            5,
            ("processing", 0, 3),
        );
        check(
            json!({"status": "completed", "attempt": 1, "attempts": 1, "finished_at": CREATED + 4}),
            5,
            ("completed", 0, 4),
        );
        let retrying =
            json!({"attempt": 1, "attempts": 1, "run_at": CREATED + 2_010, "fail_history": failure});
        check(retrying.clone(), 20, ("failed", 1, 10));
        check(retrying, 2_011, ("pending", 1, 2_010));
        check(
            json!({"status": "quarantined", "attempt": 4, "attempts": 4, "finished_at": CREATED + 7}),
            9,
            ("dead", 4, 7),
        );
    }
}
