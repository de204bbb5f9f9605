//! `status`, `list`, `logs`.

use crate::{
    backend::{Backend, Counts, JOBS, Job, RunLog, State},
    local::{folder::Folder, runtime::Runtime},
    output::{self, Format, Record, Shape},
    problem::Problem,
};
use std::io::Write as _;

const LOG: &[&str] = &["attempt", "output"];

pub(super) async fn status(
    backend: &dyn Backend,
    folder: &Folder,
    format: Option<Format>,
) -> Result<(), Problem> {
    let Counts { pending, processing, completed, failed, dead } = backend.counts().await?;
    let record = Record(vec![
        ("pending", pending.into()),
        ("processing", processing.into()),
        ("completed", completed.into()),
        ("failed", failed.into()),
        ("dead", dead.into()),
        ("active_workers", Runtime::at(folder).workers().len().into()),
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

pub(super) async fn logs(backend: &dyn Backend, id: &str, format: Option<Format>) -> Result<(), Problem> {
    let Some(logs) = backend.logs(id).await? else {
        return Err(Problem::refused(
            "Job not found",
            format!("'{id}' is no job; `queuectl list` shows them"),
        ));
    };
    match format {
        None | Some(Format::Table) => Ok(print_text(&logs)?),
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
