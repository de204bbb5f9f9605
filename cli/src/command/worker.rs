//! `worker start`, `worker stop`, `worker run`.

use crate::{
    args::Worker,
    local::{folder::Folder, runtime::Runtime, worker},
    output::{self, Format, Record, Shape},
    problem::Problem,
};
use std::{
    io::{BufRead as _, BufReader},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
};

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
        .args(["worker", "run", "--detached"])
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
