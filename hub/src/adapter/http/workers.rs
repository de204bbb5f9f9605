//! Workers: what they say of themselves, and what operators tell them.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use forge_engine::{Command, Reply, command};
use forge_shared::{
    WorkerId,
    request::{Holding, Register, Scope, WorkerHeartbeat},
    response::{ErrorBody, Registered, Worker, WorkerHeartbeatAnswer},
};
use std::sync::Arc;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    app::App,
    caller::Caller,
    error::{ApiError, ApiResult},
    json::{Body, Json},
    limits::{CLAIM_NAMES_MAX, HOLDING_MAX, TAG_BYTES_MAX, TAGS_MAX},
    query::PathId,
};

/// What this version of the protocol can do, for agents that speak to older hubs too.
const PROTOCOL: u32 = 1;
const ABILITIES: [&str; 5] = ["wait_ms", "claim_id", "results", "worker_heartbeat", "solvers"];
const TEXT_BYTES_MAX: usize = 255;
const CORES_MAX: u32 = 100_000;
const RAM_GB_MAX: f64 = 1_000_000.0;

pub fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default()
        .routes(routes!(register))
        .routes(routes!(list))
        .routes(routes!(show, forget))
        .routes(routes!(heartbeat))
        .routes(routes!(drain))
        .routes(routes!(resume))
}

/// Register a worker
///
/// With `holding` the answer says what to do with each lease the worker still has.
#[utoipa::path(
    post, path = "/api/workers/register", tag = "workers", request_body = Register,
    responses(
        (status = 204, description = "Registered"),
        (status = 200, description = "Registered; `holding` is answered", body = Registered),
        (status = 400, description = "A field is not valid", body = ErrorBody),
        (status = 409, description = "A newer process has this worker id", body = ErrorBody),
    ),
    security(("token" = ["worker"])),
)]
async fn register(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(body): Body<Register>,
) -> ApiResult<Response> {
    check(&body)?;
    app.auth.bind_worker(&caller, &body.worker_id).await?;
    let about = serde_json::to_string(&Register { holding: None, ..body.clone() });
    let command = Command::Register(command::Register {
        worker: body.worker_id,
        boot: body.boot_id,
        holding: body.holding.clone(),
        about: about.map_err(|_| ApiError::unexpected())?.into(),
    });
    let reply = app.hub.submit(command, None).await?;
    Ok(match reply {
        Reply::Leases { leases, order } if body.holding.is_some() => Json(Registered {
            leases,
            worker: order,
            protocol: PROTOCOL,
            abilities: ABILITIES.map(str::to_owned).to_vec(),
        })
        .into_response(),
        _ => StatusCode::NO_CONTENT.into_response(),
    })
}

fn check(body: &Register) -> ApiResult<()> {
    let texts = [
        ("name", &body.name),
        ("hostname", &body.hostname),
        ("version", &body.version),
        ("os", &body.os),
        ("arch", &body.arch),
    ];
    for (field, text) in texts {
        let fits = |text: &String| text.len() <= TEXT_BYTES_MAX && !text.chars().any(char::is_control);
        if text.as_ref().is_some_and(|text| !fits(text)) {
            let why = format!("{field} must be at most {TEXT_BYTES_MAX} bytes without control characters");
            return Err(ApiError::invalid(field, why));
        }
    }
    if body.cores.is_some_and(|cores| !(1..=CORES_MAX).contains(&cores)) {
        return Err(ApiError::invalid("cores", format!("cores must be 1 to {CORES_MAX}")));
    }
    if body.ram_gb.is_some_and(|ram| !(0.0..=RAM_GB_MAX).contains(&ram)) {
        return Err(ApiError::invalid("ram_gb", format!("ram_gb must be 0 to {RAM_GB_MAX}")));
    }
    if body.slots.is_some_and(|slots| !(1..=CORES_MAX).contains(&slots)) {
        return Err(ApiError::invalid("slots", format!("slots must be 1 to {CORES_MAX}")));
    }
    if body.tags.len() > TAGS_MAX || body.tags.iter().any(|tag| tag.is_empty() || tag.len() > TAG_BYTES_MAX) {
        let why = format!("tags must be at most {TAGS_MAX}, each 1 to {TAG_BYTES_MAX} bytes");
        return Err(ApiError::invalid("tags", why));
    }
    if body.types.len() > CLAIM_NAMES_MAX {
        return Err(ApiError::invalid("types", format!("at most {CLAIM_NAMES_MAX} types")));
    }
    if body.queues.len() > CLAIM_NAMES_MAX {
        return Err(ApiError::invalid("queues", format!("at most {CLAIM_NAMES_MAX} queues")));
    }
    check_holding(body.holding.as_deref().unwrap_or_default())
}

