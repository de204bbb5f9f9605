//! Claims and results: one by one, and in batches of a hundred.

use super::Effort;
use crate::{
    figures::{MIB, median, print},
    hub,
    load::{self, ClaimAndResult, Lifecycles},
};
use std::sync::Arc;

const CONNECTIONS: usize = 64;
const BATCH: usize = 100;
const BATCH_CONNECTIONS: usize = 8;
/// No hub claims and completes this many jobs a second here, so the queue never runs dry.
const JOBS_PER_SECOND: f64 = 40_000.0;

pub(super) async fn run(effort: Effort) -> anyhow::Result<()> {
    singles(effort).await?;
    batches(effort).await
}

async fn singles(effort: Effort) -> anyhow::Result<()> {
    let hub = hub::hub()?;
    let enough = (effort.turn.as_secs_f64() * JOBS_PER_SECOND) as usize;
    let mut rates = Vec::new();
    load::fill(&hub, enough, 10_000, |_| r#"{"type":"bench","params":{"n":12345}}"#.to_owned()).await?;
    for _ in 0..effort.rounds {
        rates.push(load::rate(hub.address, CONNECTIONS, effort.turn, Arc::new(ClaimAndResult)).await?);
        // What was taken is put back, so that every turn meets the same queue.
        let taken = (rates[rates.len() - 1] * effort.turn.as_secs_f64() / 2.0) as usize;
        load::fill(&hub, taken.max(1), 10_000, |_| r#"{"type":"bench","params":{"n":12345}}"#.to_owned())
            .await?;
    }
    print("http_claim_and_result", median(rates), "req/s");
    Ok(())
}

async fn batches(effort: Effort) -> anyhow::Result<()> {
    let hub = hub::hub()?;
    let work = || Arc::new(Lifecycles { batch: BATCH });
    let mut rates = Vec::new();
    let mut jobs = 0.0;
    for _ in 0..effort.rounds {
        let rate = load::rate(hub.address, BATCH_CONNECTIONS, effort.turn, work()).await?;
        jobs += rate * effort.turn.as_secs_f64();
        rates.push(rate);
    }
    print("http_lifecycles_in_batches", median(rates), "jobs/s");
    let before = hub.rss()?;
    let rate = load::rate(hub.address, BATCH_CONNECTIONS, effort.long_run, work()).await?;
    let more = rate * effort.long_run.as_secs_f64();
    print("rss_growth_per_million_jobs", (hub.rss()? - before) / MIB * 1e6 / more, "MiB");
    print("rss_after_long_run", hub.rss()? / MIB, "MiB");
    print("database_bytes_per_finished_job", hub.stop()? as f64 / (jobs + more), "bytes");
    Ok(())
}
