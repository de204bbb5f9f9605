//! What producers do with jobs: enqueue, look, change, remove.

use axum::{
    extract::State,
    http::{HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use forge_engine::{Command, Reply, command::Action};
use forge_shared::{
    JobId, View,
    job::Attempt,
    request::{JobFilter, NewJob, PatchJob},
    response::{Enqueued, ErrorBody},
};
use serde::Deserialize;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    app::App,
    caller::Caller,
    error::{ApiError, ApiResult},
    json::{Body, Json},
    limits::{BATCH_BODY_BYTES_MAX, BATCH_JOBS_MAX, JOB_BODY_BYTES_MAX, LIST_DEFAULT, LIST_MAX, WAIT_MS_MAX},
    new_job,
    query::{Enqueueing, Key, PathId, Query},
};
use crate::store::{Order, Page, Place};

const NEXT_CURSOR: HeaderName = HeaderName::from_static("x-next-cursor");

pub fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default()
        .routes(routes!(enqueue, list))
        .routes(routes!(enqueue_batch))
        .routes(routes!(counts_by_worker))
        .routes(routes!(show, patch, remove))
        .routes(routes!(attempts))
}

/// Enqueue a job
///
/// The answer is sent when the job is on disk. With an idempotency key (in the body or as the
/// header `Idempotency-Key`) the same call again answers 200 with the first job.
#[utoipa::path(
    post, path = "/api/jobs", tag = "jobs",
    request_body = NewJob,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key again answers with the first job")),
    responses(
        (status = 201, description = "The job is stored", body = Enqueued),
        (status = 200, description = "The idempotency key was known: the first job", body = Enqueued),
        (status = 400, description = "A field is not valid", body = ErrorBody),
        (status = 409, description = "The id is taken, or the key was used with a different body", body = ErrorBody),
        (status = 413, description = "The body or the params are too large", body = ErrorBody),
    ),
    security(("token" = ["producer"])),
)]
async fn enqueue(
    State(app): State<Arc<App>>,
    Key(key, _): Key<Enqueueing>,
    Body(new): Body<NewJob, JOB_BODY_BYTES_MAX>,
) -> ApiResult<Response> {
    let job = new_job::checked(new, key, app.hub.now_ms())?;
    let reply = app.hub.submit(Command::Enqueue(vec![job]), None).await.map_err(new_job::single)?;
    let Reply::Enqueued(answers) = reply else { return Err(ApiError::unexpected()) };
    let first = answers.into_iter().next().ok_or_else(ApiError::unexpected)?;
    let status = if first.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(Enqueued { id: first.id, status: first.status })).into_response())
}

/// Enqueue many jobs
///
/// Up to 10,000 jobs or 32 MiB. One that is not valid refuses all, and is named by its index.
#[utoipa::path(
    post, path = "/api/jobs/batch", tag = "jobs",
    request_body = Vec<NewJob>,
    responses(
        (status = 201, description = "All are stored; one answer each, in order", body = Vec<Enqueued>),
        (status = 200, description = "Every idempotency key was known", body = Vec<Enqueued>),
        (status = 400, description = "A job is not valid; none is stored", body = ErrorBody),
        (status = 409, description = "An id is taken or a key was used differently; none is stored", body = ErrorBody),
        (status = 413, description = "Too many bytes", body = ErrorBody),
    ),
    security(("token" = ["producer"])),
)]
async fn enqueue_batch(
    State(app): State<Arc<App>>,
    Body(new): Body<Vec<NewJob>, BATCH_BODY_BYTES_MAX>,
) -> ApiResult<Response> {
    if new.is_empty() || new.len() > BATCH_JOBS_MAX {
        let why = format!("a batch has 1 to {BATCH_JOBS_MAX} jobs, this one has {}", new.len());
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "invalid_field", why));
    }
    let now = app.hub.now_ms();
    let jobs = new
        .into_iter()
        .enumerate()
        .map(|(index, new)| {
            new_job::checked(new, None, now).map_err(|error| error.within(&format!("[{index}]")))
        })
        .collect::<ApiResult<Vec<_>>>()?;
    let Reply::Enqueued(answers) = app.hub.submit(Command::Enqueue(jobs), None).await? else {
        return Err(ApiError::unexpected());
    };
    let created = answers.iter().any(|answer| answer.created);
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    let answers: Vec<Enqueued> =
        answers.into_iter().map(|answer| Enqueued { id: answer.id, status: answer.status }).collect();
    Ok((status, Json(answers)).into_response())
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    status: Option<forge_shared::Status>,
    view: Option<View>,
    #[serde(rename = "type")]
    #[param(value_type = Option<String>)]
    kind: Option<forge_shared::JobType>,
    #[param(value_type = Option<String>)]
    queue: Option<forge_shared::QueueName>,
    #[param(value_type = Option<String>)]
    worker_id: Option<forge_shared::WorkerId>,
    tag: Option<String>,
    /// Created at or after, in ms since 1970.
    since: Option<i64>,
    /// Created before.
    until: Option<i64>,
    /// Start of the id, or part of type, tag or fail reason.
    q: Option<String>,
    /// 50 when left out, at most 1,000.
    limit: Option<u32>,
    offset: Option<u32>,
    /// `due`: those that are due soonest first, for the views `scheduled` and `retrying`. `newest`: newest
    /// first, also when left out.
    #[param(inline)]
    sort: Option<Sort>,
    /// From the header `X-Next-Cursor` of the page before.
    cursor: Option<String>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Sort {
    /// Newest first.
    Newest,
    /// Those that are due soonest first; of the views `scheduled` and `retrying`.
    Due,
}

