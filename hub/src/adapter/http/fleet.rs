//! Metrics: what agents push and what dashboards read of it.

use super::{
    app::{App, wall_ms},
    caller::Caller,
    error::{ApiError, ApiResult},
    json::{Body, Json},
    query::{PathId, Query},
    sse::{self, Ends},
};
use crate::fleet::{BATCH_MAX, HISTORY_MAX, Measured, RING_MAX, Refused, Shape};
use axum::{
    body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use forge_shared::{
    NodeId, WorkerId,
    fleet::{HistoryRange, Node, NodeHistory, Snapshot},
    response::ErrorBody,
};
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use std::{convert::Infallible, sync::Arc};
use utoipa_axum::{router::OpenApiRouter, routes};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(push))
        .routes(routes!(push_batch))
        .routes(routes!(fleet))
        .routes(routes!(fleet_events))
        .routes(routes!(node_snapshots))
        .routes(routes!(node_history))
        .routes(routes!(node_events))
}

/// A thousand snapshots of a machine with many cores.
const BATCH_BYTES_MAX: usize = 8 << 20;
const NAME_HEADER: &str = "x-node-name";

/// Take one snapshot of a machine
///
/// A node is known from its first push, which is on disk before it is answered; later snapshots
/// may lose their last seconds. Fields the hub does not know are ignored.
#[utoipa::path(
    post, path = "/api/ingest/{node_id}", tag = "fleet",
    params(
        ("node_id" = String, Path, description = "The machine, url-safe, at most 64 characters"),
        ("X-Node-Name" = Option<String>, Header, description = "A name for people; the id when never sent"),
    ),
    request_body = Snapshot,
    responses(
        (status = 204, description = "Taken"),
        (status = 400, description = "A field is missing or absurd", body = ErrorBody),
        (status = 413, description = "More than 2 MiB", body = ErrorBody),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token is another worker's, or may not push", body = ErrorBody),
        (status = 507, description = "The hub takes no further nodes, or its disk is full", body = ErrorBody),
    ),
    security(("token" = ["worker"])),
)]
async fn push(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(node): PathId<NodeId>,
    headers: HeaderMap,
    Body(measured): Body<Measured>,
) -> ApiResult<StatusCode> {
    ingest(&app, &caller, &node, &headers, &[measured]).await
}

/// Take the snapshots that a machine kept while it was offline
#[utoipa::path(
    post, path = "/api/ingest/{node_id}/batch", tag = "fleet",
    params(
        ("node_id" = String, Path, description = "The machine, url-safe, at most 64 characters"),
        ("X-Node-Name" = Option<String>, Header, description = "A name for people; the id when never sent"),
    ),
    request_body(content = Vec<Snapshot>, description = "Oldest first, at most 1,000"),
    responses(
        (status = 204, description = "Taken; what the hub had already is not taken twice"),
        (status = 400, description = "A field is missing or absurd; none was taken", body = ErrorBody),
        (status = 413, description = "More than 8 MiB", body = ErrorBody),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token is another worker's, or may not push", body = ErrorBody),
        (status = 507, description = "The hub takes no further nodes, or its disk is full", body = ErrorBody),
    ),
    security(("token" = ["worker"])),
)]
async fn push_batch(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(node): PathId<NodeId>,
    headers: HeaderMap,
    Body(measured): Body<Vec<Measured>, BATCH_BYTES_MAX>,
) -> ApiResult<StatusCode> {
    if measured.len() > BATCH_MAX {
        let why = format!("a batch has at most {BATCH_MAX} snapshots; send several");
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "batch_too_long", why));
    }
    ingest(&app, &caller, &node, &headers, &measured).await
}

async fn ingest(
    app: &App,
    caller: &Caller,
    node: &NodeId,
    headers: &HeaderMap,
    measured: &[Measured],
) -> ApiResult<StatusCode> {
    // A machine is one thing, whether it pushes metrics or claims jobs.
    app.auth.bind_worker(caller, &WorkerId::trusted(node.as_str())).await?;
    let name = headers.get(NAME_HEADER).map(|name| {
        std::str::from_utf8(name.as_bytes())
            .map_err(|_| ApiError::invalid("X-Node-Name", "X-Node-Name: must be UTF-8 text"))
    });
    app.fleet.ingest(node, name.transpose()?, measured).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> Self {
        match &refused {
            Refused::Invalid(invalid) => Self::invalid(&invalid.field, refused.to_string()),
            Refused::Full => {
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "too_many_nodes", refused.to_string())
            }
            Refused::Store(error) => error.clone().into(),
        }
    }
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct FleetQuery {
    /// How many of the newest snapshots to show of each, at most 60; 60 when left out.
    history: Option<u32>,
}

/// All machines with their newest snapshots
#[utoipa::path(
    get, path = "/api/fleet", tag = "fleet", params(FleetQuery),
    responses(
        (status = 200, description = "Every node, by id", body = Vec<Node>),
        (status = 400, description = "The parameter is not valid", body = ErrorBody),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token may not read the fleet", body = ErrorBody),
    ),
    security(("token" = ["viewer"])),
)]
async fn fleet(State(app): State<Arc<App>>, Query(query): Query<FleetQuery>) -> ApiResult<Response> {
    let history = query.history.map_or(HISTORY_MAX, |n| n as usize);
    if history > HISTORY_MAX {
        return Err(ApiError::invalid("history", format!("history must be 0 to {HISTORY_MAX}")));
    }
    let nodes = stream::iter(app.fleet.ids()).filter_map(move |id| {
        let json = app.fleet.node_json(&id, history);
        async move { json }
    });
    Ok(as_json(body::Body::from_stream(array(nodes).map(Ok::<_, Infallible>))))
}

