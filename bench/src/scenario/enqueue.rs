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
    // In short turns side by side, each compared with its neighbour: the machine's own speed
    // changes more over a minute than from one second to the next.
    let turns = 4 * effort.rounds;
    let turn = effort.turn / 4;
    let (mut ours, mut limits, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..=turns {
        let limit = load::rate(bare.address, CONNECTIONS, turn, work.clone()).await?;
        let rate = load::rate(hub.address, CONNECTIONS, turn, work.clone()).await?;
        // The first turn warms both up.
        if n > 0 {
            ours.push(rate);
            limits.push(limit);
            ratios.push(100.0 * rate / limit);
        }
    }
    print("http_enqueue", median(ours), "req/s");
    print("http_enqueue_limit", median(limits), "req/s");
    print("http_enqueue_of_limit", median(ratios), "%");
    Ok(())
}
