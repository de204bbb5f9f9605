//! Checks a job before it is enqueued, and names the field that is wrong.

use axum::http::StatusCode;
use forge_engine::{
    Refusal,
    command::{Due, Idempotency, NewJob as Checked},
    job::Spec,
};
use forge_shared::{Backoff, QueueName, request::NewJob};
use std::sync::Arc;

use super::{
    error::{ApiError, ApiResult},
    limits::*,
};
use crate::{hub::Denied, secret::digest};

const MAX_ATTEMPTS_DEFAULT: u32 = 3;
const MAX_RUNTIME_MS_DEFAULT: i64 = 300_000;

/// `key` is the one from the request's header.
pub(super) fn checked(mut new: NewJob, key: Option<String>, now_ms: i64) -> ApiResult<Checked> {
    let key = match (key, new.idempotency_key.take()) {
        (Some(header), Some(body)) if header != body => {
            return Err(ApiError::invalid(
                "idempotency_key",
                "the header Idempotency-Key says something else",
            ));
        }
        (header, body) => header.or(body),
    };
    let idempotency = match key {
        None => None,
        Some(key) => {
            name("idempotency_key", &key, KEY_BYTES_MAX)?;
            let body = serde_json::to_vec(&new).map_err(|_| ApiError::unexpected())?;
            Some(Idempotency { key: key.into(), body: digest(&body) })
        }
    };
    let due = match (new.run_at, new.delay_ms) {
        (Some(_), Some(_)) => {
            return Err(ApiError::invalid("delay_ms", "give run_at or delay_ms, not both"));
        }
        (Some(at), None) => Due::At(time("run_at", at)?),
        (None, Some(delay)) => Due::After(span("delay_ms", delay, 0)?),
        (None, None) => Due::Now,
    };
    let expires_at = new.expires_at.map(|at| time("expires_at", at)).transpose()?;
    if expires_at.is_some_and(|at| at <= now_ms) {
        return Err(ApiError::invalid("expires_at", "expires_at must be in the future"));
    }
    let max_attempts = new.max_attempts.unwrap_or(MAX_ATTEMPTS_DEFAULT);
    if !(1..=ATTEMPTS_MAX).contains(&max_attempts) {
        return Err(ApiError::invalid("max_attempts", format!("max_attempts must be 1 to {ATTEMPTS_MAX}")));
    }
    let max_runtime_ms = match new.max_runtime_ms {
        None => Some(MAX_RUNTIME_MS_DEFAULT),
        Some(None) => None,
        Some(Some(ms)) => Some(span("max_runtime_ms", ms, 1)?),
    };
    if let Some(backoff) = &new.backoff {
        check_backoff(backoff)?;
    }
    let params: Arc<str> = new.params.as_ref().map_or("{}", |params| params.get()).into();
    if params.len() > PARAMS_BYTES_MAX {
        let why = format!("params must be at most {PARAMS_BYTES_MAX} bytes");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", why).field("params"));
    }
    Ok(Checked {
        id: new.id,
        kind: new.kind,
        queue: new.queue.unwrap_or_else(QueueName::default_queue),
        priority: new.priority.unwrap_or(0),
        max_attempts,
        max_runtime_ms,
        due,
        expires_at,
        backoff: new.backoff,
        idempotency,
        spec: Spec {
            params,
            tags: tags(new.tags.unwrap_or_default())?,
            command: new.command.map(command).transpose()?,
            solver_checksum: checksum(new.solver_url.is_some(), new.solver_checksum)?,
            solver_url: new.solver_url.map(url).transpose()?,
        },
    })
}

/// A refusal of a single job names no index.
pub(super) fn single(denied: Denied) -> ApiError {
    match denied {
        Denied::Refused(Refusal::InBatch { refusal, .. }) => (*refusal).into(),
        other => other.into(),
    }
}

pub(super) fn time(field: &str, at: i64) -> ApiResult<i64> {
    if !(0..=TIME_MS_MAX).contains(&at) {
        return Err(ApiError::invalid(
            field,
            format!("{field} must be milliseconds since 1970, up to the year 9999"),
        ));
    }
    Ok(at)
}

pub(super) fn span(field: &str, ms: i64, least: i64) -> ApiResult<i64> {
    if !(least..=SPAN_MS_MAX).contains(&ms) {
        return Err(ApiError::invalid(
            field,
            format!("{field} must be {least} to {SPAN_MS_MAX} milliseconds"),
        ));
    }
    Ok(ms)
}

fn name(field: &str, text: &str, max: usize) -> ApiResult<()> {
    if text.is_empty() || text.len() > max || text.chars().any(char::is_control) {
        return Err(ApiError::invalid(
            field,
            format!("{field} must be 1 to {max} bytes without control characters"),
        ));
    }
    Ok(())
}

fn check_backoff(backoff: &Backoff) -> ApiResult<()> {
    let limit = SPAN_MS_MAX.unsigned_abs();
    if backoff.first_ms > limit {
        return Err(ApiError::invalid(
            "backoff.first_ms",
            format!("backoff.first_ms must be at most {limit}"),
        ));
    }
    if backoff.max_ms > limit {
        return Err(ApiError::invalid("backoff.max_ms", format!("backoff.max_ms must be at most {limit}")));
    }
    if !(0.0..=1_000.0).contains(&backoff.factor) {
        return Err(ApiError::invalid("backoff.factor", "backoff.factor must be 0 to 1000"));
    }
    Ok(())
}

fn tags(tags: Vec<String>) -> ApiResult<Vec<String>> {
    if tags.len() > TAGS_MAX {
        return Err(ApiError::invalid("tags", format!("a job has at most {TAGS_MAX} tags")));
    }
    for tag in &tags {
        name("tags", tag, TAG_BYTES_MAX)?;
    }
    Ok(tags)
}

fn command(command: String) -> ApiResult<String> {
    if command.trim().is_empty() || command.len() > COMMAND_BYTES_MAX || command.contains('\0') {
        return Err(ApiError::invalid(
            "command",
            format!("command must be 1 to {COMMAND_BYTES_MAX} bytes of text"),
        ));
    }
    Ok(command)
}

fn url(url: String) -> ApiResult<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let fits = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && url.len() <= URL_BYTES_MAX
        && !url.chars().any(|c| c.is_control() || c.is_whitespace());
    if !fits {
        let why = format!("solver_url must be an http or https address of at most {URL_BYTES_MAX} bytes");
        return Err(ApiError::invalid("solver_url", why));
    }
    Ok(url)
}

fn checksum(needed: bool, checksum: Option<String>) -> ApiResult<Option<String>> {
    match checksum {
        Some(text) if text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()) => {
            Ok(Some(text.to_ascii_lowercase()))
        }
        Some(_) => {
            Err(ApiError::invalid("solver_checksum", "solver_checksum must be a sha256: 64 hex digits"))
        }
        None if needed => Err(ApiError::invalid(
            "solver_checksum",
            "solver_checksum is required with solver_url: a solver runs only if its sha256 matches",
        )),
        None => Ok(None),
    }
}
