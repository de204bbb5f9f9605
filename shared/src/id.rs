//! Names and identifiers. Each is checked when it is made, so the rest of the program never sees
//! an invalid one; the messages are written for whoever sent it.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr, sync::Arc};

/// Why a name was refused, in words for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid(pub String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

/// Words that stand where a job's id would in a path.
pub const ROUTE_WORDS: [&str; 6] = ["batch", "bulk", "claim", "counts-by-worker", "events", "results"];

const ID_BYTES_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 255;
const QUEUE_PARTS_MAX: usize = 3;

fn url_safe(what: &str, text: &str) -> Result<(), Invalid> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if text.is_empty() || text.len() > ID_BYTES_MAX || !text.bytes().all(allowed) {
        return Err(Invalid(format!("{what} must be 1 to {ID_BYTES_MAX} letters, digits, '_' or '-'")));
    }
    Ok(())
}

fn machine_id(what: &str, text: &str) -> Result<(), Invalid> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'~');
    let dots_only = text.bytes().all(|b| b == b'.');
    if text.is_empty() || dots_only || text.len() > ID_BYTES_MAX || !text.bytes().all(allowed) {
        return Err(Invalid(format!(
            "{what} must be 1 to {ID_BYTES_MAX} letters, digits, '_', '-', '.' or '~'"
        )));
    }
    Ok(())
}

fn plain_name(what: &str, text: &str) -> Result<(), Invalid> {
    if text.is_empty() || text.len() > NAME_BYTES_MAX || text.chars().any(char::is_control) {
        return Err(Invalid(format!(
            "{what} must be 1 to {NAME_BYTES_MAX} bytes without control characters"
        )));
    }
    Ok(())
}

fn queue_name(text: &str) -> Result<(), Invalid> {
    let parts = text.split('/');
    if parts.clone().count() > QUEUE_PARTS_MAX {
        return Err(Invalid(format!("a queue name has at most {QUEUE_PARTS_MAX} parts joined by '/'")));
    }
    for part in parts {
        plain_name("each part of a queue name", part)?;
        if part.contains('*') {
            return Err(Invalid("a queue name must not contain '*'".to_owned()));
        }
        if part.bytes().all(|b| b == b'.') {
            return Err(Invalid("a part of a queue name must not be only dots".to_owned()));
        }
    }
    Ok(())
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl AsRef<str>) -> Result<Self, Invalid> {
                let text = text.as_ref();
                let check: fn(&str) -> Result<(), Invalid> = $check;
                check(text)?;
                Ok(Self(Arc::from(text)))
            }

            /// For text that was checked before it was stored.
            pub fn trusted(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;
            fn from_str(text: &str) -> Result<Self, Invalid> {
                Self::new(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Self::new(&*text).map_err(de::Error::custom)
            }
        }
    };
}

name_type!(
    /// A job's id: the caller's own, or 32 hex digits in time order.
    JobId,
    |text| {
        url_safe("a job id", text)?;
        if ROUTE_WORDS.contains(&text) {
            return Err(Invalid(format!("a job id must not be the word '{text}'")));
        }
        Ok(())
    }
);
name_type!(
    /// A worker's id, the same as its node's.
    WorkerId,
    |text| machine_id("a worker id", text)
);
name_type!(
    /// A machine that pushes metrics.
    NodeId,
    |text| machine_id("a node id", text)
);
name_type!(
    /// One claim of one job. Its first part is the job's number in the store, so that a lease
    /// is found without an index of its own.
    LeaseId,
    |text| url_safe("a lease id", text)
);
name_type!(
    /// A caller's name for a claim, so that a repeated call returns the same jobs.
    ClaimId,
    |text| plain_name("a claim id", text)
);
name_type!(
    /// One run of an agent process.
    BootId,
    |text| plain_name("a boot id", text)
);
name_type!(
    /// What kind of work a job is; workers choose by it.
    JobType,
    |text| plain_name("a job type", text)
);
name_type!(
    /// A queue: up to three parts joined by `/`.
    QueueName,
    queue_name
);
name_type!(
    /// A queue to claim from, or all queues below a prefix (`ns/*`).
    QueuePattern,
    |text| match text.strip_suffix("/*") {
        Some(prefix) => queue_name(prefix),
        None => queue_name(text),
    }
);

impl QueueName {
    pub fn default_queue() -> Self {
        Self::trusted("default")
    }
}

impl QueuePattern {
    /// The text before `*`, when this is a prefix.
    pub fn prefix(&self) -> Option<&str> {
        self.0.strip_suffix('*')
    }

    pub fn matches(&self, queue: &QueueName) -> bool {
        match self.prefix() {
            Some(prefix) => queue.as_str().starts_with(prefix),
            None => queue.as_str() == self.as_str(),
        }
    }
}

impl From<WorkerId> for NodeId {
    fn from(id: WorkerId) -> Self {
        Self(id.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_ids_are_url_safe_and_not_route_words() {
        for good in ["a", "A-1_b", &"x".repeat(64)] {
            assert!(JobId::new(good).is_ok(), "{good}");
        }
        for bad in ["", "a/b", "a.b", "ä", "claim", "batch", &"x".repeat(65), "a b"] {
            assert!(JobId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn machine_ids_cannot_climb_paths() {
        assert!(NodeId::new("host.example-1").is_ok());
        for bad in [".", "..", "a/b", "", "a b", "a%2f"] {
            assert!(NodeId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn queue_names_have_up_to_three_parts() {
        for good in ["default", "a/b/c", "größe", "a b"] {
            assert!(QueueName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "/", "a/", "a/b/c/d", "a//b", "a/*", "a\nb", "..", &"q".repeat(256)] {
            assert!(QueueName::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn patterns_match_whole_names_or_everything_below_a_prefix() {
        let below = QueuePattern::new("ns/*").unwrap();
        assert!(below.matches(&QueueName::new("ns/a").unwrap()));
        assert!(!below.matches(&QueueName::new("nsx/a").unwrap()));
        assert!(!below.matches(&QueueName::new("ns").unwrap()));
        assert!(QueuePattern::new("*").is_err());
    }
}
