//! From an enqueue to the answer of a claimer that waits for it.

use super::Effort;
use crate::{
    figures::{millis, percentile, print, remark},
    hub::{self, Server, TOKEN},
    wire::{self, Connection},
};
use anyhow::{Context, bail};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const WAITERS: usize = 1_000;

pub(super) async fn run(effort: Effort) -> anyhow::Result<()> {
    hand_over(effort).await?;
    crowd().await
}

async fn hand_over(effort: Effort) -> anyhow::Result<()> {
    let hub = hub::hub()?;
    let mut waiter = Connection::open(hub.address).await?;
    let mut producer = Connection::open(hub.address).await?;
    let (mut claim, mut job) = (Vec::new(), Vec::new());
    wire::post(&mut claim, TOKEN, "/api/jobs/claim", br#"{"worker_id":"waiter","wait_ms":60000}"#);
    wire::post(&mut job, TOKEN, "/api/jobs", br#"{"type":"bench","params":{"n":1}}"#);
    let mut took = Vec::new();
    for _ in 0..effort.samples {
        waiter.send(&claim).await?;
        // Long enough for the claim to be waiting; this is not part of what is measured.
        tokio::time::sleep(Duration::from_millis(3)).await;
        let began = Instant::now();
        producer.send(&job).await?;
        let status = waiter.receive().await?.status;
        took.push(began.elapsed());
        if status != 200 {
            bail!("the waiting claim answered {status}");
        }
        producer.receive().await?;
    }
    print("hand_over_p50", millis(percentile(&mut took, 0.50)), "ms");
    print("hand_over_p99", millis(percentile(&mut took, 0.99)), "ms");
    Ok(())
}

/// One enqueue among a thousand that wait: how much work it makes.
async fn crowd() -> anyhow::Result<()> {
    let hub = hub::hub()?;
    let mut waiting = wait_for_jobs(&hub, WAITERS).await?;
    let claims = hub.metric("forge_claim_commands_total").await?;
    let commands = hub.metric("forge_batch_commands_sum").await?;
    let mut producer = Connection::open(hub.address).await?;
    let mut job = Vec::new();
    wire::post(&mut job, TOKEN, "/api/jobs", br#"{"type":"bench"}"#);
    producer.call(&job).await?;
    let (_, status) = waiting.join_next().await.context("somebody waits")???;
    if status != 200 {
        bail!("the first waiter answered {status}");
    }
    remark("claims sent by callers, and all commands that the writer decided, the enqueue included");
    print(
        "thousand_waiters_claim_commands",
        hub.metric("forge_claim_commands_total").await? - claims,
        "commands",
    );
    print(
        "thousand_waiters_all_commands",
        hub.metric("forge_batch_commands_sum").await? - commands,
        "commands",
    );
    Ok(())
}

pub(super) type Waiters = JoinSet<anyhow::Result<(Connection, u16)>>;

/// This many long polls, all of them waiting when this returns.
pub(super) async fn wait_for_jobs(hub: &Server, n: usize) -> anyhow::Result<Waiters> {
    let mut waiting = JoinSet::new();
    for worker in 0..n {
        let mut connection = Connection::open(hub.address).await?;
        let mut claim = Vec::new();
        let body = format!(r#"{{"worker_id":"waiter-{worker}","wait_ms":60000}}"#);
        wire::post(&mut claim, TOKEN, "/api/jobs/claim", body.as_bytes());
        connection.send(&claim).await?;
        waiting.spawn(async move {
            let status = connection.receive().await?.status;
            Ok((connection, status))
        });
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while hub.metric("forge_long_polls").await? < n as f64 {
        if Instant::now() > deadline {
            bail!("only {} of {n} long polls wait", hub.metric("forge_long_polls").await?);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(waiting)
}
