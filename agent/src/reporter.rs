//! Empties the outbox: outcomes leave it only on the hub's definite answer.

use crate::{
    backoff::Backoff,
    hub::{Failed, Hub},
    outbox::{EntryId, Outbox, Outcome},
};
use forge_shared::{
    FailureKind, JobId, LeaseId,
    request::Report,
    response::{ErrorBody, ReportAnswer},
};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Outcomes in one call, and their bytes.
const BATCH_MAX: usize = 100;
const BATCH_BYTES_MAX: usize = 4 << 20;

/// Outcomes whose log is still on its way: they are safe on disk, but told a little later.
#[derive(Debug, Clone, Default)]
pub struct HeldBack(Arc<Back>);

#[derive(Debug, Default)]
struct Back {
    leases: Mutex<HashSet<LeaseId>>,
    changed: Notify,
    idle: Notify,
}

impl HeldBack {
    pub fn add(&self, lease: LeaseId) {
        self.leases().insert(lease);
    }

    pub fn remove(&self, lease: &LeaseId) {
        self.leases().remove(lease);
        self.0.changed.notify_one();
    }

    /// Returns when the reporter finds nothing that it may tell now.
    pub async fn nothing_to_tell(&self) {
        self.0.idle.notified().await;
    }

    fn leases(&self) -> MutexGuard<'_, HashSet<LeaseId>> {
        self.0.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends outcomes until `stop`, oldest first.
pub async fn run(hub: Hub, outbox: Outbox, held_back: HeldBack, stop: CancellationToken) {
    let mut backoff = Backoff::default();
    let mut one_by_one = false;
    loop {
        let batch = next_batch(&outbox, &held_back, if one_by_one { 1 } else { BATCH_MAX });
        if batch.is_empty() {
            one_by_one = false;
            held_back.0.idle.notify_one();
            tokio::select! {
                () = stop.cancelled() => return,
                () = outbox.changed() => {}
                () = held_back.0.changed.notified() => {}
            }
            continue;
        }
        let sent = tokio::select! {
            sent = send(&hub, &outbox, &batch) => sent,
            () = stop.cancelled() => return,
        };
        match sent {
            Ok(()) => backoff.reset(),
            // One of them is at fault, and the hub refused them all.
            Err(Failed::Refused { .. }) if batch.len() > 1 => one_by_one = true,
            Err(error) => {
                let wait = backoff.next(error.wait());
                tracing::warn!(
                    outcomes = outbox.len(),
                    retry_in_ms = wait.as_millis() as u64,
                    "outcomes wait: {error}"
                );
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = stop.cancelled() => return,
                }
            }
        }
    }
}

/// What goes out in one call: either reports, or a single release.
fn next_batch(outbox: &Outbox, held_back: &HeldBack, max: usize) -> Vec<(EntryId, Arc<Outcome>)> {
    let held_back = held_back.leases();
    let mut bytes = 0;
    let mut batch: Vec<(EntryId, Arc<Outcome>)> = Vec::new();
    for (id, outcome) in outbox.pending() {
        if outcome.lease_id().is_some_and(|lease| held_back.contains(lease)) {
            continue;
        }
        bytes += weight(&outcome);
        let alone = matches!(*outcome, Outcome::Release { .. });
        if batch.len() == max || !batch.is_empty() && (alone || bytes > BATCH_BYTES_MAX) {
            break;
        }
        batch.push((id, outcome));
        if alone {
            break;
        }
    }
    batch
}

fn weight(outcome: &Outcome) -> usize {
    const FIXED: usize = 1_024;
    match outcome {
        Outcome::Report(report) => {
            FIXED
                + report.result.as_ref().map_or(0, |result| result.get().len())
                + report.backtrace.as_ref().map_or(0, String::len)
        }
        Outcome::Release { .. } => FIXED,
    }
}

