//! Ends what ran out of time: leases, preparations, runtimes, expiry dates, silent workers.
//! The store names candidates; the engine looks at each again before anything happens.

use crate::hub::{Denied, Hub};
use forge_engine::{Command, Reply};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

pub const EVERY: Duration = Duration::from_secs(15);
/// Jobs looked at in one transaction.
const CHUNK: u32 = 500;

pub async fn run(hub: Arc<Hub>, every: Duration, stop: CancellationToken) {
    while super::next_turn(every, &stop).await {
        // Moves the counters of a hub that nobody talks to on to the present.
        let settled = hub.submit(Command::Tick, None).await.map(drop);
        match settled.and(reap(&hub).await) {
            Ok(0) => {}
            Ok(ended) => tracing::info!(ended, "the reaper ended what had run out of time"),
            Err(error) => tracing::warn!(%error, "the reaper could not finish; it tries again"),
        }
    }
}

/// One round. Returns how many jobs and workers it changed.
pub async fn reap(hub: &Hub) -> Result<u64, Denied> {
    let mut ended = 0;
    loop {
        let overdue = hub.store.overdue(hub.clock.now(), CHUNK).await?;
        if overdue.jobs.is_empty() && overdue.workers.is_empty() {
            return Ok(ended);
        }
        let more = overdue.jobs.len() as u32 == CHUNK;
        let reply = hub.submit(Command::Reap { jobs: overdue.jobs, workers: overdue.workers }, None).await?;
        let Reply::Count(changed) = reply else { return Ok(ended) };
        ended += changed;
        // Candidates that the engine left alone would come back for ever.
        if !more || changed == 0 {
            return Ok(ended);
        }
    }
}
