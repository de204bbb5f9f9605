//! What each command does, one file for each noun: what can be typed after it, and what that does. They
//! ask a backend or a hub and print what it answers.
//!
//! To add a verb: a variant with a doc comment and an example in the noun's enum, an arm in its `run`, a
//! line in the docs and in the snapshot tests. To add a noun: a file, a variant in `args::Command`, an
//! arm below. Commands that work both ways take a `&dyn Backend` from [`Console::backend`], those that
//! need a hub a `&Hub` from [`Console::hub`]. Lists are printed with [`output::print_all`] or, when they
//! may be long, [`print_listing`]; what destroys has a [`Caution`](crate::confirm::Caution) among its arguments
//! and asks it first.

pub(crate) mod batch;
pub(crate) mod bench;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod dlq;
mod doctor;
pub(crate) mod enqueue;
pub(crate) mod events;
pub(crate) mod jobs;
pub(crate) mod nodes;
pub(crate) mod overview;
pub(crate) mod queue;
pub(crate) mod queues;
pub(crate) mod sessions;
pub(crate) mod shell;
pub(crate) mod solvers;
pub(crate) mod submit;
pub(crate) mod tokens;
pub(crate) mod worker;
pub(crate) mod workers;

use crate::{
    args::{Arguments, Command},
    backend::{Backend, Local},
    hub::{Hub, Listing},
    local::folder::Folder,
    output::{self, Format, Record, Shape},
    problem::Problem,
    target::{Target, Where},
};
use serde::de::DeserializeOwned;

pub(crate) fn run(arguments: Arguments) -> Result<(), Problem> {
    let Arguments { output: format, place, command } = arguments;
    let console = Console { folder: Folder::here(), format, place };
    match command {
        Command::Context(command) => console.run(async { context::run(&console, command).await }),
        Command::Config(command) => {
            console.must_be_local("config", "a hub has its own settings")?;
            config::run(&console.folder, command, format)
        }
        Command::Worker(command) => {
            console.must_be_local(
                "worker",
                "for a hub, forge-agent runs jobs: enable it with WORKER_ENABLED=true",
            )?;
            worker::run(&console.folder, command, format)
        }
        Command::Enqueue(command) => {
            // Read before anything is made: a job that is wrong leaves no files behind.
            let target = console.place.target()?;
            let folder = matches!(target, Target::Local).then_some(&console.folder);
            let jobs = enqueue::read(folder, &command)?;
            console.backend(async |backend| enqueue::run(backend, jobs, format).await)
        }
        Command::Status => console.backend(async |backend| queue::status(backend, format).await),
        Command::List(list) => {
            console.backend(async |backend| queue::list(backend, list.state, format).await)
        }
        Command::Dlq(command) => console.backend(async |backend| dlq::run(backend, command, format).await),
        Command::Logs(logs) => console.backend(async |backend| queue::logs(backend, &logs, format).await),
        Command::Queues(command) => console.hub(async |hub| queues::run(hub, command, format).await),
        Command::Workers(command) => console.hub(async |hub| workers::run(hub, command, format).await),
        Command::Nodes(command) => console.hub(async |hub| nodes::run(hub, command, format).await),
        Command::Solvers(command) => console.hub(async |hub| solvers::run(hub, command, format).await),
        Command::Tokens(command) => console.hub(async |hub| tokens::run(hub, command, format).await),
        Command::Overview => console.hub(async |hub| overview::run(hub, format).await),
        Command::Settings => console.hub(async |hub| overview::settings(hub, format).await),
        Command::Audit(command) => console.hub(async |hub| overview::audit(hub, command, format).await),
        Command::Doctor => doctor::run(&console),
        Command::Bench(command) => console.hub(async |hub| bench::run(hub, &command, format).await),
        Command::Top => console.hub(crate::top::run),
        Command::Completions(wanted) => shell::completions(&wanted),
        Command::Man(wanted) => shell::man(&wanted),
        Command::Jobs(command) => jobs::run(&console, command),
        Command::Submit(command) => console.hub(async |hub| submit::run(hub, command, format).await),
        Command::Batch(command) => console.hub(async |hub| batch::run(hub, command, format).await),
        Command::Sessions(command) => console.hub(async |hub| sessions::run(hub, command, format).await),
        Command::Events(command) => console.hub(async |hub| events::run(hub, command, format).await),
    }
}

/// What was typed besides the command itself.
pub(crate) struct Console {
    pub(crate) folder: Folder,
    pub(crate) format: Option<Format>,
    pub(crate) place: Where,
}

impl Console {
    /// With whoever answers: the hub that was named, or the queue of this folder.
    fn backend(&self, command: impl AsyncFnOnce(&dyn Backend) -> Result<(), Problem>) -> Result<(), Problem> {
        match self.place.target()? {
            Target::Hub(address) => {
                let hub = address.connect()?;
                self.run(async { command(&hub).await })
            }
            Target::Local => self.run(async {
                let backend = Local::open(&self.folder).await?;
                let done = command(&backend).await;
                backend.close().await;
                done
            }),
        }
    }

    /// With the hub that was named, without which there is nothing to do.
    fn hub(&self, command: impl AsyncFnOnce(&Hub) -> Result<(), Problem>) -> Result<(), Problem> {
        match self.place.target()? {
            Target::Hub(address) => {
                let hub = address.connect()?;
                self.run(async { command(&hub).await })
            }
            Target::Local => Err(Problem::usage(
                "No hub is named",
                "this is about a hub: say --hub URL, set HUB_URL, or save it once with `queuectl context add NAME URL` \
                 and `queuectl context use NAME`",
            )),
        }
    }

    fn run(&self, command: impl Future<Output = Result<(), Problem>>) -> Result<(), Problem> {
        runtime()?.block_on(command)
    }

    fn must_be_local(&self, command: &str, instead: &str) -> Result<(), Problem> {
        match self.place.target()? {
            Target::Local => Ok(()),
            Target::Hub(address) => Err(Problem::usage(
                &format!(
                    "`queuectl {command}` is about the queue of this folder, and {} was named",
                    address.url
                ),
                format!("{instead}; add --local for this folder"),
            )),
        }
    }
}

/// Prints at most so many records of a long list, page by page.
async fn print_listing<T: DeserializeOwned>(
    mut listing: Listing<'_, T>,
    most: u64,
    format: Option<Format>,
    shape: Shape,
    record: impl Fn(T) -> Record,
) -> Result<(), Problem> {
    let mut output = output::to_stdout(format, shape);
    let mut left = most;
    while let Some(page) = listing.next(left).await? {
        left = left.saturating_sub(page.len() as u64);
        page.into_iter().try_for_each(|item| output.item(&record(item)))?;
        output.flush()?;
    }
    Ok(output.end()?)
}

/// Ends with exit code 130 at Ctrl-C, after what is open was closed by whoever called.
async fn interruptible<T>(work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => Err(Problem::Interrupted(String::new())),
    }
}

/// One thread does: everything here waits.
fn runtime() -> Result<tokio::runtime::Runtime, Problem> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::Storage(format!("cannot start: {error}")))
}
