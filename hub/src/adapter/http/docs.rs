//! The API's own description: the OpenAPI document, and a page that shows it without needing
//! anything from the internet.

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use std::sync::Arc;
use utoipa::{
    Modify, OpenApi,
    openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{app::App, scopes};

/// What the document says beside the routes themselves.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Forge Fleet",
        description = "A hub that keeps jobs and hands them to workers. Every call takes `Authorization: Bearer <token>` \
                       unless it is marked public. Errors are `{\"error\", \"code\", \"field\"?}`; times are milliseconds \
                       since 1970.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "jobs", description = "Enqueue, watch and act on jobs"),
        (name = "work", description = "What agents call: claim, heartbeat, report"),
        (name = "workers", description = "The machines that take jobs"),
        (name = "fleet", description = "Machine metrics"),
        (name = "solvers", description = "Programs that agents fetch and run"),
        (name = "downloads", description = "The installer, the agent and the command line"),
        (name = "events", description = "Live streams"),
        (name = "tokens", description = "Who may do what"),
        (name = "session", description = "Logging in to the dashboard"),
        (name = "audit", description = "What administrators did"),
        (name = "operations", description = "Health, metrics and this documentation"),
    ),
    modifiers(&BearerToken),
)]
pub(super) struct Document;

struct BearerToken;

impl Modify for BearerToken {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(
                "The administrator's secret, or a token with one of the scopes that a call lists",
            ))
            .build();
        let components = api.components.get_or_insert_with(Default::default);
        components.add_security_scheme(scopes::SCHEME, SecurityScheme::Http(bearer));
    }
}

pub fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default()
        .routes(routes!(openapi))
        .routes(routes!(page))
        .routes(routes!(script))
        .routes(routes!(style))
}

/// The OpenAPI document
#[utoipa::path(
    get, path = "/api/openapi.json", operation_id = "openapi", tag = "operations",
    responses((status = 200, description = "OpenAPI 3.1", content_type = "application/json")),
    security(()),
)]
async fn openapi(State(app): State<Arc<App>>) -> Response {
    let document = app.openapi.get().cloned().unwrap_or_else(|| Bytes::from_static(b"{}"));
    file("application/json", document)
}

/// This documentation
#[utoipa::path(
    get, path = "/api/docs", operation_id = "docs_page", tag = "operations",
    responses((status = 200, description = "A page that shows the OpenAPI document", content_type = "text/html")),
    security(()),
)]
async fn page() -> Response {
    file("text/html; charset=utf-8", Bytes::from_static(include_bytes!("docs/page.html")))
}

/// The documentation's script
#[utoipa::path(
    get, path = "/api/docs/page.js", operation_id = "docs_script", tag = "operations",
    responses((status = 200, description = "JavaScript", content_type = "text/javascript")),
    security(()),
)]
async fn script() -> Response {
    file("text/javascript; charset=utf-8", Bytes::from_static(include_bytes!("docs/page.js")))
}

/// The documentation's style sheet
#[utoipa::path(
    get, path = "/api/docs/page.css", operation_id = "docs_style", tag = "operations",
    responses((status = 200, description = "CSS", content_type = "text/css")),
    security(()),
)]
async fn style() -> Response {
    file("text/css; charset=utf-8", Bytes::from_static(include_bytes!("docs/page.css")))
}

/// These change with the hub's version only, so a browser may keep them and ask.
fn file(content_type: &'static str, body: Bytes) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, body).into_response()
}
