//! Jobs and workers as the outside sees them.

use super::rows::{self, JOB_COLUMN_COUNT, JOB_COLUMNS};
use crate::store::Error;
use forge_engine::{Job, LeaseState, job::Spec};
use forge_shared::{
    FailureKind, Status, WorkerId,
    job::{Attempt, Failure, Progress},
    request::Register,
    response::{Worker, WorkerState},
};
use rusqlite::{Connection, OptionalExtension as _, Row};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Where a query for whole jobs reads from; `{}` takes hints and conditions.
pub(super) fn select_jobs(from_hint: &str, rest: &str) -> String {
    format!(
        "SELECT {JOB_COLUMNS}, s.params, s.tags, s.command, s.solver_url, s.solver_checksum, \
         r.result, r.hash, p.percent, p.message, p.at \
         FROM jobs j {from_hint} JOIN specs s ON s.seq = j.seq \
         LEFT JOIN results r ON r.seq = j.seq LEFT JOIN progress p ON p.seq = j.seq {rest}"
    )
}

/// Reads one row of [`select_jobs`], with the job's number and its size in bytes.
pub(super) fn job(
    connection: &Connection,
    row: &Row<'_>,
) -> rusqlite::Result<(i64, usize, forge_shared::Job)> {
    const COLD: usize = JOB_COLUMN_COUNT;
    let job = rows::job(row)?;
    let (seq, spec) = (job.seq, rows::spec(row, COLD)?);
    let result = rows::maybe_text(row, COLD + 5)?;
    let at: Option<i64> = row.get(COLD + 9)?;
    let progress = match at {
        Some(at) => Some(Progress { percent: row.get(COLD + 7)?, message: row.get(COLD + 8)?, at }),
        None => None,
    };
    let bytes = spec.params.len() + result.as_ref().map_or(0, |result| result.len());
    let fail_history = if job.history_len > 0 { failures(connection, job.seq)? } else { Vec::new() };
    let mut shown = shown(job, spec);
    shown.result = result.map(|result| raw(&result));
    shown.result_hash = row.get(COLD + 6)?;
    shown.progress = progress;
    shown.fail_history = fail_history;
    Ok((seq, bytes, shown))
}

/// Params up to this size are read by whoever wants them.
const SMALL_BYTES: usize = 16 << 10;
/// So many jobs at a time.
const SMALL_JOBS: usize = 8;

