//! What workers do with jobs: claim, keep alive, report, give back.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use forge_engine::{
    Command, Reply,
    command::{Claim, Completion, FailureReport, Filter, Holder, JobState, Outcome, Report, Ticket},
};
use forge_shared::{
    JobId, LeaseId, WorkerId,
    job::Progress,
    request,
    response::{ClaimedJob, ErrorBody, HeartbeatAnswer, ReportAnswer, Reported},
};
use serde_json::value::RawValue;
use std::sync::Arc;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    app::App,
    caller::Caller,
    error::{ApiError, ApiResult},
    jobs,
    json::{Body, Json},
    limits::*,
    query::{Key, PathId, Reporting},
};

pub fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default()
        .routes(routes!(claim))
        .routes(routes!(heartbeat))
        .routes(routes!(result))
        .routes(routes!(fail))
        .routes(routes!(results))
        .routes(routes!(release))
        .routes(routes!(snooze))
        .routes(routes!(progress))
}

/// Claim jobs
///
/// Takes the best job that fits: higher priority first, then due earlier, then older. With
/// `wait_ms` the call waits for one. With `max` the answer is an array.
#[utoipa::path(
    post, path = "/api/jobs/claim", tag = "work", request_body = request::Claim,
    responses(
        (status = 200, description = "The job with its lease, or an array of them when `max` was given", body = ClaimedJob),
        (status = 204, description = "There is nothing to do"),
        (status = 400, description = "A field is not valid", body = ErrorBody),
        (status = 409, description = "A newer process registered under this worker id", body = ErrorBody),
    ),
    security(("token" = ["worker"])),
)]
async fn claim(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(body): Body<request::Claim>,
) -> ApiResult<Response> {
    app.auth.bind_worker(&caller, &body.worker_id).await?;
    if body.types.len() > CLAIM_NAMES_MAX {
        return Err(ApiError::invalid("types", format!("at most {CLAIM_NAMES_MAX} types")));
    }
    if body.queues.len() > CLAIM_NAMES_MAX {
        return Err(ApiError::invalid("queues", format!("at most {CLAIM_NAMES_MAX} queues")));
    }
    let max = body.max.unwrap_or(1);
    if !(1..=forge_engine::claim::CLAIM_MAX).contains(&max) {
        let why = format!("max must be 1 to {}", forge_engine::claim::CLAIM_MAX);
        return Err(ApiError::invalid("max", why));
    }
    let wait = body.wait_ms.filter(|ms| *ms > 0).map(jobs::wait).transpose()?;
    if wait.is_some() {
        app.may_long_poll()?;
    }
    let slots = body.free.as_ref().and_then(|free| free.slots).unwrap_or(max);
    let as_array = body.max.is_some();
    if slots == 0 {
        return Ok(nothing(as_array));
    }
    let claim = Claim {
        ticket: Ticket(0),
        worker: body.worker_id,
        boot: body.boot_id,
        claim_id: body.claim_id,
        filter: Arc::new(Filter { types: body.types, queues: body.queues }),
        max: max.min(slots),
        wait: false,
    };
    let mut claimed = app.hub.claim(claim, wait, [&app.stop, caller.revoked()]).await?;
    let jobs = claimed.jobs().await?;
    let answer = match (as_array, jobs.is_empty()) {
        (_, true) => nothing(as_array),
        (true, false) => Json(jobs).into_response(),
        (false, false) => Json(jobs.into_iter().next()).into_response(),
    };
    claimed.delivered();
    Ok(answer)
}

fn nothing(as_array: bool) -> Response {
    if as_array { Json::<[(); 0]>([]).into_response() } else { StatusCode::NO_CONTENT.into_response() }
}

