//! A hub, asked for what a queue in a folder is asked for. Shell commands are jobs of the type
//! `command`, which agents run where their operator allows it.

use super::{Backend, Counts, Deed, FullPages, Job, LogPieces, NewJob, Pages, RunLog, State, no_such_job};
use crate::{
    hub::{Failure, Hub},
    problem::Problem,
};
use async_trait::async_trait;
use forge_agent::hub::{explain, random_hex};
use forge_hub::clock::wall_ms;
use forge_shared::{
    JobId, JobType, Status, View,
    job::Attempt,
    overview::Overview,
    request::{Bulk, JobFilter, NewJob as HubJob, PatchJob},
    response::{BulkAnswer, Enqueued, Reported},
};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::time::{Duration, Instant};

/// What a hub takes in one call, and adds as a whole or not at all.
const BATCH_MAX: usize = 10_000;
/// How long a hub that is away is waited for when jobs are added.
const ENQUEUE_PATIENCE: Duration = Duration::from_secs(5);
/// Jobs looked up at the same time.
const LOOKUPS: usize = 16;
/// How long a log is followed through a hub that is away.
const FOLLOW_PATIENCE: Duration = Duration::from_secs(60);
/// The hub tells nobody when a long action is done, or when it is back.
const LOOK_EVERY: Duration = Duration::from_millis(500);

#[async_trait]
impl Backend for Hub {
    async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<Job>, Problem> {
        if jobs.len() > BATCH_MAX {
            return Err(Problem::usage(
                "Too many jobs at once",
                format!(
                    "a hub adds up to {BATCH_MAX} or none; `queuectl batch submit` takes any number, in steps"
                ),
            ));
        }
        let key = random_hex().map_err(|error| Problem::Storage(format!("{error:#}")))?;
        let jobs = jobs.into_iter().map(|job| hub_job(job, &key)).collect::<Result<Vec<_>, _>>()?;
        let answers: Vec<Enqueued> = match &jobs[..] {
            [] => Vec::new(),
            [job] => vec![added(
                self,
                self.post("/api/jobs").json(job).repeatable_for(ENQUEUE_PATIENCE).try_read().await?,
            )?],
            jobs => added(
                self,
                self.post("/api/jobs/batch").json(jobs).repeatable_for(ENQUEUE_PATIENCE).try_read().await?,
            )?,
        };
        let looked_up =
            stream::iter(answers).map(|added| async move { found(self, added.id.as_str()).await });
        let jobs: Vec<forge_shared::Job> = looked_up.buffered(LOOKUPS).try_collect().await?;
        let now_ms = wall_ms();
        Ok(jobs.into_iter().map(|job| Job::shown(job, now_ms)).collect())
    }

    async fn counts(&self) -> Result<Counts, Problem> {
        let Overview { jobs, views, workers, .. } = self.get("/api/overview").read().await?;
        Ok(Counts {
            pending: jobs.pending.saturating_sub(views.retrying),
            processing: jobs.assigned + jobs.running,
            completed: jobs.completed,
            failed: jobs.failed + views.retrying,
            dead: jobs.quarantined,
            active_workers: workers.online + workers.draining,
        })
    }

    async fn list(&self, state: Option<State>, pages: Pages<'_>) -> Result<(), Problem> {
        let status = |status| JobFilter { status: Some(status), ..JobFilter::default() };
        let filters = match state {
            None => vec![JobFilter::default()],
            Some(State::Pending) => vec![status(Status::Pending)],
            Some(State::Processing) => vec![status(Status::Assigned), status(Status::Running)],
            Some(State::Completed) => vec![status(Status::Completed)],
            Some(State::Failed) => {
                vec![JobFilter { view: Some(View::Retrying), ..JobFilter::default() }, status(Status::Failed)]
            }
            Some(State::Dead) => vec![status(Status::Quarantined)],
        };
        for filter in filters {
            let mut print = |jobs: Vec<forge_shared::Job>| {
                let now_ms = wall_ms();
                let wanted = |job: &Job| state.map_or(job.state != State::Dead, |state| job.state == state);
                let jobs: Vec<Job> =
                    jobs.into_iter().map(|job| Job::shown(job, now_ms)).filter(wanted).collect();
                pages(&jobs)
            };
            self.jobs(&filter, u64::MAX, &mut print).await?;
        }
        Ok(())
    }

