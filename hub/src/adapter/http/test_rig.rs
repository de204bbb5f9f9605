//! Routes with everything real behind them but the jobs.

use super::stand_in::App;
use crate::{
    fleet::Fleet,
    solvers::{BYTES_MAX, Solvers},
    store::{Store, fake::FakeStore},
};
use axum::{
    Router,
    body::{Body, BodyDataStream},
    http::{HeaderMap, Method, Request, StatusCode, response::Parts},
};
use bytes::Bytes;
use std::sync::Arc;
use tempfile::TempDir;
use tower::ServiceExt;
use utoipa_axum::router::OpenApiRouter;

pub(super) struct Rig {
    pub(super) app: Arc<App>,
    pub(super) store: Arc<FakeStore>,
    pub(super) folder: TempDir,
    pub(super) router: Router,
}

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Rig {
    pub(super) async fn new(routes: OpenApiRouter<Arc<App>>) -> Self {
        Self::with(routes, |_| {}).await
    }

    pub(super) async fn with(routes: OpenApiRouter<Arc<App>>, adjust: impl FnOnce(&mut App)) -> Self {
        let store = Arc::new(FakeStore::new());
        let folder = TempDir::new().unwrap();
        let fleet = Fleet::load(Arc::clone(&store) as Arc<dyn Store>).await.unwrap();
        let solvers = Solvers::open(folder.path(), BYTES_MAX).unwrap();
        let mut app = App::new(Arc::clone(&store) as Arc<dyn Store>, fleet, solvers);
        adjust(&mut app);
        let app = Arc::new(app);
        let (router, _document) = routes.split_for_parts();
        Self { router: router.with_state(Arc::clone(&app)), app, store, folder }
    }

    /// The response before its body.
    pub(super) async fn begin(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> (Parts, BodyDataStream) {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let (head, body) = response.into_parts();
        (head, body.into_data_stream())
    }

    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl ToString,
    ) -> Answer {
        self.call(method, path, headers, body.to_string().into()).await
    }

    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Answer {
        let (head, body) = self.begin(method, path, headers, body).await;
        let body = axum::body::to_bytes(Body::from_stream(body), usize::MAX).await.unwrap();
        Answer { status: head.status, headers: head.headers, body }
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, &[], Body::empty()).await
    }

    pub(super) async fn open(&self, path: &str) -> (Parts, BodyDataStream) {
        self.begin(Method::GET, path, &[], Body::empty()).await
    }
}
