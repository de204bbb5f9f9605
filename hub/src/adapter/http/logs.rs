//! What a job writes while it runs: agents append, people read and follow.

use super::{
    app::App,
    body::read as read_body,
    caller::Caller,
    error::{ApiError, ApiResult},
    json::Json,
    query::{PathId, Query},
    sse::{self, Ends, Open, Watcher},
};
use crate::{
    hub::Hub,
    store::{LogAppend, LogSlice, Store},
};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use forge_engine::{Command, Reply, command::Holder};
use forge_shared::{
    JobId, LeaseId, WorkerId,
    response::{ErrorBody, LogOffset},
};
use futures_util::{Stream, stream};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

/// One append.
const APPEND_BYTES_MAX: usize = 1 << 20;
/// How much of a log is in memory for one reader.
const PIECE_BYTES: usize = 256 << 10;
/// A follower is woken by what happens to its job; it looks at least this often all the same.
const LOOK_EVERY: Duration = Duration::from_secs(15);

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(append, read))
}

/// Wakes those who follow a job's log.
#[derive(Debug, Default)]
pub struct LogWakes {
    jobs: Mutex<HashMap<JobId, watch::Sender<()>>>,
}

impl LogWakes {
    /// The job's log grew, or the job changed its state.
    pub fn wake(&self, job: &JobId) {
        if let Some(followers) = self.jobs().get(job) {
            followers.send_replace(());
        }
    }

    fn follow(self: &Arc<Self>, job: &JobId) -> Follower {
        let wakes = self.jobs().entry(job.clone()).or_insert_with(|| watch::Sender::new(())).subscribe();
        Follower { all: Arc::clone(self), job: job.clone(), wakes }
    }

    /// Wakes followers of jobs that something happened to.
    pub async fn run(&self, hub: Arc<Hub>, stop: CancellationToken) {
        let mut newest = hub.events.subscribe();
        let mut cursor = *newest.borrow_and_update();
        loop {
            tokio::select! {
                changed = newest.changed() => if changed.is_err() { return },
                () = stop.cancelled() => return,
            }
            if self.jobs().is_empty() {
                cursor = *newest.borrow();
                continue;
            }
            // A failed read is made up for by the followers' own looking.
            let Ok(batches) = hub.events.after(&*hub.store, cursor).await else { continue };
            for event in batches.iter().flat_map(|batch| batch.events.iter()) {
                cursor = event.seq;
                if let Some(job) = &event.job_id {
                    self.wake(job);
                }
            }
        }
    }

    fn jobs(&self) -> MutexGuard<'_, HashMap<JobId, watch::Sender<()>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Follower {
    all: Arc<LogWakes>,
    job: JobId,
    wakes: watch::Receiver<()>,
}

