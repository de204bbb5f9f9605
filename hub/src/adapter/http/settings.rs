//! What this hub is and how it is set up, for whoever looks after it.

use axum::extract::State;
use forge_shared::{
    fleet::HistoryRange,
    response::{ErrorBody, Kept, Limits, Settings},
};
use std::sync::Arc;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    app::App,
    error::{ApiError, ApiResult},
    json::Json,
    limits::{BATCH_JOBS_MAX, PARAMS_BYTES_MAX, RESULT_BYTES_MAX},
};
use crate::store::{HistoryTier, sqlite::side};

pub fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default().routes(routes!(settings))
}

/// Version, sizes, retention and limits
#[utoipa::path(
    get, path = "/api/settings", tag = "operations",
    responses(
        (status = 200, description = "Nothing in it is secret", body = Settings),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token may not read this", body = ErrorBody),
    ),
    security(("token" = ["viewer"])),
)]
async fn settings(State(app): State<Arc<App>>) -> ApiResult<Json<Settings>> {
    let figures = app.store.figures();
    let solvers = app.solvers.list().await.map_err(|error| {
        tracing::error!(%error, "the solver folder could not be read");
        let why = "the solver folder could not be read; see the hub's log";
        ApiError::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, "solvers_failed", why)
    })?;
    let uptime_ms = i64::try_from(app.started.elapsed().as_millis()).unwrap_or(i64::MAX);
    Ok(Json(Settings {
        version: forge_version::VERSION.to_owned(),
        commit: forge_version::COMMIT.to_owned(),
        started_at: app.hub.now_ms() - uptime_ms,
        database_bytes: figures.database_bytes - figures.side_bytes,
        log_bytes: figures.side_bytes,
        solvers_bytes: solvers.iter().map(|solver| solver.bytes).sum(),
        retention: Kept {
            completed_ms: app.keep.completed_ms,
            failed_ms: app.keep.failed_ms,
            failed_max: app.keep.failed_max,
            events_ms: app.keep.events_ms,
            history_seconds_ms: HistoryRange::Hour.ms(),
            history_minutes_ms: HistoryTier::Minutes.keep_ms(),
            history_quarter_hours_ms: HistoryTier::QuarterHours.keep_ms(),
            history_quarter_days_ms: HistoryTier::QuarterDays.keep_ms(),
        },
        limits: Limits {
            params_bytes: PARAMS_BYTES_MAX as u64,
            result_bytes: RESULT_BYTES_MAX as u64,
            log_bytes: side::Limits::default().log_bytes as u64,
            batch_jobs: BATCH_JOBS_MAX as u64,
            solver_bytes: app.solvers.bytes_max(),
            lease_ms: app.hub.policy.lease_ms,
            requests_per_second: app.auth.settings.requests_per_second,
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::super::test_rig::Rig;

    #[tokio::test]
    async fn a_viewer_sees_what_the_hub_is_and_keeps() {
        let rig = Rig::adjusted(|app| app.keep.completed_ms = 7).await;
        let settings = rig.get("/api/settings").await;
        assert_eq!(settings.status, 200);
        let settings = settings.value();
        assert_eq!(settings["version"], forge_version::VERSION);
        assert_eq!(settings["commit"], forge_version::COMMIT);
        assert_eq!(settings["retention"]["completed_ms"], 7);
        assert_eq!(
            (&settings["solvers_bytes"], &settings["limits"]["params_bytes"]),
            (&0.into(), &(1 << 20).into())
        );
        for size in ["database_bytes", "log_bytes"] {
            assert!(settings[size].as_u64().unwrap() > 4_096, "{size}");
        }
        assert!(settings["started_at"].as_i64().unwrap() <= crate::clock::wall_ms());
    }
}
