//! Two brakes: one on guessing tokens, by address, and one on the requests of one token.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

const WINDOW_MS: u64 = 60_000;

/// Addresses remembered at once. Beyond these, all others share one count.
const ADDRESSES_MAX: usize = 10_000;

/// Counts failed authentications by address. Only those who fail ever come here, so a valid token
/// is never slowed, not even from an address that others guess from.
#[derive(Debug)]
pub(super) struct Failures {
    per_minute_max: u32,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    by_address: HashMap<IpAddr, Window>,
    others: Window,
}

#[derive(Debug, Default, Clone, Copy)]
struct Window {
    start_ms: u64,
    failures: u32,
}

impl Window {
    fn is_over(self, now_ms: u64) -> bool {
        now_ms >= self.start_ms + WINDOW_MS
    }
}

impl Failures {
    pub(super) fn new(per_minute_max: u32) -> Self {
        Self { per_minute_max, seen: Mutex::default() }
    }

    /// Notes a failure. When there were too many, answers how long to wait.
    pub(super) fn record(&self, address: IpAddr, now_ms: u64) -> Option<Duration> {
        let address = neighbourhood(address);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.by_address.len() >= ADDRESSES_MAX && !seen.by_address.contains_key(&address) {
            seen.by_address.retain(|_, window| !window.is_over(now_ms));
        }
        let full = seen.by_address.len() >= ADDRESSES_MAX;
        let Seen { by_address, others } = &mut *seen;
        let window = match by_address.get_mut(&address) {
            Some(window) => window,
            None if full => others,
            None => by_address.entry(address).or_insert(Window { start_ms: now_ms, failures: 0 }),
        };
        if window.is_over(now_ms) {
            *window = Window { start_ms: now_ms, failures: 0 };
        }
        window.failures = window.failures.saturating_add(1);
        let wait_ms = (window.start_ms + WINDOW_MS).saturating_sub(now_ms);
        (window.failures > self.per_minute_max).then(|| Duration::from_millis(wait_ms))
    }
}

/// One IPv6 customer has a whole /64, so that is what counts as an address.
fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
    }
}

/// A steady rate with bursts, kept in one number per token: the time at which the token's past
/// requests will be paid for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    interval_ns: u64,
    ahead_max_ns: u64,
}

impl Rate {
    pub(super) fn per_second(limit: u32, burst: u32) -> Self {
        let interval_ns = 1_000_000_000 / u64::from(limit.max(1));
        Self { interval_ns, ahead_max_ns: interval_ns * u64::from(burst.max(1)) }
    }

    /// Takes one request from the budget, or answers how long until there is one.
    pub(super) fn take(&self, paid_until: &AtomicU64, now_ns: u64) -> Result<(), Duration> {
        let mut seen = paid_until.load(Ordering::Relaxed);
        loop {
            let next = seen.max(now_ns) + self.interval_ns;
            if let Some(over) = next.checked_sub(now_ns + self.ahead_max_ns).filter(|over| *over > 0) {
                return Err(Duration::from_nanos(over));
            }
            match paid_until.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(newer) => seen = newer,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    #[test]
    fn eleventh_failure_in_a_minute_waits_and_the_next_minute_is_fresh() {
        let failures = Failures::new(10);
        for _ in 0..10 {
            assert_eq!(failures.record(A, 1_000), None);
        }
        assert_eq!(failures.record(A, 11_000), Some(Duration::from_secs(50)));
        assert_eq!(failures.record(B, 11_000), None);
        assert_eq!(failures.record(A, 61_000), None);
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_together() {
        let failures = Failures::new(1);
        assert_eq!(failures.record("2001:db8::1".parse().unwrap(), 0), None);
        assert!(failures.record("2001:db8::2".parse().unwrap(), 0).is_some());
        assert_eq!(failures.record("2001:db8:0:1::2".parse().unwrap(), 0), None);
    }

    #[test]
    fn memory_is_bounded_however_many_addresses_guess() {
        let failures = Failures::new(10);
        for n in 0..(ADDRESSES_MAX as u32 + 100) {
            failures.record(IpAddr::from(n.to_be_bytes()), 0);
        }
        let len = || failures.seen.lock().unwrap().by_address.len();
        assert_eq!(len(), ADDRESSES_MAX);
        assert!(failures.record(IpAddr::from([200, 0, 0, 1]), 0).is_some());
        assert_eq!(failures.record(IpAddr::from([200, 0, 0, 1]), WINDOW_MS), None);
        assert_eq!(len(), 1);
    }

    #[test]
    fn burst_is_spent_then_refilled_at_the_rate() {
        let rate = Rate::per_second(1_000, 3);
        let cell = AtomicU64::new(0);
        let second = 1_000_000_000;
        for _ in 0..3 {
            assert_eq!(rate.take(&cell, second), Ok(()));
        }
        assert_eq!(rate.take(&cell, second), Err(Duration::from_millis(1)));
        assert_eq!(rate.take(&cell, second + 1_000_000), Ok(()));
        assert!(rate.take(&cell, second + 1_000_000).is_err());
    }
}
