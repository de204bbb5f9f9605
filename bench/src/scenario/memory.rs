//! What a hub costs that has little or nothing to do.

use super::{Effort, latency};
use crate::{
    figures::{MIB, print},
    hub::{self, TOKEN},
    wire::{self, Connection},
};
use std::time::Duration;
use tokio::task::JoinSet;

const LONG_POLLS: usize = 1_000;
const WATCHERS: usize = 500;

pub(super) async fn run(effort: Effort) -> anyhow::Result<()> {
    let hub = hub::hub()?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    print("rss_idle", hub.rss()? / MIB, "MiB");

    let waiting = latency::wait_for_jobs(&hub, LONG_POLLS).await?;
    let mut watchers = JoinSet::new();
    let mut request = Vec::new();
    wire::get(&mut request, TOKEN, "/api/events?topics=jobs");
    for _ in 0..WATCHERS {
        let mut connection = Connection::open(hub.address).await?;
        connection.send(&request).await?;
        connection.swallow().await?;
        watchers.spawn(async move { while connection.swallow().await.is_ok_and(|n| n > 0) {} });
    }
    let window = effort.turn.max(Duration::from_secs(2)) * 2;
    let before = hub.cpu()?;
    tokio::time::sleep(window).await;
    let used = hub.cpu()? - before;
    print("rss_long_polls_and_watchers", hub.rss()? / MIB, "MiB");
    print("cpu_long_polls_and_watchers", 100.0 * used.as_secs_f64() / window.as_secs_f64(), "% of a core");
    drop(waiting);
    Ok(())
}
