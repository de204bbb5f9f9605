//! The two clocks, behind a trait so that tests can step them.

use forge_engine::Now;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Now;
}

/// The system's clocks. Monotonic time starts at the wall time of the program's start, so that
/// stored values of one run are near those of the next.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
    started_wall_ms: i64,
}

impl SystemClock {
    pub fn new() -> Self {
        Self { started: Instant::now(), started_wall_ms: wall_ms() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        let elapsed = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        Now { wall_ms: wall_ms(), mono_ms: self.started_wall_ms.saturating_add(elapsed) }
    }
}

pub fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