async fn send(hub: &Hub, outbox: &Outbox, batch: &[(EntryId, Arc<Outcome>)]) -> Result<(), Failed> {
    if let [(id, outcome)] = batch
        && let Outcome::Release { job_id, lease_id } = &**outcome
    {
        release(hub, job_id, lease_id).await?;
        outbox.remove(&[*id]).await;
        return Ok(());
    }
    let reports: Vec<&Report> = batch
        .iter()
        .filter_map(|(_, outcome)| match &**outcome {
            Outcome::Report(report) => Some(report),
            Outcome::Release { .. } => None,
        })
        .collect();
    let answers = report(hub, &reports).await?;
    let mut later = Ok(());
    let mut told = Vec::new();
    for (((id, _), report), answer) in batch.iter().zip(&reports).zip(answers) {
        match verdict(report, &answer) {
            Ok(None) => told.push(*id),
            Ok(Some(failure)) => match outbox.put(Outcome::Report(failure), false).await {
                Ok(_) => told.push(*id),
                Err(error) => later = Err(not_now(error.to_string())),
            },
            Err(error) => later = Err(error),
        }
    }
    outbox.remove(&told).await;
    later
}

/// Tells one outcome that is on no disk. Returns on the hub's definite answer.
pub async fn tell(hub: &Hub, mut outcome: Outcome) {
    let mut backoff = Backoff::default();
    loop {
        match tell_once(hub, &outcome).await {
            Ok(None) => return,
            Ok(Some(failure)) => outcome = Outcome::Report(failure),
            Err(error) => {
                let wait = backoff.next(error.wait());
                tracing::warn!(
                    job.id = %outcome.job_id(), retry_in_ms = wait.as_millis() as u64,
                    "an outcome that is on no disk waits: {error}"
                );
                tokio::time::sleep(wait).await;
            }
        }
    }
}

/// What is to be told instead, if anything.
async fn tell_once(hub: &Hub, outcome: &Outcome) -> Result<Option<Report>, Failed> {
    match outcome {
        Outcome::Release { job_id, lease_id } => release(hub, job_id, lease_id).await.map(|()| None),
        Outcome::Report(told) => {
            let answers = report(hub, &[told]).await?;
            let answer = answers.first().ok_or_else(|| not_now("the hub answered nothing".to_owned()))?;
            verdict(told, answer)
        }
    }
}

async fn release(hub: &Hub, job_id: &JobId, lease_id: &LeaseId) -> Result<(), Failed> {
    match hub.release(job_id, lease_id).await {
        Err(error @ Failed::Refused { .. }) => {
            tracing::warn!(job.id = %job_id, "the hub did not take a job back: {error}");
            Ok(())
        }
        answer => answer,
    }
}

async fn report(hub: &Hub, reports: &[&Report]) -> Result<Vec<ReportAnswer>, Failed> {
    match hub.report(reports).await {
        // Alone in its call, it is the one that is refused.
        Err(Failed::Refused { status, code, message }) if reports.len() == 1 => {
            let error = Some(ErrorBody { error: message, code, field: None });
            Ok(vec![ReportAnswer { id: reports[0].job_id.clone(), code: status, status: None, error }])
        }
        answers => answers,
    }
}

/// Whether the hub is done with this report. When it is the result itself that the hub cannot take,
/// the failure that is to be told instead, so that the job does not wait for its lease to end.
fn verdict(report: &Report, answer: &ReportAnswer) -> Result<Option<Report>, Failed> {
    match answer.code {
        200..300 => return Ok(None),
        408 | 429 | 500.. => {
            return Err(not_now(format!("the hub answered {} for job {}", answer.code, answer.id)));
        }
        _ => {}
    }
    let said = answer.error.as_ref().map_or_else(|| answer.code.to_string(), |error| error.error.clone());
    tracing::warn!(job.id = %report.job_id, "the hub does not take this outcome: {said}");
    let is_the_result = report.result.is_some() && matches!(answer.code, 400 | 413 | 422);
    Ok(is_the_result.then(|| Report {
        result: None,
        result_hash: None,
        reason: Some("result_refused".to_owned()),
        kind: FailureKind::Error,
        backtrace: Some(said),
        ..report.clone()
    }))
}

fn not_now(why: String) -> Failed {
    Failed::Later { why, wait: None, token: false }
}