fn check_holding(holding: &[Holding]) -> ApiResult<()> {
    if holding.len() > HOLDING_MAX {
        return Err(ApiError::invalid("holding", format!("at most {HOLDING_MAX} leases")));
    }
    Ok(())
}

/// Keep all of a worker's leases
///
/// Sent every 10 s, also when idle. A lease older than 20 s that is not listed is given back.
#[utoipa::path(
    post, path = "/api/workers/{id}/heartbeat", tag = "workers", params(("id" = String, Path)),
    operation_id = "worker_heartbeat", request_body = WorkerHeartbeat,
    responses(
        (status = 200, description = "What to do with each lease, and with the worker", body = WorkerHeartbeatAnswer),
        (status = 404, description = "The hub does not know this worker; register again", body = ErrorBody),
    ),
    security(("token" = ["worker"])),
)]
async fn heartbeat(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(worker): PathId<WorkerId>,
    Body(body): Body<WorkerHeartbeat>,
) -> ApiResult<Json<WorkerHeartbeatAnswer>> {
    check_holding(&body.holding)?;
    app.auth.bind_worker(&caller, &worker).await?;
    let command = Command::WorkerHeartbeat(command::WorkerHeartbeat {
        worker,
        boot: body.boot_id,
        holding: body.holding,
        busy: body.busy,
        rss_kb: body.rss_kb,
        outbox: body.outbox,
    });
    let Reply::Leases { leases, order } = app.hub.submit(command, None).await? else {
        return Err(ApiError::unexpected());
    };
    Ok(Json(WorkerHeartbeatAnswer { leases, worker: order }))
}

/// List workers
#[utoipa::path(
    get, path = "/api/workers", tag = "workers", operation_id = "list_workers",
    responses((status = 200, description = "Every worker that registered", body = Vec<Worker>)),
    security(("token" = ["viewer"])),
)]
async fn list(State(app): State<Arc<App>>) -> ApiResult<Json<Vec<Worker>>> {
    Ok(Json(app.store.workers().await?))
}

/// Show a worker
///
/// A worker's token shows its own worker only: whether the hub sees it.
#[utoipa::path(
    get, path = "/api/workers/{id}", tag = "workers", params(("id" = String, Path)), operation_id = "show_worker",
    responses(
        (status = 200, description = "The worker", body = Worker),
        (status = 404, description = "There is no such worker", body = ErrorBody),
    ),
    security(("token" = ["viewer", "worker"])),
)]
async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<WorkerId>,
) -> ApiResult<Json<Worker>> {
    if caller.scope() == Scope::Worker && caller.worker() != Some(&id) {
        return Err(ApiError::not_found("worker"));
    }
    app.store.worker(&id).await?.map(Json).ok_or_else(|| ApiError::not_found("worker"))
}

/// Forget a worker
///
/// Its leases stay as they are; it appears again when it registers.
#[utoipa::path(
    delete, path = "/api/workers/{id}", tag = "workers", params(("id" = String, Path)),
    operation_id = "forget_worker",
    responses(
        (status = 204, description = "Forgotten"),
        (status = 404, description = "There is no such worker", body = ErrorBody),
    ),
    security(("token" = ["admin"])),
)]
async fn forget(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<WorkerId>,
) -> ApiResult<StatusCode> {
    let note = caller.note(app.hub.now_ms(), "worker.forget", id.as_str(), None);
    app.hub.submit(Command::Forget(id), Some(note)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Let a worker finish what it has and take nothing new
#[utoipa::path(
    post, path = "/api/workers/{id}/drain", tag = "workers", params(("id" = String, Path)),
    responses(
        (status = 204, description = "It takes no more jobs"),
        (status = 404, description = "There is no such worker", body = ErrorBody),
    ),
    security(("token" = ["admin"])),
)]
async fn drain(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<WorkerId>,
) -> ApiResult<StatusCode> {
    set_draining(&app, &caller, id, true, "worker.drain").await
}

/// Let a drained worker take jobs again
#[utoipa::path(
    post, path = "/api/workers/{id}/resume", tag = "workers", params(("id" = String, Path)),
    responses(
        (status = 204, description = "It takes jobs again"),
        (status = 404, description = "There is no such worker", body = ErrorBody),
    ),
    security(("token" = ["admin"])),
)]
async fn resume(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(id): PathId<WorkerId>,
) -> ApiResult<StatusCode> {
    set_draining(&app, &caller, id, false, "worker.resume").await
}

async fn set_draining(
    app: &App,
    caller: &Caller,
    worker: WorkerId,
    draining: bool,
    action: &str,
) -> ApiResult<StatusCode> {
    let note = caller.note(app.hub.now_ms(), action, worker.as_str(), None);
    app.hub.submit(Command::Drain { worker, draining }, Some(note)).await?;
    Ok(StatusCode::NO_CONTENT)
}
