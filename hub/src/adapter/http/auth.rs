//! Tokens and sessions. All of them are held in memory, so that knowing a caller costs one hash
//! and one lookup; every change is on disk before it is seen here.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use forge_shared::{
    WorkerId,
    request::{NewToken, Scope},
    response::{AuditEntry, LoggedIn, Token},
};
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic::Ordering},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

use super::{
    app::wall_ms,
    caller::{Caller, Identity, OpenSession, unauthorized},
    error::{ApiError, ApiResult},
    headers::Origins,
    throttle::{Failures, Rate},
};
use crate::{
    secret::{self, Digest, Secret},
    store::{self, SessionRecord, Store, TokenRecord},
};

pub(super) const SESSION_COOKIE: &str = "forge_session";
const SESSION_MS: i64 = 7 * 24 * 3_600_000;
const SESSIONS_MAX: usize = 10_000;
const TOKENS_MAX: usize = 10_000;
/// A token's last use is written down at most this often.
const LAST_USED_SAVE_MS: i64 = 60_000;
/// Finer than this, the last use is not worth a write to shared memory.
const LAST_USED_STEP_MS: i64 = 1_000;

/// What an operator may set about authentication.
#[derive(Debug, Clone)]
pub struct AuthSettings {
    /// What each scoped token may send; administrators are exempt.
    pub requests_per_second: u32,
    pub requests_burst: u32,
    /// Wrong tokens from one address before it is told to wait.
    pub failures_per_minute: u32,
    /// Marks session cookies `Secure` even when no proxy says that the request came by https.
    pub secure_cookies: bool,
    pub origins: Origins,
}

impl Default for AuthSettings {
    fn default() -> Self {
        Self {
            requests_per_second: 5_000,
            requests_burst: 10_000,
            failures_per_minute: 10,
            secure_cookies: false,
            origins: Origins::default(),
        }
    }
}

pub struct Auth {
    store: Arc<dyn Store>,
    pub(super) settings: AuthSettings,
    admin: Arc<Identity>,
    known: RwLock<Known>,
    /// One change at a time, so that a token that is being revoked cannot be saved again.
    changing: tokio::sync::Mutex<()>,
    failures: Failures,
    rate: Rate,
    started: Instant,
    started_wall_ms: i64,
}

#[derive(Default)]
struct Known {
    tokens: HashMap<Digest, Arc<Identity>>,
    sessions: HashMap<Digest, Arc<OpenSession>>,
}

impl Auth {
    pub async fn load(
        store: Arc<dyn Store>,
        admin: &Secret,
        settings: AuthSettings,
    ) -> Result<Self, store::Error> {
        let admin = Arc::new(Identity::admin(admin.digest()));
        let now_ms = wall_ms();
        let mut known = Known::default();
        let mut by_id = HashMap::new();
        for record in store.tokens().await? {
            let identity = Arc::new(Identity::from(record));
            by_id.insert(identity.token_id.clone(), identity.clone());
            known.tokens.insert(identity.hash, identity);
        }
        for record in store.sessions().await? {
            let identity = match &record.token_id {
                Some(id) => by_id.get(id.as_str()),
                None => Some(&admin),
            };
            match identity {
                Some(identity) if record.expires_at > now_ms => {
                    known
                        .sessions
                        .insert(record.hash, open(identity.clone(), record.hash, record.expires_at));
                }
                _ => store.delete_session(record.hash).await?,
            }
        }
        Ok(Self {
            store,
            admin,
            known: RwLock::new(known),
            changing: tokio::sync::Mutex::default(),
            failures: Failures::new(settings.failures_per_minute),
            rate: Rate::per_second(settings.requests_per_second, settings.requests_burst),
            settings,
            started: Instant::now(),
            started_wall_ms: now_ms,
        })
    }

    /// Who sent this, by bearer token or session cookie, if that is somebody.
    pub(super) fn authenticate(&self, headers: &HeaderMap, address: Option<IpAddr>) -> ApiResult<Caller> {
        let elapsed = self.started.elapsed();
        let caller = if let Some(value) = headers.get(header::AUTHORIZATION) {
            let identity = self.by_token(bearer(value).unwrap_or_default(), address)?;
            Caller { identity, session: None }
        } else if let Some(cookie) = session_cookie(headers) {
            self.by_session(cookie, elapsed).ok_or_else(unauthorized)?
        } else {
            return Err(unauthorized());
        };
        self.used(&caller.identity, elapsed);
        Ok(caller)
    }

    /// Takes one request from the caller's budget.
    pub(super) fn admit(&self, caller: &Caller) -> ApiResult<()> {
        if caller.is_admin() {
            return Ok(());
        }
        let now_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.rate
            .take(&caller.identity.paid_until_ns, now_ns)
            .map_err(|wait| slow_down("rate_limited", "this token sends more requests than it may", wait))
    }