impl ListQuery {
    fn order(&self) -> ApiResult<Order> {
        match (self.sort, self.view) {
            (None | Some(Sort::Newest), _) => Ok(Order::NewestFirst),
            (Some(Sort::Due), Some(View::Scheduled | View::Retrying)) => Ok(Order::SoonestFirst),
            (Some(Sort::Due), _) => Err(ApiError::invalid(
                "sort",
                "sort=due lists jobs that wait for their time: add view=scheduled or view=retrying",
            )),
        }
    }
}

/// A place in a list as the text of `X-Next-Cursor`.
fn cursor(place: Place, order: Order) -> String {
    match order {
        Order::NewestFirst => place.seq.to_string(),
        Order::SoonestFirst => format!("{}.{}", place.run_at, place.seq),
    }
}

fn place(cursor: &str, order: Order) -> ApiResult<Place> {
    let read = || match order {
        Order::NewestFirst => Some(Place { run_at: 0, seq: cursor.parse().ok()? }),
        Order::SoonestFirst => {
            let (run_at, seq) = cursor.split_once('.')?;
            Some(Place { run_at: run_at.parse().ok()?, seq: seq.parse().ok()? })
        }
    };
    let wrong = "cursor must be what X-Next-Cursor of the page before said, with the same sort";
    read().ok_or_else(|| ApiError::invalid("cursor", wrong))
}

/// List jobs
///
/// Newest first, unless `sort` says otherwise. The header `X-Next-Cursor` names the next page, if there is one; a page may end
/// before `limit` when its params and results are large.
#[utoipa::path(
    get, path = "/api/jobs", operation_id = "list_jobs", tag = "jobs", params(ListQuery),
    responses(
        (status = 200, description = "A page of jobs", body = Vec<forge_shared::Job>),
        (status = 400, description = "A parameter is not valid", body = ErrorBody),
    ),
    security(("token" = ["producer", "viewer"])),
)]
async fn list(State(app): State<Arc<App>>, Query(query): Query<ListQuery>) -> ApiResult<Response> {
    let limit = query.limit.unwrap_or(LIST_DEFAULT);
    if !(1..=LIST_MAX).contains(&limit) {
        return Err(ApiError::invalid("limit", format!("limit must be 1 to {LIST_MAX}")));
    }
    let order = query.order()?;
    let after = query.cursor.as_deref().map(|cursor| place(cursor, order)).transpose()?;
    let filter = JobFilter {
        status: query.status,
        view: query.view,
        kind: query.kind,
        queue: query.queue,
        worker_id: query.worker_id,
        tag: query.tag,
        since: query.since,
        until: query.until,
        q: query.q,
    };
    let page = Page { limit, offset: query.offset.unwrap_or(0), order, after, now_ms: app.hub.now_ms() };
    let found = app.hub.store.jobs(filter, page).await?;
    let mut response = Json(found.jobs).into_response();
    if let Some(next) = found.next {
        let next = HeaderValue::try_from(cursor(next, order)).map_err(|_| ApiError::unexpected())?;
        response.headers_mut().insert(NEXT_CURSOR, next);
    }
    Ok(response)
}

