//! Reading the record of what administrators did.

use axum::{
    extract::State,
    http::{HeaderName, HeaderValue},
    response::{IntoResponse, Response},
};
use forge_shared::response::{AuditEntry, ErrorBody};
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    app::App,
    error::{ApiError, ApiResult},
    json::Json,
    query::Query,
};

const LIMIT_DEFAULT: u32 = 50;
const LIMIT_MAX: u32 = 1_000;

pub(super) const NEXT_CURSOR: HeaderName = HeaderName::from_static("x-next-cursor");

pub fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default().routes(routes!(list))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Listing {
    /// 1 to 1,000; 50 when left out.
    limit: Option<u32>,
    /// From the header `X-Next-Cursor` of the page before.
    cursor: Option<i64>,
}

/// Read the audit log
///
/// Every write by an administrator: who, what and when. Newest first.
#[utoipa::path(
    get, path = "/api/audit", operation_id = "list_audit", tag = "audit",
    params(Listing),
    responses(
        (status = 200, description = "One page", body = Vec<AuditEntry>,
            headers(("X-Next-Cursor" = Option<i64>, description = "Where the next page starts, if there is one"))),
        (status = 400, description = "A parameter is not valid", body = ErrorBody),
    ),
    security(("token" = ["admin"])),
)]
async fn list(State(app): State<Arc<App>>, Query(listing): Query<Listing>) -> ApiResult<Response> {
    let limit = listing.limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(ApiError::invalid("limit", format!("limit: must be 1 to {LIMIT_MAX}")));
    }
    // One more than asked for tells whether there is a next page.
    let mut entries = app.store.audit_log(listing.cursor, limit + 1).await?;
    let more = entries.len() > limit as usize;
    entries.truncate(limit as usize);
    let next = entries.last().filter(|_| more).map(|(number, _)| *number);
    let mut response = Json(entries.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>()).into_response();
    if let Some(next) = next {
        response.headers_mut().insert(NEXT_CURSOR, HeaderValue::from(next));
    }
    Ok(response)
}
