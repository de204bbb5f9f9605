//! `bench`: how fast a hub is from here. Its jobs are in a queue of their own, and removed however it ends.
//!
//! Jobs are added for a day far away, so that nobody can take them. To be claimed they must be due: that is
//! left out when a worker is there that would take them. Then they are cancelled in the end, which a hub
//! counts as failed; else they are all completed.

use crate::{
    backend::Backend as _,
    hub::Hub,
    output::{self, Format, Record, Shape},
    problem::Problem,
};
use clap::Args;
use forge_hub::clock::wall_ms;
use forge_shared::{
    JobType, QueueName, QueuePattern, WorkerId,
    job::FailureKind,
    request::{Bulk, BulkAction, Claim, JobFilter, JobResult, NewJob, Report},
    response::{ClaimedJob, Enqueued, Health, ReportAnswer, Reported, Worker, WorkerState},
};
use serde_json::{Value, value::RawValue};
use std::{
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

const KIND: &str = "queuectl-bench";
const CLAIM: &str = "claim and result";
const CLAIM_MANY: &str = "claim and result, many";
/// Jobs in one of many claims.
const CHUNK: u32 = 100;
/// Long after the bench is over; expired long before, should cleaning up be impossible.
const NEVER_MS: i64 = 7 * 24 * 3_600_000;
const EXPIRES_MS: i64 = 3_600_000;

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// A tenth of everything: a glance, not a measurement
    #[arg(long)]
    quick: bool,
}

const FIGURES: Shape = Shape {
    fields: &["measure", "count", "median_ms", "p99_ms", "per_second", "note"],
    columns: &["measure", "count", "median_ms", "p99_ms", "per_second", "note"],
};

/// One line of the answer.
#[derive(Debug)]
struct Figure {
    measure: &'static str,
    /// How long each took.
    took: Vec<Duration>,
    /// Jobs or calls in each.
    each: u32,
    note: Option<String>,
}

impl Figure {
    fn of(measure: &'static str, took: Vec<Duration>) -> Self {
        Self { measure, took, each: 1, note: None }
    }

    fn missing(measure: &'static str, why: impl Into<String>) -> Self {
        Self { measure, took: Vec::new(), each: 1, note: Some(format!("not measured: {}", why.into())) }
    }

    fn record(&self) -> Record {
        let mut took = self.took.clone();
        took.sort_unstable();
        let total: Duration = took.iter().sum();
        let done = took.len() as f64 * f64::from(self.each);
        let ms = |share: f64| {
            percentile(&took, share).map_or(Value::Null, |took| rounded(took.as_secs_f64() * 1_000.0))
        };
        let rate = (!took.is_empty() && !total.is_zero()).then(|| done / total.as_secs_f64());
        Record(vec![
            ("measure", self.measure.into()),
            (
                "count",
                if took.is_empty() { Value::Null } else { (took.len() as u64 * u64::from(self.each)).into() },
            ),
            ("median_ms", ms(0.5)),
            // Of fewer, the slowest one is an accident and no percentile.
            ("p99_ms", if took.len() >= 100 { ms(0.99) } else { Value::Null }),
            ("per_second", rate.map_or(Value::Null, |rate| (rate.round() as u64).into())),
            ("note", self.note.clone().map_or(Value::Null, Value::from)),
        ])
    }
}

fn rounded(ms: f64) -> Value {
    Value::from((ms * 100.0).round() / 100.0)
}

/// Of what is sorted.
fn percentile(sorted: &[Duration], share: f64) -> Option<Duration> {
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1).min(sorted.len().saturating_sub(1))).copied()
}

pub(super) async fn run(hub: &Hub, command: &Bench, format: Option<Format>) -> Result<(), Problem> {
    let bench = Measuring::new(hub, command.quick)?;
    let measured = {
        let mut all = pin!(bench.all());
        tokio::select! {
            measured = &mut all => measured,
            // A request that is under way is waited for: the hub would carry it out after the cleaning.
            _ = tokio::signal::ctrl_c() => {
                bench.is_over.store(true, Ordering::Relaxed);
                all.await
            }
        }
    };
    // Whatever happened: what was added is removed.
    let cancelled = bench.clean_up().await;
    let figures = measured?;
    output::print_all(format, FIGURES, figures.iter().map(Figure::record))?;
    let cancelled = cancelled?;
    if output::is_for_people(format) {
        output::say("\nOne caller, one call after the other: the way there and back is in every figure.")?;
        let counted = match cancelled {
            0 => String::new(),
            n => format!(" The hub counts {n} of them as failed, because they were cancelled."),
        };
        output::say(&format!("Its jobs are removed.{counted}"))?;
    }
    Ok(())
}

struct Measuring<'a> {
    hub: &'a Hub,
    queue: QueueName,
    worker: WorkerId,
    calls: u32,
    batch: u32,
    /// Somebody has seen enough.
    is_over: AtomicBool,
}

