//! The counters behind the overview. They are written with what they count, so they equal a
//! recount after any crash. A job becomes due without a write: what waits for its time is counted
//! as of `position.settled`, and whoever reads takes off what has become due since.

use super::rows;
use crate::store::{FlowAt, JobsOverview, QueueCount};
use forge_engine::plan::{BecameDue, Changes, Flow, ViewKey};
use forge_shared::{QueueName, View};
use rusqlite::{Connection, Row, params};
use std::collections::BTreeMap;

pub(super) const MINUTE_MS: i64 = 60_000;
pub(super) const DAY_MS: i64 = 86_400_000;
const ALL_TIME: i64 = 0;
/// Shown are 60 minutes and 30 days; a clock that is set back may need the ones before.
const MINUTES_KEPT_MS: i64 = 3 * 3_600_000;
const DAYS_KEPT_MS: i64 = 40 * DAY_MS;

/// Jobs settled in one batch, unless more have the very same due time.
const SETTLE_MAX: u32 = 5_000;

pub(super) fn views(connection: &Connection) -> rusqlite::Result<Vec<(ViewKey, i64)>> {
    connection
        .prepare_cached("SELECT view, queue, n FROM views")?
        .query_map([], |row| {
            let view = usize::try_from(row.get::<_, i64>(0)?).ok().and_then(|at| View::ALL.get(at).copied());
            let view = view.ok_or(rusqlite::Error::IntegralValueOutOfRange(0, -1))?;
            Ok(((view, QueueName::trusted(rows::text(row, 1)?)), row.get(2)?))
        })?
        .collect()
}

/// What has become due, for the planner: after a long stop not all at once.
pub(super) fn settle(connection: &Connection, (from, to): (i64, i64)) -> rusqlite::Result<BecameDue> {
    let mut enough = connection.prepare_cached(
        "SELECT run_at FROM jobs INDEXED BY jobs_later WHERE lane IS NOT NULL AND run_at > created_at \
         AND run_at > ?1 AND run_at <= ?2 ORDER BY run_at LIMIT 1 OFFSET ?3",
    )?;
    let early = enough.query_map(params![from, to, SETTLE_MAX], |row| row.get(0))?.next().transpose()?;
    let upto_ms = early.unwrap_or(to);
    Ok(BecameDue { jobs: became_due(connection, from, upto_ms)?, upto_ms })
}

fn became_due(connection: &Connection, from: i64, to: i64) -> rusqlite::Result<Vec<(ViewKey, u64)>> {
    connection
        .prepare_cached(include_str!("sql/became_due.sql"))?
        .query_map([from, to], |row| {
            let view = if row.get(0)? { View::Retrying } else { View::Scheduled };
            Ok(((view, QueueName::trusted(rows::text(row, 1)?)), row.get::<_, i64>(2)?.unsigned_abs()))
        })?
        .collect()
}

pub(super) fn save(connection: &Connection, changes: &Changes) -> rusqlite::Result<()> {
    for ((view, queue), n) in &changes.views {
        if *n == 0 {
            connection
                .prepare_cached("DELETE FROM views WHERE view = ?1 AND queue = ?2")?
                .execute(params![*view as i64, queue.as_str()])?;
        } else {
            connection
                .prepare_cached("INSERT OR REPLACE INTO views (view, queue, n) VALUES (?1, ?2, ?3)")?
                .execute(params![*view as i64, queue.as_str(), n])?;
        }
    }
    if changes.flow.is_empty() {
        return Ok(());
    }
    let mut add = connection.prepare_cached(
        "INSERT INTO flow (span, ts, queue, completed, failed, failed_attempts) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT (span, ts, queue) DO UPDATE SET completed = completed + excluded.completed, \
         failed = failed + excluded.failed, failed_attempts = failed_attempts + excluded.failed_attempts",
    )?;
    let mut add = |span: i64, queue: &str, flow: &Flow| {
        let ts = if span == ALL_TIME { 0 } else { changes.at_ms.div_euclid(span) * span };
        let Flow { completed, failed, failed_attempts } = *flow;
        add.execute(params![span, ts, queue, completed as i64, failed as i64, failed_attempts as i64])
    };
    let mut all = Flow::default();
    for (queue, flow) in &changes.flow {
        add(MINUTE_MS, queue.as_str(), flow)?;
        all.completed += flow.completed;
        all.failed += flow.failed;
        all.failed_attempts += flow.failed_attempts;
    }
    add(DAY_MS, "", &all)?;
    add(ALL_TIME, "", &all)?;
    let mut prune = connection.prepare_cached("DELETE FROM flow WHERE span = ?1 AND ts < ?2")?;
    prune.execute([MINUTE_MS, changes.at_ms - MINUTES_KEPT_MS])?;
    prune.execute([DAY_MS, changes.at_ms - DAYS_KEPT_MS])?;
    Ok(())
}

