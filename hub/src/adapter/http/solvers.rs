//! Solver binaries: upload once, fetch from the hub.

use super::{
    app::{App, wall_ms},
    caller::Caller,
    error::{ApiError, ApiResult},
    json::Json,
    query::PathId,
    range::{self, Part},
};
use crate::{
    disk,
    solvers::{Checksum, PutError},
    store,
};
use axum::{
    body::{Body, BodyDataStream},
    extract::State,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use forge_shared::response::{ErrorBody, Solver};
use futures_util::StreamExt;
use std::{
    io::{self, SeekFrom},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncSeekExt},
    time::timeout,
};
use tokio_util::io::ReaderStream;
use utoipa_axum::{router::OpenApiRouter, routes};

/// How much of a file is in memory for one reader.
const PIECE_BYTES: usize = 64 << 10;

/// Of a body whose beginning was refused, what is still read.
const REST_BYTES_MAX: usize = 64 << 20;
const REST_MAX: Duration = Duration::from_secs(5);

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(put, get, delete))
}

fn disk_error(error: &io::Error) -> ApiError {
    if disk::is_full(error) {
        return store::Error::Full(error.to_string()).into();
    }
    tracing::error!(%error, "the solver folder failed");
    let why = "the solver folder could not be used; see the hub's log";
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "store_failed", why)
}

impl From<PutError> for ApiError {
    fn from(refused: PutError) -> Self {
        let (status, code) = match &refused {
            PutError::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            PutError::Mismatch(_) => (StatusCode::UNPROCESSABLE_ENTITY, "checksum_mismatch"),
            PutError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
            PutError::Abandoned => (StatusCode::BAD_REQUEST, "incomplete_body"),
            PutError::Disk(error) => return disk_error(error),
        };
        let error = Self::new(status, code, refused.to_string());
        match refused {
            PutError::Busy => error.retry_after(1),
            PutError::Mismatch(_) => error.field("sha256"),
            _ => error,
        }
    }
}

/// List solvers with their sizes
#[utoipa::path(
    get, path = "/api/solvers", operation_id = "list_solvers", tag = "solvers",
    responses(
        (status = 200, description = "Every solver, by checksum", body = Vec<Solver>),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token may not list solvers", body = ErrorBody),
    ),
    security(("token" = ["viewer", "producer"])),
)]
async fn list(State(app): State<Arc<App>>) -> ApiResult<Json<Vec<Solver>>> {
    let solvers = app.solvers.list().await.map_err(|error| disk_error(&error))?;
    Ok(Json(solvers))
}

/// Upload a solver
///
/// It exists once all of it has arrived and hashes to its name, and not before. One that is
/// there already is not written again, but the body is checked all the same.
#[utoipa::path(
    put, path = "/api/solvers/{sha256}", operation_id = "put_solver", tag = "solvers",
    params(("sha256" = String, Path, description = "sha256 of the body, 64 hex digits")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 201, description = "Stored and synced to disk", body = Solver),
        (status = 200, description = "It was there already", body = Solver),
        (status = 400, description = "The name is not a checksum, or the body broke off", body = ErrorBody),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token may not upload", body = ErrorBody),
        (status = 408, description = "The body stalled", body = ErrorBody),
        (status = 413, description = "Larger than this hub allows", body = ErrorBody),
        (status = 422, description = "The body does not hash to its name; the error says its sha256", body = ErrorBody),
        (status = 503, description = "Too many uploads at once", body = ErrorBody),
        (status = 507, description = "The hub's disk is full", body = ErrorBody),
    ),
    security(("token" = ["producer"])),
)]
async fn put(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(name): PathId<Checksum>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes: u64| bytes > app.solvers.bytes_max()) {
        return Err(PutError::TooLarge(app.solvers.bytes_max()).into());
    }
    let mut upload = app.solvers.upload(&name)?;
    let mut pieces = body.into_data_stream();
    loop {
        match timeout(app.body_idle, pieces.next()).await {
            Ok(Some(Ok(piece))) => {
                if !upload.write(piece).await {
                    let _ = timeout(REST_MAX, read_away(&mut pieces)).await;
                    break;
                }
            }
            Ok(None) => break,
            Ok(Some(Err(_))) => {
                upload.abandon().await;
                return Err(PutError::Abandoned.into());
            }
            Err(_) => {
                upload.abandon().await;
                let why = "the body stalled; send it again";
                return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_stalled", why));
            }
        }
    }
    let put = upload.finish().await?;
    app.store.audit(caller.note(wall_ms(), "solver.put", name.to_string(), None)).await?;
    let status = if put.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(put.solver)).into_response())
}

