//! Answers what the planner asks for.

use super::{
    overview,
    rows::{self, JOB_COLUMNS},
};
use forge_engine::{
    command::Completion,
    lane::{Entry, HeadsWanted, LaneKey, LaneRow},
    plan::{Found, KnownKey, Loaded, Needs},
    worker::Worker,
};
use forge_shared::{BootId, JobType, QueueName, WorkerId};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

/// What a planner starts from.
pub(super) fn planner(connection: &Connection) -> rusqlite::Result<Loaded> {
    let lanes = connection
        .prepare_cached("SELECT id, queue, type, priority, n FROM lanes")?
        .query_map([], |row| {
            Ok(LaneRow {
                id: row.get(0)?,
                key: LaneKey {
                    queue: QueueName::trusted(rows::text(row, 1)?),
                    kind: JobType::trusted(rows::text(row, 2)?),
                    priority: row.get(3)?,
                },
                n: row.get::<_, i64>(4)?.unsigned_abs(),
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    let counts = connection
        .prepare_cached("SELECT queue, type, status, n FROM counts")?
        .query_map([], |row| {
            let queue = QueueName::trusted(rows::text(row, 0)?);
            let kind = JobType::trusted(rows::text(row, 1)?);
            Ok(((queue, kind, rows::status_of(row.get(2)?, 2)?), row.get(3)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let (next_job, next_event, settled_ms): (i64, i64, i64) =
        connection.query_row("SELECT next_job, next_event, settled FROM position", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    let views = overview::views(connection)?;
    Ok(Loaded { lanes, counts, views, settled_ms, next_job, next_event: next_event.unsigned_abs() })
}

pub(super) fn found(connection: &Connection, needs: &Needs) -> rusqlite::Result<Found> {
    let mut found = Found::default();
    let mut by_id = connection.prepare_cached(by_id())?;
    for id in &needs.ids {
        found.jobs.extend(by_id.query_row([id.as_str()], rows::job).optional()?);
    }
    for seq in &needs.jobs {
        found.jobs.extend(by_seq(connection, *seq)?);
    }
    for key in &needs.keys {
        let mut statement = connection.prepare_cached("SELECT seq, body FROM idempotency WHERE key = ?1")?;
        let known = statement
            .query_row([&**key], |row| Ok(KnownKey { job: row.get(0)?, body: row.get(1)? }))
            .optional()?;
        if let Some(known) = known {
            found.jobs.extend(by_seq(connection, known.job)?);
            found.keys.push((key.clone(), known));
        }
    }
    for id in &needs.workers {
        let mut statement = connection.prepare_cached(
            "SELECT id, about, boot, superseded, draining, lost, registered_at, last_heartbeat, busy, rss_kb, outbox \
             FROM workers WHERE id = ?1",
        )?;
        found.workers.extend(statement.query_row([id.as_str()], worker).optional()?);
    }
    for id in &needs.live_of {
        let mut statement = connection.prepare_cached(live_of())?;
        let jobs = statement.query_map([id.as_str()], rows::job)?.collect::<rusqlite::Result<Vec<_>>>()?;
        found.live_of.push((id.clone(), jobs.iter().map(|job| job.seq).collect()));
        found.jobs.extend(jobs);
    }
    for seq in &needs.completions {
        let mut statement =
            connection.prepare_cached("SELECT result, hash, key, usage FROM results WHERE seq = ?1")?;
        let completion = statement.query_row([seq], |row| {
            Ok(Completion {
                result: rows::text(row, 0)?,
                hash: row.get(1)?,
                key: row.get(2)?,
                usage: row.get(3)?,
            })
        });
        found.completions.extend(completion.optional()?.map(|completion| (*seq, completion)));
    }
    for wanted in &needs.heads {
        found.heads.push(heads(connection, wanted)?);
    }
    if let Some(times) = needs.became_due {
        found.became_due = overview::settle(connection, times)?;
    }
    Ok(found)
}

/// The next entries of a lane, from the index jobs_lane alone. Two statements, because SQLite does
/// not use the row number that ends an index when it compares pairs: with many jobs due at the
/// same moment it would walk over all that were handed out before.
fn heads(connection: &Connection, wanted: &HeadsWanted) -> rusqlite::Result<Vec<Entry>> {
    let (run_at, seq) = wanted.after;
    let mut same_moment = connection.prepare_cached(
        "SELECT run_at, seq FROM jobs INDEXED BY jobs_lane \
         WHERE lane = ?1 AND run_at = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4",
    )?;
    let entry = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let mut entries = same_moment
        .query_map(params![wanted.lane, run_at, seq, wanted.max], entry)?
        .collect::<rusqlite::Result<Vec<Entry>>>()?;
    let more = i64::from(wanted.max) - entries.len() as i64;
    if more > 0 {
        let mut later = connection.prepare_cached(
            "SELECT run_at, seq FROM jobs INDEXED BY jobs_lane \
             WHERE lane = ?1 AND run_at > ?2 ORDER BY run_at, seq LIMIT ?3",
        )?;
        for row in later.query_map(params![wanted.lane, run_at, more], entry)? {
            entries.push(row?);
        }
    }
    Ok(entries)
}

fn by_seq(connection: &Connection, seq: i64) -> rusqlite::Result<Option<forge_engine::Job>> {
    connection.prepare_cached(by_seq_sql())?.query_row([seq], rows::job).optional()
}

fn by_id() -> &'static str {
    static SQL: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    SQL.get_or_init(|| format!("SELECT {JOB_COLUMNS} FROM jobs j WHERE j.id = ?1"))
}

fn by_seq_sql() -> &'static str {
    static SQL: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    SQL.get_or_init(|| format!("SELECT {JOB_COLUMNS} FROM jobs j WHERE j.seq = ?1"))
}

fn live_of() -> &'static str {
    static SQL: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    SQL.get_or_init(|| {
        format!(
            "SELECT {JOB_COLUMNS} FROM jobs j INDEXED BY jobs_live WHERE j.lease_worker = ?1 AND j.status IN (1, 2)"
        )
    })
}

pub(super) fn worker(row: &Row<'_>) -> rusqlite::Result<Worker> {
    Ok(Worker {
        id: WorkerId::trusted(rows::text(row, 0)?),
        about: rows::text(row, 1)?,
        boot: rows::maybe_text(row, 2)?.map(BootId::trusted),
        superseded: rows::json(&rows::text(row, 3)?, 3)?,
        draining: row.get(4)?,
        lost: row.get(5)?,
        registered_at: row.get(6)?,
        last_heartbeat: row.get(7)?,
        heard_ms: 0,
        busy: row.get(8)?,
        rss_kb: row.get::<_, Option<i64>>(9)?.map(i64::unsigned_abs),
        outbox: row.get(10)?,
    })
}
