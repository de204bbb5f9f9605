//! `jobs watch`: what happens to jobs, until they have ended.

use super::super::{events::Printer, interruptible};
use crate::{
    backend::{Backend as _, no_such_job},
    hub::{Events, Happened, Hub},
    output::Format,
    problem::Problem,
};
use clap::Args;
use forge_shared::{Job, JobId, Status, event::Event, request::Scope, response::Session};
use std::collections::BTreeSet;

#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Which jobs; the command ends when all of them have
    #[arg(value_name = "JOB_ID", required = true)]
    ids: Vec<JobId>,
}

pub(crate) async fn run(hub: &Hub, command: &Watch, format: Option<Format>) -> Result<(), Problem> {
    let mut printer = Printer::new(format);
    let ended = interruptible(watch(hub, &command.ids, &mut printer)).await;
    printer.end()?;
    let ended = ended?;
    let bad: Vec<&Job> = ended.iter().filter(|job| job.status != Status::Completed).collect();
    match &bad[..] {
        [] => Ok(()),
        [job] if ended.len() == 1 => Err(fate(job)),
        bad => Err(Problem::Failed(format!("{} of {} jobs did not complete", bad.len(), ended.len()))),
    }
}

/// Why a job that has ended did not complete.
pub(crate) fn fate(job: &Job) -> Problem {
    let reason = job.fail_reason.as_deref().unwrap_or("no reason was given");
    let how = match job.status {
        Status::Quarantined => "is dead",
        _ if reason == "cancelled" => "was cancelled",
        _ => "failed",
    };
    Problem::Failed(format!(
        "Job {} {how}: {reason}\n  `queuectl jobs logs {}` shows what it wrote, `queuectl jobs retry {}` tries it again",
        job.id, job.id, job.id
    ))
}

/// Returns the jobs when all have ended.
async fn watch(hub: &Hub, ids: &[JobId], printer: &mut Printer) -> Result<Vec<Job>, Problem> {
    let mut waiting: BTreeSet<JobId> = ids.iter().cloned().collect();
    let mut ended = Vec::new();
    // With one job the hub chooses; with several all events come and are chosen here.
    let mut query = Vec::new();
    if let [id] = ids {
        query.push(("job_id".to_owned(), id.to_string()));
    }
    let who: Session = hub.get("/api/session").read().await?;
    let mut stream = match who.scope {
        Scope::Producer => Events::public(hub, query),
        _ => Events::new(hub, query, None),
    };
    loop {
        let happened = stream.next().await?;
        match &happened {
            // Looked at once the stream is open, so that no end falls between.
            Happened::Connected | Happened::Reset => {
                for id in waiting.iter().cloned().collect::<Vec<_>>() {
                    let job = hub.job(id.as_str()).await?.ok_or_else(|| no_such_job(id.as_str()))?;
                    if job.status.is_terminal() {
                        waiting.remove(&id);
                        ended.push(job);
                    }
                }
            }
            Happened::Event { id, .. } => {
                let Some(event) = happened.read::<Event>() else { continue };
                let Some(job) = event.job_id.clone().filter(|job| waiting.contains(job)) else {
                    continue;
                };
                printer.event(id.as_deref(), &event)?;
                if event.status.is_some_and(Status::is_terminal) || event.kind.as_str() == "job:deleted" {
                    waiting.remove(&job);
                    ended.push(hub.job(job.as_str()).await?.ok_or_else(|| no_such_job(job.as_str()))?);
                }
            }
            Happened::Lost { why } => eprintln!("The stream broke off ({why}); trying to go on where it was"),
            Happened::Place { .. } => {}
        }
        if waiting.is_empty() {
            return Ok(ended);
        }
    }
}
