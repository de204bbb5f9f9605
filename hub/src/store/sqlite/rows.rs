//! Between the engine's job and its row.

use forge_engine::{Job, Lease, LeaseState, job::Spec};
use forge_shared::{BootId, ClaimId, JobId, JobType, LeaseId, QueueName, Status, WorkerId};
use rusqlite::{Row, types::Type};
use std::sync::Arc;

/// The hot columns, in the order that [`job`] reads them.
pub(super) const JOB_COLUMNS: &str = "j.seq, j.id, j.queue, j.type, j.priority, j.status, j.created_at, j.run_at, \
     j.max_attempts, j.max_runtime_ms, j.expires_at, j.backoff, j.attempt, j.attempts, j.given_back, \
     j.silent_expiries, j.history_len, j.cancel_requested, j.claimed_at, j.started_at, j.heartbeat_at, \
     j.finished_at, j.progress_at, j.fail_reason, j.lease_id, j.lease_worker, j.lease_boot, j.lease_claim, \
     j.lease_state, j.lease_granted, j.lease_until, j.lease_started";
pub(super) const JOB_COLUMN_COUNT: usize = 32;

pub(super) fn status_number(status: Status) -> i64 {
    status as i64
}

pub(super) fn status_of(number: i64, column: usize) -> rusqlite::Result<Status> {
    usize::try_from(number)
        .ok()
        .and_then(|at| Status::ALL.get(at).copied())
        .ok_or_else(|| damaged(column, "no such status"))
}

const LEASE_STATES: [LeaseState; 5] =
    [LeaseState::Live, LeaseState::Expired, LeaseState::Completed, LeaseState::Failed, LeaseState::Released];

pub(super) fn lease_state_number(state: LeaseState) -> i64 {
    state as i64
}

fn damaged(column: usize, what: &str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.into())
}

/// A text column without a copy in between.
pub(super) fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Arc<str>> {
    Ok(Arc::from(row.get_ref(column)?.as_str().map_err(|_| damaged(column, "not text"))?))
}

pub(super) fn maybe_text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Arc<str>>> {
    let value = row.get_ref(column)?.as_str_or_null().map_err(|_| damaged(column, "not text"))?;
    Ok(value.map(Arc::from))
}

/// JSON that the store itself wrote.
pub(super) fn json<T: serde::de::DeserializeOwned>(text: &str, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| damaged(column, &error.to_string()))
}

pub(super) fn job(row: &Row<'_>) -> rusqlite::Result<Job> {
    let backoff = row.get_ref(11)?.as_str_or_null().map_err(|_| damaged(11, "not text"))?;
    let lease = match maybe_text(row, 24)? {
        None => None,
        Some(id) => Some(Lease {
            id: LeaseId::trusted(id),
            worker: WorkerId::trusted(text(row, 25)?),
            boot: maybe_text(row, 26)?.map(BootId::trusted),
            claim_id: maybe_text(row, 27)?.map(ClaimId::trusted),
            state: usize::try_from(row.get::<_, i64>(28)?)
                .ok()
                .and_then(|at| LEASE_STATES.get(at).copied())
                .ok_or_else(|| damaged(28, "no such lease state"))?,
            granted_ms: row.get(29)?,
            until_ms: row.get(30)?,
            started_ms: row.get(31)?,
        }),
    };
    Ok(Job {
        seq: row.get(0)?,
        id: JobId::trusted(text(row, 1)?),
        queue: QueueName::trusted(text(row, 2)?),
        kind: JobType::trusted(text(row, 3)?),
        priority: row.get(4)?,
        status: status_of(row.get(5)?, 5)?,
        created_at: row.get(6)?,
        run_at: row.get(7)?,
        max_attempts: row.get(8)?,
        max_runtime_ms: row.get(9)?,
        expires_at: row.get(10)?,
        backoff: backoff.map(|text| json(text, 11)).transpose()?,
        attempt: row.get(12)?,
        attempts: row.get(13)?,
        given_back: row.get(14)?,
        silent_expiries: row.get(15)?,
        history_len: row.get(16)?,
        cancel_requested: row.get(17)?,
        claimed_at: row.get(18)?,
        started_at: row.get(19)?,
        heartbeat_at: row.get(20)?,
        finished_at: row.get(21)?,
        progress_at: row.get(22)?,
        fail_reason: row.get(23)?,
        lease,
    })
}

/// The cold columns of `specs`, starting at `first`.
pub(super) fn spec(row: &Row<'_>, first: usize) -> rusqlite::Result<Spec> {
    let tags = maybe_text(row, first + 1)?;
    Ok(Spec {
        params: text(row, first)?,
        tags: tags.map(|tags| json(&tags, first + 1)).transpose()?.unwrap_or_default(),
        command: row.get(first + 2)?,
        solver_url: row.get(first + 3)?,
        solver_checksum: row.get(first + 4)?,
    })
}
