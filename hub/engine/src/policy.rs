//! What a decision looks at beside the job: policies, the time, chance.

use crate::plan::Now;
use forge_shared::Backoff;

/// What is read when deciding, as opposed to what was stamped at enqueue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    pub lease_ms: i64,
    pub prepare_ms: i64,
    /// Expiries in a row without any report after which a job is set aside.
    pub crash_limit: u32,
    pub backoff: Backoff,
    pub on_timeout: OnTimeout,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnTimeout {
    Quarantine,
    Retry,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            lease_ms: 60_000,
            prepare_ms: 30 * 60_000,
            crash_limit: 3,
            backoff: Backoff::default(),
            on_timeout: OnTimeout::Quarantine,
        }
    }
}

/// What a decision may look at beside the job.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    pub now: Now,
    /// Monotonic time at which this hub started: it judges no runtime within a lease time of it.
    pub started_ms: i64,
    pub policy: &'a Policy,
    pub random: u64,
}