    /// Who has this token. A wrong one is counted against the address it came from.
    pub(super) fn by_token(&self, token: &str, address: Option<IpAddr>) -> ApiResult<Arc<Identity>> {
        let hash = secret::digest(token.as_bytes());
        if !token.is_empty() && secret::same(&hash, &self.admin.hash) {
            return Ok(self.admin.clone());
        }
        if let Some(identity) =
            self.known().tokens.get(&hash).filter(|known| secret::same(&hash, &known.hash))
        {
            return Ok(identity.clone());
        }
        let now_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        match address.and_then(|address| self.failures.record(address, now_ms)) {
            Some(wait) => {
                Err(slow_down("too_many_failures", "too many wrong tokens from this address", wait))
            }
            None => {
                if let Some(address) = address {
                    tracing::info!(client = %address, "a wrong token");
                }
                Err(unauthorized())
            }
        }
    }

    fn by_session(&self, cookie: &str, elapsed: Duration) -> Option<Caller> {
        let hash = self.session_hash(cookie);
        let known = self.known();
        let session = known.sessions.get(&hash).filter(|known| secret::same(&hash, &known.hash))?;
        let now_ms = self.started_wall_ms + i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
        (session.expires_at > now_ms)
            .then(|| Caller { identity: session.identity.clone(), session: Some(session.clone()) })
    }

    /// Mixed with the administrator's secret, so that changing it ends every session.
    fn session_hash(&self, cookie: &str) -> Digest {
        let mut bytes = Vec::with_capacity(self.admin.hash.len() + cookie.len());
        bytes.extend_from_slice(&self.admin.hash);
        bytes.extend_from_slice(cookie.as_bytes());
        secret::digest(&bytes)
    }

    fn used(&self, identity: &Identity, elapsed: Duration) {
        let now_ms = self.started_wall_ms + i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
        if now_ms - identity.last_used_at.load(Ordering::Relaxed) >= LAST_USED_STEP_MS {
            identity.last_used_at.store(now_ms, Ordering::Relaxed);
        }
    }

    /// All tokens, oldest first.
    pub(super) fn tokens(&self) -> Vec<Token> {
        let mut tokens: Vec<_> = self.known().tokens.values().map(|identity| identity.token()).collect();
        tokens.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        tokens
    }

    /// Makes a token. Its secret is in the answer and nowhere else.
    pub(super) async fn create(
        &self,
        new: NewToken,
        note: impl FnOnce(&TokenRecord) -> AuditEntry,
    ) -> ApiResult<(Token, Secret)> {
        let _changing = self.changing.lock().await;
        if self.known().tokens.len() >= TOKENS_MAX {
            let why = format!("there are {TOKENS_MAX} tokens already; revoke some first");
            return Err(ApiError::new(StatusCode::CONFLICT, "too_many_tokens", why));
        }
        let made = Secret::random("fq_");
        let record = TokenRecord {
            id: secret::random_id("tok_"),
            name: new.name,
            scope: new.scope,
            hash: made.digest(),
            worker_id: None,
            created_at: wall_ms(),
            last_used_at: None,
        };
        let note = note(&record);
        self.store.save_token(record.clone(), Some(note)).await?;
        let identity = Arc::new(Identity::from(record));
        let token = identity.token();
        self.known_mut().tokens.insert(identity.hash, identity);
        Ok((token, made))
    }

    /// Removes a token and its sessions, and ends whatever they have open. False when there is none.
    pub(super) async fn revoke(&self, id: &str, note: AuditEntry) -> ApiResult<bool> {
        let _changing = self.changing.lock().await;
        let found = self.known().tokens.values().find(|identity| &*identity.token_id == id).cloned();
        let Some(identity) = found else { return Ok(false) };
        self.store.delete_token(id, note).await?;
        let mut known = self.known_mut();
        known.tokens.remove(&identity.hash);
        known.sessions.retain(|_, session| session.identity.token_id != identity.token_id);
        drop(known);
        identity.revoked.cancel();
        Ok(true)
    }

    /// A worker's token belongs to the first worker that uses it. Other callers pass.
    pub async fn bind_worker(&self, caller: &Caller, worker: &WorkerId) -> ApiResult<()> {
        let identity = &caller.identity;
        if identity.scope != Scope::Worker {
            return Ok(());
        }
        if identity.worker.get().is_none() {
            let _changing = self.changing.lock().await;
            if identity.worker.get().is_none() {
                if identity.revoked.is_cancelled() {
                    return Err(unauthorized());
                }
                let record = TokenRecord { worker_id: Some(worker.clone()), ..identity.record() };
                self.store.save_token(record, None).await?;
                let _ = identity.worker.set(worker.clone());
                tracing::info!(worker.id = %worker, token.id = %identity.token_id, "token bound to its worker");
            }
        }
        match identity.worker.get() {
            Some(bound) if bound == worker => Ok(()),
            _ => Err(ApiError::new(
                StatusCode::FORBIDDEN,
                "token_bound",
                "this token belongs to another worker: make one token for each worker with POST /api/tokens",
            )),
        }
    }

