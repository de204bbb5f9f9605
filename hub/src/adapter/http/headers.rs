//! What every answer carries: headers that keep browsers from being used against the hub, and
//! cross-origin permission for the origins the operator listed. This runs once around the whole
//! router, so that no route and no error can be without it.

use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode,
    header::{self, Entry},
};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

use super::error::ApiError;

const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'",
);
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const PREFLIGHT_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
const PREFLIGHT_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, idempotency-key, x-idempotency-key, x-node-name, last-event-id, range",
);
const EXPOSED_HEADERS: HeaderValue =
    HeaderValue::from_static("x-next-cursor, retry-after, etag, content-range, location");

/// The origins, beside the hub's own, whose pages may call the API. They send bearer tokens;
/// cookies are never allowed across origins.
#[derive(Debug, Clone, Default)]
pub struct Origins(Arc<[HeaderValue]>);

impl Origins {
    /// Takes a comma-separated list such as `https://a.example, http://localhost:5173`.
    pub fn parse(list: &str) -> Result<Self, String> {
        let origin = |text: &str| {
            let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
            match (host, HeaderValue::from_str(text)) {
                (Some(host), Ok(value)) if !host.is_empty() && !host.contains('/') => Ok(value),
                _ => Err(format!(
                    "'{text}' is not an origin: write scheme and host, as in https://example.org"
                )),
            }
        };
        list.split(',')
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(origin)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(super) fn contains(&self, origin: &HeaderValue) -> bool {
        self.0.contains(origin)
    }
}

/// What is decided before a request is routed and needed again for its answer.
pub(super) struct Visit {
    api: bool,
    origin: Option<HeaderValue>,
}

/// Looks at a request before it is routed, and answers it at once if it need not be.
pub(super) fn arrive<B>(
    request: &Request<B>,
    origins: &Origins,
    headers_max: usize,
) -> (Visit, Option<Response>) {
    let headers = request.headers();
    let api = request.uri().path().starts_with("/api");
    let mut visit = Visit { api, origin: None };
    if headers.len() > headers_max {
        let why = format!("a request may have at most {headers_max} headers");
        let error = ApiError::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "too_many_headers", why);
        return (visit, Some(error.into_response()));
    }
    if origins.0.is_empty() {
        return (visit, None);
    }
    visit.origin = headers.get(header::ORIGIN).filter(|origin| origins.contains(origin)).cloned();
    let preflight = request.method() == Method::OPTIONS
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        && visit.origin.is_some();
    let answer = preflight.then(|| {
        let permission = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, PREFLIGHT_METHODS),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, PREFLIGHT_HEADERS),
            (header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600")),
        ];
        (StatusCode::NO_CONTENT, permission).into_response()
    });
    (visit, answer)
}

/// Adds to an answer whatever its handler did not set itself.
pub(super) fn leave<B>(visit: Visit, response: &mut Response<B>) {
    let unauthorized = response.status() == StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    if unauthorized {
        set_default(headers, header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    set_default(headers, header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    set_default(headers, header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    set_default(headers, header::REFERRER_POLICY, NO_REFERRER);
    if visit.api {
        set_default(headers, header::CACHE_CONTROL, NO_STORE);
    }
    if let Some(origin) = visit.origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
}

fn set_default(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) {
    if let Entry::Vacant(vacant) = headers.entry(name) {
        vacant.insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, path: &str, headers: &[(&str, &str)]) -> Request<()> {
        let mut builder = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(()).unwrap()
    }

    fn answer_to(request: &Request<()>, origins: &Origins) -> HeaderMap {
        let (visit, answer) = arrive(request, origins, 64);
        assert!(answer.is_none());
        let mut response = Response::new(());
        leave(visit, &mut response);
        response.headers().clone()
    }

    #[test]
    fn every_answer_is_hardened_and_api_answers_are_not_stored() {
        let headers = answer_to(&request(Method::GET, "/api/jobs", &[]), &Origins::default());
        assert_eq!(headers[header::CONTENT_SECURITY_POLICY], CONTENT_SECURITY_POLICY);
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[header::REFERRER_POLICY], "no-referrer");
        assert_eq!(headers[header::CACHE_CONTROL], "no-store");
        let page = answer_to(&request(Method::GET, "/assets/app.js", &[]), &Origins::default());
        assert!(!page.contains_key(header::CACHE_CONTROL));
    }

    #[test]
    fn only_listed_origins_are_allowed_and_never_with_cookies() {
        let origins = Origins::parse("https://a.example, http://localhost:5173").unwrap();
        let good =
            answer_to(&request(Method::GET, "/api/jobs", &[("origin", "https://a.example")]), &origins);
        assert_eq!(good[header::ACCESS_CONTROL_ALLOW_ORIGIN], "https://a.example");
        assert!(!good.contains_key(header::ACCESS_CONTROL_ALLOW_CREDENTIALS));
        let bad = answer_to(&request(Method::GET, "/api/jobs", &[("origin", "https://b.example")]), &origins);
        assert!(!bad.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
    }

    #[test]
    fn preflight_is_answered_without_being_routed() {
        let origins = Origins::parse("https://a.example").unwrap();
        let asks = request(
            Method::OPTIONS,
            "/api/jobs",
            &[("origin", "https://a.example"), ("access-control-request-method", "POST")],
        );
        let answer = arrive(&asks, &origins, 64).1.unwrap();
        assert_eq!(answer.status(), StatusCode::NO_CONTENT);
        assert!(answer.headers().contains_key(header::ACCESS_CONTROL_ALLOW_METHODS));
    }

    #[test]
    fn origins_must_be_scheme_and_host() {
        for bad in ["example.org", "https://", "https://a.example/path", "*"] {
            assert!(Origins::parse(bad).is_err(), "{bad}");
        }
        assert!(Origins::parse("").unwrap().0.is_empty());
    }
}
