//! `jobs …`: look at jobs and act on them.

mod act;
pub(crate) mod filter;
pub(crate) mod show;
pub(crate) mod watch;

use super::{Console, queue::Logs};
use crate::{
    args::OneJob,
    backend::{Backend, Deed},
    output::Format,
    problem::Problem,
};
use act::{Change, These};
use clap::Subcommand;
use forge_shared::request::BulkAction;
use show::List;
use watch::Watch;

#[derive(Debug, Subcommand)]
pub(crate) enum Jobs {
    /// List jobs, newest first
    #[command(after_help = "Examples:
  queuectl jobs list
  queuectl jobs list --status running --type render
  queuectl jobs list --view dead --since 2d --limit 20
  queuectl jobs list --worker rack-3 --since 2026-11-16T08:00:00Z -o csv")]
    List(List),
    /// Show all that is known of a job, and how each of its attempts went
    #[command(after_help = "Examples:
  queuectl jobs show job1
  queuectl jobs show job1 -o json")]
    Show(OneJob),
    /// Cancel jobs: those that wait at once, those that run by asking their worker
    #[command(after_help = "Examples:
  queuectl jobs cancel job1
  queuectl jobs cancel job1 job2 --yes
  queuectl jobs cancel --queue nightly --status pending --dry-run")]
    Cancel(These),
    /// Try failed or dead jobs again, with all their attempts
    #[command(after_help = "Examples:
  queuectl jobs retry job1
  queuectl jobs retry --view dead --type render --since 1d")]
    Retry(These),
    /// Put waiting jobs aside as dead
    #[command(after_help = "Examples:
  queuectl jobs kill job1
  queuectl jobs kill --tag broken --dry-run")]
    Kill(These),
    /// Make jobs that wait for a time due at once
    #[command(after_help = "Examples:
  queuectl jobs run-now job1
  queuectl jobs run-now --view retrying")]
    RunNow(These),
    /// Remove jobs that have ended, with their history and logs
    #[command(after_help = "Examples:
  queuectl jobs delete job1
  queuectl jobs delete --status completed --until 7d --yes")]
    Delete(These),
    /// Change the priority, the time or the queue of jobs that wait
    #[command(after_help = "Examples:
  queuectl jobs change job1 --priority 10
  queuectl jobs change job1 --run-at 2h
  queuectl jobs change --type render --priority -5")]
    Change(Change),
    /// Print what a job writes, of all its runs
    #[command(after_help = "Examples:
  queuectl jobs logs job1
  queuectl jobs logs -f job1")]
    Logs(Logs),
    /// Show what happens to jobs until they have ended; exit code 6 when one did not complete
    #[command(after_help = "Examples:
  queuectl jobs watch job1
  queuectl jobs watch job1 job2 && echo all done")]
    Watch(Watch),
}

pub(super) fn run(console: &Console, command: Jobs) -> Result<(), Problem> {
    let format = console.format;
    match command {
        Jobs::Watch(watch) => console.hub(async |hub| watch::run(hub, &watch, format).await),
        command => console.backend(async |backend| ask(backend, command, format).await),
    }
}

async fn ask(backend: &dyn Backend, command: Jobs, format: Option<Format>) -> Result<(), Problem> {
    match command {
        Jobs::List(list) => show::list(backend, &list, format).await,
        Jobs::Show(OneJob { id }) => show::show(backend, &id, format).await,
        Jobs::Cancel(these) => these.act(backend, "Cancel", Deed::Cancel, BulkAction::Cancel, format).await,
        Jobs::Retry(these) => these.act(backend, "Retry", Deed::Retry, BulkAction::Retry, format).await,
        Jobs::Kill(these) => these.act(backend, "Kill", Deed::Kill, BulkAction::Kill, format).await,
        Jobs::RunNow(these) => these.act(backend, "Run now", Deed::RunNow, BulkAction::RunNow, format).await,
        Jobs::Delete(these) => these.act(backend, "Delete", Deed::Delete, BulkAction::Delete, format).await,
        Jobs::Change(change) => change.act(backend, format).await,
        Jobs::Logs(logs) => super::queue::logs(backend, &logs, format).await,
        Jobs::Watch(_) => unreachable!("only a hub is watched"),
    }
}