impl<'a> Measuring<'a> {
    fn new(hub: &'a Hub, is_quick: bool) -> Result<Self, Problem> {
        let name = format!("{KIND}-{}-{}", std::process::id(), wall_ms());
        let invalid = |error: forge_shared::Invalid| Problem::usage("Invalid name", error.to_string());
        let (calls, batch) = if is_quick { (20, 100) } else { (200, 1_000) };
        let (queue, worker) =
            (QueueName::new(&name).map_err(invalid)?, WorkerId::new(&name).map_err(invalid)?);
        Ok(Self { hub, queue, worker, calls, batch, is_over: AtomicBool::new(false) })
    }

    async fn all(&self) -> Result<Vec<Figure>, Problem> {
        Ok(vec![
            self.requests().await?,
            self.or_missing("enqueue", self.enqueue().await)?,
            self.or_missing("batch", self.add_batches().await)?,
            self.or_missing(CLAIM, self.claim().await)?,
            self.or_missing(CLAIM_MANY, self.claim_many().await)?,
        ])
    }

    /// Between any two requests.
    fn go_on(&self) -> Result<(), Problem> {
        match self.is_over.load(Ordering::Relaxed) {
            true => Err(Problem::Interrupted(String::new())),
            false => Ok(()),
        }
    }

    /// What a token may not do is left out.
    fn or_missing(&self, measure: &'static str, figure: Result<Figure, Problem>) -> Result<Figure, Problem> {
        match figure {
            Err(Problem::Denied(_)) => Ok(Figure::missing(measure, "the token may not do this")),
            figure => figure,
        }
    }

    async fn requests(&self) -> Result<Figure, Problem> {
        let mut took = Vec::new();
        // The first one opens the connection.
        for n in 0..=self.calls {
            self.go_on()?;
            let began = Instant::now();
            let _: Health = self.hub.get("/api/health").read().await?;
            if n > 0 {
                took.push(began.elapsed());
            }
        }
        Ok(Figure::of("request", took))
    }

    fn job(&self, is_due: bool) -> NewJob {
        let now_ms = wall_ms();
        NewJob {
            id: None,
            kind: JobType::trusted(KIND),
            queue: Some(self.queue.clone()),
            params: None,
            priority: None,
            max_attempts: None,
            max_runtime_ms: None,
            run_at: (!is_due).then_some(now_ms + NEVER_MS),
            delay_ms: None,
            expires_at: is_due.then_some(now_ms + EXPIRES_MS),
            backoff: None,
            tags: None,
            idempotency_key: None,
            command: None,
            solver_url: None,
            solver_checksum: None,
        }
    }

    async fn enqueue(&self) -> Result<Figure, Problem> {
        let mut took = Vec::new();
        for _ in 0..self.calls {
            self.go_on()?;
            let began = Instant::now();
            let _: Enqueued = self.hub.post("/api/jobs").json(&self.job(false)).read().await?;
            took.push(began.elapsed());
        }
        Ok(Figure {
            note: Some("each on the hub's disk before it is answered".to_owned()),
            ..Figure::of("enqueue", took)
        })
    }

    async fn add_batches(&self) -> Result<Figure, Problem> {
        let jobs: Vec<NewJob> = (0..self.batch).map(|_| self.job(false)).collect();
        let mut took = Vec::new();
        for _ in 0..3 {
            self.go_on()?;
            let began = Instant::now();
            let _: Vec<Enqueued> = self.hub.post("/api/jobs/batch").json(&jobs).read().await?;
            took.push(began.elapsed());
        }
        let note = Some(format!("{} jobs in each call", self.batch));
        Ok(Figure { each: self.batch, note, ..Figure::of("batch", took) })
    }

    /// Why jobs that are due would not come back.
    async fn taker(&self) -> Result<Option<String>, Problem> {
        let workers: Vec<Worker> = self.hub.get("/api/workers").read().await?;
        let takes = |worker: &&Worker| {
            worker.state == WorkerState::Online
                && (worker.types.is_empty() || worker.types.iter().any(|kind| kind.as_str() == KIND))
                && (worker.queues.is_empty()
                    || worker.queues.iter().any(|pattern| pattern.matches(&self.queue)))
        };
        Ok(workers.iter().find(takes).map(|worker| format!("worker {} would take the jobs", worker.id)))
    }

