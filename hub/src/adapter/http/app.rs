//! What handlers share.

use bytes::Bytes;
use forge_engine::{
    Command, Reply,
    command::{Action, JobState},
};
use forge_shared::JobId;
use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

use super::{
    auth::Auth,
    caller::Caller,
    error::{ApiError, ApiResult},
    limits::LONG_POLLS_MAX,
    logs::LogWakes,
    sse::{KEEP_ALIVE, Watchers},
};
use crate::{
    background::{operations::Operations, retention::Keep},
    downloads::Downloads,
    fleet::Fleet,
    hub::Hub,
    problems::Problems,
    solvers::Solvers,
    store::Store,
};

pub use crate::clock::wall_ms;

pub struct App {
    pub hub: Arc<Hub>,
    pub store: Arc<dyn Store>,
    pub auth: Auth,
    pub fleet: Arc<Fleet>,
    pub solvers: Arc<Solvers>,
    pub operations: Arc<Operations>,
    /// What machines fetch to become part of the fleet.
    pub downloads: Downloads,
    /// Without a proxy's help.
    pub speaks_tls: bool,
    pub watchers: Arc<Watchers>,
    pub log_wakes: Arc<LogWakes>,
    /// Cancelled when the hub stops: long polls answer, streams end.
    pub stop: CancellationToken,
    pub started: Instant,
    /// Whether job events may be watched without a token.
    pub public_events: bool,
    /// What is wrong right now.
    pub problems: Arc<Problems>,
    /// How long things are kept, to be shown.
    pub keep: Keep,
    /// Silence on a stream after which a comment is sent.
    pub keep_alive: Duration,
    /// The longest pause inside an upload.
    pub body_idle: Duration,
    /// The OpenAPI document, once all routes are known.
    pub(super) openapi: OnceLock<Bytes>,
}

impl App {
    pub fn new(
        hub: Arc<Hub>,
        auth: Auth,
        fleet: Arc<Fleet>,
        solvers: Arc<Solvers>,
        operations: Arc<Operations>,
        stop: CancellationToken,
    ) -> Self {
        Self {
            store: hub.store.clone(),
            hub,
            auth,
            fleet,
            solvers,
            operations,
            downloads: Downloads::found(),
            speaks_tls: false,
            watchers: Arc::default(),
            log_wakes: Arc::default(),
            stop,
            started: Instant::now(),
            public_events: true,
            problems: Arc::default(),
            keep: Keep::default(),
            keep_alive: KEEP_ALIVE,
            body_idle: Duration::from_secs(10),
            openapi: OnceLock::new(),
        }
    }

    pub(super) fn may_long_poll(&self) -> ApiResult<()> {
        if self.hub.metrics.long_polls() >= LONG_POLLS_MAX {
            let why = "too many calls wait already; try again in a moment, or poll without wait_ms";
            return Err(ApiError::new(
                axum::http::StatusCode::SERVICE_UNAVAILABLE,
                "too_many_long_polls",
                why,
            )
            .retry_after(5));
        }
        Ok(())
    }

    /// A person's action on one job, audited when the person is an administrator.
    pub(super) async fn act(
        &self,
        caller: &Caller,
        id: &JobId,
        action: Action,
        name: &str,
    ) -> ApiResult<JobState> {
        let note = caller.note_if_admin(self.hub.now_ms(), name, id.as_str(), None);
        let reply = self.hub.submit(Command::Act { jobs: vec![id.clone()], action }, note).await?;
        let Reply::Acted(states) = reply else { return Err(ApiError::unexpected()) };
        Ok(states.into_iter().next().ok_or_else(ApiError::unexpected)??)
    }
}
