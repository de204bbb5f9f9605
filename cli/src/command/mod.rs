//! What each command does, one file for each group. They ask a backend and print what it answers.

mod config;
mod dlq;
mod enqueue;
mod jobs;
mod shell;
mod worker;

use crate::{
    args::{Arguments, Command},
    backend::{Backend, Local},
    local::folder::Folder,
    problem::Problem,
};

pub(crate) fn run(arguments: Arguments) -> Result<(), Problem> {
    let (folder, format) = (Folder::here(), arguments.output);
    match arguments.command {
        Command::Config(command) => config::run(&folder, command, format),
        Command::Completions(wanted) => shell::completions(&wanted),
        Command::Man(wanted) => shell::man(&wanted),
        Command::Worker(command) => worker::run(&folder, command, format),
        Command::Enqueue(command) => {
            // Read before anything is made: a job that is wrong leaves no files behind.
            let jobs = enqueue::read(&folder, &command)?;
            with_backend(&folder, async |backend| enqueue::run(backend, jobs, format).await)
        }
        Command::Status => {
            with_backend(&folder, async |backend| jobs::status(backend, &folder, format).await)
        }
        Command::List(list) => {
            with_backend(&folder, async |backend| jobs::list(backend, list.state, format).await)
        }
        Command::Dlq(command) => {
            with_backend(&folder, async |backend| dlq::run(backend, command, format).await)
        }
        Command::Logs(logs) => {
            with_backend(&folder, async |backend| jobs::logs(backend, &logs.id, format).await)
        }
    }
}

fn with_backend(
    folder: &Folder,
    command: impl AsyncFnOnce(&dyn Backend) -> Result<(), Problem>,
) -> Result<(), Problem> {
    runtime()?.block_on(async {
        let backend = Local::open(folder).await?;
        let done = command(&backend).await;
        backend.close().await;
        done
    })
}

/// One thread does: everything here waits.
fn runtime() -> Result<tokio::runtime::Runtime, Problem> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::Storage(format!("cannot start: {error}")))
}
