//! Saves what machines did since the last turn, a part of a minute at a time: adding it twice is
//! ruled out, and a crash loses less than a minute. Old history goes once an hour.

use crate::fleet::Fleet;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(30);
/// Turns between two looks for what was kept long enough.
const PRUNE_TURNS: u32 = 120;

pub async fn run(fleet: Arc<Fleet>, stop: CancellationToken) {
    let mut turns = 0;
    loop {
        let going_on = super::next_turn(EVERY, &stop).await;
        if let Err(error) = fleet.save_history().await {
            tracing::warn!(%error, "machine history could not be saved; trying again");
        }
        if !going_on {
            return;
        }
        if turns % PRUNE_TURNS == 0
            && let Err(error) = fleet.prune_history().await
        {
            tracing::warn!(%error, "old machine history could not be removed; trying again later");
        }
        turns += 1;
    }
}