impl Follower {
    async fn woken(&mut self) {
        tokio::select! {
            _ = self.wakes.changed() => {}
            () = sleep(LOOK_EVERY) => {}
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut jobs = self.all.jobs();
        // This receiver is still counted.
        if jobs.get(&self.job).is_some_and(|followers| followers.receiver_count() <= 1) {
            jobs.remove(&self.job);
        }
    }
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct Append {
    /// The attempt that the lease is of; checked when sent.
    attempt: Option<u32>,
    /// Where in the attempt's log these bytes start.
    offset: u64,
    #[param(value_type = String)]
    worker_id: WorkerId,
    #[param(value_type = Option<String>)]
    lease_id: Option<LeaseId>,
}

/// The hub's log ends somewhere else.
#[derive(Debug, Serialize, ToSchema)]
struct WrongOffset {
    error: String,
    code: &'static str,
    /// Send on from here.
    offset: u64,
}

/// Append to the log of a running attempt
///
/// Bytes that the hub has already are not stored again, so an append whose answer was lost can
/// be sent again. The newest 16 MiB of an attempt are kept. May lose its last seconds.
#[utoipa::path(
    post, path = "/api/jobs/{id}/logs", operation_id = "append_log", tag = "work",
    params(("id" = String, Path, description = "The job"), Append),
    request_body(content = Vec<u8>, description = "Raw bytes, at most 1 MiB", content_type = "application/octet-stream"),
    responses(
        (status = 200, description = "Stored up to this offset", body = LogOffset),
        (status = 400, description = "A parameter is missing or not valid", body = ErrorBody),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token is another worker's, or may not write logs", body = ErrorBody),
        (status = 404, description = "No such job", body = ErrorBody),
        (status = 408, description = "The body stalled", body = ErrorBody),
        (status = 409, description = "The lease is not the job's live one, or of another attempt", body = ErrorBody),
        (status = 413, description = "More than 1 MiB at once", body = ErrorBody),
        (status = 416, description = "The bytes do not start where the log ends", body = WrongOffset),
        (status = 503, description = "The hub is busy or stopping", body = ErrorBody),
    ),
    security(("token" = ["worker"])),
)]
async fn append(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(job): PathId<JobId>,
    Query(query): Query<Append>,
    request: Request,
) -> ApiResult<Response> {
    app.auth.bind_worker(&caller, &query.worker_id).await?;
    let bytes = read_body(request, APPEND_BYTES_MAX).await?;
    let holder = Holder { worker: query.worker_id, lease: query.lease_id };
    let attempt = match app.store.submit(Command::CheckLease { job: job.clone(), holder }, None).await?? {
        Reply::Alive { attempt, .. } => attempt,
        other => unreachable!("a lease check is answered with {other:?}"),
    };
    if query.attempt.is_some_and(|claimed| claimed != attempt) {
        let why = format!("the lease is of attempt {attempt}; its log is the only one open");
        return Err(ApiError::new(StatusCode::CONFLICT, "wrong_attempt", why).field("attempt"));
    }
    match app.store.append_log(&job, attempt, query.offset, bytes).await? {
        LogAppend::Stored(offset) => {
            app.log_wakes.wake(&job);
            Ok(Json(LogOffset { offset }).into_response())
        }
        LogAppend::Gap(offset) => {
            let error = format!("the hub has {offset} bytes of this log; send on from there");
            let body = Json(WrongOffset { error, code: "wrong_offset", offset });
            Ok((StatusCode::RANGE_NOT_SATISFIABLE, body).into_response())
        }
    }
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Read {
    /// Which attempt; the newest when left out.
    attempt: Option<u32>,
    /// Where to start; the first byte that is kept when left out.
    offset: Option<u64>,
    /// 1 to stay until the attempt is over.
    follow: Option<u8>,
}

/// Read or follow the log of one attempt
#[utoipa::path(
    get, path = "/api/jobs/{id}/logs", operation_id = "read_log", tag = "jobs",
    params(("id" = String, Path, description = "The job"), Read),
    responses(
        (status = 200, description = "The bytes as they were written", body = String, content_type = "text/plain",
         headers(
            ("X-Log-Offset" = u64, description = "Where this answer starts; later than asked for when older bytes are gone"),
            ("X-Log-End" = u64, description = "Where the log ended when the answer began"),
         )),
        (status = 400, description = "A parameter is not valid", body = ErrorBody),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token may not read logs", body = ErrorBody),
        (status = 404, description = "No such job or attempt", body = ErrorBody),
        (status = 503, description = "Too many open streams", body = ErrorBody),
    ),
    security(("token" = ["viewer", "producer"])),
)]
async fn read(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<JobId>,
    Query(query): Query<Read>,
) -> ApiResult<Response> {
    let follow = match query.follow {
        None | Some(0) => false,
        Some(1) => true,
        Some(_) => return Err(ApiError::invalid("follow", "follow: must be 0 or 1")),
    };
    let job = app.store.job(&id).await?.ok_or_else(|| ApiError::not_found("job"))?;
    // Whoever follows a job that nobody has claimed yet waits for its first attempt.
    let newest = job.attempt.max(1);
    let attempt = query.attempt.unwrap_or(newest);
    if attempt == 0 || attempt > newest {
        let why = format!("the job has no attempt {attempt}");
        return Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", why).field("attempt"));
    }
    let watcher = app.watchers.enter()?;
    let follower = follow.then(|| app.log_wakes.follow(&id));
    let first = app.store.read_log(&id, attempt, query.offset.unwrap_or(0), PIECE_BYTES).await?;
    let headers = [("x-log-offset", first.offset), ("x-log-end", first.end)];
    let reader = Reader {
        store: Arc::clone(&app.store),
        id,
        attempt,
        at: first.offset,
        // A plain read ends where the log ended when it began, however fast the log grows.
        upto: if follow { u64::MAX } else { first.end },
        ready: Some(first),
        follower,
        over: false,
    };
    let ends = Ends { stop: app.stop.clone(), revoked: caller.revoked().clone() };
    Ok(respond(watcher, ends, headers, reader.pieces()))
}

