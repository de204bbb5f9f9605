//! A claim costs the same however much is queued. Two hubs run side by side, one with little and
//! one with much, and take turns.

use super::Effort;
use crate::{
    figures::{MIB, median, print, remark},
    hub::{self, Server},
    load::{self, Claim},
};
use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

const FEW: usize = 1_000;
const LANES: usize = 10_000;
const BATCH: usize = 10_000;
const CONNECTIONS: usize = 16;
/// Claims in one turn.
const CLAIMS: usize = 500;

const CLAIM: &str = r#"{"worker_id":"bench"}"#;
const DUE: &str = r#"{"type":"bench","params":{"n":1}}"#;
const TOMORROW: &str = r#"{"type":"bench","params":{"n":1},"priority":10,"delay_ms":86400000}"#;

pub(super) async fn run(effort: Effort) -> anyhow::Result<()> {
    let few = hub::hub()?;
    load::fill(&few, FEW + CLAIMS, BATCH, |_| DUE.to_owned()).await?;
    {
        let many = hub::hub()?;
        load::fill(&many, effort.many, BATCH, |_| DUE.to_owned()).await?;
        if effort.many != Effort::FULL.many {
            remark(&format!("a quick run: 'a million' is {}", effort.many));
        }
        print("rss_million_queued", many.rss()? / MIB, "MiB");
        compare("claim_million_pending", &few, &many, effort).await?;
        load::fill(&many, effort.many, BATCH, |_| TOMORROW.to_owned()).await?;
        compare("claim_million_scheduled", &few, &many, effort).await?;
    }
    let lanes = hub::hub()?;
    fill_lanes(&lanes).await?;
    compare("claim_ten_thousand_lanes", &few, &lanes, effort).await
}

/// Ten jobs of each of many types.
async fn fill_lanes(hub: &Server) -> anyhow::Result<()> {
    let mut connection = crate::wire::Connection::open(hub.address).await?;
    let mut buffer = Vec::new();
    for lane in 0..LANES {
        let job = format!(r#"{{"type":"type-{lane}","params":{{"n":1}}}}"#);
        load::enqueue_batch(&mut connection, &mut buffer, 10, &job).await?;
    }
    Ok(())
}

async fn compare(name: &str, few: &Server, many: &Server, effort: Effort) -> anyhow::Result<()> {
    let (mut with_few, mut with_many) = (Vec::new(), Vec::new());
    for round in 0..=effort.rounds * 2 {
        let base = claims(few).await?;
        let ours = claims(many).await?;
        // What was claimed comes back, so that every turn meets the same queue.
        load::fill(few, CLAIMS, BATCH, |_| DUE.to_owned()).await?;
        if round > 0 {
            with_few.push(base);
            with_many.push(ours);
        }
    }
    let (with_few, with_many) = (median(with_few), median(with_many));
    print(&format!("{name}_base"), with_few, "us");
    print(name, with_many, "us");
    print(&format!("{name}_ratio"), with_many / with_few, "x");
    Ok(())
}

/// Time of one claim among `CONNECTIONS` that claim at once, in microseconds.
async fn claims(hub: &Server) -> anyhow::Result<f64> {
    let work = Arc::new(Claim { body: CLAIM, left: AtomicU64::new(CLAIMS as u64) });
    Ok(1e6 / load::rate(hub.address, CONNECTIONS, Duration::from_secs(60), work).await?)
}
