//! The scenarios, by what they measure.

mod agent;
mod dashboard;
mod enqueue;
mod latency;
mod lifecycle;
mod memory;
mod queuectl;
mod scale;
mod store;

use std::time::Duration;

/// How thorough a run is.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Turns of each side of a comparison; the median counts.
    pub rounds: usize,
    /// Length of one turn.
    pub turn: Duration,
    /// What stands for "a million jobs".
    pub many: usize,
    /// Length of the run that memory growth is read from.
    pub long_run: Duration,
    pub samples: usize,
}

impl Effort {
    pub const FULL: Self = Self {
        rounds: 5,
        turn: Duration::from_secs(2),
        many: 1_000_000,
        long_run: Duration::from_secs(30),
        samples: 1_000,
    };
    pub const QUICK: Self = Self {
        rounds: 2,
        turn: Duration::from_millis(700),
        many: 50_000,
        long_run: Duration::from_secs(4),
        samples: 150,
    };
}

pub const NAMES: [&str; 9] =
    ["store", "enqueue", "lifecycle", "latency", "memory", "scale", "dashboard", "agent", "queuectl"];

pub async fn run(name: &str, effort: Effort) -> anyhow::Result<()> {
    match name {
        "store" => Box::pin(store::run(effort)).await,
        "enqueue" => Box::pin(enqueue::run(effort)).await,
        "lifecycle" => Box::pin(lifecycle::run(effort)).await,
        "latency" => Box::pin(latency::run(effort)).await,
        "memory" => Box::pin(memory::run(effort)).await,
        "agent" => Box::pin(agent::run(effort)).await,
        "queuectl" => queuectl::run(effort),
        "dashboard" => Box::pin(dashboard::run(effort)).await,
        "scale" => Box::pin(scale::run(effort)).await,
        other => anyhow::bail!("there is no scenario '{other}'; there are {}", NAMES.join(", ")),
    }
}
