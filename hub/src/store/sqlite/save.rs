//! Writes what the planner decided. Nothing here chooses a value.

use super::{event_log, overview, rows};
use forge_engine::{
    Job,
    command::Completion,
    job::Spec,
    plan::{Changes, Inserted},
};
use forge_shared::{Status, response::AuditEntry};
use rusqlite::{Connection, Statement, params};

pub(super) fn changes(connection: &Connection, changes: &Changes) -> rusqlite::Result<()> {
    // First: an id or a key that is freed may be taken again in the same batch.
    for (seq, _) in &changes.deleted {
        delete(connection, *seq)?;
    }
    if !changes.inserted.is_empty() {
        insert(connection, &changes.inserted)?;
    }
    if !changes.updated.is_empty() {
        let mut statement = connection.prepare_cached(UPDATE)?;
        for (job, lane) in &changes.updated {
            update(&mut statement, job, *lane)?;
        }
    }
    if !changes.completions.is_empty() {
        let mut statement = connection.prepare_cached(
            "INSERT INTO results (seq, result, hash, key, usage) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for (seq, completion) in &changes.completions {
            let Completion { result, hash, key, usage } = completion;
            statement.execute(params![seq, &**result, hash, key, usage])?;
        }
    }
    for entry in &changes.entries {
        connection
            .prepare_cached(
                "INSERT INTO history (seq, n, attempt, worker, claimed_at, started_at, ended_at, outcome, reason, \
                 error_class, backtrace, usage, due_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            )?
            .execute(params![
                entry.job,
                entry.n,
                entry.attempt,
                entry.worker.as_ref().map(|worker| worker.as_str()),
                entry.claimed_at,
                entry.started_at,
                entry.ended_at,
                entry.outcome,
                entry.reason,
                entry.error_class,
                entry.backtrace,
                entry.usage,
                entry.due_at,
            ])?;
    }
    for (seq, progress) in &changes.progress {
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO progress (seq, percent, message, at) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![seq, progress.percent, progress.message, progress.at])?;
    }
    workers(connection, changes)?;
    for lane in &changes.lanes {
        if lane.n == 0 {
            connection.prepare_cached("DELETE FROM lanes WHERE id = ?1")?.execute([lane.id])?;
        } else {
            connection
                .prepare_cached(
                    "INSERT INTO lanes (id, queue, type, priority, n) VALUES (?1, ?2, ?3, ?4, ?5) \
                     ON CONFLICT (id) DO UPDATE SET n = excluded.n",
                )?
                .execute(params![
                    lane.id,
                    lane.key.queue.as_str(),
                    lane.key.kind.as_str(),
                    lane.key.priority,
                    lane.n as i64
                ])?;
        }
    }
    for ((queue, kind, status), n) in &changes.counts {
        let (queue, kind, status) = (queue.as_str(), kind.as_str(), rows::status_number(*status));
        // Queues come and go: only those with jobs are kept.
        if *n == 0 {
            connection
                .prepare_cached("DELETE FROM counts WHERE queue = ?1 AND type = ?2 AND status = ?3")?
                .execute(params![queue, kind, status])?;
        } else {
            connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO counts (queue, type, status, n) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![queue, kind, status, n])?;
        }
    }
    overview::save(connection, changes)?;
    if let Some(first) = changes.events.first() {
        connection
            .prepare_cached("INSERT INTO events (first, n, ts, data) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![
                first.seq as i64,
                changes.events.len() as i64,
                first.ts,
                event_log::encode(&changes.events)
            ])?;
    }
    connection
        .prepare_cached("UPDATE position SET next_job = ?1, next_event = ?2, settled = ?3")?
        .execute(params![changes.next_job, changes.next_event as i64, changes.settled_ms])?;
    Ok(())
}

