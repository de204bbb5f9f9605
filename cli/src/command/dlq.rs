//! `dlq list`, `dlq retry`.

use crate::{
    args::OneJob,
    backend::{Backend, JOBS, State},
    output::{self, Format},
    problem::Problem,
};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Dlq {
    /// List dead jobs, oldest first (of a hub newest first)
    #[command(after_help = "Examples:
  queuectl dlq list")]
    List,
    /// Put a dead job back into the queue, with all its retries
    #[command(after_help = "Examples:
  queuectl dlq retry job1")]
    Retry(OneJob),
}

pub(super) async fn run(backend: &dyn Backend, command: Dlq, format: Option<Format>) -> Result<(), Problem> {
    match command {
        Dlq::List => super::queue::list(backend, Some(State::Dead), format).await,
        Dlq::Retry(job) => {
            let Some(job) = backend.retry_dead(&job.id).await? else {
                return Err(Problem::refused(
                    "Job not found in DLQ",
                    format!("'{}' is not a dead job; `queuectl dlq list` shows those", job.id),
                ));
            };
            if output::is_for_people(format) {
                return Ok(output::say(&format!("{} is back in the queue", job.id))?);
            }
            Ok(output::to_stdout(format, JOBS).one(&job.record())?)
        }
    }
}
