//! Jobs through hub and agent, against the same program started by `xargs`; and what many agents
//! cost the hub.

use super::Effort;
use crate::{
    figures::{median, millis, percentile, print, remark},
    hub::{self, Server, TOKEN},
    wire::{self, Connection},
};
use anyhow::{Context, bail};
use std::{
    process::{Command, Stdio},
    time::{Duration, Instant, SystemTime},
};
use tokio::task::JoinSet;

/// A program that does nothing, started in all ways that are compared.
const NO_OP: &str = "/bin/true";
const AGENTS: usize = 500;

pub(super) async fn run(effort: Effort) -> anyhow::Result<()> {
    idle(effort).await?;
    throughput(effort, 2).await?;
    throughput(effort, 1).await?;
    start_latency(effort).await?;
    fleet(effort).await
}

async fn idle(effort: Effort) -> anyhow::Result<()> {
    let hub = hub::hub()?;
    let agent = hub::agent(&hub, &[])?;
    until_registered(&hub).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = agent.cpu()?;
    let window = effort.turn.max(Duration::from_secs(5)) * 4;
    tokio::time::sleep(window).await;
    print("agent_rss_idle", agent.rss()? / crate::figures::MIB, "MiB");
    let used = (agent.cpu()? - before).as_secs_f64() / window.as_secs_f64();
    print("agent_cpu_idle", 100.0 * used, "% of a core");
    Ok(())
}