/// Count live jobs by worker
///
/// A map from worker id to the number of jobs it holds.
#[utoipa::path(
    get, path = "/api/jobs/counts-by-worker", tag = "jobs",
    responses((status = 200, description = "Worker id to number of live jobs", body = BTreeMap<String, u64>)),
    security(("token" = ["producer", "viewer"])),
)]
async fn counts_by_worker(State(app): State<Arc<App>>) -> ApiResult<Json<BTreeMap<String, u64>>> {
    let live = app.hub.store.live_jobs_by_worker().await?;
    Ok(Json(live.into_iter().map(|(worker, n)| (worker.to_string(), n)).collect()))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ShowQuery {
    /// Answer only when the job has ended, or after this long (at most 60,000).
    wait_ms: Option<u64>,
}

/// Show a job
#[utoipa::path(
    get, path = "/api/jobs/{id}", tag = "jobs", params(("id" = String, Path), ShowQuery),
    responses(
        (status = 200, description = "The job", body = forge_shared::Job),
        (status = 400, description = "The id or a parameter is not valid", body = ErrorBody),
        (status = 404, description = "There is no such job", body = ErrorBody),
    ),
    security(("token" = ["producer", "viewer"])),
)]
async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<JobId>,
    Query(query): Query<ShowQuery>,
) -> ApiResult<Json<forge_shared::Job>> {
    let job = match query.wait_ms {
        None | Some(0) => app.hub.store.job(&id).await?,
        Some(wait_ms) => {
            let wait = wait(wait_ms)?;
            app.may_long_poll()?;
            app.hub.job_when_done(&id, wait, [&app.stop, caller.revoked()]).await?
        }
    };
    job.map(Json).ok_or_else(|| ApiError::not_found("job"))
}

pub(super) fn wait(wait_ms: u64) -> ApiResult<Duration> {
    if wait_ms > WAIT_MS_MAX {
        return Err(ApiError::invalid("wait_ms", format!("wait_ms must be at most {WAIT_MS_MAX}")));
    }
    Ok(Duration::from_millis(wait_ms))
}

/// Change a pending job
#[utoipa::path(
    patch, path = "/api/jobs/{id}", tag = "jobs", params(("id" = String, Path)), request_body = PatchJob,
    responses(
        (status = 200, description = "The changed job", body = forge_shared::Job),
        (status = 400, description = "A field is not valid", body = ErrorBody),
        (status = 404, description = "There is no such job", body = ErrorBody),
        (status = 409, description = "The job is not pending", body = ErrorBody),
    ),
    security(("token" = ["producer"])),
)]
async fn patch(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<JobId>,
    Body(patch): Body<PatchJob>,
) -> ApiResult<Json<forge_shared::Job>> {
    let PatchJob { priority, run_at, queue } = patch;
    if priority.is_none() && run_at.is_none() && queue.is_none() {
        let why = "nothing to change: give priority, run_at or queue";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "invalid_field", why));
    }
    run_at.map(|at| new_job::time("run_at", at)).transpose()?;
    app.act(&caller, &id, Action::Patch { priority, run_at, queue }, "job.patch").await?;
    app.hub.store.job(&id).await?.map(Json).ok_or_else(|| ApiError::not_found("job"))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct RemoveQuery {
    /// Remove a finished job with its history and logs, instead of cancelling.
    #[serde(default)]
    purge: bool,
}

/// Cancel a job, or remove a finished one
///
/// Cancels a job that is pending or assigned. A running one is refused: ask it to stop with
/// `POST /api/jobs/{id}/cancel`.
#[utoipa::path(
    delete, path = "/api/jobs/{id}", tag = "jobs", params(("id" = String, Path), RemoveQuery),
    responses(
        (status = 204, description = "Cancelled, or removed"),
        (status = 404, description = "There is no such job", body = ErrorBody),
        (status = 409, description = "The job's state does not allow it", body = ErrorBody),
    ),
    security(("token" = ["producer"])),
)]
async fn remove(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<JobId>,
    Query(query): Query<RemoveQuery>,
) -> ApiResult<StatusCode> {
    if query.purge {
        app.act(&caller, &id, Action::Delete, "job.purge").await?;
        app.hub.store.delete_logs(vec![id]).await?;
    } else {
        app.act(&caller, &id, Action::Cancel { even_running: false }, "job.cancel").await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// List a job's attempts
#[utoipa::path(
    get, path = "/api/jobs/{id}/attempts", tag = "jobs", params(("id" = String, Path)),
    responses(
        (status = 200, description = "Every claim of the job and how it went, oldest first", body = Vec<Attempt>),
        (status = 404, description = "There is no such job", body = ErrorBody),
    ),
    security(("token" = ["producer", "viewer"])),
)]
async fn attempts(State(app): State<Arc<App>>, PathId(id): PathId<JobId>) -> ApiResult<Json<Vec<Attempt>>> {
    app.hub.store.attempts(&id).await?.map(Json).ok_or_else(|| ApiError::not_found("job"))
}
