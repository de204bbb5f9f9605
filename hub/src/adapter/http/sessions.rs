//! Logging in to the dashboard: a token is traded for a cookie that scripts cannot read.

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use forge_shared::{
    Invalid,
    response::{ErrorBody, LoggedIn, Session},
};
use serde::Deserialize;
use std::{str::FromStr, sync::Arc};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    app::{App, wall_ms},
    auth::SESSION_COOKIE,
    caller::{Caller, SESSION_ID_LENGTH},
    error::{ApiError, ApiResult},
    guard,
    json::{Body, Json},
    query::PathId,
    server::Connection,
};

pub fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default().routes(routes!(open, show, close)).routes(routes!(list)).routes(routes!(end))
}

/// A token to log in with.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Login {
    /// The administrator's secret or a scoped token.
    token: String,
}

/// Log in
///
/// Sets a session cookie that lasts seven days. A session may do what its token may, and ends
/// when the token is revoked.
#[utoipa::path(
    post, path = "/api/session", operation_id = "log_in", tag = "session",
    request_body = Login,
    responses(
        (status = 200, description = "Logged in; the cookie is set", body = Session),
        (status = 401, description = "The token is not valid", body = ErrorBody),
        (status = 403, description = "The request comes from another site's page", body = ErrorBody),
        (status = 429, description = "Too many wrong tokens from this address", body = ErrorBody),
    ),
    security(()),
)]
async fn open(
    State(app): State<Arc<App>>,
    connection: Option<Extension<Connection>>,
    headers: HeaderMap,
    Body(login): Body<Login>,
) -> ApiResult<Response> {
    if guard::from_foreign_page(&headers, &app.auth.settings.origins) {
        return Err(guard::cross_origin());
    }
    let address = connection.map(|connection| connection.client);
    let identity = app.auth.by_token(&login.token, address)?;
    let (cookie, caller) = app.auth.open_session(&identity).await?;
    let from = address.map(|address| format!("from {address}"));
    if let Some(note) = caller.note_if_admin(wall_ms(), "session.open", caller.token_id().as_ref(), from) {
        app.store.audit(note).await?;
    }
    let secure = app.auth.settings.secure_cookies || came_by_https(&headers);
    Ok(([(header::SET_COOKIE, set_cookie(cookie.expose(), secure))], Json(session(&caller))).into_response())
}

/// Who am I?
///
/// Works with a session and with a bearer token; `expires_at` is 0 for a token, which does not
/// expire.
#[utoipa::path(
    get, path = "/api/session", operation_id = "show_session", tag = "session",
    responses((status = 200, description = "The caller's scope and name", body = Session)),
    security(("token" = ["producer", "worker", "viewer"])),
)]
async fn show(caller: Caller) -> Json<Session> {
    Json(session(&caller))
}

/// Log out
///
/// Ends the session and closes its streams. With a bearer token there is nothing to end.
#[utoipa::path(
    delete, path = "/api/session", operation_id = "log_out", tag = "session",
    responses((status = 204, description = "Logged out; the cookie is cleared")),
    security(("token" = ["producer", "worker", "viewer"])),
)]
async fn close(State(app): State<Arc<App>>, caller: Caller) -> ApiResult<Response> {
    if let Some(session) = &caller.session {
        app.auth.close_session(session).await?;
    }
    let cleared = HeaderValue::from_static("forge_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cleared)]).into_response())
}

/// List who is logged in
#[utoipa::path(
    get, path = "/api/sessions", operation_id = "list_sessions", tag = "session",
    responses((status = 200, description = "Newest first", body = Vec<LoggedIn>)),
    security(("token" = ["admin"])),
)]
async fn list(State(app): State<Arc<App>>, caller: Caller) -> Json<Vec<LoggedIn>> {
    Json(app.auth.sessions(caller.session.as_deref()))
}

/// Log somebody out
///
/// The session ends at once and its streams close. Its token can log in again; revoke the token
/// to prevent that.
#[utoipa::path(
    delete, path = "/api/sessions/{id}", operation_id = "end_session", tag = "session",
    params(("id" = String, Path, description = "From the list of sessions")),
    responses(
        (status = 204, description = "It is over"),
        (status = 404, description = "There is no such session", body = ErrorBody),
    ),
    security(("token" = ["admin"])),
)]
async fn end(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(SessionId(id)): PathId<SessionId>,
) -> ApiResult<StatusCode> {
    let session = app.auth.session(&id).ok_or_else(|| ApiError::not_found("session"))?;
    app.auth.close_session(&session).await?;
    app.store.audit(caller.note(wall_ms(), "session.end", &id, None)).await?;
    Ok(StatusCode::NO_CONTENT)
}

struct SessionId(String);

impl FromStr for SessionId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.len() == SESSION_ID_LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid(format!("a session id is {SESSION_ID_LENGTH} hexadecimal digits")))
    }
}

fn session(caller: &Caller) -> Session {
    Session {
        scope: caller.scope(),
        token_id: caller.token_id().as_ref().to_owned(),
        name: caller.name().to_owned(),
        expires_at: caller.session.as_ref().map_or(0, |session| session.expires_at),
    }
}

fn came_by_https(headers: &HeaderMap) -> bool {
    headers.get("x-forwarded-proto").is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"))
}

fn set_cookie(value: &str, secure: bool) -> HeaderValue {
    const MAX_AGE_S: u32 = 7 * 24 * 3_600;
    let secure = if secure { "; Secure" } else { "" };
    let text =
        format!("{SESSION_COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={MAX_AGE_S}{secure}");
    let mut value = HeaderValue::from_str(&text).expect("a cookie is made of URL-safe letters");
    value.set_sensitive(true);
    value
}