/// Statements are prepared once a batch, not once a row.
fn insert(connection: &Connection, inserted: &[Inserted]) -> rusqlite::Result<()> {
    let mut jobs = connection.prepare_cached(
        "INSERT INTO jobs (seq, id, queue, type, priority, status, lane, created_at, run_at, max_attempts, \
         max_runtime_ms, expires_at, backoff) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    let mut specs = connection.prepare_cached(
        "INSERT INTO specs (seq, params, tags, command, solver_url, solver_checksum) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for Inserted { job, spec, idempotency, lane } in inserted {
        jobs.execute(params![
            job.seq,
            job.id.as_str(),
            job.queue.as_str(),
            job.kind.as_str(),
            job.priority,
            rows::status_number(job.status),
            lane,
            job.created_at,
            job.run_at,
            job.max_attempts,
            job.max_runtime_ms,
            job.expires_at,
            job.backoff.map(|backoff| serde_json::to_string(&backoff).expect("a backoff is always JSON")),
        ])?;
        let tags = (!spec.tags.is_empty())
            .then(|| serde_json::to_string(&spec.tags).expect("a list of strings is always JSON"));
        let Spec { params, command, solver_url, solver_checksum, .. } = spec;
        specs.execute(params![job.seq, &**params, tags, command, solver_url, solver_checksum])?;
        for tag in &spec.tags {
            connection
                .prepare_cached("INSERT OR IGNORE INTO tags (tag, seq) VALUES (?1, ?2)")?
                .execute(params![tag, job.seq])?;
        }
        if let Some(idempotency) = idempotency {
            connection
                .prepare_cached("INSERT INTO idempotency (key, seq, body) VALUES (?1, ?2, ?3)")?
                .execute(params![&*idempotency.key, job.seq, idempotency.body])?;
        }
        // A job can be claimed, cancelled or more in the batch that adds it, or begin with attempts spent.
        if job.attempts > 0 || job.attempt > 0 || job.status != Status::Pending {
            update(&mut *connection.prepare_cached(UPDATE)?, job, *lane)?;
        }
    }
    Ok(())
}

const UPDATE: &str = "UPDATE jobs SET queue = ?2, priority = ?3, status = ?4, lane = ?5, run_at = ?6, expires_at = ?7, \
     attempt = ?8, attempts = ?9, given_back = ?10, silent_expiries = ?11, history_len = ?12, \
     cancel_requested = ?13, claimed_at = ?14, started_at = ?15, heartbeat_at = ?16, finished_at = ?17, \
     progress_at = ?18, fail_reason = ?19, lease_id = ?20, lease_worker = ?21, lease_boot = ?22, \
     lease_claim = ?23, lease_state = ?24, lease_granted = ?25, lease_until = ?26, lease_started = ?27 \
     WHERE seq = ?1";

fn update(statement: &mut Statement<'_>, job: &Job, lane: Option<u32>) -> rusqlite::Result<()> {
    let lease = job.lease.as_ref();
    statement.execute(params![
        job.seq,
        job.queue.as_str(),
        job.priority,
        rows::status_number(job.status),
        lane,
        job.run_at,
        job.expires_at,
        job.attempt,
        job.attempts,
        job.given_back,
        job.silent_expiries,
        job.history_len,
        job.cancel_requested,
        job.claimed_at,
        job.started_at,
        job.heartbeat_at,
        job.finished_at,
        job.progress_at,
        job.fail_reason,
        lease.map(|lease| lease.id.as_str()),
        lease.map(|lease| lease.worker.as_str()),
        lease.and_then(|lease| lease.boot.as_ref()).map(|boot| boot.as_str()),
        lease.and_then(|lease| lease.claim_id.as_ref()).map(|claim| claim.as_str()),
        lease.map(|lease| rows::lease_state_number(lease.state)),
        lease.map(|lease| lease.granted_ms),
        lease.map(|lease| lease.until_ms),
        lease.and_then(|lease| lease.started_ms),
    ])?;
    Ok(())
}

fn delete(connection: &Connection, seq: i64) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM tags WHERE seq = ?1 AND tag IN (SELECT value FROM json_each((SELECT tags FROM specs WHERE seq = ?1)))",
        "DELETE FROM specs WHERE seq = ?1",
        "DELETE FROM results WHERE seq = ?1",
        "DELETE FROM history WHERE seq = ?1",
        "DELETE FROM progress WHERE seq = ?1",
        "DELETE FROM idempotency WHERE seq = ?1",
        "DELETE FROM jobs WHERE seq = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([seq])?;
    }
    Ok(())
}

fn workers(connection: &Connection, changes: &Changes) -> rusqlite::Result<()> {
    for worker in &changes.workers {
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO workers (id, about, boot, superseded, draining, lost, registered_at, \
                 last_heartbeat, busy, rss_kb, outbox) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?
            .execute(params![
                worker.id.as_str(),
                &*worker.about,
                worker.boot.as_ref().map(|boot| boot.as_str()),
                serde_json::to_string(&worker.superseded).expect("a list of strings is always JSON"),
                worker.draining,
                worker.lost,
                worker.registered_at,
                worker.last_heartbeat,
                worker.busy,
                worker.rss_kb.map(|kb| i64::try_from(kb).unwrap_or(i64::MAX)),
                worker.outbox,
            ])?;
    }
    for id in &changes.forgotten {
        connection.prepare_cached("DELETE FROM workers WHERE id = ?1")?.execute([id.as_str()])?;
    }
    Ok(())
}

pub(super) fn note(connection: &Connection, note: &AuditEntry) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO audit (ts, actor, action, target, detail) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![note.ts, note.actor, note.action, note.target, note.detail])?;
    Ok(())
}
