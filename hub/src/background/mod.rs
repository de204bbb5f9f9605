//! What happens on a timer or a signal. Each duty is a file; each may run twice without harm,
//! and each decides through the engine.

pub mod announcer;
pub mod backup;
pub mod disk;
pub mod history;
pub mod operations;
pub mod reaper;
pub mod retention;
#[cfg(test)]
mod tests;

use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Waits for the next turn. False when the hub stops.
async fn next_turn(every: Duration, stop: &CancellationToken) -> bool {
    tokio::select! {
        () = tokio::time::sleep(every) => true,
        () = stop.cancelled() => false,
    }
}
