//! For tests: the whole API on the real store, through its guard, with real tokens. No duty runs
//! in the background unless a test starts it.

use super::{App, Auth, AuthSettings, assemble, routes, server};
use crate::{
    background::operations::Operations,
    fleet::Fleet,
    secret::Secret,
    solvers::{self, BYTES_MAX, Solvers},
    store::Store,
    test_rig::Bench,
};
use axum::{
    Router,
    body::{Body, BodyDataStream},
    http::{HeaderMap, Request, response::Parts},
    response::Response,
};
use bytes::Bytes;
use forge_shared::{request::Scope, response::CreatedToken};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use utoipa_axum::router::OpenApiRouter;

pub(crate) const ADMIN: &str = "the-administrators-secret";

pub(crate) struct Rig {
    pub(crate) bench: Bench,
    pub(crate) app: Arc<App>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) router: Router,
}

/// What differs from a hub as it starts by default.
pub(crate) struct Setup {
    pub(crate) settings: AuthSettings,
    pub(crate) more_routes: OpenApiRouter<Arc<App>>,
    pub(crate) adjust: Box<dyn FnOnce(&mut App)>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            settings: AuthSettings::default(),
            more_routes: OpenApiRouter::default(),
            adjust: Box::new(|_| {}),
        }
    }
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self) -> T {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    pub(crate) fn value(&self) -> Value {
        self.json()
    }

    pub(crate) fn code(&self) -> String {
        self.value()["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn adjusted(adjust: impl FnOnce(&mut App) + 'static) -> Self {
        Self::with(Setup { adjust: Box::new(adjust), ..Setup::default() }).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        Self::on(Bench::new().await, setup).await
    }

    pub(crate) async fn on(bench: Bench, setup: Setup) -> Self {
        let Setup { settings, more_routes, adjust } = setup;
        let store = bench.store.clone();
        let auth = Auth::load(store.clone(), &Secret::new(ADMIN), settings).await.unwrap();
        let fleet = Arc::new(Fleet::load(store.clone()).await.unwrap());
        let solvers = Solvers::open(&solvers::folder_beside(&bench.path()), BYTES_MAX).unwrap();
        let stop = CancellationToken::new();
        let (operations, run_operations) = Operations::start(bench.hub.clone(), stop.clone()).await.unwrap();
        tokio::spawn(run_operations);
        let mut app = App::new(bench.hub.clone(), auth, fleet, Arc::new(solvers), operations, stop);
        adjust(&mut app);
        let app = Arc::new(app);
        let router = assemble(routes().merge(more_routes), &app).unwrap();
        Self { bench, app, store, router }
    }

    /// Where this hub keeps solvers.
    pub(crate) fn solver_folder(&self) -> PathBuf {
        solvers::folder_beside(&self.bench.path())
    }

    /// Wakes those who follow a log, as a running hub does.
    pub(crate) fn start_log_wakes(&self) {
        let (app, hub) = (self.app.clone(), self.bench.hub.clone());
        tokio::spawn(async move { app.log_wakes.run(hub, app.stop.clone()).await });
    }

    /// The response before its body, to a request with these headers and no others.
    pub(crate) async fn start(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Response {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(body.into()).unwrap();
        request.extensions_mut().insert(server::Connection {
            peer: SocketAddr::from(([10, 0, 0, 1], 1)),
            client: [10, 0, 0, 1].into(),
            body_idle_timeout: Duration::from_secs(10),
        });
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let (parts, body) = self.start(method, path, headers, body).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(crate) async fn with_token(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: impl Into<Body>,
    ) -> Answer {
        self.send(method, path, &[("authorization", &format!("Bearer {token}"))], body).await
    }

    /// As the administrator, with more headers.
    pub(crate) async fn admin(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let bearer = format!("Bearer {ADMIN}");
        let mut all = vec![("authorization", &*bearer)];
        all.extend_from_slice(headers);
        self.send(method, path, &all, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.admin("GET", path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.admin("POST", path, &[], body.to_string()).await
    }

    /// A stream that the administrator watches.
    pub(crate) async fn open(&self, path: &str) -> (Parts, BodyDataStream) {
        let bearer = format!("Bearer {ADMIN}");
        let (head, body) = self.start("GET", path, &[("authorization", &bearer)], "").await.into_parts();
        (head, body.into_data_stream())
    }

    pub(crate) async fn make_token(&self, scope: Scope) -> CreatedToken {
        let answer = self.post("/api/tokens", json!({ "name": "test", "scope": scope })).await;
        assert_eq!(answer.status, 201);
        answer.json()
    }

    /// Enqueues a job through the API.
    pub(crate) async fn enqueue(&self, id: &str) {
        let answer = self.post("/api/jobs", json!({ "id": id, "type": "t" })).await;
        assert_eq!(answer.status, 201, "{:?}", answer.body);
    }

    /// Claims whatever there is through the API.
    pub(crate) async fn claim(&self, worker: &str) -> Value {
        let answer = self.post("/api/jobs/claim", json!({ "worker_id": worker })).await;
        assert_eq!(answer.status, 200, "{:?}", answer.body);
        answer.value()
    }
}
