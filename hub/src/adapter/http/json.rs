//! JSON in and out. A body is read within its limits, checked, and turned into a type; whatever is wrong is said in the caller's terms. Messages name fields and say what was
//! expected, and never repeat a value: it might be a secret.

use axum::{
    extract::{FromRequest, Request},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    body,
    error::{ApiError, ApiResult},
    fault,
};

/// The largest body of a route that does not say otherwise.
pub const BODY_BYTES_MAX: usize = 2 << 20;

/// Nesting that no honest request needs. `RawValue` and skipped fields are not covered by
/// serde_json's own limit.
const DEPTH_MAX: usize = 64;

/// A request's JSON body of at most `MAX` bytes.
#[derive(Debug, Clone, Copy)]
pub struct Body<T, const MAX: usize = BODY_BYTES_MAX>(pub T);

impl<T: DeserializeOwned, S: Send + Sync, const MAX: usize> FromRequest<S> for Body<T, MAX> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> ApiResult<Self> {
        let bytes = body::read(request, MAX).await?;
        parse(&bytes).map(Self)
    }
}

/// An answer's JSON body.
#[derive(Debug, Clone, Copy)]
pub struct Json<T>(pub T);

const APPLICATION_JSON: HeaderValue = HeaderValue::from_static("application/json");

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => {
                let mut response = Response::new(body.into());
                response.headers_mut().insert(header::CONTENT_TYPE, APPLICATION_JSON);
                response
            }
            Err(error) => {
                tracing::error!(%error, "an answer could not be written as JSON");
                ApiError::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "internal",
                    "the answer could not be written",
                )
                .into_response()
            }
        }
    }
}

/// Turns bytes into a type. A good body is parsed once, without bookkeeping; only a bad one is
/// parsed again to find out where it went wrong.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> ApiResult<T> {
    let text = check(bytes)?;
    serde_json::from_str(text).map_err(|error| explain::<T>(text, &error))
}

/// What must hold for any JSON text before it is given to serde_json.
fn check(bytes: &[u8]) -> ApiResult<&str> {
    if bytes.is_empty() {
        return Err(malformed("a JSON body is needed, and this one is empty".to_owned()));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| malformed(format!("the body is not UTF-8 at byte {}", error.valid_up_to())))?;
    if bytes.len() > DEPTH_MAX && too_deep(bytes) {
        return Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "too_deep",
            format!("JSON may be nested at most {DEPTH_MAX} deep"),
        ));
    }
    Ok(text)
}

