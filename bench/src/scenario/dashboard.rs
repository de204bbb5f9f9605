//! What the dashboard asks of the hub: the overview whatever is queued, and the past of many
//! machines while jobs go on.

use super::Effort;
use crate::{
    figures::{MIB, median, millis, percentile, print, remark},
    hub::{self, Server, TOKEN},
    load::{self, Lifecycles},
    wire::{self, Connection},
};
use anyhow::bail;
use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

const BATCH: usize = 10_000;
const LOOKS: usize = 200;
const NODES: usize = 1_000;
const PUSH_EVERY: Duration = Duration::from_secs(5);
const CONNECTIONS: usize = 4;

const DUE: &str = r#"{"type":"bench","params":{"n":1}}"#;

pub(super) async fn run(effort: Effort) -> anyhow::Result<()> {
    overview(effort).await?;
    machines(effort).await
}

async fn overview(effort: Effort) -> anyhow::Result<()> {
    let hub = hub::hub()?;
    if effort.many != Effort::FULL.many {
        remark(&format!("a quick run: 'a million' is {}", effort.many));
    }
    look("overview_empty", &hub).await?;
    load::fill(&hub, effort.many, BATCH, |_| DUE.to_owned()).await?;
    look("overview_million_due", &hub).await?;
    // Spread over a month, so that no two batches have the same time.
    let scheduled = |n: usize| {
        let delay_ms = 60_000 + n as u64 * 25_919_000;
        format!(r#"{{"type":"bench","queue":"q{}","params":{{"n":1}},"delay_ms":{delay_ms}}}"#, n % 10)
    };
    load::fill(&hub, effort.many, BATCH, scheduled).await?;
    look("overview_million_scheduled_too", &hub).await
}

async fn look(name: &str, hub: &Server) -> anyhow::Result<()> {
    let mut connection = Connection::open(hub.address).await?;
    let mut request = Vec::new();
    wire::get(&mut request, TOKEN, "/api/overview");
    let mut times = Vec::with_capacity(LOOKS);
    for _ in 0..LOOKS {
        let began = Instant::now();
        let answer = connection.call(&request).await?;
        if answer.status != 200 {
            bail!("the overview answered {}: {}", answer.status, String::from_utf8_lossy(answer.body));
        }
        times.push(began.elapsed());
    }
    print(&format!("{name}_p50"), millis(percentile(&mut times, 0.5)), "ms");
    print(&format!("{name}_p99"), millis(percentile(&mut times, 0.99)), "ms");
    Ok(())
}

/// Many machines push; how much of a core that takes, and what is left for jobs.
async fn machines(effort: Effort) -> anyhow::Result<()> {
    let hub = hub::hub()?;
    let time = effort.long_run.max(PUSH_EVERY);
    let work = || Arc::new(Lifecycles { batch: 100 });
    // Every node is known before anything is measured: a first push is a commit.
    push_all(&hub, Duration::ZERO).await?;

    let (began, before) = (Instant::now(), hub.cpu()?);
    while began.elapsed() < time {
        push_all(&hub, PUSH_EVERY).await?;
    }
    let used = (hub.cpu()? - before).as_secs_f64() / began.elapsed().as_secs_f64();
    print("thousand_nodes_share_of_a_core", used * 100.0, "%");
    print("rss_thousand_nodes", hub.rss()? / MIB, "MiB");

    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        alone.push(load::rate(hub.address, 8, PUSH_EVERY, work()).await?);
        let (rate, pushed) =
            tokio::join!(load::rate(hub.address, 8, PUSH_EVERY, work()), push_all(&hub, PUSH_EVERY));
        pushed?;
        beside.push(rate?);
    }
    let (alone, beside) = (median(alone), median(beside));
    print("lifecycles_without_nodes", alone, "jobs/s");
    print("lifecycles_beside_thousand_nodes", beside, "jobs/s");
    print("lifecycles_beside_thousand_nodes_ratio", beside / alone, "x");
    Ok(())
}

/// One push of each node, spread evenly over `time`.
async fn push_all(hub: &Server, time: Duration) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(hub.address).await?);
    }
    let mut buffer = Vec::new();
    for node in 0..NODES {
        let due = began + time * node as u32 / NODES as u32;
        tokio::time::sleep_until(due.into()).await;
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
        wire::post(&mut buffer, TOKEN, &format!("/api/ingest/node-{node}"), snapshot(now_ms).as_bytes());
        let answer = connections[node % CONNECTIONS].call(&buffer).await?;
        if answer.status != 204 {
            bail!("a push answered {}: {}", answer.status, String::from_utf8_lossy(answer.body));
        }
    }
    tokio::time::sleep_until((began + time).into()).await;
    Ok(())
}

/// A machine with sixteen cores and a GPU.
fn snapshot(now_ms: u128) -> String {
    let percent = (now_ms / 7 % 1_000) as f64 / 10.0;
    let cores = (0..16).map(|core| format!("{:.1}", (percent + f64::from(core)) % 100.0));
    let cores = cores.collect::<Vec<_>>().join(",");
    format!(
        r#"{{"timestamp":{now_ms},"cpu":{percent:.1},"cpuCores":[{cores}],"memory":{{"percent":41.5,"used":26.56,"total":64}},"disk":{{"read":0.42,"write":{percent:.2}}},"network":{{"rx":1.25,"tx":0.75}},"load":{{"avg1":3.2,"avg5":2.9,"avg15":2.5}},"gpus":[{{"index":0,"model":"A GPU","vendor":"Maker","vramTotal":24576,"vramUsed":8192,"utilizationGpu":{percent:.1}}}]}}"#
    )
}