    /// Opens a session; the secret is its cookie's value.
    pub(super) async fn open_session(&self, identity: &Arc<Identity>) -> ApiResult<(Secret, Caller)> {
        let _changing = self.changing.lock().await;
        if identity.revoked.is_cancelled() {
            return Err(unauthorized());
        }
        if self.known().sessions.len() >= SESSIONS_MAX {
            let wait = Duration::from_millis(LAST_USED_SAVE_MS as u64);
            return Err(slow_down("too_many_sessions", "too many sessions are open", wait));
        }
        let cookie = Secret::random("");
        let now_ms = wall_ms();
        let record = SessionRecord {
            hash: self.session_hash(cookie.expose()),
            token_id: (!identity.is_admin_secret()).then(|| identity.token_id.as_ref().to_owned()),
            created_at: now_ms,
            expires_at: now_ms + SESSION_MS,
        };
        self.store.save_session(record.clone()).await?;
        let session = open(identity.clone(), record.hash, record.expires_at);
        self.known_mut().sessions.insert(record.hash, session.clone());
        Ok((cookie, Caller { identity: identity.clone(), session: Some(session) }))
    }

    /// Those who are logged in, newest first.
    pub(super) fn sessions(&self, asking: Option<&OpenSession>) -> Vec<LoggedIn> {
        let mut sessions: Vec<LoggedIn> = self
            .known()
            .sessions
            .values()
            .map(|session| LoggedIn {
                id: session.id(),
                token_id: session.identity.token_id.as_ref().to_owned(),
                name: session.identity.name.clone(),
                scope: session.identity.scope,
                created_at: session.expires_at - SESSION_MS,
                expires_at: session.expires_at,
                current: asking.is_some_and(|asking| asking.hash == session.hash),
            })
            .collect();
        sessions.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
        sessions
    }

    pub(super) fn session(&self, id: &str) -> Option<Arc<OpenSession>> {
        self.known().sessions.values().find(|session| session.id() == id).cloned()
    }

    pub(super) async fn close_session(&self, session: &OpenSession) -> ApiResult<()> {
        let _changing = self.changing.lock().await;
        self.store.delete_session(session.hash).await?;
        self.known_mut().sessions.remove(&session.hash);
        session.closed.cancel();
        Ok(())
    }

    /// Writes down when tokens were last used, and removes sessions that are over. Meant to be
    /// called about once a minute, and once more before stopping.
    pub async fn upkeep(&self) -> Result<(), store::Error> {
        let _changing = self.changing.lock().await;
        let now_ms = wall_ms();
        let (used, over) = {
            let known = self.known();
            let due = |identity: &&Arc<Identity>| {
                let (used, saved) = (&identity.last_used_at, &identity.last_used_saved);
                used.load(Ordering::Relaxed) - saved.load(Ordering::Relaxed) >= LAST_USED_SAVE_MS
            };
            let used: Vec<_> = known.tokens.values().filter(due).cloned().collect();
            let over: Vec<_> =
                known.sessions.values().filter(|session| session.expires_at <= now_ms).cloned().collect();
            (used, over)
        };
        for identity in used {
            let record = identity.record();
            let at = record.last_used_at.unwrap_or(0);
            self.store.save_token(record, None).await?;
            identity.last_used_saved.store(at, Ordering::Relaxed);
        }
        for session in over {
            self.store.delete_session(session.hash).await?;
            self.known_mut().sessions.remove(&session.hash);
            session.closed.cancel();
        }
        Ok(())
    }

    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_mut(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(identity: Arc<Identity>, hash: Digest, expires_at: i64) -> Arc<OpenSession> {
    let closed: CancellationToken = identity.revoked.child_token();
    Arc::new(OpenSession { hash, expires_at, identity, closed })
}

fn slow_down(code: &str, why: &str, wait: Duration) -> ApiError {
    let seconds = u32::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(u32::MAX).max(1);
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, code, format!("{why}; wait {seconds} s"))
        .retry_after(seconds)
}

fn bearer(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_matches(' '))
}

fn session_cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get(header::COOKIE)?.to_str().ok()?;
    cookies.split(';').find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == SESSION_COOKIE).then_some(value)
    })
}
