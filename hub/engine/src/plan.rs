//! Decides a batch of commands over one working set.

/// The time of a decision. Leases and runtimes go by the monotonic clock, so that a clock step
/// expires nothing; due times and expiry dates go by the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now {
    pub wall_ms: i64,
    pub mono_ms: i64,
}
