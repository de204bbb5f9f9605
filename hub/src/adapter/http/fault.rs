//! What serde says about a request, in the caller's terms: which field, and what was expected.
//! A value is never repeated, a name only in part when it is long.

use serde_path_to_error::{Path, Segment};

use super::error::ApiError;

/// How much of a name that the caller made up is repeated.
const NAME_CHARS_MAX: usize = 80;

/// A 400 about the field at `path`, or about one inside it when serde's message names one.
pub(super) fn invalid(path: &Path, said: &str) -> ApiError {
    let (why, inside) = rephrase(said);
    let mut field = render(path);
    if let Some(name) = inside {
        // The path ends with the name already when the error came from its value.
        let ends_with_it = match path.iter().next_back() {
            Some(Segment::Map { key }) => *key == name,
            _ => false,
        };
        if !ends_with_it {
            if !field.is_empty() {
                field.push('.');
            }
            field.push_str(&name);
        }
    }
    let why = match field.as_str() {
        "" => why,
        field => format!("{}: {why}", shorten(field)),
    };
    let error = ApiError::new(axum::http::StatusCode::BAD_REQUEST, "invalid_field", why);
    if field.is_empty() { error } else { error.field(shorten(&field)) }
}

fn render(path: &Path) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for segment in path.iter() {
        match segment {
            Segment::Seq { index } => {
                let _ = write!(text, "[{index}]");
            }
            Segment::Map { key } => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    text
}

/// serde's message in our words, and the field that it names.
fn rephrase(said: &str) -> (String, Option<String>) {
    if let Some((name, expected)) = between(said, "unknown field `") {
        let expected = if expected.is_empty() { String::new() } else { format!("; known are {expected}") };
        return (format!("unknown field{expected}"), Some(name.to_owned()));
    }
    if let Some(name) = said.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return ("missing; this call needs it".to_owned(), Some(name.to_owned()));
    }
    if let Some(name) = said.strip_prefix("duplicate field `").and_then(|rest| rest.strip_suffix('`')) {
        return ("given twice".to_owned(), Some(name.to_owned()));
    }
    if let Some((_, expected)) = between(said, "unknown variant `") {
        return (format!("expected {expected}"), None);
    }
    for prefix in ["invalid type: ", "invalid value: ", "invalid length "] {
        if let Some((got, expected)) =
            said.strip_prefix(prefix).and_then(|rest| rest.rsplit_once(", expected "))
        {
            return (format!("expected {expected}{}", unlike(got)), None);
        }
    }
    // From here on the words are those of our own types, or of Rust's number parsing.
    (shorten(said), None)
}

/// The name after `prefix` up to its closing backtick, and what serde lists as expected.
fn between<'a>(said: &'a str, prefix: &str) -> Option<(&'a str, &'a str)> {
    let rest = said.strip_prefix(prefix)?;
    // A caller's name may contain anything, so the list is searched from the end.
    match rest.rsplit_once("`, expected ") {
        Some(found) => Some(found),
        None => Some((rest.strip_suffix("`, there are no fields").unwrap_or(rest), "")),
    }
}

/// The kind of a value, from serde's description of it.
fn unlike(got: &str) -> &'static str {
    const KINDS: [(&str, &str); 9] = [
        ("string", ", not a string"),
        ("integer", ", not this number"),
        ("floating point", ", not this number"),
        ("boolean", ", not true or false"),
        ("null", ", not null"),
        ("unit", ", not null"),
        ("sequence", ", not a list"),
        ("map", ", not an object"),
        ("number", ", not this number"),
    ];
    KINDS.iter().find(|(kind, _)| got.starts_with(kind)).map_or("", |(_, words)| words)
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
