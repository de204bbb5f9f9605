//! Removes what was kept long enough: finished jobs with their logs, and old events.

use crate::{
    hub::{Denied, Hub},
    store::Retention,
};
use forge_engine::Command;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(60);
/// Jobs removed in one transaction.
const CHUNK: u32 = 300;

/// How long things are kept.
#[derive(Debug, Clone, Copy)]
pub struct Keep {
    pub completed_ms: i64,
    pub failed_ms: i64,
    pub failed_max: u64,
    pub events_ms: i64,
}

impl Default for Keep {
    fn default() -> Self {
        const DAY_MS: i64 = 24 * 3_600_000;
        Self { completed_ms: 7 * DAY_MS, failed_ms: 180 * DAY_MS, failed_max: 10_000, events_ms: 7 * DAY_MS }
    }
}

pub async fn run(hub: Arc<Hub>, keep: Keep, stop: CancellationToken) {
    while super::next_turn(EVERY, &stop).await {
        match prune(&hub, keep, &stop).await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "removed finished jobs that were kept long enough"),
            Err(error) => tracing::warn!(%error, "old jobs could not be removed; trying again later"),
        }
    }
}

/// One round. Returns how many jobs it removed.
pub async fn prune(hub: &Hub, keep: Keep, stop: &CancellationToken) -> Result<u64, Denied> {
    let now_ms = hub.now_ms();
    while hub.store.prune_events(now_ms - keep.events_ms).await? {
        if stop.is_cancelled() {
            return Ok(0);
        }
    }
    let retention = Retention {
        now_ms,
        completed_ms: keep.completed_ms,
        failed_ms: keep.failed_ms,
        failed_max: keep.failed_max,
    };
    let mut removed = 0;
    while !stop.is_cancelled() {
        let jobs = hub.store.prunable(retention, CHUNK).await?;
        if jobs.is_empty() {
            break;
        }
        let ids = hub.store.jobs_by_seq(jobs.clone()).await?.into_iter().map(|job| job.id).collect();
        removed += jobs.len() as u64;
        hub.submit(Command::Prune { jobs }, None).await?;
        hub.store.delete_logs(ids).await?;
    }
    Ok(removed)
}
