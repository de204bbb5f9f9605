//! The store alone, without HTTP, against a bare loop that writes the same rows.

mod bare_loop;

use super::Effort;
use crate::figures::{median, print, remark};
use anyhow::{Context, bail};
use forge_engine::{
    Command, Reply,
    command::{Claim, Completion, Due, Filter, Holder, NewJob, Outcome, Report, Ticket},
    job::Spec,
    lifecycle::Policy,
};
use forge_hub::{
    clock::SystemClock,
    store::{EventBatch, Store, sqlite},
};
use forge_shared::{JobType, QueueName, WorkerId};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

const TASKS: usize = 64;
pub(super) const PARAMS: &str = r#"{"n":12345,"name":"a small job"}"#;
pub(super) const RESULT: &str = r#"{"ok":true}"#;

pub(super) async fn run(effort: Effort) -> anyhow::Result<()> {
    let (mut ours, mut limit, mut batch_size) = (Vec::new(), Vec::new(), 1.0);
    for round in 0..=effort.rounds {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("store.sqlite");
        let (rate, batch) = lifecycles(&path, effort.turn).await?;
        batch_size = batch;
        let turn = effort.turn;
        let bare = tokio::task::spawn_blocking(move || bare_loop::run(&path, batch, turn)).await??;
        if round > 0 {
            ours.push(rate);
            limit.push(bare);
        }
    }
    let (ours, limit) = (median(ours), median(limit));
    remark(&format!("commands in one commit: {batch_size:.0}; the bare loop commits as many"));
    print("store_lifecycles", ours, "jobs/s");
    print("store_lifecycles_limit", limit, "jobs/s");
    print("store_lifecycles_of_limit", 100.0 * ours / limit, "%");
    Ok(())
}

/// Counts what the writer commits.
#[derive(Default)]
struct Counter {
    commands: AtomicU64,
    commits: AtomicU64,
}

impl sqlite::Observer for Counter {
    fn committed(&self, _: EventBatch) {}

    fn batch(&self, commands: usize, _: Duration) {
        self.commands.fetch_add(commands as u64, Ordering::Relaxed);
        self.commits.fetch_add(1, Ordering::Relaxed);
    }
}

/// Jobs that were added, taken and completed a second, and the commands in an average commit.
async fn lifecycles(path: &Path, time: Duration) -> anyhow::Result<(f64, f64)> {
    let counter = Arc::new(Counter::default());
    let store: Arc<dyn Store> =
        sqlite::open(path, Arc::new(SystemClock::new()), Policy::default(), counter.clone())?;
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let tickets = Arc::new(AtomicU64::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let (store, stop, done, tickets) = (store.clone(), stop.clone(), done.clone(), tickets.clone());
        tasks.spawn(async move {
            let filter = Arc::new(Filter::default());
            while !stop.load(Ordering::Relaxed) {
                done.fetch_add(one(&*store, &filter, &tickets).await?, Ordering::Relaxed);
            }
            anyhow::Ok(())
        });
    }
    let began = Instant::now();
    tokio::time::sleep(time).await;
    let rate = done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    while let Some(ended) = tasks.join_next().await {
        ended.context("a task panicked")??;
    }
    store.close().await;
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    Ok((rate, load(&counter.commands) / load(&counter.commits)))
}

async fn one(store: &dyn Store, filter: &Arc<Filter>, tickets: &AtomicU64) -> anyhow::Result<u64> {
    let worker = WorkerId::trusted("bench");
    submit(store, Command::Enqueue(vec![job()])).await?;
    let claim = Claim {
        ticket: Ticket(tickets.fetch_add(1, Ordering::Relaxed)),
        worker: worker.clone(),
        boot: None,
        claim_id: None,
        filter: filter.clone(),
        max: 1,
        wait: false,
    };
    let Reply::Claimed(jobs) = submit(store, Command::Claim(claim)).await? else {
        bail!("not a claim's answer")
    };
    let reports: Vec<Report> = jobs
        .iter()
        .map(|job| Report {
            job: job.id.clone(),
            holder: Holder {
                worker: worker.clone(),
                lease: job.lease.as_ref().map(|lease| lease.id.clone()),
            },
            outcome: Outcome::Completed(Completion {
                result: RESULT.into(),
                hash: None,
                key: None,
                usage: None,
            }),
        })
        .collect();
    let n = reports.len() as u64;
    submit(store, Command::Report(reports)).await?;
    Ok(n)
}

async fn submit(store: &dyn Store, command: Command) -> anyhow::Result<Reply> {
    match store.submit(command, None).await? {
        Ok(reply) => Ok(reply),
        Err(refusal) => bail!("refused: {refusal}"),
    }
}

fn job() -> NewJob {
    NewJob {
        id: None,
        kind: JobType::trusted("bench"),
        queue: QueueName::default_queue(),
        priority: 0,
        max_attempts: 3,
        max_runtime_ms: Some(300_000),
        due: Due::Now,
        expires_at: None,
        backoff: None,
        idempotency: None,
        spec: Spec { params: PARAMS.into(), ..Spec::default() },
    }
}