pub(super) fn read(connection: &Connection, now_ms: i64) -> rusqlite::Result<JobsOverview> {
    let counts = connection
        .prepare_cached("SELECT queue, status, sum(n) FROM counts GROUP BY queue, status")?
        .query_map([], |row| {
            Ok(QueueCount {
                queue: QueueName::trusted(rows::text(row, 0)?),
                status: rows::status_of(row.get(1)?, 1)?,
                n: row.get::<_, i64>(2)?.unsigned_abs(),
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    let oldest = connection
        .prepare_cached(
            "SELECT queue, (SELECT run_at FROM jobs INDEXED BY jobs_lane WHERE lane = lanes.id \
             ORDER BY run_at LIMIT 1) FROM lanes",
        )?
        .query_map([], |row| Ok((QueueName::trusted(rows::text(row, 0)?), row.get::<_, Option<i64>>(1)?)))?
        .filter_map(|row| {
            row.map(|(queue, at)| at.filter(|at| *at <= now_ms).map(|at| (queue, at))).transpose()
        })
        .collect::<rusqlite::Result<_>>()?;
    let flow = |span: i64, since: i64| -> rusqlite::Result<Vec<FlowAt>> {
        connection
            .prepare_cached(
                "SELECT ts, queue, completed, failed, failed_attempts FROM flow WHERE span = ?1 AND ts >= ?2",
            )?
            .query_map([span, since], flow_at)?
            .collect()
    };
    Ok(JobsOverview {
        counts,
        views: views_at(connection, now_ms)?,
        oldest,
        minutes: flow(MINUTE_MS, now_ms - 60 * MINUTE_MS)?,
        days: flow(DAY_MS, now_ms - 30 * DAY_MS)?,
        total: flow(ALL_TIME, 0)?.first().map(|at| at.flow).unwrap_or_default(),
    })
}

/// The counted views as they are now, not as they were when somebody last wrote.
fn views_at(connection: &Connection, now_ms: i64) -> rusqlite::Result<BTreeMap<ViewKey, u64>> {
    let mut views: BTreeMap<ViewKey, i64> = views(connection)?.into_iter().collect();
    let settled: i64 =
        connection.prepare_cached("SELECT settled FROM position")?.query_row([], |row| row.get(0))?;
    for (key, n) in became_due(connection, settled, now_ms)? {
        *views.entry(key).or_default() -= n as i64;
    }
    // The clock was set back: what had become due is ahead again.
    for (key, n) in became_due(connection, now_ms, settled)? {
        *views.entry(key).or_default() += n as i64;
    }
    Ok(views.into_iter().map(|(key, n)| (key, u64::try_from(n).unwrap_or(0))).collect())
}

fn flow_at(row: &Row<'_>) -> rusqlite::Result<FlowAt> {
    let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
    Ok(FlowAt {
        ts: row.get(0)?,
        queue: rows::maybe_text(row, 1)?.filter(|name| !name.is_empty()).map(QueueName::trusted),
        flow: Flow { completed: number(2)?, failed: number(3)?, failed_attempts: number(4)? },
    })
}