/// Keep a job
///
/// The first one that does not say `phase: preparing` marks the job running. 200 with
/// `{"cancel": true}` asks the worker to stop it.
#[utoipa::path(
    post, path = "/api/jobs/{id}/heartbeat", tag = "work", params(("id" = String, Path)),
    request_body = request::Heartbeat,
    responses(
        (status = 204, description = "Go on"),
        (status = 200, description = "The hub wants it stopped", body = HeartbeatAnswer),
        (status = 404, description = "There is no such job", body = ErrorBody),
        (status = 409, description = "The job is not this worker's any more", body = ErrorBody),
    ),
    security(("token" = ["worker"])),
)]
async fn heartbeat(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(job): PathId<JobId>,
    Body(body): Body<request::Heartbeat>,
) -> ApiResult<Response> {
    let holder = holder(&app, &caller, body.worker_id, body.lease_id).await?;
    let reply = app.hub.submit(Command::Heartbeat { job, holder, phase: body.phase }, None).await?;
    Ok(match reply {
        Reply::Alive { cancel: true, .. } => Json(HeartbeatAnswer { cancel: true }).into_response(),
        _ => StatusCode::NO_CONTENT.into_response(),
    })
}

async fn holder(app: &App, caller: &Caller, worker: WorkerId, lease: Option<LeaseId>) -> ApiResult<Holder> {
    app.auth.bind_worker(caller, &worker).await?;
    Ok(Holder { worker, lease })
}

/// Report a result
///
/// Idempotent: the same result again is 200, a different one 409. What is the same is decided by
/// `X-Idempotency-Key` when both calls have one, else by `result_hash`, else by the bytes.
#[utoipa::path(
    post, path = "/api/jobs/{id}/result", tag = "work",
    params(
        ("id" = String, Path),
        ("X-Idempotency-Key" = Option<String>, Header, description = "The same key again is the same result"),
    ),
    request_body = request::JobResult,
    responses(
        (status = 200, description = "The job is completed", body = Reported),
        (status = 404, description = "There is no such job", body = ErrorBody),
        (status = 409, description = "The lease is lost, or another result was recorded", body = ErrorBody),
        (status = 413, description = "The result is too large", body = ErrorBody),
    ),
    security(("token" = ["worker"])),
)]
async fn result(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(job): PathId<JobId>,
    Key(key, _): Key<Reporting>,
    Body(body): Body<request::JobResult, RESULT_BODY_BYTES_MAX>,
) -> ApiResult<Json<Reported>> {
    let completion = completion(&body.result, body.result_hash, key, body.usage)?;
    let holder = holder(&app, &caller, body.worker_id, body.lease_id).await?;
    report_one(&app, Report { job, holder, outcome: Outcome::Completed(completion) }).await
}

/// Report a failure
///
/// The job is tried again after its backoff, or quarantined when its attempts are used up or the
/// failure is `permanent`. `kind: timeout` says that it ran longer than it may.
#[utoipa::path(
    post, path = "/api/jobs/{id}/fail", tag = "work", params(("id" = String, Path)),
    request_body = request::JobFailure,
    responses(
        (status = 200, description = "Recorded; `status` tells what becomes of the job", body = Reported),
        (status = 404, description = "There is no such job", body = ErrorBody),
        (status = 409, description = "The lease is lost", body = ErrorBody),
    ),
    security(("token" = ["worker"])),
)]
async fn fail(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(job): PathId<JobId>,
    Body(body): Body<request::JobFailure>,
) -> ApiResult<Json<Reported>> {
    let holder = holder(&app, &caller, body.worker_id, body.lease_id).await?;
    let failure = FailureReport {
        reason: body.reason,
        kind: body.kind,
        permanent: body.permanent,
        retry_in_ms: retry_in(body.retry_in_ms)?,
        error_class: body.error_class,
        backtrace: body.backtrace,
        usage: usage(body.usage),
    };
    let outcome = Outcome::Failed(checked_failure(failure)?);
    report_one(&app, Report { job, holder, outcome }).await
}

