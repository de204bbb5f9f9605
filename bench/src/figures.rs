//! Numbers and how they are printed.

use std::time::Duration;

/// One line of output.
pub fn print(name: &str, value: f64, unit: &str) {
    let digits = if value.abs() >= 100.0 { 0 } else { 2 };
    println!("{name}: {value:.digits$} {unit}");
}

/// A remark for the reader; programs skip it.
pub fn remark(text: &str) {
    println!("# {text}");
}

pub fn median(mut values: Vec<f64>) -> f64 {
    assert!(!values.is_empty(), "a median needs a value");
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// The value below which this share of the durations lies.
pub fn percentile(durations: &mut [Duration], share: f64) -> Duration {
    assert!(!durations.is_empty(), "a percentile needs a value");
    durations.sort();
    let at = (durations.len() as f64 * share).ceil() as usize;
    durations[at.clamp(1, durations.len()) - 1]
}

pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

pub const MIB: f64 = 1024.0 * 1024.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_percentiles() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        let mut durations: Vec<_> = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&mut durations, 0.5), Duration::from_millis(50));
        assert_eq!(percentile(&mut durations, 0.99), Duration::from_millis(99));
        assert_eq!(percentile(&mut durations, 1.0), Duration::from_millis(100));
    }
}
