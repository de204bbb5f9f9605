//! What people do to jobs: cancel, retry, run now, kill, one or many at a time.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use forge_engine::command::{Action, JobState};
use forge_shared::{
    JobId,
    request::{Bulk, BulkAction},
    response::{BulkAnswer, ErrorBody, Reported},
};
use std::{sync::Arc, time::Duration};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    app::App,
    caller::Caller,
    error::{ApiError, ApiResult},
    json::{Body, Json},
    query::PathId,
};
use crate::{secret::random_id, store::Operation};

/// How long a bulk call waits for its end before it answers 202.
const BULK_WAIT: Duration = Duration::from_secs(30);
const SAMPLE: u32 = 10;

pub fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default()
        .routes(routes!(cancel))
        .routes(routes!(retry))
        .routes(routes!(run_now))
        .routes(routes!(kill))
        .routes(routes!(bulk))
        .routes(routes!(operation))
}

fn reported(state: JobState) -> Json<Reported> {
    Json(Reported { id: state.id, status: state.status, next_retry_at: state.next_retry_at })
}

/// Cancel a job
///
/// A pending or assigned job fails with `cancelled` at once; a running one is asked to stop.
#[utoipa::path(
    post, path = "/api/jobs/{id}/cancel", tag = "jobs", params(("id" = String, Path)),
    responses(
        (status = 200, description = "Cancelled", body = Reported),
        (status = 202, description = "The worker is asked to stop it", body = Reported),
        (status = 404, description = "There is no such job", body = ErrorBody),
        (status = 409, description = "It has ended already", body = ErrorBody),
    ),
    security(("token" = ["producer"])),
)]
async fn cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<JobId>,
) -> ApiResult<Response> {
    let state = app.act(&caller, &id, Action::Cancel { even_running: true }, "job.cancel").await?;
    let code = if state.cancelling { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok((code, reported(state)).into_response())
}

/// Retry a failed or dead job
///
/// It starts with a fresh budget of attempts; its history stays.
#[utoipa::path(
    post, path = "/api/jobs/{id}/retry", tag = "jobs", params(("id" = String, Path)),
    responses(
        (status = 200, description = "Pending again", body = Reported),
        (status = 404, description = "There is no such job", body = ErrorBody),
        (status = 409, description = "It has not failed", body = ErrorBody),
    ),
    security(("token" = ["producer"])),
)]
async fn retry(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<JobId>,
) -> ApiResult<Json<Reported>> {
    app.act(&caller, &id, Action::Retry, "job.retry").await.map(reported)
}

/// Run a scheduled or retrying job now
#[utoipa::path(
    post, path = "/api/jobs/{id}/run-now", tag = "jobs", params(("id" = String, Path)),
    responses(
        (status = 200, description = "Due now", body = Reported),
        (status = 404, description = "There is no such job", body = ErrorBody),
        (status = 409, description = "It is not pending", body = ErrorBody),
    ),
    security(("token" = ["producer"])),
)]
async fn run_now(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<JobId>,
) -> ApiResult<Json<Reported>> {
    app.act(&caller, &id, Action::RunNow, "job.run_now").await.map(reported)
}

/// Put a pending job aside as dead
#[utoipa::path(
    post, path = "/api/jobs/{id}/kill", tag = "jobs", params(("id" = String, Path)),
    responses(
        (status = 200, description = "Quarantined", body = Reported),
        (status = 404, description = "There is no such job", body = ErrorBody),
        (status = 409, description = "It is not pending", body = ErrorBody),
    ),
    security(("token" = ["producer"])),
)]
async fn kill(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<JobId>,
) -> ApiResult<Json<Reported>> {
    app.act(&caller, &id, Action::Kill, "job.kill").await.map(reported)
}

/// Act on every job that matches
///
/// All fields of the filter must match. `dry_run` only counts and shows a sample. A large action
/// goes on in the background (and through a restart): then the answer is 202, and
/// `GET /api/operations/{id}` tells how far it is.
#[utoipa::path(
    post, path = "/api/jobs/bulk", tag = "jobs", request_body = Bulk,
    responses(
        (status = 200, description = "Done, or counted", body = BulkAnswer),
        (status = 202, description = "Still going on", body = BulkAnswer),
        (status = 400, description = "A field is not valid", body = ErrorBody),
    ),
    security(("token" = ["admin"])),
)]
async fn bulk(State(app): State<Arc<App>>, caller: Caller, Body(bulk): Body<Bulk>) -> ApiResult<Response> {
    if (bulk.action == BulkAction::SetPriority) != bulk.priority.is_some() {
        return Err(ApiError::invalid(
            "priority",
            "priority belongs to the action set_priority, and only to it",
        ));
    }
    let upto = app.store.last_job().await?;
    if bulk.dry_run {
        let matched = app.store.count_matching(bulk.filter.clone()).await?;
        let sample = app.store.matching(bulk.filter, 0, upto, SAMPLE).await?;
        let sample = sample.into_iter().map(|(_, id)| id).collect();
        let answer =
            BulkAnswer { operation: None, done: true, matched, changed: 0, skipped: 0, sample: Some(sample) };
        return Ok(Json(answer).into_response());
    }
    let now = app.hub.now_ms();
    let operation = Operation {
        id: random_id("op_"),
        action: bulk.action,
        priority: bulk.priority,
        filter: bulk.filter,
        after: 0,
        upto,
        matched: 0,
        changed: 0,
        skipped: 0,
        done: false,
        created_at: now,
    };
    let detail = serde_json::to_string(&operation.filter).ok();
    let action = serde_json::to_string(&operation.action).unwrap_or_default();
    let note = caller.note(now, &format!("jobs.bulk.{}", action.trim_matches('"')), &operation.id, detail);
    app.store.save_operation(operation.clone(), Some(note)).await?;
    let id = operation.id.clone();
    let ended = app.operations.add(operation.clone());
    let ended = tokio::select! {
        ended = ended => ended.ok(),
        () = tokio::time::sleep(BULK_WAIT) => None,
        () = app.stop.cancelled() => None,
    };
    let stands = match ended {
        Some(ended) => ended,
        None => app.store.operation(&id).await?.unwrap_or(operation),
    };
    let code = if stands.done { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((code, Json(answer(stands))).into_response())
}

fn answer(operation: Operation) -> BulkAnswer {
    BulkAnswer {
        operation: Some(operation.id),
        done: operation.done,
        matched: operation.matched,
        changed: operation.changed,
        skipped: operation.skipped,
        sample: None,
    }
}

/// How far a bulk action is
#[utoipa::path(
    get, path = "/api/operations/{id}", tag = "jobs", params(("id" = String, Path)),
    operation_id = "bulk_operation",
    responses(
        (status = 200, description = "Where it stands", body = BulkAnswer),
        (status = 404, description = "There is no such operation", body = ErrorBody),
    ),
    security(("token" = ["admin", "viewer"])),
)]
async fn operation(
    State(app): State<Arc<App>>,
    axum::extract::Path(id): axum::extract::Path<String>,
) -> ApiResult<Json<BulkAnswer>> {
    let operation = app.store.operation(&id).await?;
    operation.map(|operation| Json(answer(operation))).ok_or_else(|| ApiError::not_found("operation"))
}
