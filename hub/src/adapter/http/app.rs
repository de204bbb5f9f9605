//! What handlers share.

use bytes::Bytes;
use std::{
    sync::{Arc, OnceLock},
    time::{SystemTime, UNIX_EPOCH},
};
use tokio_util::sync::CancellationToken;

use super::auth::Auth;
use crate::store::Store;

pub struct App {
    pub store: Arc<dyn Store>,
    pub auth: Auth,
    /// Cancelled when the hub stops: long polls answer, streams end.
    pub stop: CancellationToken,
    /// The OpenAPI document, once all routes are known.
    pub(super) openapi: OnceLock<Bytes>,
}

impl App {
    pub fn new(store: Arc<dyn Store>, auth: Auth, stop: CancellationToken) -> Self {
        Self { store, auth, stop, openapi: OnceLock::new() }
    }
}

/// Milliseconds since 1970.
pub fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
