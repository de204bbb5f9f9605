//! The dashboard's files. Whatever is no file and no API path is a page of the dashboard, which
//! finds out from the address what to show.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use forge_dashboard::Asset;

use super::error::ApiError;

/// Everything comes from the hub itself, and nothing is written into the page as code. Small
/// images may be part of the style sheet.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
     connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'",
);
/// The name of a built file changes with what is in it.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");
const BUILT: &str = "assets/";

/// Answers what no route of the API takes.
pub(super) async fn answer(request: Request) -> Response {
    let path = request.uri().path();
    let readable = matches!(*request.method(), Method::GET | Method::HEAD);
    if path == "/api" || path.starts_with("/api/") || !readable {
        return nothing_here();
    }
    let path = path.trim_start_matches('/');
    let accepted = request.headers().get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let accepted = accepted.unwrap_or_default();
    let built = path.starts_with(BUILT);
    let asset = forge_dashboard::asset(path, accepted)
        // A script of an older version is gone; a page in its place would be run as one.
        .or_else(|| forge_dashboard::asset("", accepted).filter(|_| !built));
    match asset {
        Some(asset) => file(&asset, built, request.method(), request.headers()),
        None => nothing_here(),
    }
}

fn nothing_here() -> Response {
    let why = "there is nothing at this path; see /api/docs";
    ApiError::new(StatusCode::NOT_FOUND, "no_such_route", why).into_response()
}

fn file(asset: &Asset, built: bool, method: &Method, asked: &HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(header::CACHE_CONTROL, if built { FOR_EVER } else { ASK_AGAIN });
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    let etag = HeaderValue::from_str(&asset.etag).expect("an entity tag is printable");
    let unchanged = asked.get(header::IF_NONE_MATCH).is_some_and(|known| names(known, &etag));
    headers.insert(header::ETAG, etag);
    if unchanged {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    if let Some(encoding) = asset.encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(asset.bytes.len()));
    if method == Method::GET {
        *response.body_mut() = Body::from(asset.bytes.clone().into_owned());
    }
    response
}

/// Whether a list of entity tags has this one; a proxy may have marked it as weak.
fn names(known: &HeaderValue, etag: &HeaderValue) -> bool {
    let (Ok(known), Ok(etag)) = (known.to_str(), etag.to_str()) else { return false };
    known.split(',').map(str::trim).any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

#[cfg(test)]
mod tests {
    use super::super::test_rig::Rig;

    #[tokio::test]
    async fn pages_are_answered_without_a_token_and_asked_for_again_by_tag() {
        let rig = Rig::new().await;
        let page = rig.send("GET", "/", &[], String::new()).await;
        assert_eq!(page.status, 200);
        assert!(page.header("content-type").starts_with("text/html"));
        assert_eq!(page.header("cache-control"), "no-cache");
        assert!(page.body.starts_with(b"<!doctype html>"));
        for path in ["/jobs/abc", "/dead-jobs", "/worker-processes", "/index.html", "/apiary"] {
            let same = rig.send("GET", path, &[], String::new()).await;
            assert_eq!((same.status, &same.body), (200, &page.body), "{path}");
        }
        let tag = page.header("etag");
        for known in [tag.to_owned(), format!("\"x\", W/{tag}"), "*".to_owned()] {
            let same = rig.send("GET", "/", &[("if-none-match", &known)], String::new()).await;
            assert_eq!((same.status, same.body.len(), same.header("etag")), (304, 0, tag), "{known}");
        }
        let other = rig.send("GET", "/", &[("if-none-match", "\"x\"")], String::new()).await;
        assert_eq!(other.status, 200);
        let head = rig.send("HEAD", "/", &[], String::new()).await;
        assert_eq!((head.status, head.body.len(), head.header("etag")), (200, 0, tag));
        assert_eq!(head.header("content-length"), page.body.len().to_string());
    }

    #[tokio::test]
    async fn nothing_but_the_hub_may_add_to_a_page() {
        let rig = Rig::new().await;
        let page = rig.send("GET", "/", &[], String::new()).await;
        let policy = page.header("content-security-policy");
        for rule in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "worker-src 'self'"] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
    }

    #[tokio::test]
    async fn what_is_no_page_is_an_error_for_programs() {
        let rig = Rig::new().await;
        for (method, path) in [
            ("GET", "/api"),
            ("GET", "/api/"),
            ("GET", "/api/nothing"),
            ("GET", "/assets/of-an-older-version.js"),
            ("POST", "/jobs"),
        ] {
            let answer = rig.send(method, path, &[], String::new()).await;
            assert_eq!((answer.status, answer.code().as_str()), (404, "no_such_route"), "{method} {path}");
        }
    }
}
