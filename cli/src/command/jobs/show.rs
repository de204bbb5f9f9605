//! `jobs list`, `jobs show`.

use super::filter::Which;
use crate::{
    backend::{Backend, no_such_job},
    output::{self, Format, Record, Shape, exact},
    problem::Problem,
    span::{iso, iso_or_none},
};
use clap::Args;
use forge_shared::{Job, job::Attempt};
use serde_json::{Value, json};

const LIMIT_DEFAULT: u64 = 50;

#[derive(Debug, Args)]
pub(crate) struct List {
    /// At most so many; 0 is all
    #[arg(short = 'n', long, default_value_t = LIMIT_DEFAULT, value_name = "N")]
    limit: u64,
    #[command(flatten)]
    which: Which,
}

/// Jobs with all that a hub tells of them.
pub(crate) const JOBS: Shape = Shape {
    fields: &[
        "id",
        "type",
        "queue",
        "status",
        "priority",
        "attempts",
        "max_attempts",
        "worker_id",
        "created_at",
        "run_at",
        "started_at",
        "finished_at",
        "next_retry_at",
        "expires_at",
        "max_runtime_ms",
        "cancel_requested",
        "fail_reason",
        "progress",
        "tags",
        "command",
        "solver_url",
        "solver_checksum",
        "backoff",
        "params",
        "result",
    ],
    columns: &["id", "status", "type", "queue", "attempts", "worker_id", "created_at", "fail_reason"],
};

const ATTEMPTS: Shape = Shape {
    fields: &[
        "attempt",
        "outcome",
        "worker_id",
        "due_at",
        "claimed_at",
        "started_at",
        "ended_at",
        "reason",
        "usage",
    ],
    columns: &["attempt", "outcome", "worker_id", "started_at", "ended_at", "reason"],
};

pub(crate) fn job_record(job: &Job) -> Record {
    let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::from);
    Record(vec![
        ("id", job.id.as_str().into()),
        ("type", job.kind.as_str().into()),
        ("queue", job.queue.as_str().into()),
        ("status", job.status.as_str().into()),
        ("priority", job.priority.into()),
        ("attempts", job.attempts.into()),
        ("max_attempts", job.max_attempts.into()),
        ("worker_id", job.worker_id.as_ref().map_or(Value::Null, |id| id.as_str().into())),
        ("created_at", iso(job.created_at)),
        ("run_at", iso(job.run_at)),
        ("started_at", iso_or_none(job.started_at)),
        ("finished_at", iso_or_none(job.finished_at)),
        ("next_retry_at", iso_or_none(job.next_retry_at)),
        ("expires_at", iso_or_none(job.expires_at)),
        ("max_runtime_ms", job.max_runtime_ms.map_or(Value::Null, Value::from)),
        ("cancel_requested", if job.cancel_requested { true.into() } else { Value::Null }),
        ("fail_reason", text(&job.fail_reason)),
        ("progress", json!(job.progress)),
        ("tags", if job.tags.is_empty() { Value::Null } else { json!(job.tags) }),
        ("command", text(&job.command)),
        ("solver_url", text(&job.solver_url)),
        ("solver_checksum", text(&job.solver_checksum)),
        ("backoff", json!(job.backoff)),
        ("params", exact(&job.params)),
        ("result", job.result.as_ref().map_or(Value::Null, |result| exact(result))),
    ])
}

fn attempt_record(attempt: &Attempt) -> Record {
    let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::from);
    Record(vec![
        ("attempt", attempt.attempt.into()),
        ("outcome", attempt.outcome.clone().into()),
        ("worker_id", attempt.worker_id.as_ref().map_or(Value::Null, |id| id.as_str().into())),
        ("due_at", iso_or_none(attempt.due_at)),
        ("claimed_at", iso_or_none(attempt.claimed_at)),
        ("started_at", iso_or_none(attempt.started_at)),
        ("ended_at", iso_or_none(attempt.ended_at)),
        ("reason", text(&attempt.reason)),
        ("usage", attempt.usage.as_ref().map_or(Value::Null, |usage| exact(usage))),
    ])
}

pub(super) async fn list(backend: &dyn Backend, list: &List, format: Option<Format>) -> Result<(), Problem> {
    let mut output = output::to_stdout(format, JOBS);
    let mut print = |jobs: Vec<Job>| {
        jobs.iter().try_for_each(|job| output.item(&job_record(job)))?;
        output.flush()
    };
    let most = if list.limit == 0 { u64::MAX } else { list.limit };
    backend.jobs(&list.which.filter(), most, &mut print).await?;
    Ok(output.end()?)
}

pub(super) async fn show(backend: &dyn Backend, id: &str, format: Option<Format>) -> Result<(), Problem> {
    let job = backend.job(id).await?.ok_or_else(|| no_such_job(id))?;
    let attempts = backend.attempts(id).await?;
    let mut record = job_record(&job);
    if output::is_for_people(format) {
        output::print_one(format, &record)?;
        if !attempts.is_empty() {
            output::say("")?;
            output::print_all(format, ATTEMPTS, attempts.iter().map(attempt_record))?;
        }
        return Ok(());
    }
    let history: Vec<Value> = attempts.iter().map(|attempt| json!(attempt_record(attempt))).collect();
    record.0.push(("history", history.into()));
    Ok(output::print_one(format, &record)?)
}