fn respond<S>(watcher: Watcher, ends: Ends, headers: [(&'static str, u64); 2], pieces: S) -> Response
where
    S: Stream<Item = io::Result<Bytes>> + Send + 'static,
{
    let mut response = Body::from_stream(Open::new(watcher, ends, None, pieces)).into_response();
    let all = response.headers_mut();
    all.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    all.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    all.insert("x-accel-buffering", HeaderValue::from_static("no"));
    for (name, value) in headers {
        all.insert(name, HeaderValue::from(value));
    }
    response
}

struct Reader {
    store: Arc<dyn Store>,
    id: JobId,
    attempt: u32,
    at: u64,
    upto: u64,
    /// What was read before the answer began.
    ready: Option<LogSlice>,
    follower: Option<Follower>,
    /// The attempt is over: what the log has now is all there will be.
    over: bool,
}

impl Reader {
    fn pieces(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        stream::try_unfold(self, |mut reader| async move {
            let piece = reader.next().await.map_err(io::Error::other)?;
            Ok(piece.map(|piece| (piece, reader)))
        })
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Broken> {
        loop {
            let slice = match self.ready.take() {
                Some(slice) => slice,
                None if self.at >= self.upto => return Ok(None),
                None => self.store.read_log(&self.id, self.attempt, self.at, PIECE_BYTES).await?,
            };
            if slice.offset > self.at {
                return Err(Broken::Dropped { start: slice.offset });
            }
            if !slice.bytes.is_empty() {
                let mut bytes = Bytes::from(slice.bytes);
                bytes.truncate(usize::try_from(self.upto - self.at).unwrap_or(usize::MAX));
                self.at += bytes.len() as u64;
                return Ok(Some(bytes));
            }
            let Some(follower) = &mut self.follower else { return Ok(None) };
            if self.over {
                return Ok(None);
            }
            // The job is looked at before the log is read for the last time, so that nothing
            // written before its end is left out.
            let job = self.store.job(&self.id).await?;
            self.over = job.is_none_or(|job| job.status.is_terminal() || job.attempt > self.attempt);
            if !self.over {
                follower.woken().await;
            }
        }
    }
}

/// A job's log as messages of an event stream, attempt after attempt, until the job is over.
pub(super) fn follow_messages(app: Arc<App>, id: JobId) -> impl Stream<Item = Bytes> + Send {
    let start = (app, id, None::<Reader>, 0);
    stream::unfold(start, |(app, id, mut reader, mut seen)| async move {
        loop {
            let Some(current) = &mut reader else {
                let job = app.store.job(&id).await.ok().flatten()?;
                let attempt = job.attempt.max(1);
                if attempt <= seen {
                    return None;
                }
                seen = attempt;
                reader = Some(Reader {
                    store: Arc::clone(&app.store),
                    id: id.clone(),
                    attempt,
                    at: 0,
                    upto: u64::MAX,
                    ready: None,
                    follower: Some(app.log_wakes.follow(&id)),
                    over: false,
                });
                continue;
            };
            let (attempt, offset) = (current.attempt, current.at);
            match current.next().await {
                Ok(Some(piece)) => {
                    let text = String::from_utf8_lossy(&piece);
                    let data = serde_json::json!({ "job_id": id, "attempt": attempt, "offset": offset, "text": text });
                    let message = sse::message(None, Some("log"), Some(&data.to_string()));
                    return Some((message, (app, id, reader, seen)));
                }
                Ok(None) => reader = None,
                // Too late for the oldest bytes: the log is read from where it starts now.
                Err(Broken::Dropped { start }) => current.at = start,
                Err(Broken::Store(_)) => return None,
            }
        }
    })
}

/// Why a log breaks off. The connection is cut, so that the reader does not take it for the end.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("the log grew faster than it was read; ask again from byte {start}, where it starts now")]
    Dropped { start: u64 },
    #[error(transparent)]
    Store(#[from] crate::store::Error),
}
