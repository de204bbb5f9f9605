//! Logs as chunks of bytes.
//!
//! Small appends are merged so that a chatty job does not make a row for each line, and without
//! rewriting one large chunk each time: as in a binary counter, a new chunk swallows the one
//! before it while that one is at most twice as long and both fit into one chunk. A byte is
//! rewritten a few times at most, and a log has about two rows for each full chunk.

use super::Limits;
use crate::store::{LogAppend, LogSlice};
use rusqlite::{Connection, OptionalExtension, params};

struct Log {
    id: i64,
    first: i64,
    end: i64,
}

fn find(connection: &Connection, job: &str, attempt: u32) -> rusqlite::Result<Option<Log>> {
    connection
        .prepare_cached("SELECT id, first_byte, end_byte FROM log WHERE job = ?1 AND attempt = ?2")?
        .query_row(params![job, attempt], |row| {
            Ok(Log { id: row.get(0)?, first: row.get(1)?, end: row.get(2)? })
        })
        .optional()
}

/// Stores what is new of `bytes`. An overlap is the resend of an append whose answer was lost.
pub(super) fn append(
    connection: &Connection,
    limits: &Limits,
    job: &str,
    attempt: u32,
    offset: u64,
    bytes: &[u8],
) -> rusqlite::Result<LogAppend> {
    let log = find(connection, job, attempt)?;
    let end = log.as_ref().map_or(0, |log| log.end);
    let new = match i64::try_from(offset) {
        Ok(offset) if offset <= end => {
            let known = usize::try_from(end - offset).unwrap_or(usize::MAX);
            bytes.get(known..).unwrap_or_default()
        }
        _ => return Ok(LogAppend::Gap(end as u64)),
    };
    if new.is_empty() {
        return Ok(LogAppend::Stored(end as u64));
    }
    let log = match log {
        Some(log) => log,
        None => {
            connection
                .prepare_cached("INSERT INTO log (job, attempt, first_byte, end_byte) VALUES (?1, ?2, 0, 0)")?
                .execute(params![job, attempt])?;
            Log { id: connection.last_insert_rowid(), first: 0, end: 0 }
        }
    };
    let mut at = log.end;
    for piece in new.chunks(limits.chunk_bytes) {
        add_chunk(connection, limits, log.id, at, piece)?;
        at += piece.len() as i64;
    }
    let first = drop_oldest(connection, limits, &log, at)?;
    connection
        .prepare_cached("UPDATE log SET first_byte = ?2, end_byte = ?3 WHERE id = ?1")?
        .execute(params![log.id, first, at])?;
    Ok(LogAppend::Stored(at as u64))
}

