//! `worker start`, `worker stop`, `worker run`.

use crate::{
    local::{folder::Folder, runtime::Runtime, worker},
    output::{self, Format, Record, Shape},
    problem::Problem,
};
use clap::{Args, Subcommand};
use std::{
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
};

#[derive(Debug, Subcommand)]
pub(crate) enum Worker {
    /// Start workers that go on when this terminal closes
    #[command(after_help = "Examples:
  queuectl worker start
  queuectl worker start --count 3")]
    Start(Start),
    /// Ask all workers to finish the job they have and leave
    #[command(after_help = "Examples:
  queuectl worker stop")]
    Stop,
    /// Be a worker, here and now, until told to stop
    #[command(after_help = "Examples:
  queuectl worker run

Ctrl-C lets the current job finish; a second one ends it and gives it back.")]
    Run(Run),
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// How many
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "N")]
    count: u16,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Leave the terminal, and say on standard output when jobs are taken.
    #[arg(long, hide = true)]
    detached: bool,
}

pub(super) fn run(folder: &Folder, command: Worker, format: Option<Format>) -> Result<(), Problem> {
    match command {
        Worker::Run(run) => super::runtime()?.block_on(worker::run(folder, run.detached)),
        Worker::Start(start) => {
            let runtime = Runtime::open(folder)?;
            runtime.allow()?;
            let workers = (0..start.count).map(|_| launch(&runtime)).collect::<Result<Vec<_>, _>>()?;
            let pids =
                workers.into_iter().map(|worker| ready(worker, &runtime)).collect::<Result<Vec<_>, _>>()?;
            if output::is_for_people(format) {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                return Ok(output::say(&format!("Started workers: {}", pids.join(", ")))?);
            }
            let record = Record(vec![("started", pids.len().into()), ("pids", pids.into())]);
            Ok(output::to_stdout(format, Shape::ONE).one(&record)?)
        }
        Worker::Stop => {
            let asked = Runtime::open(folder)?.stop()?;
            if output::is_for_people(format) {
                let line = format!("Asked {asked} workers to stop; each finishes its job first");
                return Ok(output::say(&line)?);
            }
            Ok(output::to_stdout(format, Shape::ONE).one(&Record(vec![("stopping", asked.into())]))?)
        }
    }
}

fn launch(runtime: &Runtime) -> Result<Child, Problem> {
    // Unlike the path of the program, this still works after the file was replaced by a newer one.
    Command::new("/proc/self/exe")
        .arg0("queuectl")
        .args(["worker", "run", "--detached", "--local"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(runtime.log()?)
        .spawn()
        .map_err(|error| Problem::Refused(format!("a worker cannot be started: {error}")))
}

/// Waits until a worker takes jobs, or has ended instead.
fn ready(mut worker: Child, runtime: &Runtime) -> Result<u32, Problem> {
    let mut line = String::new();
    let said = worker.stdout.take().map(|stdout| BufReader::new(stdout).read_line(&mut line));
    match said {
        Some(Ok(length)) if length > 0 => Ok(worker.id()),
        _ => {
            let _ = worker.wait();
            Err(Problem::Refused(format!(
                "a worker ended at once; {} says why",
                runtime.log_path().display()
            )))
        }
    }
}
