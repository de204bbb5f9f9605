//! The native HTTP API. Handlers translate requests to commands and answers to JSON; scopes are
//! declared beside each route and enforced from that declaration.

pub mod actions;
pub mod app;
pub mod audit;
pub mod auth;
pub mod body;
pub mod caller;
mod connections;
mod dashboard;
pub mod docs;
pub mod downloads;
pub mod error;
pub mod event_streams;
mod fault;
pub mod fleet;
mod guard;
pub mod headers;
pub mod health;
pub mod jobs;
pub mod json;
mod limits;
pub mod logs;
mod new_job;
pub mod overview;
pub mod proxies;
pub mod query;
mod range;
pub mod scopes;
pub mod server;
pub mod sessions;
pub mod settings;
pub mod solvers;
pub mod sse;
mod stall;
mod throttle;
pub mod tls;
pub mod tokens;
pub mod work;
pub mod workers;

#[cfg(test)]
mod event_streams_tests;
#[cfg(test)]
mod fleet_tests;
#[cfg(test)]
mod logs_tests;
#[cfg(test)]
mod openapi_tests;
#[cfg(test)]
mod solvers_tests;
#[cfg(test)]
pub(crate) mod test_rig;

pub use app::App;
pub use auth::{Auth, AuthSettings};
pub use caller::Caller;

use axum::{Router, http::StatusCode};
use error::ApiError;
use scopes::{ScopeTable, Undeclared};
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

/// Every route, with its documentation.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(docs::Document::openapi())
        .merge(jobs::router())
        .merge(actions::router())
        .merge(work::router())
        .merge(logs::routes())
        .merge(workers::router())
        .merge(solvers::routes())
        .merge(fleet::routes())
        .merge(event_streams::router())
        .merge(overview::router())
        .merge(health::router())
        .merge(settings::router())
        .merge(tokens::router())
        .merge(sessions::router())
        .merge(audit::router())
        .merge(downloads::router())
        .merge(docs::router())
}

/// The API, guarded and ready to be served. Fails when a route does not say who may use it.
pub fn router(app: &Arc<App>) -> Result<Router, Undeclared> {
    assemble(routes(), app)
}

fn assemble(routes: OpenApiRouter<Arc<App>>, app: &Arc<App>) -> Result<Router, Undeclared> {
    let (router, api) = routes.split_for_parts();
    let guard = guard::Guard::new(app.clone(), ScopeTable::read(&api)?);
    let document = serde_json::to_vec(&api).expect("an OpenAPI document is always JSON");
    let _ = app.openapi.set(document.into());
    let router =
        router.route_layer(guard).fallback(dashboard::answer).method_not_allowed_fallback(|| async {
            let why = "this path does not take this method; the header Allow lists those it does";
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", why)
        });
    Ok(router.with_state(app.clone()))
}

#[cfg(test)]
mod tests;
