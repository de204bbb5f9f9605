//! Who is calling.

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use forge_shared::{
    WorkerId,
    request::Scope,
    response::{AuditEntry, Token},
};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicI64, AtomicU64, Ordering},
};
use tokio_util::sync::CancellationToken;

use super::error::{ApiError, ApiResult};
use crate::{secret::Digest, store::TokenRecord};

/// The `token_id` of whoever uses the administrator's secret itself.
pub const ADMIN_ID: &str = "admin";

/// A token as the running hub knows it.
pub(super) struct Identity {
    pub(super) token_id: Arc<str>,
    pub(super) name: String,
    pub(super) scope: Scope,
    pub(super) hash: Digest,
    pub(super) created_at: i64,
    /// Set once, by the first worker that uses the token, and durable before it is seen here.
    pub(super) worker: OnceLock<WorkerId>,
    /// 0 while it was never used.
    pub(super) last_used_at: AtomicI64,
    pub(super) last_used_saved: AtomicI64,
    pub(super) paid_until_ns: AtomicU64,
    pub(super) revoked: CancellationToken,
}

impl Identity {
    pub(super) fn admin(hash: Digest) -> Self {
        Self::from(TokenRecord {
            id: ADMIN_ID.to_owned(),
            name: "administrator".to_owned(),
            scope: Scope::Admin,
            hash,
            worker_id: None,
            created_at: 0,
            last_used_at: None,
        })
    }

    pub(super) fn is_admin_secret(&self) -> bool {
        &*self.token_id == ADMIN_ID
    }

    fn last_used_at(&self) -> Option<i64> {
        Some(self.last_used_at.load(Ordering::Relaxed)).filter(|at| *at > 0)
    }

    pub(super) fn record(&self) -> TokenRecord {
        TokenRecord {
            id: self.token_id.as_ref().to_owned(),
            name: self.name.clone(),
            scope: self.scope,
            hash: self.hash,
            worker_id: self.worker.get().cloned(),
            created_at: self.created_at,
            last_used_at: self.last_used_at(),
        }
    }

    pub(super) fn token(&self) -> Token {
        Token {
            id: self.token_id.as_ref().to_owned(),
            name: self.name.clone(),
            scope: self.scope,
            worker_id: self.worker.get().cloned(),
            created_at: self.created_at,
            last_used_at: self.last_used_at(),
        }
    }
}

impl From<TokenRecord> for Identity {
    fn from(record: TokenRecord) -> Self {
        let last_used_at = record.last_used_at.unwrap_or(0);
        Self {
            token_id: record.id.into(),
            name: record.name,
            scope: record.scope,
            hash: record.hash,
            created_at: record.created_at,
            worker: record.worker_id.map_or_else(OnceLock::new, OnceLock::from),
            last_used_at: AtomicI64::new(last_used_at),
            last_used_saved: AtomicI64::new(last_used_at),
            paid_until_ns: AtomicU64::new(0),
            revoked: CancellationToken::new(),
        }
    }
}

/// A dashboard's login.
pub(super) struct OpenSession {
    pub(super) hash: Digest,
    pub(super) expires_at: i64,
    pub(super) identity: Arc<Identity>,
    /// Cancelled by logging out, and with its token.
    pub(super) closed: CancellationToken,
}

pub(super) const SESSION_ID_LENGTH: usize = 16;

impl OpenSession {
    /// Names it to people; the cookie cannot be found from it.
    pub(super) fn id(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.hash[..SESSION_ID_LENGTH / 2])
    }
}

/// Whoever sent a request, known to be allowed to. The guard puts it there, so on a public route
/// there is none.
#[derive(Clone)]
pub struct Caller {
    pub(super) identity: Arc<Identity>,
    pub(super) session: Option<Arc<OpenSession>>,
}

impl Caller {
    /// What audit entries and logs call it.
    pub fn token_id(&self) -> &Arc<str> {
        &self.identity.token_id
    }

    pub fn name(&self) -> &str {
        &self.identity.name
    }

    pub fn scope(&self) -> Scope {
        self.identity.scope
    }

    pub fn is_admin(&self) -> bool {
        self.scope() == Scope::Admin
    }

    /// The only worker that this token may speak for, once there is one.
    pub fn worker(&self) -> Option<&WorkerId> {
        self.identity.worker.get()
    }

    /// Cancelled when the token is revoked or the session is closed: streams and long polls end
    /// with it.
    pub fn revoked(&self) -> &CancellationToken {
        match &self.session {
            Some(session) => &session.closed,
            None => &self.identity.revoked,
        }
    }

    /// An audit entry in the caller's name.
    pub fn note(
        &self,
        ts: i64,
        action: &str,
        target: impl Into<String>,
        detail: Option<String>,
    ) -> AuditEntry {
        AuditEntry {
            ts,
            actor: self.token_id().as_ref().to_owned(),
            action: action.to_owned(),
            target: target.into(),
            detail,
        }
    }

    /// The same when the caller is an administrator, whose every write is on record.
    pub fn note_if_admin(
        &self,
        ts: i64,
        action: &str,
        target: impl Into<String>,
        detail: Option<String>,
    ) -> Option<AuditEntry> {
        self.is_admin().then(|| self.note(ts, action, target, detail))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        parts.extensions.get().cloned().ok_or_else(unauthorized)
    }
}

pub(super) fn unauthorized() -> ApiError {
    let why = "a valid token is needed: send it as 'Authorization: Bearer <token>'";
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", why)
}