fn add_chunk(
    connection: &Connection,
    limits: &Limits,
    log: i64,
    at: i64,
    piece: &[u8],
) -> rusqlite::Result<()> {
    let mut swallowed = Vec::new();
    let (mut start, mut length) = (at, piece.len());
    {
        let mut last_first = connection
            .prepare_cached("SELECT id, at, length FROM log_chunk WHERE log = ?1 ORDER BY at DESC")?;
        let mut rows = last_first.query([log])?;
        while let Some(row) = rows.next()? {
            let before: usize = row.get::<_, i64>(2)?.try_into().unwrap_or(usize::MAX);
            if before > 2 * length || before.saturating_add(length) > limits.chunk_bytes {
                break;
            }
            swallowed.push(row.get::<_, i64>(0)?);
            start = row.get(1)?;
            length += before;
        }
    }
    let mut bytes = Vec::with_capacity(length);
    for id in swallowed.iter().rev() {
        let part = connection
            .prepare_cached("SELECT bytes FROM log_chunk WHERE id = ?1")?
            .query_row([id], |row| row.get::<_, Vec<u8>>(0))?;
        bytes.extend_from_slice(&part);
        connection.prepare_cached("DELETE FROM log_chunk WHERE id = ?1")?.execute([id])?;
    }
    bytes.extend_from_slice(piece);
    connection
        .prepare_cached("INSERT INTO log_chunk (log, at, length, bytes) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![log, start, length as i64, bytes])?;
    Ok(())
}

/// Keeps the tail; answers where it starts.
fn drop_oldest(connection: &Connection, limits: &Limits, log: &Log, end: i64) -> rusqlite::Result<i64> {
    let kept_from = end - limits.log_bytes as i64;
    if log.first >= kept_from {
        return Ok(log.first);
    }
    let first: i64 = connection
        .prepare_cached(include_str!("sql/first_kept.sql"))?
        .query_row(params![log.id, kept_from], |row| row.get(0))?;
    connection
        .prepare_cached("DELETE FROM log_chunk WHERE log = ?1 AND at < ?2")?
        .execute(params![log.id, first])?;
    Ok(first)
}

pub(super) fn delete(connection: &Connection, job: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM log_chunk WHERE log IN (SELECT id FROM log WHERE job = ?1)")?
        .execute([job])?;
    connection.prepare_cached("DELETE FROM log WHERE job = ?1")?.execute([job])?;
    Ok(())
}

/// At most `max` bytes from `offset` on, or from the first byte still here.
pub(super) fn read(
    connection: &Connection,
    job: &str,
    attempt: u32,
    offset: u64,
    max: usize,
) -> rusqlite::Result<LogSlice> {
    // One snapshot of the file for the row and its chunks.
    let transaction = connection.unchecked_transaction()?;
    let Some(log) = find(&transaction, job, attempt)? else { return Ok(LogSlice::default()) };
    let start = i64::try_from(offset).unwrap_or(i64::MAX).clamp(log.first, log.end);
    let mut slice = LogSlice { offset: start as u64, bytes: Vec::new(), end: log.end as u64 };
    if start == log.end {
        return Ok(slice);
    }
    let mut chunks = transaction.prepare_cached(include_str!("sql/chunks_from.sql"))?;
    let mut rows = chunks.query(params![log.id, start])?;
    while slice.bytes.len() < max
        && let Some(row) = rows.next()?
    {
        let skip = usize::try_from(start - row.get::<_, i64>(0)?).unwrap_or(0);
        let bytes = row.get_ref(1)?.as_blob()?;
        let wanted = bytes.get(skip..).unwrap_or_default();
        let room = max - slice.bytes.len();
        slice.bytes.extend_from_slice(&wanted[..wanted.len().min(room)]);
    }
    Ok(slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits { log_bytes: 1000, chunk_bytes: 100 };

    /// How far before (or after) the log's end an append starts, and how long it is.
    fn appends() -> impl Strategy<Value = Vec<(i64, usize)>> {
        let length = prop_oneof![4 => 0..30usize, 1 => 0..400usize, 1 => 900..2500usize];
        proptest::collection::vec((-3..40i64, length), 1..60)
    }

    fn byte(at: u64) -> u8 {
        (at % 251) as u8
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        #[test]
        fn a_log_is_the_tail_of_what_was_appended(appends in appends(), from in 0..3000u64, max in 1..500usize) {
            let connection = Connection::open_in_memory().unwrap();
            connection.execute_batch(include_str!("migrations/0001_logs_and_snapshots.sql")).unwrap();
            let mut end = 0u64;
            for (before, length) in appends {
                let offset = end.saturating_add_signed(-before);
                let bytes: Vec<u8> = (offset..offset + length as u64).map(byte).collect();
                let answer = append(&connection, &LIMITS, "j", 1, offset, &bytes).unwrap();
                if offset > end {
                    prop_assert_eq!(answer, LogAppend::Gap(end));
                    continue;
                }
                end = end.max(offset + length as u64);
                prop_assert_eq!(answer, LogAppend::Stored(end));

                let all = read(&connection, "j", 1, 0, usize::MAX).unwrap();
                prop_assert_eq!(all.end, end);
                prop_assert_eq!(all.offset + all.bytes.len() as u64, end);
                prop_assert!(all.bytes.iter().zip(all.offset..).all(|(found, at)| *found == byte(at)));
                // The tail is as long as it may be but for the chunk that was dropped last.
                let kept = all.bytes.len() as u64;
                prop_assert!(kept <= 1000 && (kept == end || kept > 900), "{kept} of {end} bytes kept");
                let rows: i64 =
                    connection.query_row("SELECT count(*) FROM log_chunk", [], |row| row.get(0)).unwrap();
                prop_assert!(rows <= 2 * kept as i64 / 100 + 8, "{rows} rows for {kept} bytes");
            }
            let some = read(&connection, "j", 1, from, max).unwrap();
            let all = read(&connection, "j", 1, 0, usize::MAX).unwrap();
            prop_assert_eq!(some.offset, from.clamp(all.offset, all.end));
            let start = usize::try_from(some.offset - all.offset).unwrap();
            prop_assert_eq!(&some.bytes[..], &all.bytes[start..all.bytes.len().min(start + max)]);
        }
    }
}
