//! Is it up, is it ready, and what does it do?

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use forge_shared::response::{ErrorBody, Health, HealthStatus};
use std::sync::Arc;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    app::App,
    error::{ApiError, ApiResult},
    json::Json,
};
use crate::{hub::NO_ROOM, metrics::Readings, problems::DISK_FULL};

pub fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default().routes(routes!(health)).routes(routes!(ready)).routes(routes!(metrics))
}

/// Is the hub up?
///
/// Always 200 while it answers, so that nobody restarts a hub that a restart would not mend. `status`
/// and `problems` tell what needs a person: a full disk, a failed backup, a bad certificate.
#[utoipa::path(
    get, path = "/api/health", tag = "operations",
    responses((status = 200, description = "It is", body = Health)),
    security(()),
)]
async fn health(State(app): State<Arc<App>>) -> Json<Health> {
    let problems = app.problems.list();
    Json(Health {
        ok: true,
        mode: "hub".to_owned(),
        clients: app.watchers.open(),
        nodes: app.fleet.len() as u64,
        version: forge_version::VERSION.to_owned(),
        commit: forge_version::COMMIT.to_owned(),
        uptime_ms: i64::try_from(app.started.elapsed().as_millis()).unwrap_or(i64::MAX),
        status: if problems.is_empty() { HealthStatus::Ok } else { HealthStatus::Degraded },
        problems,
    })
}

/// Can the hub take work?
///
/// Tries both database files. 503 while it cannot write, or is stopping.
#[utoipa::path(
    get, path = "/api/ready", tag = "operations",
    responses(
        (status = 200, description = "It can"),
        (status = 503, description = "Not now", body = ErrorBody),
    ),
    security(()),
)]
async fn ready(State(app): State<Arc<App>>) -> ApiResult<Response> {
    if app.stop.is_cancelled() {
        return Err(ApiError::from(crate::store::Error::Closed));
    }
    if app.problems.has(DISK_FULL) {
        return Err(not_ready(NO_ROOM));
    }
    match app.store.ping().await {
        Ok(()) => Ok(Json(serde_json::json!({ "ready": true })).into_response()),
        Err(error) => {
            tracing::warn!(%error, "the hub is not ready");
            Err(not_ready("the database cannot be used now; see the hub's log"))
        }
    }
}

fn not_ready(why: &str) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", why).retry_after(5)
}

/// Metrics for Prometheus
#[utoipa::path(
    get, path = "/metrics", tag = "operations",
    responses((status = 200, description = "OpenMetrics text", content_type = "application/openmetrics-text")),
    security(("token" = ["viewer"])),
)]
async fn metrics(State(app): State<Arc<App>>) -> ApiResult<Response> {
    let counts = app.store.counts().await?;
    let readings = Readings {
        watchers: app.watchers.open(),
        nodes: app.fleet.len() as u64,
        database_bytes: app.store.figures().database_bytes,
        event_lag: app.hub.events.lag(),
        disk_free_bytes: app.store.figures().disk_free_bytes,
        problems: app.problems.list().len() as u64,
    };
    let text = app.hub.metrics.render(&counts, readings);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
