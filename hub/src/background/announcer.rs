//! Writes one log line for each job created, claimed, completed, retried or timed out, and for
//! each worker registered or lost. It reads the published events, so no request waits for a line.

use crate::hub::Hub;
use forge_engine::lifecycle::{LEASE_EXPIRED, PREPARE_TIMEOUT, RUNTIME_EXCEEDED};
use forge_shared::{
    Status,
    event::{Event, EventKind},
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub async fn run(hub: Arc<Hub>, stop: CancellationToken) {
    if !tracing::enabled!(tracing::Level::INFO) {
        return;
    }
    let mut newest = hub.events.subscribe();
    let mut cursor = *newest.borrow_and_update();
    loop {
        tokio::select! {
            changed = newest.changed() => if changed.is_err() { return },
            () = stop.cancelled() => return,
        }
        loop {
            let batches = match hub.events.after(&*hub.store, cursor).await {
                Ok(batches) if !batches.is_empty() => batches,
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, "events could not be read for the log");
                    break;
                }
            };
            for event in batches.iter().flat_map(|batch| batch.events.iter()) {
                cursor = event.seq;
                announce(event);
            }
        }
    }
}

/// Reasons are a worker's words and may hold anything, so only the hub's own are logged.
fn announce(event: &Event) {
    let job = event.job_id.as_ref().map(|id| id.as_str());
    let kind = event.job_type.as_ref().map(|kind| kind.as_str());
    let worker = event.worker_id.as_ref().map(|id| id.as_str());
    let attempt = event.attempt;
    let own_reason = event
        .reason
        .as_deref()
        .filter(|reason| [LEASE_EXPIRED, PREPARE_TIMEOUT, RUNTIME_EXCEEDED].contains(reason));
    match event.kind {
        EventKind::JobCreated => tracing::info!(job.id = job, job.type = kind, "job created"),
        EventKind::JobAssigned => {
            let wait_ms = event.wait_ms;
            tracing::info!(job.id = job, worker.id = worker, attempt, wait_ms, "job claimed");
        }
        EventKind::JobCompleted => {
            let duration_ms = event.run_ms;
            tracing::info!(job.id = job, worker.id = worker, attempt, duration_ms, "job completed");
        }
        EventKind::JobFailed => match (own_reason, event.status) {
            (Some(reason), _) => {
                tracing::info!(job.id = job, worker.id = worker, attempt, reason, "job timed out");
            }
            (None, Some(Status::Pending)) => {
                let run_at = event.run_at;
                tracing::info!(
                    job.id = job,
                    worker.id = worker,
                    attempt,
                    run_at,
                    "job failed and will be retried"
                );
            }
            (None, _) => tracing::info!(job.id = job, worker.id = worker, attempt, "job failed"),
        },
        EventKind::JobQuarantined => tracing::info!(job.id = job, attempt, "job quarantined"),
        EventKind::WorkerRegistered => tracing::info!(worker.id = worker, "worker registered"),
        EventKind::WorkerLost => tracing::info!(worker.id = worker, "worker lost"),
        _ => {}
    }
}
