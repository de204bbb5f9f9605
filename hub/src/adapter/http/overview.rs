//! The first thing a dashboard shows.

use axum::extract::State;
use forge_engine::plan::Flow;
use forge_shared::{
    QueueName, Status, View,
    fleet::NodeStatus,
    overview::{
        Ended, JobStates, JobViews, MachineStates, Overview, QueueOverview, Throughput, WorkerStates,
    },
    response::{ErrorBody, Worker, WorkerState},
};
use std::{collections::BTreeMap, sync::Arc};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{app::App, error::ApiResult, json::Json};
use crate::store::{FlowAt, JobsOverview};

const MINUTE_MS: i64 = 60_000;
const MINUTES_SHOWN: i64 = 60;
const DAY_MS: i64 = 86_400_000;
const DAYS_SHOWN: i64 = 30;

pub fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default().routes(routes!(overview))
}

/// Everything at a glance
///
/// Machines, workers, jobs, queues and what was done lately. Taken from counters that are written
/// with what they count, so it costs the same however many jobs there are.
#[utoipa::path(
    get, path = "/api/overview", tag = "operations",
    responses(
        (status = 200, description = "As of `ts`", body = Overview),
        (status = 401, description = "No valid token", body = ErrorBody),
        (status = 403, description = "The token may not read this", body = ErrorBody),
    ),
    security(("token" = ["viewer"])),
)]
async fn overview(State(app): State<Arc<App>>) -> ApiResult<Json<Overview>> {
    let now_ms = app.hub.now_ms();
    let jobs = app.store.overview(now_ms).await?;
    let workers = app.store.workers().await?;
    let machines = app.fleet.ids().into_iter().filter_map(|id| app.fleet.status(&id));
    Ok(Json(assemble(now_ms, &jobs, &workers, machines)))
}

fn assemble(
    now_ms: i64,
    jobs: &JobsOverview,
    workers: &[Worker],
    machines: impl Iterator<Item = NodeStatus>,
) -> Overview {
    let statuses = states(jobs);
    let view =
        |wanted: View| jobs.views.iter().filter(|((view, _), _)| *view == wanted).map(|(_, n)| n).sum();
    let (scheduled, retrying): (u64, u64) = (view(View::Scheduled), view(View::Retrying));
    let days = spread(&jobs.days, now_ms, DAY_MS, DAYS_SHOWN);
    let today = days.last().copied().unwrap_or_default();
    Overview {
        ts: now_ms,
        machines: machine_states(machines),
        workers: worker_states(workers),
        slots: alive(workers).map(|worker| u64::from(worker.slots)).sum(),
        // A worker may hold a job ahead of the slot that will run it.
        busy: alive(workers).map(|worker| worker.jobs.min(u64::from(worker.slots))).sum(),
        views: JobViews {
            due: statuses.pending.saturating_sub(scheduled + retrying),
            scheduled,
            retrying,
            // Nothing can block a job yet but its time.
            blocked: 0,
            dead: statuses.quarantined,
            cancelled: view(View::Cancelled),
        },
        jobs: statuses,
        oldest_waiting_ms: jobs.oldest.iter().map(|(_, due_at)| now_ms - due_at).max(),
        queues: queues(now_ms, jobs),
        today: Ended { completed: today.completed, failed: today.failed },
        total: Ended { completed: jobs.total.completed, failed: jobs.total.failed },
        minutes: spread(&jobs.minutes, now_ms, MINUTE_MS, MINUTES_SHOWN),
        days,
    }
}

fn machine_states(machines: impl Iterator<Item = NodeStatus>) -> MachineStates {
    let mut states = MachineStates::default();
    for status in machines {
        match status {
            NodeStatus::Online => states.online += 1,
            NodeStatus::Degraded => states.degraded += 1,
            NodeStatus::Offline => states.offline += 1,
        }
    }
    states
}

fn worker_states(workers: &[Worker]) -> WorkerStates {
    let mut states = WorkerStates::default();
    for worker in workers {
        match worker.state {
            WorkerState::Online => states.online += 1,
            WorkerState::Draining => states.draining += 1,
            WorkerState::Lost => states.lost += 1,
        }
    }
    states
}

fn alive(workers: &[Worker]) -> impl Iterator<Item = &Worker> {
    workers.iter().filter(|worker| worker.state != WorkerState::Lost)
}