    async fn claim(&self) -> Result<Figure, Problem> {
        if let Some(why) = self.taker().await? {
            return Ok(Figure::missing(CLAIM, why));
        }
        let mut took = Vec::new();
        for _ in 0..self.calls {
            self.go_on()?;
            let _: Enqueued = self.hub.post("/api/jobs").json(&self.job(true)).read().await?;
            let began = Instant::now();
            let Some(job) = self.take(1).await?.pop() else {
                return Ok(Figure::missing(CLAIM, "another worker took a job of the bench"));
            };
            let result = JobResult {
                worker_id: self.worker.clone(),
                lease_id: Some(job.lease_id),
                result: RawValue::NULL.to_owned(),
                result_hash: None,
                usage: None,
            };
            let path = format!("/api/jobs/{}/result", job.job.id);
            let _: Reported = self.hub.post(path).json(&result).read().await?;
            took.push(began.elapsed());
        }
        Ok(Figure {
            note: Some("both together, of jobs that do nothing".to_owned()),
            ..Figure::of(CLAIM, took)
        })
    }

    /// All that was added before, which is completed in this way.
    async fn claim_many(&self) -> Result<Figure, Problem> {
        if let Some(why) = self.taker().await? {
            return Ok(Figure::missing(CLAIM_MANY, why));
        }
        self.to_all(BulkAction::RunNow).await?;
        let mut took = Vec::new();
        loop {
            self.go_on()?;
            let began = Instant::now();
            let jobs = self.take(CHUNK).await?;
            let taken = jobs.len();
            if taken == 0 {
                break;
            }
            let reports: Vec<Report> = jobs.into_iter().map(|job| self.completed(job)).collect();
            let _: Vec<ReportAnswer> = self.hub.post("/api/jobs/results").json(&reports).read().await?;
            // The last ones may be fewer, which would flatter the figure.
            if taken == CHUNK as usize {
                took.push(began.elapsed());
            }
        }
        let note = Some(format!("{CHUNK} jobs in each call"));
        Ok(Figure { each: CHUNK, note, ..Figure::of(CLAIM_MANY, took) })
    }

    fn completed(&self, job: ClaimedJob) -> Report {
        Report {
            job_id: job.job.id,
            worker_id: self.worker.clone(),
            lease_id: Some(job.lease_id),
            // Not null, which would be no result at all.
            result: Some(RawValue::TRUE.to_owned()),
            result_hash: None,
            idempotency_key: None,
            reason: None,
            kind: FailureKind::default(),
            permanent: false,
            retry_in_ms: None,
            error_class: None,
            backtrace: None,
            usage: None,
        }
    }

    async fn take(&self, most: u32) -> Result<Vec<ClaimedJob>, Problem> {
        let claim = Claim {
            worker_id: self.worker.clone(),
            types: vec![JobType::trusted(KIND)],
            queues: vec![
                QueuePattern::new(self.queue.as_str()).map_err(|error| Problem::Usage(error.to_string()))?,
            ],
            wait_ms: None,
            max: Some(most),
            free: None,
            claim_id: None,
            boot_id: None,
        };
        self.hub.post("/api/jobs/claim").json(&claim).read().await
    }

    /// Only to jobs of the bench's own queue. Answers to how many.
    async fn to_all(&self, action: BulkAction) -> Result<u64, Problem> {
        let filter = JobFilter { queue: Some(self.queue.clone()), ..JobFilter::default() };
        let bulk = Bulk { action, filter, priority: None, dry_run: false };
        Ok(self.hub.act_on_all(&bulk).await?.changed)
    }

    /// Answers how many jobs had to be cancelled for it.
    async fn clean_up(&self) -> Result<u64, Problem> {
        let removed = async {
            let cancelled = self.to_all(BulkAction::Cancel).await?;
            self.to_all(BulkAction::Delete).await?;
            Ok(cancelled)
        };
        match removed.await {
            // A token that may not do this could not add any either.
            Err(Problem::Denied(_)) => Ok(0),
            Err(problem) => {
                let queue = &self.queue;
                Err(Problem::unreachable(
                    "The jobs of the bench are still there",
                    format!(
                        "{}; remove them with `queuectl jobs cancel --queue {queue}` and `queuectl jobs delete --queue {queue}`",
                        problem.to_string().replace('\n', ":")
                    ),
                ))
            }
            cancelled => cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_say_no_more_than_was_measured() {
        let took = |n: u64| (1..=n).map(Duration::from_millis).collect::<Vec<_>>();
        let json = |figure: Figure| serde_json::to_value(figure.record()).unwrap();
        let figure = json(Figure::of("x", took(200)));
        assert_eq!((&figure["median_ms"], &figure["p99_ms"]), (&100.0.into(), &198.0.into()));
        let few = json(Figure { each: 10, ..Figure::of("x", took(3)) });
        assert_eq!((&few["median_ms"], few.get("p99_ms"), &few["count"]), (&2.0.into(), None, &30.into()));
        assert_eq!(few["per_second"], 5_000);
        let missing = json(Figure::missing("x", "why"));
        assert_eq!(missing, serde_json::json!({"measure": "x", "note": "not measured: why"}));
    }
}
