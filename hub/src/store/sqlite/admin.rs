//! Tokens, sessions, the audit log, operations and nodes: rows that hold no decisions.

use super::rows;
use crate::store::{NodeRecord, Operation, SessionRecord, TokenRecord};
use forge_shared::{NodeId, WorkerId, request::Scope, response::AuditEntry};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

fn word<T: serde::Serialize>(value: &T) -> String {
    let text = serde_json::to_string(value).expect("a word is always JSON");
    text.trim_matches('"').to_owned()
}

fn from_word<T: serde::de::DeserializeOwned>(word: &str, column: usize) -> rusqlite::Result<T> {
    rows::json(&format!("\"{word}\""), column)
}

pub(super) fn tokens(connection: &Connection) -> rusqlite::Result<Vec<TokenRecord>> {
    connection
        .prepare_cached(
            "SELECT id, name, scope, hash, worker_id, created_at, last_used_at FROM tokens ORDER BY created_at, id",
        )?
        .query_map([], |row| {
            Ok(TokenRecord {
                id: row.get(0)?,
                name: row.get(1)?,
                scope: from_word::<Scope>(&rows::text(row, 2)?, 2)?,
                hash: row.get(3)?,
                worker_id: rows::maybe_text(row, 4)?.map(WorkerId::trusted),
                created_at: row.get(5)?,
                last_used_at: row.get(6)?,
            })
        })?
        .collect()
}

pub(super) fn save_token(connection: &Connection, token: &TokenRecord) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO tokens (id, name, scope, hash, worker_id, created_at, last_used_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            token.id,
            token.name,
            word(&token.scope),
            token.hash,
            token.worker_id.as_ref().map(|worker| worker.as_str()),
            token.created_at,
            token.last_used_at
        ])?;
    Ok(())
}

/// False when there is no such token.
pub(super) fn delete_token(connection: &Connection, id: &str) -> rusqlite::Result<bool> {
    connection.prepare_cached("DELETE FROM sessions WHERE token_id = ?1")?.execute([id])?;
    Ok(connection.prepare_cached("DELETE FROM tokens WHERE id = ?1")?.execute([id])? > 0)
}

pub(super) fn sessions(connection: &Connection) -> rusqlite::Result<Vec<SessionRecord>> {
    connection
        .prepare_cached("SELECT hash, token_id, created_at, expires_at FROM sessions")?
        .query_map([], |row| {
            Ok(SessionRecord {
                hash: row.get(0)?,
                token_id: row.get(1)?,
                created_at: row.get(2)?,
                expires_at: row.get(3)?,
            })
        })?
        .collect()
}

pub(super) fn save_session(connection: &Connection, session: &SessionRecord) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM sessions WHERE expires_at < ?1")?.execute([session.created_at])?;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO sessions (hash, token_id, created_at, expires_at) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![session.hash, session.token_id, session.created_at, session.expires_at])?;
    Ok(())
}

pub(super) fn audit_log(
    connection: &Connection,
    before: Option<i64>,
    max: u32,
) -> rusqlite::Result<Vec<(i64, AuditEntry)>> {
    connection
        .prepare_cached(
            "SELECT n, ts, actor, action, target, detail FROM audit WHERE n < ?1 ORDER BY n DESC LIMIT ?2",
        )?
        .query_map(params![before.unwrap_or(i64::MAX), max], |row| {
            let entry = AuditEntry {
                ts: row.get(1)?,
                actor: row.get(2)?,
                action: row.get(3)?,
                target: row.get(4)?,
                detail: row.get(5)?,
            };
            Ok((row.get(0)?, entry))
        })?
        .collect()
}

const OPERATION_COLUMNS: &str =
    "id, action, priority, filter, after, upto, matched, changed, skipped, done, created_at";

fn read_operation(row: &Row<'_>) -> rusqlite::Result<Operation> {
    let count = |at: usize| row.get::<_, i64>(at).map(i64::unsigned_abs);
    Ok(Operation {
        id: row.get(0)?,
        action: from_word(&rows::text(row, 1)?, 1)?,
        priority: row.get(2)?,
        filter: rows::json(&rows::text(row, 3)?, 3)?,
        after: row.get(4)?,
        upto: row.get(5)?,
        matched: count(6)?,
        changed: count(7)?,
        skipped: count(8)?,
        done: row.get(9)?,
        created_at: row.get(10)?,
    })
}

pub(super) fn operation(connection: &Connection, id: &str) -> rusqlite::Result<Option<Operation>> {
    connection
        .prepare_cached(&format!("SELECT {OPERATION_COLUMNS} FROM operations WHERE id = ?1"))?
        .query_row([id], read_operation)
        .optional()
}

pub(super) fn unfinished_operations(connection: &Connection) -> rusqlite::Result<Vec<Operation>> {
    connection
        .prepare_cached(&format!(
            "SELECT {OPERATION_COLUMNS} FROM operations WHERE done = 0 ORDER BY created_at"
        ))?
        .query_map([], read_operation)?
        .collect()
}

pub(super) fn save_operation(connection: &Connection, operation: &Operation) -> rusqlite::Result<()> {
    let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    connection
        .prepare_cached(&format!(
            "INSERT OR REPLACE INTO operations ({OPERATION_COLUMNS}) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
        ))?
        .execute(params![
            operation.id,
            word(&operation.action),
            operation.priority,
            serde_json::to_string(&operation.filter).expect("a filter is always JSON"),
            operation.after,
            operation.upto,
            count(operation.matched),
            count(operation.changed),
            count(operation.skipped),
            operation.done,
            operation.created_at,
        ])?;
    Ok(())
}

pub(super) fn nodes(connection: &Connection) -> rusqlite::Result<Vec<NodeRecord>> {
    connection
        .prepare_cached("SELECT id, name, last_seen, latest FROM nodes ORDER BY id")?
        .query_map([], |row| {
            Ok(NodeRecord {
                id: NodeId::trusted(rows::text(row, 0)?),
                name: row.get(1)?,
                last_seen: row.get(2)?,
                latest: row.get(3)?,
            })
        })?
        .collect()
}

pub(super) fn save_node(connection: &Connection, node: &NodeRecord) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO nodes (id, name, last_seen, latest) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![node.id.as_str(), node.name, node.last_seen, node.latest])?;
    Ok(())
}
