//! How long to wait before trying again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(250);
const MOST: Duration = Duration::from_secs(30);

/// Capped exponential with full jitter: a fleet that lost its hub does not come back all at once.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// `asked` is what the other side wants, which is the least that is waited.
    pub fn next(&mut self, asked: Option<Duration>) -> Duration {
        let most = FIRST.saturating_mul(1 << self.failures.min(16)).min(MOST);
        self.failures += 1;
        asked.unwrap_or_default() + most.mul_f64(fraction())
    }
}

/// Uniform in 0..1.
pub fn fraction() -> f64 {
    let mut bytes = [0_u8; 4];
    // Without randomness everybody waits the longest.
    if getrandom::fill(&mut bytes).is_err() {
        return 1.0;
    }
    f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_cap_and_respect_what_is_asked() {
        let mut backoff = Backoff::default();
        let mut most = FIRST;
        for _ in 0..40 {
            assert!(backoff.next(None) <= most);
            most = (most * 2).min(MOST);
        }
        assert!(backoff.next(Some(Duration::from_secs(60))) >= Duration::from_secs(60));
        backoff.reset();
        assert!(backoff.next(None) <= FIRST);
    }

    #[test]
    fn jitter_spreads() {
        let drawn: std::collections::BTreeSet<_> = (0..100).map(|_| (fraction() * 1e6) as u64).collect();
        assert!(drawn.len() > 50);
    }
}
