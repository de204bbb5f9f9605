//! Makes a backup every so often and removes the oldest. A failure is told, and tried again soon;
//! it never costs a backup that is there.

use crate::{
    backup::{self, Made, Order},
    clock::wall_ms,
    metrics::Metrics,
    problems::{BACKUP_FAILED, Problems},
};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// How soon a failed backup is tried again, at most.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub struct Schedule {
    pub database: PathBuf,
    pub folder: PathBuf,
    pub every: Duration,
    pub keep: u32,
}

pub async fn run(
    schedule: Schedule,
    problems: Arc<Problems>,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
) {
    let mut wait = until_due(&schedule);
    while super::next_turn(wait, &stop).await {
        match one(&schedule, &stop).await {
            Ok(made) => {
                metrics.backed_up(wall_ms());
                problems.clear(BACKUP_FAILED);
                tracing::info!(folder = %made.folder.display(), jobs = made.manifest.jobs, bytes = made.manifest.bytes(), "backed up");
                wait = schedule.every;
            }
            Err(error) if stop.is_cancelled() => {
                tracing::info!("the backup was given up because the hub stops: {error:#}");
                return;
            }
            Err(error) => {
                metrics.backup_failures.inc();
                let message =
                    "the last scheduled backup failed; the hub's log says why, and it is tried again";
                problems.raise(BACKUP_FAILED, message);
                tracing::error!("the backup failed and is tried again: {error:#}");
                wait = AGAIN_AFTER.min(schedule.every);
            }
        }
    }
}

async fn one(schedule: &Schedule, stop: &CancellationToken) -> anyhow::Result<Made> {
    let (schedule, stop) = (schedule.clone(), stop.clone());
    tokio::task::spawn_blocking(move || {
        let Schedule { database, folder, keep, .. } = schedule;
        let order = Order { database, into: folder, with_secret: false };
        let made = backup::make(&order, wall_ms(), &stop)?;
        for name in &made.damaged_solvers {
            tracing::error!(
                solver = name,
                "a solver is damaged and was left out of the backup; upload it again"
            );
        }
        match backup::rotate(&order.into, &order.database, keep as usize) {
            Ok(removed) if removed.is_empty() => {}
            Ok(removed) => tracing::info!(removed = removed.len(), "removed the oldest backups"),
            Err(error) => tracing::warn!(%error, "old backups could not be removed; remove them by hand"),
        }
        Ok(made)
    })
    .await?
}

/// Restarts neither delay the next backup nor make one of their own.
fn until_due(schedule: &Schedule) -> Duration {
    let newest = backup::newest(&schedule.folder, &schedule.database).unwrap_or_default();
    let age = newest.and_then(|made_at| u64::try_from(wall_ms() - made_at).ok());
    age.map_or(Duration::ZERO, |age| schedule.every.saturating_sub(Duration::from_millis(age)))
}
