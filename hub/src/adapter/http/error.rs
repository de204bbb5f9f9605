//! Errors become HTTP here, once, last.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use forge_engine::Refusal;
use forge_shared::response::ErrorBody;

use crate::{
    hub::{Denied, NO_ROOM},
    store,
};

/// What a handler answers instead of a body.
#[derive(Debug, Clone)]
pub struct ApiError {
    pub status: StatusCode,
    pub body: ErrorBody,
    pub retry_after_s: Option<u32>,
}

pub type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    pub fn new(status: StatusCode, code: &str, error: impl Into<String>) -> Self {
        Self {
            status,
            body: ErrorBody { error: error.into(), code: code.to_owned(), field: None },
            retry_after_s: None,
        }
    }

    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.body.field = Some(field.into());
        self
    }

    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// 400 about one field.
    pub fn invalid(field: &str, why: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_field", why).field(field)
    }

    /// An answer that does not belong to the question: a defect of the hub.
    pub fn unexpected() -> Self {
        tracing::error!("a command got an answer of another kind");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the hub made a mistake; see its log")
    }

    /// The same error about a part of the request.
    pub fn within(mut self, part: &str) -> Self {
        self.body.field = Some(match self.body.field {
            Some(field) => format!("{part}.{field}"),
            None => part.to_owned(),
        });
        self
    }

    pub fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no {what} with this id"))
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.body).expect("an error body is always JSON");
        let mut response = (self.status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        if let Refusal::InBatch { index, refusal } = refusal {
            let inner = Self::from(*refusal);
            let error = format!("{}; none of the jobs was added", inner.body.error);
            return Self { body: ErrorBody { error, ..inner.body }, ..inner }.field(format!("[{index}]"));
        }
        let (status, code) = match &refusal {
            Refusal::UnknownJob | Refusal::UnknownWorker => (StatusCode::NOT_FOUND, "not_found"),
            Refusal::IdTaken { .. } => (StatusCode::CONFLICT, "id_taken"),
            Refusal::KeyReused { .. } => (StatusCode::CONFLICT, "idempotency_key_reused"),
            Refusal::LeaseLost => (StatusCode::CONFLICT, "lease_lost"),
            Refusal::DifferentResult => (StatusCode::CONFLICT, "different_result"),
            Refusal::WrongState { .. } => (StatusCode::CONFLICT, "wrong_state"),
            Refusal::SupersededBoot => (StatusCode::CONFLICT, "superseded_boot"),
            Refusal::InBatch { .. } => (StatusCode::CONFLICT, "refused"),
        };
        Self::new(status, code, refusal.to_string())
    }
}

impl From<Denied> for ApiError {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Refused(refusal) => refusal.into(),
            Denied::Failed(error) => error.into(),
        }
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> Self {
        match &error {
            store::Error::Busy => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", error.to_string()).retry_after(1)
            }
            store::Error::Closed => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", error.to_string()).retry_after(5)
            }
            store::Error::Full(_) => {
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk_full", NO_ROOM).retry_after(10)
            }
            store::Error::Database(_) => {
                tracing::error!(%error, "the store failed");
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "store_failed",
                    "the database could not do this; see the hub's log",
                )
            }
        }
    }
}