/// Report many results and failures
///
/// One answer each, each as idempotent as the single call. An entry with `result` is a result,
/// one with `reason` a failure.
#[utoipa::path(
    post, path = "/api/jobs/results", tag = "work", request_body = Vec<request::Report>,
    responses(
        (status = 200, description = "One answer each, in order", body = Vec<ReportAnswer>),
        (status = 400, description = "An entry is not valid; none was recorded", body = ErrorBody),
    ),
    security(("token" = ["worker"])),
)]
async fn results(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(body): Body<Vec<request::Report>, BATCH_BODY_BYTES_MAX>,
) -> ApiResult<Json<Vec<ReportAnswer>>> {
    if body.is_empty() || body.len() > REPORTS_MAX {
        let why = format!("a call reports on 1 to {REPORTS_MAX} jobs, this one on {}", body.len());
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "invalid_field", why));
    }
    let mut reports = Vec::with_capacity(body.len());
    for (index, entry) in body.into_iter().enumerate() {
        let report = one_report(&app, &caller, entry).await;
        reports.push(report.map_err(|error| error.within(&format!("[{index}]")))?);
    }
    let ids: Vec<JobId> = reports.iter().map(|report| report.job.clone()).collect();
    let Reply::Reported(answers) = app.hub.submit(Command::Report(reports), None).await? else {
        return Err(ApiError::unexpected());
    };
    let answers = ids.into_iter().zip(answers).map(|(id, answer)| match answer {
        Ok(state) => ReportAnswer { id, code: 200, status: Some(state.status), error: None },
        Err(refusal) => {
            let error = ApiError::from(refusal);
            ReportAnswer { id, code: error.status.as_u16(), status: None, error: Some(error.body) }
        }
    });
    Ok(Json(answers.collect()))
}

async fn one_report(app: &App, caller: &Caller, entry: request::Report) -> ApiResult<Report> {
    let holder = holder(app, caller, entry.worker_id, entry.lease_id).await?;
    let outcome = match (&entry.result, entry.reason) {
        (Some(result), None) => {
            Outcome::Completed(completion(result, entry.result_hash, entry.idempotency_key, entry.usage)?)
        }
        (None, Some(reason)) => Outcome::Failed(checked_failure(FailureReport {
            reason,
            kind: entry.kind,
            permanent: entry.permanent,
            retry_in_ms: retry_in(entry.retry_in_ms)?,
            error_class: entry.error_class,
            backtrace: entry.backtrace,
            usage: usage(entry.usage),
        })?),
        (Some(_), Some(_)) => return Err(ApiError::invalid("reason", "give result or reason, not both")),
        (None, None) => {
            return Err(ApiError::invalid("result", "give result (it worked) or reason (it failed)"));
        }
    };
    Ok(Report { job: entry.job_id, holder, outcome })
}

async fn report_one(app: &App, report: Report) -> ApiResult<Json<Reported>> {
    let Reply::Reported(answers) = app.hub.submit(Command::Report(vec![report]), None).await? else {
        return Err(ApiError::unexpected());
    };
    let state = answers.into_iter().next().ok_or_else(ApiError::unexpected)??;
    Ok(reported(state))
}

fn reported(state: JobState) -> Json<Reported> {
    Json(Reported { id: state.id, status: state.status, next_retry_at: state.next_retry_at })
}

fn completion(
    result: &RawValue,
    hash: Option<String>,
    key: Option<String>,
    measured: Option<Box<RawValue>>,
) -> ApiResult<Completion> {
    if result.get().len() > RESULT_BYTES_MAX {
        let why = format!("a result must be at most {RESULT_BYTES_MAX} bytes");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", why).field("result"));
    }
    short("result_hash", hash.as_deref(), KEY_BYTES_MAX)?;
    short("x-idempotency-key", key.as_deref(), KEY_BYTES_MAX)?;
    Ok(Completion { result: result.get().into(), hash, key, usage: usage(measured) })
}

fn checked_failure(failure: FailureReport) -> ApiResult<FailureReport> {
    short("reason", Some(&failure.reason), REASON_BYTES_MAX)?;
    short("error_class", failure.error_class.as_deref(), KEY_BYTES_MAX)?;
    short("backtrace", failure.backtrace.as_deref(), BACKTRACE_BYTES_MAX)?;
    Ok(failure)
}

