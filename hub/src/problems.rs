//! What is wrong with this hub right now, for `/api/health`, the metrics and the log. A problem is
//! raised by whoever meets it and cleared by whoever sees that it is over.

use forge_shared::response::Problem;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::clock::wall_ms;

pub const BACKUP_FAILED: &str = "backup_failed";
pub const DISK_FULL: &str = "disk_full";
pub const DISK_LOW: &str = "disk_low";
pub const TLS_CERTIFICATE: &str = "tls_certificate";

#[derive(Default)]
pub struct Problems(Mutex<BTreeMap<&'static str, Raised>>);

struct Raised {
    message: String,
    since_ms: i64,
    last: Instant,
}

impl Problems {
    /// The message is public: it names no paths, and says what to do. True when this is news.
    pub fn raise(&self, code: &'static str, message: &str) -> bool {
        let mut all = self.all();
        match all.get_mut(code) {
            Some(raised) => {
                raised.last = Instant::now();
                let news = raised.message != message;
                message.clone_into(&mut raised.message);
                news
            }
            None => {
                let (message, since_ms, last) = (message.to_owned(), wall_ms(), Instant::now());
                all.insert(code, Raised { message, since_ms, last });
                true
            }
        }
    }

    /// True when there was such a problem.
    pub fn clear(&self, code: &'static str) -> bool {
        self.all().remove(code).is_some()
    }

    pub fn has(&self, code: &'static str) -> bool {
        self.all().contains_key(code)
    }

    /// How long ago a problem was last met.
    pub fn quiet_for(&self, code: &'static str) -> Option<Duration> {
        self.all().get(code).map(|raised| raised.last.elapsed())
    }

    pub fn list(&self) -> Vec<Problem> {
        let shown = |(code, raised): (&&'static str, &Raised)| Problem {
            code: (*code).to_owned(),
            message: raised.message.clone(),
            since: raised.since_ms,
        };
        self.all().iter().map(shown).collect()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<&'static str, Raised>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_news_once_and_keeps_its_beginning() {
        let problems = Problems::default();
        assert!(problems.raise(DISK_FULL, "no room"));
        let since = problems.list()[0].since;
        assert!(!problems.raise(DISK_FULL, "no room"));
        assert!(problems.raise(DISK_FULL, "still no room"));
        let listed = problems.list();
        assert_eq!(
            listed,
            [Problem { code: DISK_FULL.to_owned(), message: "still no room".to_owned(), since }]
        );
        assert!(problems.has(DISK_FULL) && problems.quiet_for(DISK_LOW).is_none());
        assert!(problems.clear(DISK_FULL) && !problems.clear(DISK_FULL));
        assert!(problems.list().is_empty());
    }
}
