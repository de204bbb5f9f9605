//! `status`, `list`, `logs`.

use super::interruptible;
use crate::{
    backend::{Backend, Counts, JOBS, Job, RunLog, State, no_such_job},
    output::{self, Format, Record, Shape},
    problem::Problem,
};
use clap::Args;
use std::io::Write as _;

const LOG: &[&str] = &["attempt", "output"];

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only jobs in this state
    #[arg(long, value_enum)]
    pub(super) state: Option<State>,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// Which job
    #[arg(value_name = "JOB_ID")]
    id: String,
    /// Go on with what it writes, until it has ended
    #[arg(short, long)]
    follow: bool,
    /// Only of this run; the first is 1
    #[arg(long, value_name = "N", conflicts_with = "follow", value_parser = clap::value_parser!(u32).range(1..))]
    attempt: Option<u32>,
}

pub(super) async fn status(backend: &dyn Backend, format: Option<Format>) -> Result<(), Problem> {
    let Counts { pending, processing, completed, failed, dead, active_workers } = backend.counts().await?;
    let record = Record(vec![
        ("pending", pending.into()),
        ("processing", processing.into()),
        ("completed", completed.into()),
        ("failed", failed.into()),
        ("dead", dead.into()),
        ("active_workers", active_workers.into()),
    ]);
    Ok(output::to_stdout(format, Shape::ONE).one(&record)?)
}

pub(super) async fn list(
    backend: &dyn Backend,
    state: Option<State>,
    format: Option<Format>,
) -> Result<(), Problem> {
    let mut output = output::to_stdout(format, JOBS);
    let mut print = |jobs: &[Job]| {
        jobs.iter().try_for_each(|job| output.item(&job.record()))?;
        output.flush()
    };
    backend.list(state, &mut print).await?;
    Ok(output.end()?)
}

pub(super) async fn logs(
    backend: &dyn Backend,
    command: &Logs,
    format: Option<Format>,
) -> Result<(), Problem> {
    if command.follow {
        return interruptible(follow(backend, &command.id, format)).await;
    }
    let logs = backend.logs(&command.id, command.attempt).await?.ok_or_else(|| no_such_job(&command.id))?;
    if let (Some(attempt), true) = (command.attempt, logs.is_empty()) {
        return Err(Problem::refused(
            &format!("Job {} has no run {attempt}", command.id),
            format!("`queuectl jobs show {}` lists its runs", command.id),
        ));
    }
    match format {
        None | Some(Format::Table) => {
            if logs.iter().all(|log| log.bytes.is_empty()) {
                eprintln!("Nothing is in its log; `queuectl jobs show {}` tells more", command.id);
            }
            Ok(print_text(&logs)?)
        }
        format => {
            let mut output = output::to_stdout(format, Shape { fields: LOG, columns: LOG });
            for RunLog { attempt, bytes } in logs {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                output.item(&Record(vec![("attempt", attempt.into()), ("output", text.into())]))?;
            }
            Ok(output.end()?)
        }
    }
}

/// As it is written, with a line before each run after the first; for programs piece by piece.
async fn follow(backend: &dyn Backend, id: &str, format: Option<Format>) -> Result<(), Problem> {
    let is_text = matches!(format, None | Some(Format::Table));
    let mut output = output::to_stdout(format, Shape { fields: LOG, columns: LOG });
    let mut last = None;
    let mut print = |attempt: u32, bytes: &[u8]| {
        if !is_text {
            let text = String::from_utf8_lossy(bytes).into_owned();
            output.item(&Record(vec![("attempt", attempt.into()), ("output", text.into())]))?;
            return output.flush();
        }
        let mut out = std::io::stdout().lock();
        if last.replace(attempt).is_some_and(|last| last != attempt) {
            writeln!(out, "==> run {attempt} <==")?;
        }
        out.write_all(bytes)?;
        out.flush()
    };
    backend.follow_logs(id, &mut print).await?;
    if !is_text {
        output.end()?;
    }
    Ok(())
}

/// Byte for byte, with a line between runs when there are several.
fn print_text(logs: &[RunLog]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for RunLog { attempt, bytes } in logs {
        if logs.len() > 1 {
            writeln!(out, "==> run {attempt} <==")?;
        }
        out.write_all(bytes)?;
        if logs.len() > 1 && !bytes.is_empty() && !bytes.ends_with(b"\n") {
            writeln!(out)?;
        }
    }
    out.flush()
}