async fn throughput(effort: Effort, slots: usize) -> anyhow::Result<()> {
    let hub = hub::hub()?;
    let handlers = format!(r#"{{"noop":["{NO_OP}"]}}"#);
    let slots_text = slots.to_string();
    let _agent = hub::agent(&hub, &[("WORKER_HANDLERS", &handlers), ("WORKER_SLOTS", &slots_text)])?;
    until_registered(&hub).await?;
    let jobs = (effort.samples * 2).clamp(200, 1_000);
    let (mut ours, mut bare, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=effort.rounds {
        let spawned = xargs(jobs, slots)?;
        let worked = work_off(&hub, jobs, round).await?;
        // The first turn warms both up.
        if round > 0 {
            bare.push(spawned);
            ours.push(worked);
            ratios.push(100.0 * worked / spawned);
        }
    }
    let (ours, bare) = (median(ours), median(bare));
    print(&format!("agent_jobs_{slots}_slots"), ours, "jobs/s");
    print(&format!("agent_jobs_{slots}_slots_limit"), bare, "jobs/s");
    print(&format!("agent_jobs_{slots}_slots_of_limit"), median(ratios), "%");
    if slots == 1 {
        print("agent_overhead_over_bare_spawn", 1e3 / ours - 1e3 / bare, "ms");
    }
    Ok(())
}

/// The same program as often, by xargs, this many at a time: runs a second.
fn xargs(times: usize, at_a_time: usize) -> anyhow::Result<f64> {
    let began = Instant::now();
    let line = format!("seq {times} | xargs -n 1 -P {at_a_time} {NO_OP}");
    let status = Command::new("sh").args(["-c", &line]).stdin(Stdio::null()).status().context("run xargs")?;
    if !status.success() {
        bail!("xargs ended with {status}");
    }
    Ok(times as f64 / began.elapsed().as_secs_f64())
}

/// Enqueues this many jobs at once and waits until all are done: jobs a second.
async fn work_off(hub: &Server, jobs: usize, round: usize) -> anyhow::Result<f64> {
    let mut connection = Connection::open(hub.address).await?;
    let mut buffer = Vec::new();
    let names: Vec<String> = (0..jobs).map(|n| format!("r{round}n{n}")).collect();
    let body: Vec<String> = names.iter().map(|id| format!(r#"{{"type":"noop","id":"{id}"}}"#)).collect();
    wire::post(&mut buffer, TOKEN, "/api/jobs/batch", format!("[{}]", body.join(",")).as_bytes());
    let began = Instant::now();
    let status = connection.call(&buffer).await?.status;
    if status != 201 {
        bail!("batch answered {status}");
    }
    // The last ones to be claimed are among the last to end; the others are long done by then.
    for id in names.iter().rev().take(8) {
        wire::get(&mut buffer, TOKEN, &format!("/api/jobs/{id}?wait_ms=60000"));
        let answer = connection.call(&buffer).await?;
        if wire::find(answer.body, b"\"status\":\"completed\"").is_none() {
            bail!("job {id}: {}", String::from_utf8_lossy(answer.body));
        }
    }
    Ok(jobs as f64 / began.elapsed().as_secs_f64())
}

/// From before an enqueue to the first thing that the program does: it prints the time.
async fn start_latency(effort: Effort) -> anyhow::Result<()> {
    let hub = hub::hub()?;
    let _agent = hub::agent(&hub, &[("WORKER_HANDLERS", r#"{"when":["/bin/sh","-c","date +%s%N"]}"#)])?;
    until_registered(&hub).await?;
    let mut connection = Connection::open(hub.address).await?;
    let mut buffer = Vec::new();
    let mut took = Vec::new();
    for n in 0..effort.samples.min(300) {
        until_waiting(&hub).await?;
        let id = format!("when{n}");
        let body = format!(r#"{{"type":"when","id":"{id}"}}"#);
        wire::post(&mut buffer, TOKEN, "/api/jobs", body.as_bytes());
        let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        connection.call(&buffer).await?;
        wire::get(&mut buffer, TOKEN, &format!("/api/jobs/{id}?wait_ms=60000"));
        let answer = connection.call(&buffer).await?;
        let at = wire::find(answer.body, b"\"result\":").context("a result")? + 9;
        let digits: String =
            answer.body[at..].iter().map(|byte| char::from(*byte)).take_while(char::is_ascii_digit).collect();
        let started = Duration::from_nanos(digits.parse().context("a time in nanoseconds")?);
        took.push(started.saturating_sub(began));
    }
    remark("includes the start of sh and date, which tell the time");
    print("agent_start_after_enqueue_p50", millis(percentile(&mut took, 0.50)), "ms");
    print("agent_start_after_enqueue_p99", millis(percentile(&mut took, 0.99)), "ms");
    Ok(())
}

async fn until_registered(hub: &Server) -> anyhow::Result<()> {
    until_waiting(hub).await
}

/// Returns once a claim waits in the hub.
async fn until_waiting(hub: &Server) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(30);
    while hub.metric("forge_long_polls").await? < 1.0 {
        if Instant::now() > deadline {
            bail!("the agent does not claim");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// Agents that send metrics every 5 s and heartbeats every 10 s while they wait for a job.
async fn fleet(effort: Effort) -> anyhow::Result<()> {
    let hub = hub::hub()?;
    let mut agents = JoinSet::new();
    for n in 0..AGENTS {
        let mut talking = Connection::open(hub.address).await?;
        let mut waiting = Connection::open(hub.address).await?;
        agents.spawn(async move {
            let (mut claim, mut beat, mut push) = (Vec::new(), Vec::new(), Vec::new());
            let body = format!(r#"{{"worker_id":"agent-{n}","wait_ms":25000}}"#);
            wire::post(&mut claim, TOKEN, "/api/jobs/claim", body.as_bytes());
            let body = format!(r#"{{"worker_id":"agent-{n}","cores":4,"ram_gb":8,"boot_id":"b{n}"}}"#);
            wire::post(&mut beat, TOKEN, "/api/workers/register", body.as_bytes());
            talking.call(&beat).await?;
            wire::post(
                &mut beat,
                TOKEN,
                &format!("/api/workers/agent-{n}/heartbeat"),
                br#"{"holding":[],"busy":0,"rss_kb":12000,"outbox":0}"#,
            );
            let snapshot = br#"{"timestamp":1700000000000,"cpu":12.5,"cpuCores":[10.0,15.0,12.0,13.0],"memory":{"percent":40.0,"used":3.2,"total":8.0},"disk":{"read":0.1,"write":0.2},"network":{"rx":0.01,"tx":0.02},"load":{"avg1":0.5,"avg5":0.4,"avg15":0.3}}"#;
            wire::post(&mut push, TOKEN, &format!("/api/ingest/agent-{n}"), snapshot);
            let talk = async {
                // Spread over the interval, as agents that were started at different times are.
                tokio::time::sleep(Duration::from_millis((n * 5_000 / AGENTS) as u64)).await;
                let mut tick = tokio::time::interval(Duration::from_secs(5));
                for round in 0_u64.. {
                    tick.tick().await;
                    talking.call(&push).await?;
                    if round % 2 == 0 {
                        talking.call(&beat).await?;
                    }
                }
                anyhow::Ok(())
            };
            let wait = async {
                loop {
                    waiting.call(&claim).await?;
                }
                #[expect(unreachable_code)]
                anyhow::Ok(())
            };
            tokio::try_join!(talk, wait).map(drop)
        });
    }
    // Everybody has registered, pushed once and waits.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let window = effort.turn.max(Duration::from_secs(5)) * 3;
    let before = hub.cpu()?;
    let ended = tokio::time::timeout(window, agents.join_next()).await;
    if let Ok(Some(ended)) = ended {
        ended??;
    }
    let used = (hub.cpu()? - before).as_secs_f64() / window.as_secs_f64();
    print("hub_cpu_500_agents", 100.0 * used, "% of a core");
    print("hub_rss_500_agents", hub.rss()? / crate::figures::MIB, "MiB");
    Ok(())
}
