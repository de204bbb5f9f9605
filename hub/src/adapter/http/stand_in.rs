//! STAND-IN, to be deleted at merge: the application state, the caller and the extractors that
//! the real modules `app`, `auth`, `caller`, `json` and `query` bring, under the same names.

use super::{
    error::{ApiError, ApiResult},
    logs::LogWakes,
    sse::{KEEP_ALIVE, Watchers},
};
use crate::{fleet::Fleet, solvers::Solvers, store::Store};
use axum::{
    extract::{FromRequest, FromRequestParts, RawPathParams, Request},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use forge_shared::{Invalid, WorkerId, response::AuditEntry};
use serde::{Serialize, de::DeserializeOwned};
use std::{str::FromStr, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

pub struct App {
    pub store: Arc<dyn Store>,
    pub auth: Auth,
    pub stop: CancellationToken,
    pub fleet: Arc<Fleet>,
    pub solvers: Arc<Solvers>,
    pub watchers: Arc<Watchers>,
    pub log_wakes: Arc<LogWakes>,
    pub keep_alive: Duration,
    pub body_idle: Duration,
}

impl App {
    pub fn new(store: Arc<dyn Store>, fleet: Fleet, solvers: Solvers) -> Self {
        Self {
            store,
            auth: Auth,
            stop: CancellationToken::new(),
            fleet: Arc::new(fleet),
            solvers: Arc::new(solvers),
            watchers: Arc::default(),
            log_wakes: Arc::default(),
            keep_alive: KEEP_ALIVE,
            body_idle: Duration::from_secs(10),
        }
    }
}

pub struct Auth;

impl Auth {
    pub async fn bind_worker(&self, _caller: &Caller, _worker: &WorkerId) -> ApiResult<()> {
        Ok(())
    }
}

pub struct Caller {
    revoked: CancellationToken,
}

impl Caller {
    pub fn revoked(&self) -> &CancellationToken {
        &self.revoked
    }

    pub fn note(
        &self,
        ts: i64,
        action: &str,
        target: impl Into<String>,
        detail: Option<String>,
    ) -> AuditEntry {
        AuditEntry { ts, actor: "admin".to_owned(), action: action.to_owned(), target: target.into(), detail }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(_parts: &mut Parts, _state: &S) -> ApiResult<Self> {
        Ok(Self { revoked: CancellationToken::new() })
    }
}

pub struct Body<T, const MAX: usize = { 2 << 20 }>(pub T);

impl<S: Send + Sync, T: DeserializeOwned, const MAX: usize> FromRequest<S> for Body<T, MAX> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> ApiResult<Self> {
        let bytes = read(request, MAX).await?;
        let parser = &mut serde_json::Deserializer::from_slice(&bytes);
        serde_path_to_error::deserialize(parser)
            .map(Self)
            .map_err(|error| ApiError::invalid(&error.path().to_string(), error.inner().to_string()))
    }
}

pub async fn read(request: Request, max: usize) -> ApiResult<Bytes> {
    axum::body::to_bytes(request.into_body(), max)
        .await
        .map_err(|error| ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", error.to_string()))
}

pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.0).expect("answers are always JSON");
        ([(header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}

pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        axum::extract::Query::<T>::from_request_parts(parts, state)
            .await
            .map(|query| Self(query.0))
            .map_err(|error| ApiError::invalid("query", error.body_text()))
    }
}

pub struct PathId<T>(pub T);

impl<S: Send + Sync, T: FromStr<Err = Invalid>> FromRequestParts<S> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|_| ApiError::invalid("id", "the path is not UTF-8"))?;
        let (name, text) = params.iter().next().expect("the route has a parameter");
        text.parse().map(Self).map_err(|Invalid(why)| ApiError::invalid(name, why))
    }
}