/// Jobs that were claimed a moment ago: all but the params is known. `None` when that is not so
/// simple.
pub(super) fn claimed(
    connection: &Connection,
    jobs: &[Arc<Job>],
) -> rusqlite::Result<Option<Vec<forge_shared::Job>>> {
    if jobs.len() > SMALL_JOBS || jobs.iter().any(|job| job.history_len > 0) {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached(
        "SELECT params, tags, command, solver_url, solver_checksum FROM specs \
         WHERE seq = ?1 AND octet_length(params) <= ?2",
    )?;
    let mut all = Vec::with_capacity(jobs.len());
    for job in jobs {
        let spec = statement.query_row((job.seq, SMALL_BYTES as i64), |row| rows::spec(row, 0)).optional()?;
        match spec {
            Some(spec) => all.push(shown(Job::clone(job), spec)),
            None => return Ok(None),
        }
    }
    Ok(Some(all))
}

/// A job without what comes later in its life.
fn shown(job: Job, spec: Spec) -> forge_shared::Job {
    // What a lease set is shown only while the lease means something.
    let claimed = job.status != Status::Pending;
    forge_shared::Job {
        worker_id: job.worker().cloned(),
        next_retry_at: job.next_retry_at(),
        id: job.id,
        kind: job.kind,
        queue: job.queue,
        params: raw(&spec.params),
        status: job.status,
        priority: job.priority,
        result: None,
        result_hash: None,
        created_at: job.created_at,
        run_at: job.run_at,
        claimed_at: job.claimed_at.filter(|_| claimed),
        started_at: job.started_at.filter(|_| claimed),
        heartbeat_at: job.heartbeat_at.filter(|_| claimed),
        completed_at: job.finished_at.filter(|_| job.status == Status::Completed),
        finished_at: job.finished_at,
        expires_at: job.expires_at,
        attempt: job.attempt,
        attempts: job.attempts,
        max_attempts: job.max_attempts,
        max_runtime_ms: job.max_runtime_ms,
        cancel_requested: job.cancel_requested,
        fail_reason: job.fail_reason,
        fail_history: Vec::new(),
        solver_url: spec.solver_url,
        solver_checksum: spec.solver_checksum,
        command: spec.command,
        backoff: job.backoff,
        tags: spec.tags,
        progress: None,
    }
}

/// Text that was checked to be JSON before it was stored.
fn raw(text: &Arc<str>) -> Box<RawValue> {
    RawValue::from_string(text.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn failures(connection: &Connection, seq: i64) -> rusqlite::Result<Vec<Failure>> {
    connection
        .prepare_cached(
            "SELECT reason, worker, ended_at, attempt, outcome, error_class, backtrace FROM history \
             WHERE seq = ?1 AND outcome NOT IN ('released', 'snoozed') ORDER BY n",
        )?
        .query_map([seq], |row| {
            let outcome: String = row.get(4)?;
            Ok(Failure {
                reason: row.get::<_, Option<String>>(0)?.unwrap_or_else(|| outcome.clone()),
                worker_id: rows::maybe_text(row, 1)?.map(WorkerId::trusted),
                ts: row.get(2)?,
                attempt: row.get(3)?,
                kind: match outcome.as_str() {
                    "timeout" => FailureKind::Timeout,
                    "expired" => FailureKind::Expired,
                    "cancelled" => FailureKind::Cancelled,
                    _ => FailureKind::Error,
                },
                error_class: row.get(5)?,
                backtrace: row.get(6)?,
            })
        })?
        .collect()
}

/// Every attempt of a job: those in its history, and the one that is going on or completed.
pub(super) fn attempts(connection: &Connection, job: &Job) -> rusqlite::Result<Vec<Attempt>> {
    let json = |text: Option<Arc<str>>| text.map(|text| raw(&text));
    let mut attempts: Vec<Attempt> = connection
        .prepare_cached(
            "SELECT attempt, worker, claimed_at, started_at, ended_at, outcome, reason, error_class, backtrace, usage, \
             due_at FROM history WHERE seq = ?1 ORDER BY n",
        )?
        .query_map([job.seq], |row| {
            Ok(Attempt {
                attempt: row.get(0)?,
                worker_id: rows::maybe_text(row, 1)?.map(WorkerId::trusted),
                due_at: row.get(10)?,
                claimed_at: row.get(2)?,
                started_at: row.get(3)?,
                ended_at: row.get(4)?,
                outcome: row.get(5)?,
                reason: row.get(6)?,
                error_class: row.get(7)?,
                backtrace: row.get(8)?,
                usage: json(rows::maybe_text(row, 9)?),
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    let lease = job.lease.as_ref();
    if lease.is_some_and(|lease| matches!(lease.state, LeaseState::Live | LeaseState::Completed)) {
        let usage = connection
            .prepare_cached("SELECT usage FROM results WHERE seq = ?1")?
            .query_row([job.seq], |row| rows::maybe_text(row, 0))
            .optional()?
            .flatten();
        attempts.push(Attempt {
            attempt: job.attempt,
            worker_id: lease.map(|lease| lease.worker.clone()),
            due_at: Some(job.run_at),
            claimed_at: job.claimed_at,
            started_at: job.started_at,
            ended_at: job.finished_at,
            outcome: job.status.as_str().to_owned(),
            reason: None,
            error_class: None,
            backtrace: None,
            usage: json(usage),
        });
    }
    Ok(attempts)
}

pub(super) fn worker(stored: forge_engine::worker::Worker, jobs: u64) -> Result<Worker, Error> {
    let about: Register =
        serde_json::from_str(&stored.about).map_err(|error| Error::Database(error.to_string()))?;
    let state = match (stored.lost, stored.draining) {
        (true, _) => WorkerState::Lost,
        (false, true) => WorkerState::Draining,
        (false, false) => WorkerState::Online,
    };
    Ok(Worker {
        id: stored.id,
        name: about.name,
        state,
        draining: stored.draining,
        cores: about.cores.unwrap_or(1),
        ram_gb: about.ram_gb.unwrap_or(1.0),
        tags: about.tags,
        hostname: about.hostname,
        pid: about.pid,
        version: about.version,
        os: about.os,
        arch: about.arch,
        slots: about.slots.unwrap_or(1),
        types: about.types,
        queues: about.queues,
        boot_id: stored.boot,
        registered_at: stored.registered_at,
        last_heartbeat: stored.last_heartbeat,
        busy: stored.busy,
        rss_kb: stored.rss_kb,
        outbox: stored.outbox,
        jobs,
    })
}