fn states(jobs: &JobsOverview) -> JobStates {
    let mut states = JobStates::default();
    for count in &jobs.counts {
        let state = match count.status {
            Status::Pending => &mut states.pending,
            Status::Assigned => &mut states.assigned,
            Status::Running => &mut states.running,
            Status::Completed => &mut states.completed,
            Status::Failed => &mut states.failed,
            Status::Quarantined => &mut states.quarantined,
        };
        *state += count.n;
    }
    states
}

fn queues(now_ms: i64, jobs: &JobsOverview) -> Vec<QueueOverview> {
    let mut queues: BTreeMap<&QueueName, QueueOverview> = BTreeMap::new();
    fn of<'a, 'q>(
        queues: &'a mut BTreeMap<&'q QueueName, QueueOverview>,
        name: &'q QueueName,
    ) -> &'a mut QueueOverview {
        queues.entry(name).or_insert_with(|| QueueOverview {
            name: name.clone(),
            due: 0,
            scheduled: 0,
            running: 0,
            oldest_wait_ms: None,
            completed_last_hour: 0,
            failed_last_hour: 0,
        })
    }
    for count in &jobs.counts {
        let queue = of(&mut queues, &count.queue);
        match count.status {
            Status::Pending => queue.due += count.n,
            Status::Assigned | Status::Running => queue.running += count.n,
            Status::Completed | Status::Failed | Status::Quarantined => {}
        }
    }
    for ((view, name), n) in &jobs.views {
        if matches!(view, View::Scheduled | View::Retrying) {
            let queue = of(&mut queues, name);
            queue.scheduled += n;
            queue.due = queue.due.saturating_sub(*n);
        }
    }
    for (name, due_at) in &jobs.oldest {
        let queue = of(&mut queues, name);
        queue.oldest_wait_ms = queue.oldest_wait_ms.max(Some(now_ms - due_at));
    }
    let first_minute = period(now_ms, MINUTE_MS) - (MINUTES_SHOWN - 1) * MINUTE_MS;
    for FlowAt { ts, queue, flow } in &jobs.minutes {
        if let Some(name) = queue.as_ref().filter(|_| *ts >= first_minute) {
            let queue = of(&mut queues, name);
            queue.completed_last_hour += flow.completed;
            queue.failed_last_hour += flow.failed;
        }
    }
    queues.into_values().collect()
}

fn period(now_ms: i64, span_ms: i64) -> i64 {
    now_ms.div_euclid(span_ms) * span_ms
}

/// One entry for each of the last `n` periods, whether or not anything ended in it.
fn spread(flows: &[FlowAt], now_ms: i64, span_ms: i64, n: i64) -> Vec<Throughput> {
    let first = period(now_ms, span_ms) - (n - 1) * span_ms;
    let mut periods: Vec<Throughput> =
        (0..n).map(|at| Throughput { ts: first + at * span_ms, ..Throughput::default() }).collect();
    for FlowAt { ts, flow: Flow { completed, failed, failed_attempts }, .. } in flows {
        let at = usize::try_from((ts - first).div_euclid(span_ms)).ok();
        if let Some(period) = at.and_then(|at| periods.get_mut(at)) {
            period.completed += completed;
            period.failed += failed;
            period.failed_attempts += failed_attempts;
        }
    }
    periods
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_without_an_end_are_there_and_old_ones_are_not() {
        let at = |ts, queue: &str, completed| FlowAt {
            ts,
            queue: Some(QueueName::trusted(queue)),
            flow: Flow { completed, ..Flow::default() },
        };
        let now_ms = 100 * MINUTE_MS + 7;
        let flows = [at(40 * MINUTE_MS, "a", 9), at(41 * MINUTE_MS, "a", 1), at(100 * MINUTE_MS, "a", 2)];
        let more = [at(100 * MINUTE_MS, "b", 3)];
        let minutes = spread(&[&flows[..], &more[..]].concat(), now_ms, MINUTE_MS, 60);
        let ends: Vec<_> = minutes.iter().map(|minute| minute.completed).collect();
        assert_eq!((minutes.len(), minutes[0].ts, minutes[59].ts), (60, 41 * MINUTE_MS, 100 * MINUTE_MS));
        assert_eq!((ends[0], ends[59], ends.iter().sum::<u64>()), (1, 5, 6));
        let jobs = JobsOverview { minutes: flows.to_vec(), ..JobsOverview::default() };
        assert_eq!(queues(now_ms, &jobs)[0].completed_last_hour, 3);
    }
}
