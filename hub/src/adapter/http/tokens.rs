//! Making, listing and revoking scoped tokens.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use forge_shared::{
    Invalid,
    request::NewToken,
    response::{CreatedToken, ErrorBody, Token},
};
use std::{str::FromStr, sync::Arc};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    app::{App, wall_ms},
    caller::Caller,
    error::{ApiError, ApiResult},
    json::{Body, Json},
    query::PathId,
};

const NAME_CHARS_MAX: usize = 100;
const ID_BYTES_MAX: usize = 64;

pub fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default().routes(routes!(create, list)).routes(routes!(revoke))
}

/// Make a token
///
/// The answer is the only time its secret is shown. A `worker` token belongs to the first worker
/// that uses it.
#[utoipa::path(
    post, path = "/api/tokens", operation_id = "create_token", tag = "tokens",
    request_body = NewToken,
    responses(
        (status = 201, description = "The token and its secret", body = CreatedToken),
        (status = 400, description = "The name or scope is not valid", body = ErrorBody),
    ),
    security(("token" = ["admin"])),
)]
async fn create(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(new): Body<NewToken>,
) -> ApiResult<Response> {
    let name = new.name.trim();
    let fits = (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    if !fits {
        let why = format!("name: must be 1 to {NAME_CHARS_MAX} characters without control characters");
        return Err(ApiError::invalid("name", why));
    }
    let new = NewToken { name: name.to_owned(), scope: new.scope };
    let (token, secret) = app
        .auth
        .create(new, |record| {
            let detail = format!("{} \"{}\"", record.scope.as_str(), record.name);
            caller.note(record.created_at, "token.create", &record.id, Some(detail))
        })
        .await?;
    tracing::info!(token.id = %token.id, scope = token.scope.as_str(), "token created");
    let created = CreatedToken { token, secret: secret.expose().to_owned() };
    Ok((StatusCode::CREATED, Json(created)).into_response())
}

/// List tokens
///
/// Without their secrets, which the hub does not have. Oldest first.
#[utoipa::path(
    get, path = "/api/tokens", operation_id = "list_tokens", tag = "tokens",
    responses((status = 200, description = "All tokens", body = Vec<Token>)),
    security(("token" = ["admin"])),
)]
async fn list(State(app): State<Arc<App>>) -> Json<Vec<Token>> {
    Json(app.auth.tokens())
}

/// Revoke a token
///
/// It stops working at once, its sessions end, and its open streams and long polls are closed.
#[utoipa::path(
    delete, path = "/api/tokens/{id}", operation_id = "revoke_token", tag = "tokens",
    params(("id" = String, Path, description = "The token's id")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "There is no such token", body = ErrorBody),
    ),
    security(("token" = ["admin"])),
)]
async fn revoke(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(TokenId(id)): PathId<TokenId>,
) -> ApiResult<StatusCode> {
    let note = caller.note(wall_ms(), "token.revoke", &id, None);
    if !app.auth.revoke(&id, note).await? {
        return Err(ApiError::not_found("token"));
    }
    tracing::info!(token.id = %id, "token revoked");
    Ok(StatusCode::NO_CONTENT)
}

struct TokenId(String);

impl FromStr for TokenId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let fits = (1..=ID_BYTES_MAX).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid(format!("a token id is 1 to {ID_BYTES_MAX} letters, digits or '_'")))
    }
}
