//! What a URL says: query parameters and ids in paths.

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::{StatusCode, request::Parts},
};
use forge_shared::Invalid;
use serde::de::DeserializeOwned;
use std::{borrow::Cow, marker::PhantomData, str::FromStr};

use super::{
    error::{ApiError, ApiResult},
    fault,
};

/// The query string as a type. Its fields are plain values (`Option<i64>`, names, enums); a type
/// that should name unknown parameters says `deny_unknown_fields`.
#[derive(Debug, Clone, Copy)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        parse(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

fn parse<T: DeserializeOwned>(query: &str) -> ApiResult<T> {
    let pairs = form_urlencoded::parse(query.as_bytes());
    serde_path_to_error::deserialize(serde_urlencoded::Deserializer::new(pairs))
        .map_err(|error| fault::invalid(error.path(), &error.inner().to_string()))
}

/// The first parameter of a path, percent-decoded and checked.
#[derive(Debug, Clone, Copy)]
pub struct PathId<T>(pub T);

impl<T: FromStr<Err = Invalid>, S: Send + Sync> FromRequestParts<S> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|_| invalid_id("id", "the path is not UTF-8".into()))?;
        let Some((name, text)) = params.iter().next() else {
            return Err(invalid_id("id", "the path has no id".into()));
        };
        text.parse().map(Self).map_err(|Invalid(why)| invalid_id(name, why.into()))
    }
}

/// What a caller says to make a repeated call safe: the header that `N` names. Taking one header
/// is cheaper than taking a copy of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key<N: KeyHeader>(pub Option<String>, pub PhantomData<N>);

pub trait KeyHeader {
    const NAME: &'static str;
}

/// `Idempotency-Key`, of producers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enqueueing;

impl KeyHeader for Enqueueing {
    const NAME: &'static str = "idempotency-key";
}

/// `X-Idempotency-Key`, of workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reporting;

impl KeyHeader for Reporting {
    const NAME: &'static str = "x-idempotency-key";
}

impl<N: KeyHeader, S: Send + Sync> FromRequestParts<S> for Key<N> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let Some(value) = parts.headers.get(N::NAME) else { return Ok(Self(None, PhantomData)) };
        let text = value
            .to_str()
            .map_err(|_| ApiError::invalid(N::NAME, "the header must be visible ASCII characters"))?;
        Ok(Self(Some(text.to_owned()), PhantomData))
    }
}

fn invalid_id(name: &str, why: Cow<'static, str>) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "invalid_id", why).field(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{Router, body::Body, http::Request, routing::get};
    use forge_shared::{
        JobId, Status,
        request::{JobFilter, Scope},
    };
    use serde::Deserialize;
    use tower::ServiceExt;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Listing {
        limit: Option<i64>,
        scope: Option<Scope>,
        id: Option<JobId>,
        #[serde(default)]
        purge: bool,
    }

    #[track_caller]
    fn refused(query: &str, field: &str, says: &str) {
        let error = parse::<Listing>(query).expect_err("it is refused");
        assert_eq!((error.status, &*error.body.code), (StatusCode::BAD_REQUEST, "invalid_field"));
        assert_eq!(error.body.field.as_deref(), Some(field), "{}", error.body.error);
        assert!(error.body.error.contains(says), "{}", error.body.error);
    }

    #[test]
    fn numbers_names_and_enums_are_read() {
        let listing: Listing = parse("limit=-5&scope=viewer&id=a-1&purge=true").unwrap();
        assert_eq!((listing.limit, listing.scope, listing.purge), (Some(-5), Some(Scope::Viewer), true));
        assert_eq!(listing.id.unwrap().as_str(), "a-1");
        assert!(parse::<Listing>("").unwrap().limit.is_none());
        let filter: JobFilter = parse("status=pending&type=a%20b&since=7").unwrap();
        assert_eq!((filter.status, filter.since), (Some(Status::Pending), Some(7)));
        assert_eq!(filter.kind.unwrap().as_str(), "a b");
    }

    #[test]
    fn faulty_parameters_are_named() {
        refused("limit=ten", "limit", "invalid digit");
        refused("limit=", "limit", "empty");
        refused("limit=1&limit=2", "limit", "twice");
        refused("limti=1", "limti", "unknown");
        refused("scope=root", "scope", "expected one of");
        refused("id=a%2Fb", "id", "a job id must be");
        refused("purge=yes", "purge", "");
    }

    #[tokio::test]
    async fn ids_in_paths_are_checked_after_decoding() {
        let router = Router::<()>::new()
            .route("/jobs/{id}", get(|PathId(id): PathId<JobId>| async move { id.to_string() }));
        for (path, status) in [
            ("/jobs/a-1", 200),
            ("/jobs/%61", 200),
            ("/jobs/a%2Fb", 400),
            ("/jobs/..", 400),
            ("/jobs/claim", 400),
            ("/jobs/%ff", 400),
            (&*format!("/jobs/{}", "x".repeat(65)), 400),
        ] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status().as_u16(), status, "{path}");
        }
    }
}