fn short(field: &str, text: Option<&str>, max: usize) -> ApiResult<()> {
    if text.is_some_and(|text| text.is_empty() || text.len() > max) {
        return Err(ApiError::invalid(field, format!("{field} must be 1 to {max} bytes")));
    }
    Ok(())
}

fn retry_in(ms: Option<u64>) -> ApiResult<Option<i64>> {
    match ms.map(i64::try_from) {
        None => Ok(None),
        Some(Ok(ms)) if ms <= SPAN_MS_MAX => Ok(Some(ms)),
        Some(_) => {
            Err(ApiError::invalid("retry_in_ms", format!("retry_in_ms must be at most {SPAN_MS_MAX}")))
        }
    }
}

fn usage(measured: Option<Box<RawValue>>) -> Option<String> {
    measured.map(|measured| measured.get().to_owned())
}

/// Give a job back
///
/// It keeps its place and the attempt is not counted, at most 100 times in a job's life.
#[utoipa::path(
    post, path = "/api/jobs/{id}/release", tag = "work", params(("id" = String, Path)),
    request_body = request::Release,
    responses(
        (status = 200, description = "Given back", body = Reported),
        (status = 404, description = "There is no such job", body = ErrorBody),
        (status = 409, description = "The lease is lost", body = ErrorBody),
    ),
    security(("token" = ["worker"])),
)]
async fn release(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(job): PathId<JobId>,
    Body(body): Body<request::Release>,
) -> ApiResult<Json<Reported>> {
    let holder = holder(&app, &caller, body.worker_id, body.lease_id).await?;
    let Reply::Released(state) = app.hub.submit(Command::Release { job, holder }, None).await? else {
        return Err(ApiError::unexpected());
    };
    Ok(reported(state))
}

/// Give a job back for later
#[utoipa::path(
    post, path = "/api/jobs/{id}/snooze", tag = "work", params(("id" = String, Path)),
    request_body = request::Snooze,
    responses(
        (status = 200, description = "Given back; due after `delay_ms`", body = Reported),
        (status = 404, description = "There is no such job", body = ErrorBody),
        (status = 409, description = "The lease is lost", body = ErrorBody),
    ),
    security(("token" = ["worker"])),
)]
async fn snooze(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(job): PathId<JobId>,
    Body(body): Body<request::Snooze>,
) -> ApiResult<Json<Reported>> {
    let delay_ms = i64::try_from(body.delay_ms).unwrap_or(i64::MAX);
    let delay_ms = super::new_job::span("delay_ms", delay_ms, 0)?;
    let holder = holder(&app, &caller, body.worker_id, body.lease_id).await?;
    let Reply::Released(state) = app.hub.submit(Command::Snooze { job, holder, delay_ms }, None).await?
    else {
        return Err(ApiError::unexpected());
    };
    Ok(reported(state))
}

/// Report progress
///
/// Shown with the job and sent to watchers, at most once a second.
#[utoipa::path(
    post, path = "/api/jobs/{id}/progress", tag = "work", params(("id" = String, Path)),
    request_body = request::ReportProgress,
    responses(
        (status = 204, description = "Noted"),
        (status = 404, description = "There is no such job", body = ErrorBody),
        (status = 409, description = "The lease is lost", body = ErrorBody),
    ),
    security(("token" = ["worker"])),
)]
async fn progress(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(job): PathId<JobId>,
    Body(body): Body<request::ReportProgress>,
) -> ApiResult<StatusCode> {
    if body.percent.is_some_and(|percent| !(0.0..=100.0).contains(&percent)) {
        return Err(ApiError::invalid("percent", "percent must be 0 to 100"));
    }
    short("message", body.message.as_deref(), REASON_BYTES_MAX)?;
    let holder = holder(&app, &caller, body.worker_id, body.lease_id).await?;
    let progress = Progress { percent: body.percent, message: body.message, at: 0 };
    app.hub.submit(Command::Progress { job, holder, progress }, None).await?;
    Ok(StatusCode::NO_CONTENT)
}