    async fn retry_dead(&self, id: &str) -> Result<Option<Job>, Problem> {
        match self.job(id).await? {
            Some(job) if job.status == Status::Quarantined => {}
            _ => return Ok(None),
        }
        self.act(id, &Deed::Retry).await?;
        Ok(Some(Job::shown(found(self, id).await?, wall_ms())))
    }

    async fn logs(&self, id: &str, attempt: Option<u32>) -> Result<Option<Vec<RunLog>>, Problem> {
        let Some(job) = self.job(id).await? else { return Ok(None) };
        let mut logs = Vec::new();
        for attempt in (1..=job.attempt).filter(|run| attempt.is_none_or(|wanted| wanted == *run)) {
            let call = self.get(format!("/api/jobs/{id}/logs")).query("attempt", attempt);
            logs.push(RunLog { attempt, bytes: call.bytes().await?.to_vec() });
        }
        Ok(Some(logs))
    }

    async fn follow_logs(&self, id: &str, pieces: LogPieces<'_>) -> Result<(), Problem> {
        found(self, id).await?;
        let (mut attempt, mut offset, mut lost_since) = (1, 0_u64, None::<Instant>);
        loop {
            let call = self.get(format!("/api/jobs/{id}/logs")).query("attempt", attempt);
            let call = call.query("offset", offset).query("follow", 1);
            let broken = match call.stream().await {
                Err(failure) => Some(failure),
                Ok(mut response) => {
                    lost_since = None;
                    // Later than asked for when the oldest bytes are gone.
                    offset = log_offset(&response).unwrap_or(offset);
                    loop {
                        match response.chunk().await {
                            Ok(Some(bytes)) => {
                                offset += bytes.len() as u64;
                                pieces(attempt, &bytes)?;
                            }
                            Ok(None) => break None,
                            Err(error) => break Some(Failure::away(explain(&error))),
                        }
                    }
                }
            };
            if let Some(failure) = broken {
                let since = *lost_since.get_or_insert_with(Instant::now);
                if !failure.may_pass || since.elapsed() > FOLLOW_PATIENCE {
                    return Err(failure.problem(self));
                }
                tokio::time::sleep(LOOK_EVERY).await;
                continue;
            }
            // The stream of a run ends with the run, or when the hub stops.
            let call = self.get(format!("/api/jobs/{id}")).repeatable_for(FOLLOW_PATIENCE);
            let job: forge_shared::Job = call.find().await?.ok_or_else(|| no_such_job(id))?;
            if job.attempt > attempt {
                (attempt, offset) = (attempt + 1, 0);
            } else if job.status.is_terminal() {
                return Ok(());
            }
        }
    }

    async fn job(&self, id: &str) -> Result<Option<forge_shared::Job>, Problem> {
        match JobId::new(id) {
            Ok(id) => self.get(format!("/api/jobs/{id}")).find().await,
            Err(_) => Ok(None),
        }
    }

    async fn attempts(&self, id: &str) -> Result<Vec<Attempt>, Problem> {
        Ok(self.get(format!("/api/jobs/{id}/attempts")).find().await?.unwrap_or_default())
    }

    async fn jobs(&self, filter: &JobFilter, most: u64, pages: FullPages<'_>) -> Result<(), Problem> {
        let mut listing = self.get("/api/jobs").filter(filter).listing();
        let mut left = most;
        while let Some(jobs) = listing.next(left).await? {
            left = left.saturating_sub(jobs.len() as u64);
            pages(jobs)?;
        }
        Ok(())
    }

