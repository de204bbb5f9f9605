//! What machines did, by the minute, quarter hour and quarter day. The wider buckets are made anew
//! from the narrower ones in the transaction that changes those, so they are right after any crash
//! and however late a snapshot arrives.

use crate::{fleet::Bucket, store::HistoryTier};
use forge_shared::NodeId;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::BTreeSet;

/// Adds to the minutes of these nodes.
pub(super) fn add(connection: &Connection, minutes: &[(NodeId, i64, Bucket)]) -> rusqlite::Result<()> {
    let mut quarters = BTreeSet::new();
    for (node, ts, bucket) in minutes {
        let node = number(connection, node)?;
        let stored = connection
            .prepare_cached("SELECT data FROM history WHERE node = ?1 AND width = ?2 AND ts = ?3")?
            .query_row(params![node, HistoryTier::Minutes.width_ms(), ts], bucket_of)
            .optional()?;
        let bucket = match stored {
            Some(mut stored) => {
                stored.merge(bucket);
                stored
            }
            None => bucket.clone(),
        };
        put(connection, node, HistoryTier::Minutes, *ts, &bucket)?;
        quarters.insert((node, HistoryTier::QuarterHours.start_of(*ts)));
    }
    let days: BTreeSet<_> =
        quarters.iter().map(|(node, ts)| (*node, HistoryTier::QuarterDays.start_of(*ts))).collect();
    for (node, ts) in quarters {
        roll_up(connection, node, ts, (HistoryTier::Minutes, HistoryTier::QuarterHours))?;
    }
    for (node, ts) in days {
        roll_up(connection, node, ts, (HistoryTier::QuarterHours, HistoryTier::QuarterDays))?;
    }
    Ok(())
}

fn roll_up(
    connection: &Connection,
    node: i64,
    ts: i64,
    (from, to): (HistoryTier, HistoryTier),
) -> rusqlite::Result<()> {
    let mut narrow = connection.prepare_cached(
        "SELECT data FROM history WHERE node = ?1 AND width = ?2 AND ts >= ?3 AND ts < ?4 ORDER BY ts",
    )?;
    let mut whole: Option<Bucket> = None;
    for bucket in narrow.query_map(params![node, from.width_ms(), ts, ts + to.width_ms()], bucket_of)? {
        let bucket = bucket?;
        match &mut whole {
            Some(whole) => whole.merge(&bucket),
            None => whole = Some(bucket),
        }
    }
    whole.map_or(Ok(()), |whole| put(connection, node, to, ts, &whole))
}

/// The buckets of a node that start at `from` or later, oldest first.
pub(super) fn read(
    connection: &Connection,
    node: &NodeId,
    tier: HistoryTier,
    from: i64,
) -> rusqlite::Result<Vec<(i64, Bucket)>> {
    connection
        .prepare_cached(
            "SELECT data, ts FROM history WHERE node = (SELECT id FROM history_node WHERE node = ?1) \
             AND width = ?2 AND ts >= ?3 ORDER BY ts",
        )?
        .query_map(params![node.as_str(), tier.width_ms(), from], |row| Ok((row.get(1)?, bucket_of(row)?)))?
        .collect()
}

/// Removes what was kept long enough, of machines that are gone as well.
pub(super) fn prune(connection: &Connection, now_ms: i64) -> rusqlite::Result<()> {
    let nodes: Vec<i64> = connection
        .prepare_cached("SELECT id FROM history_node")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut prune =
        connection.prepare_cached("DELETE FROM history WHERE node = ?1 AND width = ?2 AND ts < ?3")?;
    for node in nodes {
        for tier in HistoryTier::ALL {
            // A whole wider bucket longer, so that none is ever made anew from a part of it.
            let oldest = now_ms - tier.keep_ms() - HistoryTier::QuarterDays.width_ms();
            prune.execute(params![node, tier.width_ms(), oldest])?;
        }
    }
    Ok(())
}

fn number(connection: &Connection, node: &NodeId) -> rusqlite::Result<i64> {
    let known = connection
        .prepare_cached("SELECT id FROM history_node WHERE node = ?1")?
        .query_row([node.as_str()], |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        return Ok(id);
    }
    connection.prepare_cached("INSERT INTO history_node (node) VALUES (?1)")?.execute([node.as_str()])?;
    Ok(connection.last_insert_rowid())
}

fn put(
    connection: &Connection,
    node: i64,
    tier: HistoryTier,
    ts: i64,
    bucket: &Bucket,
) -> rusqlite::Result<()> {
    let data = serde_json::to_string(bucket).expect("numbers and strings are always JSON");
    connection
        .prepare_cached("INSERT OR REPLACE INTO history (node, width, ts, data) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![node, tier.width_ms(), ts, data])
        .map(drop)
}

/// The first column as a bucket.
fn bucket_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Bucket> {
    let text = row.get_ref(0)?.as_str()?;
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
    })
}
