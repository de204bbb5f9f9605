//! Conditional and partial requests for bytes that never change under their name.

use axum::http::{HeaderMap, HeaderValue, header};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    All,
    Range { start: u64, length: u64 },
    Unsatisfiable,
}

/// Does the caller say that it has this already?
pub(super) fn caller_has(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    headers.get_all(header::IF_NONE_MATCH).iter().any(|value| {
        value.as_bytes().split(|byte| *byte == b',').any(|tag| {
            let tag = tag.trim_ascii();
            tag == b"*" || tag.strip_prefix(b"W/").unwrap_or(tag) == etag.as_bytes()
        })
    })
}

/// Which part of `size` bytes the caller wants. What we do not understand, several ranges, and a
/// range of something else (`If-Range`) are answered with everything, as HTTP has it.
pub(super) fn wanted(headers: &HeaderMap, etag: &HeaderValue, size: u64) -> Part {
    if headers.get(header::IF_RANGE).is_some_and(|tag| tag != etag) {
        return Part::All;
    }
    let mut ranges = headers.get_all(header::RANGE).iter();
    match (ranges.next(), ranges.next()) {
        (Some(range), None) => range.to_str().ok().and_then(|range| parse(range, size)).unwrap_or(Part::All),
        _ => Part::All,
    }
}

fn parse(range: &str, size: u64) -> Option<Part> {
    let (unit, range) = range.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = range.trim().split_once('-')?;
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // More digits than fit are beyond any end.
        digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    let (start, end) = match (first.is_empty(), last.is_empty()) {
        (true, _) => (size.saturating_sub(number(last)?.min(size)), size),
        (false, true) => (number(first)?, size),
        (false, false) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            (first, last.saturating_add(1).min(size))
        }
    };
    Some(if start < end { Part::Range { start, length: end - start } } else { Part::Unsatisfiable })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn etag() -> HeaderValue {
        HeaderValue::from_static("\"abc\"")
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn one_range_is_understood() {
        let check =
            |range, expect| assert_eq!(wanted(&headers(&[("range", range)]), &etag(), 10), expect, "{range}");
        check("bytes=0-0", Part::Range { start: 0, length: 1 });
        check("bytes=2-5", Part::Range { start: 2, length: 4 });
        check("Bytes= 2-99999999999999999999999", Part::Range { start: 2, length: 8 });
        check("bytes=9-", Part::Range { start: 9, length: 1 });
        check("bytes=-3", Part::Range { start: 7, length: 3 });
        check("bytes=-30", Part::Range { start: 0, length: 10 });
        for outside in ["bytes=10-", "bytes=10-12", "bytes=-0", "bytes=99999999999999999999999-"] {
            check(outside, Part::Unsatisfiable);
        }
        for ignored in
            ["bytes=5-2", "bytes=a-b", "bytes=0-1,3-4", "lines=1-2", "bytes=-", "bytes", "bytes=+1-2"]
        {
            check(ignored, Part::All);
        }
        assert_eq!(wanted(&headers(&[("range", "bytes=0-")]), &etag(), 0), Part::Unsatisfiable);
        assert_eq!(wanted(&headers(&[]), &etag(), 10), Part::All);
    }

    #[test]
    fn a_range_of_something_else_is_ignored() {
        let with = |tag| wanted(&headers(&[("range", "bytes=1-"), ("if-range", tag)]), &etag(), 10);
        assert_eq!(with("\"abc\""), Part::Range { start: 1, length: 9 });
        for other in ["\"abd\"", "W/\"abc\"", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(with(other), Part::All, "{other}");
        }
    }

    #[test]
    fn a_known_tag_is_recognised() {
        for known in ["\"abc\"", "W/\"abc\"", "*", "\"x\", \"abc\""] {
            assert!(caller_has(&headers(&[("if-none-match", known)]), &etag()), "{known}");
        }
        assert!(!caller_has(&headers(&[("if-none-match", "\"x\"")]), &etag()));
        assert!(!caller_has(&headers(&[]), &etag()));
    }
}
