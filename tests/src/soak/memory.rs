//! How much memory processes have over time, and whether it grows.

use std::{fmt, time::Duration};

/// More than this at the end than at the beginning is a leak.
pub const GROWTH_MAX_PERCENT: u64 = 25;
pub const GROWTH_MAX_KIB: u64 = 16 << 10;

/// One process's memory, in KiB, sample after sample.
#[derive(Debug, Clone, Default)]
pub struct Series {
    samples: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    pub min: u64,
    pub median: u64,
    pub max: u64,
}

impl Series {
    pub fn push(&mut self, kib: u64) {
        self.samples.push(kib);
    }

    /// Of the first and of the last quarter; `None` with too few samples to tell.
    pub fn quarters(&self) -> Option<(Spread, Spread)> {
        let quarter = self.samples.len() / 4;
        if quarter == 0 {
            return None;
        }
        Some((spread(&self.samples[..quarter]), spread(&self.samples[self.samples.len() - quarter..])))
    }

    /// Whether it has grown beyond the bound between the first quarter and the last.
    pub fn grew(&self) -> bool {
        self.quarters().is_some_and(|(first, last)| {
            last.median > first.median + first.median * GROWTH_MAX_PERCENT / 100 + GROWTH_MAX_KIB
        })
    }

    /// At most this many of the samples, evenly spread, in MiB.
    pub fn some(&self, max: usize) -> String {
        let step = self.samples.len().div_ceil(max).max(1);
        let shown: Vec<String> = self.samples.iter().step_by(step).map(|&kib| mib(kib)).collect();
        shown.join(" ")
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {} / {}", mib(self.min), mib(self.median), mib(self.max))
    }
}

fn spread(samples: &[u64]) -> Spread {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    Spread { min: sorted[0], median: sorted[sorted.len() / 2], max: sorted[sorted.len() - 1] }
}

pub fn mib(kib: u64) -> String {
    format!("{}.{}", kib >> 10, (kib & 1023) * 10 / 1024)
}

/// How often memory is looked at.
pub const EVERY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn series(samples: impl IntoIterator<Item = u64>) -> Series {
        Series { samples: samples.into_iter().collect() }
    }

    #[test]
    fn a_leak_is_told_from_noise_and_from_a_start() {
        let noise = series((0..400).map(|n| (30 << 10) + n * 7919 % 4096));
        assert!(!noise.grew());
        let starts_small = series((0..400).map(|n| if n < 20 { 8 << 10 } else { 40 << 10 }));
        assert!(!starts_small.grew());
        let leaks = series((0..400).map(|n| (30 << 10) + n * 100));
        assert!(leaks.grew());
        assert!(!series([1, 2, 3]).grew());
    }

    #[test]
    fn quarters_are_the_ends_of_the_series() {
        let (first, last) = series(1..=8).quarters().unwrap();
        assert_eq!(first, Spread { min: 1, median: 2, max: 2 });
        assert_eq!(last, Spread { min: 7, median: 8, max: 8 });
        assert_eq!(series((0..100).map(|n| n << 10)).some(4), "0.0 25.0 50.0 75.0");
    }
}
