//! Single enqueues, every 201 synced, against a handler that only parses and answers.

use super::Effort;
use crate::{
    figures::{median, print},
    hub,
    load::{self, Enqueue},
};
use std::sync::Arc;

const CONNECTIONS: usize = 64;

pub(super) async fn run(effort: Effort) -> anyhow::Result<()> {
    let hub = hub::hub()?;
    let bare = hub::bare()?;
    let work = Arc::new(Enqueue);
    let (mut ours, mut limit) = (Vec::new(), Vec::new());
    for _ in 0..=effort.rounds {
        limit.push(load::rate(bare.address, CONNECTIONS, effort.turn, work.clone()).await?);
        ours.push(load::rate(hub.address, CONNECTIONS, effort.turn, work.clone()).await?);
    }
    // The first turn warms both up.
    let (ours, limit) = (median(ours.split_off(1)), median(limit.split_off(1)));
    print("http_enqueue", ours, "req/s");
    print("http_enqueue_limit", limit, "req/s");
    print("http_enqueue_of_limit", 100.0 * ours / limit, "%");
    Ok(())
}