fn too_deep(bytes: &[u8]) -> bool {
    let mut depth = 0_usize;
    let mut bytes = bytes.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(inside) = bytes.next() {
                    match inside {
                        b'"' => break,
                        b'\\' => {
                            bytes.next();
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    false
}

fn malformed(why: String) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "malformed_json", why)
}

#[cold]
fn explain<T: DeserializeOwned>(text: &str, error: &serde_json::Error) -> ApiError {
    if !error.is_data() {
        let said = error.to_string();
        let why = said.rsplit_once(" at line ").map_or(said.as_str(), |(why, _)| why);
        return malformed(format!("not JSON at line {}, column {}: {why}", error.line(), error.column()));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Err(found) => {
            let said = found.inner().to_string();
            let why = said.rsplit_once(" at line ").map_or(said.as_str(), |(why, _)| why);
            fault::invalid(found.path(), why)
        }
        // Both passes see the same text, so this only happens to a type that reads differently
        // each time.
        Ok(_) => malformed("the body does not fit what this call takes".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_shared::{
        JobId,
        request::{Bulk, NewJob, NewToken},
    };
    use serde::Deserialize;

    #[track_caller]
    fn refused<T: DeserializeOwned>(text: &str, code: &str, field: Option<&str>, says: &str) {
        let error = parse::<T>(text.as_bytes()).err().expect("it is refused");
        assert_eq!(error.status, StatusCode::BAD_REQUEST);
        assert_eq!((&*error.body.code, error.body.field.as_deref()), (code, field), "{}", error.body.error);
        assert!(error.body.error.contains(says), "{}", error.body.error);
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code)]
    struct Outer {
        n: u32,
        inner: Option<Vec<Inner>>,
        id: Option<JobId>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code)]
    struct Inner {
        deep: bool,
    }

    #[test]
    fn malformed_text_is_located() {
        refused::<Outer>("", "malformed_json", None, "empty");
        refused::<Outer>("{\n  \"n\": }", "malformed_json", None, "line 2, column 8");
        refused::<Outer>("{\"n\": 1", "malformed_json", None, "line 1");
        refused::<Outer>("{\"n\": 1} x", "malformed_json", None, "trailing");
        let error = parse::<Outer>(b"{\"n\": \"\xff\"}").unwrap_err();
        assert_eq!(error.body.code, "malformed_json");
        assert!(error.body.error.contains("UTF-8 at byte 7"), "{}", error.body.error);
    }

    #[test]
    fn fields_are_named_with_their_path() {
        refused::<Outer>("{}", "invalid_field", Some("n"), "missing");
        refused::<Outer>(r#"{"n": "7"}"#, "invalid_field", Some("n"), "expected u32, not a string");
        refused::<Outer>(r#"{"n": -7}"#, "invalid_field", Some("n"), "expected u32");
        refused::<Outer>(r#"{"n": 1, "m": 2}"#, "invalid_field", Some("m"), "unknown field");
        refused::<Outer>(r#"{"n": 1, "n": 2}"#, "invalid_field", Some("n"), "twice");
        refused::<Outer>(
            r#"{"n":1,"inner":[{"deep":1}]}"#,
            "invalid_field",
            Some("inner[0].deep"),
            "a boolean",
        );
        refused::<Outer>(r#"{"n":1,"inner":[{}]}"#, "invalid_field", Some("inner[0].deep"), "missing");
        let nested = r#"{"n":1,"inner":[{"deep":true,"x":1}]}"#;
        refused::<Outer>(nested, "invalid_field", Some("inner[0].x"), "unknown");
        refused::<Outer>(r#"{"n":1,"id":"a/b"}"#, "invalid_field", Some("id"), "a job id must be");
        refused::<Outer>("[]", "invalid_field", None, "expected");
    }

    #[test]
    fn wire_types_name_their_fields_too() {
        refused::<NewJob>(
            r#"{"type":"t","params":{"a":[1,2]},"bogus":1}"#,
            "invalid_field",
            Some("bogus"),
            "unknown",
        );
        refused::<NewJob>(r#"{"params":{}}"#, "invalid_field", Some("type"), "missing");
        refused::<NewJob>(r#"{"type":"t","priority":99999}"#, "invalid_field", Some("priority"), "i16");
        refused::<Bulk>(
            r#"{"action":"retry","filter":{"statsu":"x"}}"#,
            "invalid_field",
            Some("filter.statsu"),
            "unknown",
        );
        refused::<Bulk>(
            r#"{"action":"explode","filter":{}}"#,
            "invalid_field",
            Some("action"),
            "expected one of",
        );
        assert!(parse::<NewJob>(br#"{"type":"t","params":{"n":1.000000000000000000001}}"#).is_ok());
    }

    #[test]
    fn values_are_never_repeated_and_long_names_are_cut() {
        let canary = "canary-secret".repeat(20);
        for text in [
            format!(r#"{{"name": {{"x": "{canary}"}}, "scope": "viewer"}}"#),
            format!(r#"{{"name": "a", "scope": "{canary}"}}"#),
            format!(r#""{canary}""#),
            format!(r#"{{"name": "a", "scope": ["{canary}`, expected one of `"]}}"#),
        ] {
            let error = parse::<NewToken>(text.as_bytes()).err().expect("it is refused");
            assert!(!error.body.error.contains("canary"), "{}", error.body.error);
        }
        let error =
            parse::<NewToken>(format!(r#"{{"{canary}": 1}}"#).as_bytes()).err().expect("it is refused");
        assert!(error.body.error.len() < 300 && error.body.field.unwrap().chars().count() <= 81);
    }

    #[test]
    fn nesting_is_limited_even_where_nothing_is_parsed() {
        let nested =
            |depth: usize| format!(r#"{{"type":"t","params":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert!(parse::<NewJob>(nested(63).as_bytes()).is_ok());
        refused::<NewJob>(&nested(64), "too_deep", None, "at most 64");
        refused::<NewJob>(&nested(100_000), "too_deep", None, "at most 64");
        let brackets_in_text = format!(r#"{{"type":"t","params":"\"{}"}}"#, "[".repeat(100));
        assert!(parse::<NewJob>(brackets_in_text.as_bytes()).is_ok());
    }
}
