//! What SQLite itself can do with the same rows: no decisions, no channels, no answers. It writes
//! into the database that the store has just made, so tables and indexes are the store's own.

use super::{PARAMS, RESULT};
use anyhow::Context;
use rusqlite::{Connection, params};
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// Jobs a second that go through insert, claim and completion, committed and synced in batches
/// of `batch` such steps.
pub(super) fn run(path: &Path, batch: f64, time: Duration) -> anyhow::Result<f64> {
    let mut connection = Connection::open(path)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let event_bytes = event_bytes(&connection)?;
    // From an empty table, as the store began.
    connection
        .execute_batch("DELETE FROM jobs; DELETE FROM specs; DELETE FROM results; DELETE FROM events;")?;
    // In a steady state a batch holds as many inserts as claims and completions.
    let jobs = ((batch / 3.0).round() as i64).max(1);
    let events = "x".repeat(event_bytes * 3 * jobs as usize);
    let (mut next, mut event, mut done) = (1_i64, 1_i64, 0_u64);
    let began = Instant::now();
    while began.elapsed() < time {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        for seq in next..next + jobs {
            insert(&transaction, seq)?;
        }
        // Each batch claims what the previous one inserted and completes what that one claimed.
        for seq in (next - jobs).max(1)..next {
            claim(&transaction, seq)?;
        }
        for seq in (next - 2 * jobs).max(1)..(next - jobs).max(1) {
            complete(&transaction, seq)?;
            done += 1;
        }
        position(&transaction, next, event, jobs, &events)?;
        transaction.commit()?;
        next += jobs;
        event += 3 * jobs;
    }
    Ok(done as f64 / began.elapsed().as_secs_f64())
}

/// How long the store's own text about one event is.
fn event_bytes(connection: &Connection) -> anyhow::Result<usize> {
    let mean: f64 = connection
        .query_row("SELECT sum(length(data)) * 1.0 / sum(n) FROM events", [], |row| row.get(0))
        .context("the store wrote events")?;
    Ok(mean as usize)
}

fn id(seq: i64) -> String {
    format!("0199c1f0a1b27c3d{seq:016x}")
}

const NOW: i64 = 1_790_000_000_000;

fn insert(connection: &Connection, seq: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO jobs (seq, id, queue, type, priority, status, lane, created_at, run_at, max_attempts, \
             max_runtime_ms) VALUES (?1, ?2, 'default', 'bench', 0, 0, 1, ?3, ?3, 3, 300000)",
        )?
        .execute(params![seq, id(seq), NOW + seq])?;
    connection
        .prepare_cached("INSERT INTO specs (seq, params) VALUES (?1, ?2)")?
        .execute(params![seq, PARAMS])?;
    Ok(())
}

fn claim(connection: &Connection, seq: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE jobs SET status = 1, lane = NULL, attempt = 1, attempts = 1, claimed_at = ?2, heartbeat_at = ?2, \
             lease_id = ?3, lease_worker = 'bench', lease_state = 0, lease_granted = ?2, lease_until = ?4 WHERE seq = ?1",
        )?
        .execute(params![seq, NOW + seq, format!("{seq:x}-0123456789abcdef"), NOW + seq + 60_000])?;
    Ok(())
}

fn complete(connection: &Connection, seq: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE jobs SET status = 3, finished_at = ?2, lease_state = 2 WHERE seq = ?1")?
        .execute(params![seq, NOW + seq])?;
    connection
        .prepare_cached("INSERT INTO results (seq, result) VALUES (?1, ?2)")?
        .execute(params![seq, RESULT])?;
    Ok(())
}

fn position(connection: &Connection, next: i64, event: i64, jobs: i64, events: &str) -> rusqlite::Result<()> {
    for status in [0, 1, 3] {
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO counts (queue, type, status, n) VALUES ('default', 'bench', ?1, ?2)",
            )?
            .execute(params![status, next])?;
    }
    connection
        .prepare_cached(
            "INSERT INTO lanes (id, queue, type, priority, n) VALUES (1, 'default', 'bench', 0, ?1) \
             ON CONFLICT (id) DO UPDATE SET n = excluded.n",
        )?
        .execute([next])?;
    connection
        .prepare_cached("INSERT INTO events (first, n, ts, data) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![event, 3 * jobs, NOW, events])?;
    connection
        .prepare_cached("UPDATE position SET next_job = ?1, next_event = ?2")?
        .execute(params![next, event])?;
    Ok(())
}
