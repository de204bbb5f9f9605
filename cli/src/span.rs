//! Times and spans of time as people write them.

use jiff::Timestamp;
use std::str::FromStr;

const UNITS: [(&str, i64); 6] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];
const SPAN_HELP: &str = "write a span such as 90s, 10m, 1h30m or 2d; a number alone is milliseconds";
const MOMENT_HELP: &str =
    "write a time such as 2026-12-24T18:00:00Z, a span such as 10m, or milliseconds since 1970";

/// A span of time in milliseconds: `90s`, `10m`, `1h30m`, `2d`, or a number of milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) i64);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(ms) = text.parse::<u32>() {
            return Ok(Self(ms.into()));
        }
        let mut rest = text;
        let mut sum = 0_i64;
        while !rest.is_empty() {
            let (number, unit, after) = part(rest).ok_or(SPAN_HELP)?;
            sum = number.checked_mul(unit).and_then(|ms| sum.checked_add(ms)).ok_or(SPAN_HELP)?;
            rest = after.trim_start();
        }
        if text.is_empty() { Err(SPAN_HELP.to_owned()) } else { Ok(Self(sum)) }
    }
}

impl Span {
    pub(crate) fn to_duration(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0.unsigned_abs())
    }
}

/// The number, the length of its unit, and what comes after.
fn part(text: &str) -> Option<(i64, i64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, rest) = text.split_at(digits);
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(letters);
    let (_, unit) = UNITS.iter().find(|(unit, _)| *unit == name)?;
    Some((number.parse().ok()?, *unit, rest))
}

/// A point in time: ISO 8601, milliseconds since 1970, or a span from now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    At(i64),
    /// So many milliseconds away; an option says in which direction.
    Away(i64),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(at) = text.trim().parse::<Timestamp>() {
            return Ok(Self::At(at.as_millisecond()));
        }
        // Nobody means a span of milliseconds here, nor a time in January 1970.
        if let Ok(ms) = text.trim().parse::<i64>() {
            return Ok(Self::At(ms));
        }
        text.parse::<Span>().map(|span| Self::Away(span.0)).map_err(|_| MOMENT_HELP.to_owned())
    }
}

impl Moment {
    pub(crate) fn in_the_past(self, now_ms: i64) -> i64 {
        match self {
            Self::At(at) => at,
            Self::Away(ms) => now_ms.saturating_sub(ms),
        }
    }

    pub(crate) fn in_the_future(self, now_ms: i64) -> i64 {
        match self {
            Self::At(at) => at,
            Self::Away(ms) => now_ms.saturating_add(ms),
        }
    }
}

/// ISO 8601 in UTC, always with milliseconds, so that times sort as text.
pub(crate) fn iso(ms: i64) -> serde_json::Value {
    Timestamp::from_millisecond(ms).map_or(serde_json::Value::Null, |at| format!("{at:.3}").into())
}

/// The same for a time that may not have come.
pub(crate) fn iso_or_none(ms: Option<i64>) -> serde_json::Value {
    ms.map_or(serde_json::Value::Null, iso)
}

/// A span as people read it, with two units at most: `1h 30m`.
pub(crate) fn spoken(ms: i64) -> String {
    let mut rest = ms.max(0);
    let mut parts = Vec::new();
    for (unit, length) in UNITS.iter().rev() {
        if rest >= *length && parts.len() < 2 {
            parts.push(format!("{}{unit}", rest / length));
            rest %= length;
        } else if !parts.is_empty() {
            break;
        }
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.join(" ") }
}

/// How long something has been so: whole seconds, for what grows while it is read.
pub(crate) fn age(ms: i64) -> String {
    spoken(ms / 1_000 * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn spans_are_read_as_people_write_them() {
        for (text, ms) in [
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            ("90s", 90_000),
            ("2d", 172_800_000),
            ("1w", 604_800_000),
            ("250ms", 250),
            ("1500", 1_500),
            ("0", 0),
        ] {
            assert_eq!(text.parse(), Ok(Span(ms)), "{text}");
        }
        for wrong in ["", "m", "-5m", "10 minutes", "1.5h", "10m!", "99999999999999999999d", "5y"] {
            assert_eq!(wrong.parse::<Span>(), Err(SPAN_HELP.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn moments_are_times_or_spans_from_now() {
        let at = |text: &str| text.parse::<Moment>().unwrap();
        assert_eq!(at("2025-11-06T10:00:00Z"), Moment::At(1_762_423_200_000));
        assert_eq!(at("2025-11-06T11:00:00+01:00"), Moment::At(1_762_423_200_000));
        assert_eq!(at("1762423200000"), Moment::At(1_762_423_200_000));
        assert_eq!((at("10m").in_the_past(700_000), at("10m").in_the_future(1)), (100_000, 600_001));
        assert!("yesterday".parse::<Moment>().unwrap_err().contains("2026-12-24"));
    }

    #[test]
    fn times_are_iso_8601_in_utc() {
        assert_eq!(iso(1_762_423_200_000), json!("2025-11-06T10:00:00.000Z"));
        assert_eq!(iso(1_762_423_205_250), json!("2025-11-06T10:00:05.250Z"));
    }

    #[test]
    fn spans_are_told_with_two_units_at_most() {
        for (ms, text) in [
            (0, "0s"),
            (250, "250ms"),
            (90_000, "1m 30s"),
            (5_400_250, "1h 30m"),
            (86_400_000, "1d"),
            (86_400_000 + 5_000, "1d"),
        ] {
            assert_eq!(spoken(ms), text);
        }
    }
}
