//! Waiting for a job's end, and telling its fate.

use super::super::jobs::{show::job_record, watch::fate};
use crate::{
    backend::no_such_job,
    hub::Hub,
    output::{self, Format},
    problem::Problem,
    span::{Span, spoken},
};
use forge_shared::{Job, JobId, Status};
use indicatif::ProgressBar;
use serde_json::{Value, value::RawValue};
use std::{
    io::{IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

/// One question to the hub.
const ASK: Duration = Duration::from_secs(25);
/// The same where somebody watches how far the job is.
const ASK_FOR_PEOPLE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);
/// How long a hub may be away while a job is waited for.
const PATIENCE: Duration = Duration::from_secs(600);

/// Prints the result of a job that completes; any other end is an error.
pub(crate) async fn until_ended(
    hub: &Hub,
    id: &JobId,
    timeout: Option<Span>,
    format: Option<Format>,
) -> Result<(), Problem> {
    let bar = std::io::stderr().is_terminal().then(|| {
        eprintln!("Waiting for job {id} of {}; Ctrl-C stops the waiting, not the job", hub.url());
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(TICK);
        bar
    });
    let job = tokio::select! {
        job = ended(hub, id, timeout, bar.as_ref()) => job,
        _ = tokio::signal::ctrl_c() => {
            Err(Problem::Interrupted(format!("Job {id} goes on\n  {}", how_to_look(id))))
        }
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let job = job?;
    let Some(job) = job else {
        let waited = timeout.map_or_else(String::new, |span| format!(" after {}", spoken(span.0)));
        return Err(Problem::NotYet(format!(
            "Job {id} has not ended{waited}, and goes on\n  {}",
            how_to_look(id)
        )));
    };
    if job.status != Status::Completed {
        return Err(fate(&job));
    }
    match (&job.result, format) {
        (Some(result), None | Some(Format::Json | Format::Table)) => Ok(print(result, true)?),
        (Some(result), Some(Format::Jsonl)) => Ok(print(result, false)?),
        _ => Ok(output::print_one(format, &job_record(&job))?),
    }
}

fn how_to_look(id: &JobId) -> String {
    format!(
        "`queuectl jobs watch {id}` waits for it again, `queuectl jobs show {id}` shows it, `queuectl jobs cancel {id}` ends it"
    )
}

/// `None`: not in time.
async fn ended(
    hub: &Hub,
    id: &JobId,
    timeout: Option<Span>,
    bar: Option<&ProgressBar>,
) -> Result<Option<Job>, Problem> {
    let most = if bar.is_some() { ASK_FOR_PEOPLE } else { ASK };
    let began = Instant::now();
    loop {
        let left = timeout.map(|span| span.to_duration().saturating_sub(began.elapsed()));
        let ask = left.map_or(most, |left| left.min(most));
        let call = hub.get(format!("/api/jobs/{id}")).query("wait_ms", ask.as_millis()).waiting(ask);
        let call = call.repeatable_for(left.map_or(PATIENCE, |left| left.min(PATIENCE)));
        let job: Job = call.find().await?.ok_or_else(|| no_such_job(id.as_str()))?;
        if job.status.is_terminal() {
            return Ok(Some(job));
        }
        if left.is_some_and(|left| left <= ask) {
            return Ok(None);
        }
        if let Some(bar) = bar {
            bar.set_message(how_far(&job));
        }
    }
}

fn how_far(job: &Job) -> String {
    let mut words = vec![job.status.as_str().to_owned()];
    words.extend(job.worker_id.as_ref().map(|worker| format!("on {worker}")));
    if let Some(progress) = &job.progress {
        words.extend(progress.percent.map(|percent| format!("{percent:.0}%")));
        words.extend(progress.message.as_deref().map(output::visible));
    }
    words.join("  ")
}

/// With every digit; on several lines where that loses none.
fn print(result: &RawValue, pretty: bool) -> std::io::Result<()> {
    let read = serde_json::from_str::<Value>(result.get()).ok();
    let same = read.as_ref().map(Value::to_string).as_deref() == Some(result.get());
    let text = match read.filter(|_| pretty && same) {
        Some(value) => serde_json::to_string_pretty(&value)?,
        None => result.get().to_owned(),
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")
}