/// A sender that is still busy sending does not hear why it was refused. It may finish, within
/// limits.
async fn read_away(pieces: &mut BodyDataStream) {
    let mut bytes = 0;
    while let Some(Ok(piece)) = pieces.next().await
        && bytes < REST_BYTES_MAX
    {
        bytes += piece.len();
    }
}

/// Fetch a solver
#[utoipa::path(
    get, path = "/api/solvers/{sha256}", operation_id = "get_solver", tag = "solvers",
    params(
        ("sha256" = String, Path, description = "Its name, 64 hex digits"),
        ("Range" = Option<String>, Header, description = "One range of bytes; several are answered with all"),
        ("If-Range" = Option<String>, Header, description = "The ETag that the range belongs to"),
        ("If-None-Match" = Option<String>, Header, description = "The ETag that the caller has"),
    ),
    responses(
        (status = 200, description = "All of it", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 206, description = "The range", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 304, description = "The caller has it"),
        (status = 400, description = "The name is not a checksum", body = ErrorBody),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token may not fetch solvers", body = ErrorBody),
        (status = 404, description = "No such solver", body = ErrorBody),
        (status = 416, description = "The range lies behind the end; Content-Range tells the size", body = ErrorBody),
    ),
    security(("token" = ["worker", "producer", "viewer"])),
)]
async fn get(
    State(app): State<Arc<App>>,
    PathId(name): PathId<Checksum>,
    method: Method,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let opened = app.solvers.open_solver(&name).await.map_err(|error| disk_error(&error))?;
    let (file, solver) = opened.ok_or_else(|| ApiError::not_found("solver"))?;
    let etag = HeaderValue::try_from(format!("\"{name}\"")).expect("hex digits fit into a header");
    if range::caller_has(&headers, &etag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response());
    }
    let part = match method {
        Method::GET => range::wanted(&headers, &etag, solver.bytes),
        _ => Part::All,
    };
    let (status, start, length) = match part {
        Part::All => (StatusCode::OK, 0, solver.bytes),
        Part::Range { start, length } => (StatusCode::PARTIAL_CONTENT, start, length),
        Part::Unsatisfiable => {
            let why = format!("the solver has {} bytes; the range lies outside", solver.bytes);
            let error = ApiError::new(StatusCode::RANGE_NOT_SATISFIABLE, "range_not_satisfiable", why);
            let range = format!("bytes */{}", solver.bytes);
            return Ok(([(header::CONTENT_RANGE, range)], error).into_response());
        }
    };
    let body = if method == Method::HEAD {
        Body::empty()
    } else {
        let mut file = tokio::fs::File::from_std(file);
        file.seek(SeekFrom::Start(start)).await.map_err(|error| disk_error(&error))?;
        Body::from_stream(ReaderStream::with_capacity(file.take(length), PIECE_BYTES))
    };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::ETAG, etag);
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {start}-{}/{}", start + length - 1, solver.bytes);
        headers
            .insert(header::CONTENT_RANGE, HeaderValue::try_from(range).expect("digits fit into a header"));
    }
    Ok(response)
}

/// Remove a solver
#[utoipa::path(
    delete, path = "/api/solvers/{sha256}", operation_id = "delete_solver", tag = "solvers",
    params(("sha256" = String, Path, description = "Its name, 64 hex digits")),
    responses(
        (status = 204, description = "Removed"),
        (status = 400, description = "The name is not a checksum", body = ErrorBody),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "Only administrators remove solvers", body = ErrorBody),
        (status = 404, description = "No such solver", body = ErrorBody),
    ),
    security(("token" = ["admin"])),
)]
async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(name): PathId<Checksum>,
) -> ApiResult<StatusCode> {
    if !app.solvers.delete(&name).await.map_err(|error| disk_error(&error))? {
        return Err(ApiError::not_found("solver"));
    }
    app.store.audit(caller.note(wall_ms(), "solver.delete", name.to_string(), None)).await?;
    Ok(StatusCode::NO_CONTENT)
}
