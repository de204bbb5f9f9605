//! STAND-IN, to be deleted at merge: the application state, the caller and the extractors that
//! the real modules `app`, `auth`, `json` and `query` bring.

use super::{
    error::{ApiError, ApiResult},
    logs::LogWakes,
    sse::{KEEP_ALIVE, Watchers},
};
use crate::{fleet::Fleet, solvers::Solvers, store::Store};
use axum::{
    body::Body as HttpBody,
    extract::{FromRequest, FromRequestParts, Request},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use forge_shared::{WorkerId, request::Scope};
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
    pub scope: Scope,
    pub actor: String,
    pub revoked: CancellationToken,
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(_parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        Ok(Self { scope: Scope::Admin, actor: "admin".to_owned(), revoked: CancellationToken::new() })
    }
}

pub(super) struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request<HttpBody>, _state: &S) -> Result<Self, ApiError> {
        let bytes = axum::body::to_bytes(request.into_body(), 32 << 20)
            .await
            .map_err(|error| ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", error.to_string()))?;
        let parser = &mut serde_json::Deserializer::from_slice(&bytes);
        serde_path_to_error::deserialize(parser)
            .map(Self)
            .map_err(|error| ApiError::invalid(&error.path().to_string(), error.inner().to_string()))
    }
}

pub(super) struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        axum::extract::Query::<T>::from_request_parts(parts, state)
            .await
            .map(|query| Self(query.0))
            .map_err(|error| ApiError::invalid("query", error.body_text()))
    }
}

pub(super) struct PathId<T>(pub T);

impl<S: Send + Sync, T: FromStr<Err = forge_shared::Invalid>> FromRequestParts<S> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let text = axum::extract::Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|error| ApiError::invalid("id", error.body_text()))?;
        text.parse().map(Self).map_err(|error| ApiError::invalid("id", error.to_string()))
    }
}

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let body = serde_json::to_vec(value).expect("answers are always JSON");
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
