//! The one place that lets requests through: it checks what every route needs checked, knows the
//! caller, and enforces the scopes that the route declares.

use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tower::{Layer, Service};

use super::{
    app::App,
    error::{ApiError, ApiResult},
    headers::Origins,
    scopes::{Access, ScopeTable},
    server::Connection,
};

/// Headers that mean nothing sensible when they are there twice: which one counts?
const SINGLE_HEADERS: [HeaderName; 9] = [
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::HOST,
    header::ORIGIN,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("x-idempotency-key"),
    HeaderName::from_static("x-node-name"),
];

/// Guards every route of a router; use with `route_layer`.
#[derive(Clone)]
pub(super) struct Guard(Arc<Rules>);

struct Rules {
    app: Arc<App>,
    scopes: ScopeTable,
}

impl Guard {
    pub(super) fn new(app: Arc<App>, scopes: ScopeTable) -> Self {
        Self(Arc::new(Rules { app, scopes }))
    }
}

impl Rules {
    fn check(&self, request: &mut Request) -> ApiResult<()> {
        let headers = request.headers();
        refuse_duplicates(headers)?;
        let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
        let allowed = match self.scopes.access(request.method(), path) {
            Some(Access::Public) => return Ok(()),
            Some(Access::Scopes(allowed)) => allowed,
            None => {
                tracing::error!(method = %request.method(), path, "a route declares no scopes and is closed");
                let why = "this route declares no scopes, so nobody may use it";
                return Err(ApiError::new(StatusCode::FORBIDDEN, "undeclared_route", why));
            }
        };
        let address = request.extensions().get::<Connection>().map(|connection| connection.client);
        let auth = &self.app.auth;
        let caller = auth.authenticate(headers, address)?;
        if caller.session.is_some()
            && !is_safe(request.method())
            && !from_own_page(headers, &auth.settings.origins)
        {
            return Err(cross_origin());
        }
        if !allowed.contains(caller.scope()) {
            let why = format!(
                "this call needs a token with one of the scopes: {allowed}; yours is {}",
                caller.scope().as_str()
            );
            return Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", why));
        }
        auth.admit(&caller)?;
        request.extensions_mut().insert(caller);
        Ok(())
    }
}

fn refuse_duplicates(headers: &HeaderMap) -> ApiResult<()> {
    // Nearly every request has no header twice, and this knows without looking at any.
    if headers.len() == headers.keys_len() {
        return Ok(());
    }
    match SINGLE_HEADERS.iter().find(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        Some(name) => Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "duplicate_header",
            format!("the header {name} may be sent only once"),
        )
        .field(name.as_str())),
        None => Ok(()),
    }
}

fn is_safe(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

/// A browser sends cookies along with requests that other sites make, and says which site that
/// was. A request that does not say is not from a browser's page, and has no business with a
/// cookie.
fn from_own_page(headers: &HeaderMap, origins: &Origins) -> bool {
    match headers.get(header::ORIGIN) {
        Some(origin) => is_own(origin, headers) || origins.contains(origin),
        None => headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin"),
    }
}

/// Whether another site's page made this request, as far as a request without a cookie can tell.
pub(super) fn from_foreign_page(headers: &HeaderMap, origins: &Origins) -> bool {
    headers.get(header::ORIGIN).is_some_and(|origin| !is_own(origin, headers) && !origins.contains(origin))
}

fn is_own(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let (Ok(origin), Some(Ok(host))) = (origin.to_str(), headers.get(header::HOST).map(HeaderValue::to_str))
    else {
        return false;
    };
    let Some((scheme, place)) = origin.split_once("://") else { return false };
    let port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return false,
    };
    let bare = |text: &'_ str| text.strip_suffix(port).unwrap_or(text).to_ascii_lowercase();
    bare(place) == bare(host)
}

pub(super) fn cross_origin() -> ApiError {
    let why = "this request comes from another site's page; list that origin in CORS_ORIGINS if it is yours";
    ApiError::new(StatusCode::FORBIDDEN, "cross_origin", why)
}

impl<S> Layer<S> for Guard {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { inner, guard: self.clone() }
    }
}

#[derive(Clone)]
pub(super) struct Guarded<S> {
    inner: S,
    guard: Guard,
}

impl<S: Service<Request, Response = Response>> Service<Request> for Guarded<S> {
    type Response = Response;
    type Error = S::Error;
    type Future = Passage<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        match self.guard.0.check(&mut request) {
            Ok(()) => Passage::Granted { answering: self.inner.call(request) },
            Err(error) => Passage::Refused { error: Some(error) },
        }
    }
}

pin_project! {
    /// Kept unboxed: this is on every request's way.
    #[project = PassageProjection]
    pub(super) enum Passage<F> {
        Granted { #[pin] answering: F },
        Refused { error: Option<ApiError> },
    }
}

impl<E, F: Future<Output = Result<Response, E>>> Future for Passage<F> {
    type Output = Result<Response, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            PassageProjection::Granted { answering } => answering.poll(cx),
            PassageProjection::Refused { error } => {
                Poll::Ready(Ok(error.take().expect("polled once after it is ready").into_response()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn only_the_hubs_own_and_listed_pages_may_write_with_a_cookie() {
        let origins = Origins::parse("https://panel.example").unwrap();
        for (own, pairs) in [
            (true, vec![("origin", "http://hub:3000"), ("host", "hub:3000")]),
            (true, vec![("origin", "https://Hub.example"), ("host", "hub.example:443")]),
            (true, vec![("origin", "https://panel.example"), ("host", "hub")]),
            (true, vec![("sec-fetch-site", "same-origin"), ("host", "hub")]),
            (false, vec![("origin", "https://evil.example"), ("host", "hub")]),
            (false, vec![("origin", "http://hub:3001"), ("host", "hub:3000")]),
            (false, vec![("origin", "null"), ("host", "hub")]),
            (false, vec![("sec-fetch-site", "cross-site"), ("host", "hub")]),
            (
                false,
                vec![("origin", "https://evil.example"), ("sec-fetch-site", "same-origin"), ("host", "hub")],
            ),
            (false, vec![("host", "hub")]),
        ] {
            assert_eq!(from_own_page(&headers(&pairs), &origins), own, "{pairs:?}");
        }
    }

    #[test]
    fn headers_that_must_be_single_are_named_when_they_are_not() {
        for name in SINGLE_HEADERS {
            let mut twice = HeaderMap::new();
            twice.append(&name, HeaderValue::from_static("a"));
            twice.append(&name, HeaderValue::from_static("a"));
            let error = refuse_duplicates(&twice).unwrap_err();
            assert_eq!(
                (error.body.code.as_str(), error.body.field.as_deref()),
                ("duplicate_header", Some(name.as_str()))
            );
        }
        let mut harmless = HeaderMap::new();
        harmless.append(header::ACCEPT, HeaderValue::from_static("a"));
        harmless.append(header::ACCEPT, HeaderValue::from_static("b"));
        assert!(refuse_duplicates(&harmless).is_ok());
    }
}