/// A JSON array of these values, one at a time: a large fleet is never held as one text.
fn array(values: impl Stream<Item = Bytes> + Send + 'static) -> impl Stream<Item = Bytes> + Send + 'static {
    let separated = values
        .enumerate()
        .flat_map(|(i, value)| stream::iter([Bytes::from_static(if i == 0 { b"" } else { b"," }), value]));
    let bracket = |text: &'static [u8]| stream::iter([Bytes::from_static(text)]);
    bracket(b"[").chain(separated).chain(bracket(b"]")).filter(|piece| {
        let some = !piece.is_empty();
        async move { some }
    })
}

fn as_json(body: impl Into<body::Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

/// Follow all machines
///
/// One message for each node in the shape of the fleet view, then one for a node whenever it
/// changes, at most one every 2 s.
#[utoipa::path(
    get, path = "/api/fleet/events", tag = "fleet",
    responses(
        (status = 200, description = "Messages without a name; the data of each is a node", body = Node,
         content_type = "text/event-stream"),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token may not read the fleet", body = ErrorBody),
        (status = 503, description = "Too many open streams", body = ErrorBody),
    ),
    security(("token" = ["viewer"])),
)]
async fn fleet_events(State(app): State<Arc<App>>, caller: Caller) -> ApiResult<Response> {
    let watcher = app.watchers.enter()?;
    Ok(sse::respond(watcher, ends(&app, &caller), app.keep_alive, app.fleet.watch(Shape::Whole)))
}

fn ends(app: &App, caller: &Caller) -> Ends {
    Ends { stop: app.stop.clone(), revoked: caller.revoked().clone() }
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Newest {
    /// How many, at most 360; all when left out.
    limit: Option<u32>,
}

/// The newest snapshots of a machine
#[utoipa::path(
    get, path = "/api/nodes/{id}/snapshot", tag = "fleet",
    params(("id" = String, Path, description = "The machine"), Newest),
    responses(
        (status = 200, description = "Oldest first", body = Vec<Snapshot>),
        (status = 400, description = "The id or the limit is not valid", body = ErrorBody),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token may not read the fleet", body = ErrorBody),
        (status = 404, description = "No such node", body = ErrorBody),
    ),
    security(("token" = ["viewer"])),
)]
async fn node_snapshots(
    State(app): State<Arc<App>>,
    PathId(node): PathId<NodeId>,
    Query(newest): Query<Newest>,
) -> ApiResult<Response> {
    let limit = match newest.limit {
        None => RING_MAX,
        Some(0) => return Err(ApiError::invalid("limit", format!("limit: must be 1 to {RING_MAX}"))),
        Some(limit) => (limit as usize).min(RING_MAX),
    };
    let snapshots = app.fleet.snapshots_json(&node, limit).ok_or_else(|| ApiError::not_found("node"))?;
    Ok(as_json(snapshots))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Past {
    /// How far back to look.
    #[serde(default = "Past::hour")]
    #[param(value_type = Option<HistoryRange>)]
    range: HistoryRange,
}

impl Past {
    fn hour() -> HistoryRange {
        HistoryRange::Hour
    }
}

/// The past of a machine
///
/// At most 600 points, each with the smallest, mean and largest of what was measured in its time.
/// A time without a snapshot has no point, and what a machine does not measure is null. The last
/// hour comes from memory; a crash of the hub loses less than a minute of the rest.
#[utoipa::path(
    get, path = "/api/nodes/{id}/history", tag = "fleet",
    params(("id" = String, Path, description = "The machine"), Past),
    responses(
        (status = 200, description = "Oldest first", body = NodeHistory),
        (status = 400, description = "The id or the range is not valid", body = ErrorBody),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token may not read the fleet", body = ErrorBody),
        (status = 404, description = "No such node", body = ErrorBody),
    ),
    security(("token" = ["viewer"])),
)]
async fn node_history(
    State(app): State<Arc<App>>,
    PathId(node): PathId<NodeId>,
    Query(past): Query<Past>,
) -> ApiResult<Json<NodeHistory>> {
    let history = app.fleet.history(&node, past.range, wall_ms()).await?;
    history.map(Json).ok_or_else(|| ApiError::not_found("node"))
}

/// Follow one machine
#[utoipa::path(
    get, path = "/api/nodes/{id}/events", tag = "fleet",
    params(("id" = String, Path, description = "The machine")),
    responses(
        (status = 200, description = "Its newest snapshot at once, then each that arrives", body = Snapshot,
         content_type = "text/event-stream"),
        (status = 400, description = "The id is not valid", body = ErrorBody),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token may not read the fleet", body = ErrorBody),
        (status = 404, description = "No such node", body = ErrorBody),
        (status = 503, description = "Too many open streams", body = ErrorBody),
    ),
    security(("token" = ["viewer"])),
)]
async fn node_events(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(node): PathId<NodeId>,
) -> ApiResult<Response> {
    let snapshots = app.fleet.watch_node(&node).ok_or_else(|| ApiError::not_found("node"))?;
    let watcher = app.watchers.enter()?;
    Ok(sse::respond(watcher, ends(&app, &caller), app.keep_alive, snapshots))
}
