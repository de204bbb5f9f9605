//! How long a failed job waits.

use forge_shared::{Backoff, BackoffKind, Jitter};

/// The longest wait any backoff gives: a hundred years, so that sums of times stay in range.
pub const DELAY_MS_MAX: i64 = 100 * 365 * 24 * 3_600_000;

/// The wait after the `failures`-th failure (1 for the first), using one random number.
pub fn delay_ms(backoff: &Backoff, failures: u32, random: u64) -> i64 {
    let failures = failures.max(1);
    match backoff.kind {
        BackoffKind::None => 0,
        BackoffKind::Fixed => spread(backoff.first_ms as f64, backoff.jitter, random),
        BackoffKind::Exponential => {
            let grown = backoff.first_ms as f64 * power(backoff.factor, failures - 1);
            spread(at_most(grown, backoff.max_ms as f64), backoff.jitter, random)
        }
        BackoffKind::Sidekiq => {
            let before = f64::from(failures - 1);
            let fixed = before * before * before * before + 15.0;
            whole((fixed + fraction(random) * 30.0 * (before + 1.0)) * 1_000.0)
        }
        BackoffKind::Power => whole(power(backoff.factor, failures) * 1_000.0),
    }
}

fn spread(delay: f64, jitter: Jitter, random: u64) -> i64 {
    whole(match jitter {
        Jitter::None => delay,
        Jitter::Half => delay / 2.0 + delay / 2.0 * fraction(random),
        Jitter::Full => delay * fraction(random),
    })
}

/// Uniform in [0, 1).
fn fraction(random: u64) -> f64 {
    (random >> 11) as f64 / (1u64 << 53) as f64
}

fn at_most(value: f64, limit: f64) -> f64 {
    if value < limit { value } else { limit }
}

fn whole(ms: f64) -> i64 {
    // A float beyond the range saturates, and NaN becomes 0: both are in range here.
    (ms as i64).clamp(0, DELAY_MS_MAX)
}

/// `base^n`; `f64::powi` is not in `core`.
fn power(base: f64, mut n: u32) -> f64 {
    let (mut result, mut square) = (1.0, base);
    while n > 0 {
        if n & 1 == 1 {
            result *= square;
        }
        square *= square;
        n >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u64 = u64::MAX;

    fn backoff(kind: BackoffKind, first_ms: u64, factor: f64, max_ms: u64, jitter: Jitter) -> Backoff {
        Backoff { kind, first_ms, factor, max_ms, jitter }
    }

    #[test]
    fn exponential_doubles_up_to_its_limit() {
        let plain = backoff(BackoffKind::Exponential, 1_000, 2.0, 3_600_000, Jitter::None);
        let delays: std::vec::Vec<i64> = [1, 2, 3, 10, 13, 1_000_000].map(|n| delay_ms(&plain, n, 0)).into();
        assert_eq!(delays, [1_000, 2_000, 4_000, 512_000, 3_600_000, 3_600_000]);
    }

    #[test]
    fn full_jitter_spreads_from_nothing_and_half_from_half() {
        let full = Backoff::default();
        assert_eq!(delay_ms(&full, 1, 0), 0);
        assert!((990..=1_000).contains(&delay_ms(&full, 1, MOST)));
        let half = backoff(BackoffKind::Exponential, 8_000, 2.0, 3_600_000, Jitter::Half);
        assert_eq!(delay_ms(&half, 1, 0), 4_000);
        assert!((7_990..=8_000).contains(&delay_ms(&half, 1, MOST)));
    }

    #[test]
    fn sidekiq_counts_the_failures_before_this_one() {
        let sidekiq = backoff(BackoffKind::Sidekiq, 0, 0.0, 0, Jitter::Full);
        assert_eq!(delay_ms(&sidekiq, 1, 0), 15_000);
        assert_eq!(delay_ms(&sidekiq, 3, 0), 31_000);
        assert!((120_900..=121_000).contains(&delay_ms(&sidekiq, 3, MOST)));
    }

    #[test]
    fn power_counts_this_failure_and_has_neither_jitter_nor_cap() {
        let power = backoff(BackoffKind::Power, 0, 2.0, 1, Jitter::Full);
        assert_eq!([1, 2, 3].map(|n| delay_ms(&power, n, MOST)), [2_000, 4_000, 8_000]);
        assert_eq!(delay_ms(&power, 5_000, 0), DELAY_MS_MAX);
    }

    #[test]
    fn absurd_numbers_stay_in_range() {
        let absurd = backoff(BackoffKind::Fixed, u64::MAX, f64::NAN, u64::MAX, Jitter::None);
        assert_eq!(delay_ms(&absurd, 1, 0), DELAY_MS_MAX);
        let nan = backoff(BackoffKind::Power, 0, f64::NAN, 0, Jitter::None);
        assert_eq!(delay_ms(&nan, 1, 0), 0);
        assert_eq!(delay_ms(&backoff(BackoffKind::None, 9, 9.0, 9, Jitter::None), 1, MOST), 0);
    }
}