    async fn act(&self, id: &str, deed: &Deed) -> Result<Option<Status>, Problem> {
        let id = JobId::new(id).map_err(|_| no_such_job(id))?;
        let acted = |word: &str| self.post(format!("/api/jobs/{id}/{word}")).try_read::<Reported>();
        let answer = match deed {
            Deed::Cancel => acted("cancel").await?,
            Deed::Retry => acted("retry").await?,
            Deed::RunNow => acted("run-now").await?,
            Deed::Kill => acted("kill").await?,
            Deed::Delete => {
                let call = self.delete(format!("/api/jobs/{id}")).query("purge", true);
                return match call.try_done().await {
                    Ok(()) => Ok(None),
                    Err(failure) => Err(refused(self, id.as_str(), &failure)),
                };
            }
            Deed::Change(PatchJob { priority, run_at, queue }) => {
                let mut fields = serde_json::Map::new();
                let mut set = |name: &str, value: Option<serde_json::Value>| {
                    value.map(|value| fields.insert(name.to_owned(), value))
                };
                set("priority", priority.map(Into::into));
                set("run_at", run_at.map(Into::into));
                set("queue", queue.as_ref().map(|queue| queue.as_str().into()));
                let call = self.patch(format!("/api/jobs/{id}")).json(&fields);
                let changed = call.try_read::<forge_shared::Job>().await?;
                changed.map(|job| Reported { id: job.id, status: job.status, next_retry_at: None })
            }
        };
        answer.map(|state| Some(state.status)).map_err(|failure| refused(self, id.as_str(), &failure))
    }

    async fn act_on_all(&self, bulk: &Bulk) -> Result<BulkAnswer, Problem> {
        let call = self.post("/api/jobs/bulk").json(bulk).waiting(Duration::from_secs(30));
        let mut answer: BulkAnswer = call.read().await?;
        while let (false, Some(operation)) = (answer.done, answer.operation.clone()) {
            tokio::time::sleep(LOOK_EVERY).await;
            answer = self.get(format!("/api/operations/{operation}")).read().await?;
        }
        Ok(answer)
    }

    /// There is nothing to close.
    async fn close(&self) {}
}

fn log_offset(response: &reqwest::Response) -> Option<u64> {
    response.headers().get("x-log-offset")?.to_str().ok()?.parse().ok()
}

async fn found(hub: &Hub, id: &str) -> Result<forge_shared::Job, Problem> {
    hub.job(id).await?.ok_or_else(|| no_such_job(id))
}

fn added<T>(hub: &Hub, answer: Result<T, Failure>) -> Result<T, Problem> {
    answer.map_err(|failure| match failure.body.code.as_str() {
        "id_taken" => Problem::refused(
            "The hub has a job with this id",
            format!("{}; `queuectl jobs delete ID` removes one that has ended", failure.body.error),
        ),
        _ => failure.problem(hub),
    })
}

fn refused(hub: &Hub, id: &str, failure: &Failure) -> Problem {
    match failure.body.code.as_str() {
        _ if failure.is_not_found() => no_such_job(id),
        "wrong_state" => {
            Problem::refused(&format!("Job {id} is not in a state for this"), &failure.body.error)
        }
        _ => failure.problem(hub),
    }
}

/// With a key by which the hub knows a repetition.
fn hub_job(new: NewJob, key: &str) -> Result<HubJob, Problem> {
    if new.attempts > 0 {
        return Err(Problem::usage(
            "Invalid attempts",
            "a job of a hub begins without failed runs; leave attempts out",
        ));
    }
    Ok(HubJob {
        idempotency_key: Some(format!("{key}:{}", new.id)),
        id: Some(new.id),
        kind: JobType::trusted("command"),
        queue: None,
        params: None,
        priority: Some(new.priority).filter(|priority| *priority != 0),
        max_attempts: new.max_retries.map(|retries| retries.saturating_add(1)),
        // As in a folder, there is no limit unless one is named.
        max_runtime_ms: Some(new.timeout_ms),
        run_at: new.run_at,
        delay_ms: None,
        expires_at: None,
        backoff: None,
        tags: None,
        command: Some(new.command),
        solver_url: None,
        solver_checksum: None,
    })
}
