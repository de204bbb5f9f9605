//! Watches the disk under the database: says when room runs short, and finds out when a full disk
//! has room again, so that nobody has to restart the hub.

use crate::{
    disk::Space,
    hub::Hub,
    problems::{DISK_FULL, DISK_LOW, Problems},
};
use forge_engine::Command;
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(2);

pub async fn run(hub: Arc<Hub>, problems: Arc<Problems>, folder: PathBuf, stop: CancellationToken) {
    loop {
        look_for_room(&hub, &problems).await;
        match Space::under(&folder) {
            Ok(space) => judge(&problems, space),
            Err(error) => tracing::debug!(%error, "the disk's free space is unknown"),
        }
        if !super::next_turn(EVERY, &stop).await {
            return;
        }
    }
}

/// A small write may fit while a large one does not: as long as writes fail, the disk is full.
async fn look_for_room(hub: &Hub, problems: &Problems) {
    if problems.quiet_for(DISK_FULL).is_none_or(|quiet| quiet < EVERY) {
        return;
    }
    if hub.store.try_write().await.is_err() || !problems.clear(DISK_FULL) {
        return;
    }
    tracing::info!("the disk has room again; everything goes on");
    // Claims that wait are served with what became due meanwhile.
    if let Err(error) = hub.submit(Command::Tick, None).await {
        tracing::debug!(%error, "waiting claims are served a little later");
    }
}

fn judge(problems: &Problems, space: Space) {
    if !space.is_low() {
        if problems.clear(DISK_LOW) {
            tracing::info!(free_bytes = space.free, "the disk has enough free space again");
        }
        return;
    }
    let message =
        "the hub's disk is nearly full: free some space, or shorten what is kept, before writes are refused";
    if problems.raise(DISK_LOW, message) {
        tracing::warn!(free_bytes = space.free, total_bytes = space.total, "{message}");
    }
}
