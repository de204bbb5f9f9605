//! What can be typed.

use crate::{backend::State, output::Format};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const EXIT_CODES: &str = "Exit codes:
  0  done
  1  not possible with what is there: no such job, a job that is being processed, a worker that did not start
  2  asked in a wrong way: options, JSON, configuration keys or values
  3  files that cannot be read or written";

/// Runs shell commands in the background: a durable queue in ./queue.db, workers, retries with
/// exponential backoff, and a dead letter queue.
#[derive(Debug, Parser)]
#[command(name = "queuectl", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Arguments {
    /// How to print; a table on a terminal and JSON elsewhere when left out
    #[arg(short, long, global = true, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a job, or put it in the place of the one with the same id
    #[command(after_help = "Examples:
  queuectl enqueue '{\"id\":\"job1\",\"command\":\"echo hello\"}'
  queuectl enqueue '{\"id\":\"nightly\",\"command\":\"make report\",\"max_retries\":5,\"run_at\":\"2026-12-24T02:00:00Z\"}'
  queuectl enqueue - < jobs.jsonl")]
    Enqueue(Enqueue),
    /// Start, stop or be a worker
    #[command(
        subcommand,
        after_help = "Examples:
  queuectl worker start --count 3
  queuectl worker stop"
    )]
    Worker(Worker),
    /// Count jobs by state, and live workers
    #[command(after_help = "Examples:
  queuectl status
  watch -n 1 queuectl status")]
    Status,
    /// List jobs, oldest first; dead ones only with --state dead
    #[command(after_help = "Examples:
  queuectl list
  queuectl list --state failed
  queuectl list -o jsonl | grep backup")]
    List(List),
    /// Look after jobs that failed too often
    #[command(
        subcommand,
        after_help = "Examples:
  queuectl dlq list
  queuectl dlq retry job1"
    )]
    Dlq(Dlq),
    /// Show or change what new jobs begin with
    #[command(
        subcommand,
        after_help = "Examples:
  queuectl config get
  queuectl config set max_retries 5"
    )]
    Config(Config),
    /// Print what a job wrote, of all its runs
    #[command(after_help = "Examples:
  queuectl logs job1
  queuectl logs job1 -o json")]
    Logs(Logs),
    /// Print a script that lets a shell complete commands and options
    #[command(after_help = "Examples:
  queuectl completions bash > ~/.local/share/bash-completion/completions/queuectl
  queuectl completions zsh > ~/.zfunc/_queuectl
  queuectl completions fish > ~/.config/fish/completions/queuectl.fish")]
    Completions(Completions),
    /// Print a manual page, or write all of them to a folder
    #[command(after_help = "Examples:
  queuectl man | man -l -
  queuectl man worker start | man -l -
  queuectl man --dir ~/.local/share/man/man1")]
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// For which shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Of which command; that of queuectl itself when left out
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Enqueue {
    /// The job as a JSON object: id and command, and if you like max_retries, attempts, state
    /// (pending), priority, run_at (ISO 8601 or milliseconds) and timeout_ms. With `-`, one object
    /// a line is read from standard input
    #[arg(value_name = "JOB_JSON")]
    pub(crate) job: String,
}

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
    pub(crate) count: u16,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Leave the terminal, and say on standard output when jobs are taken.
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only jobs in this state
    #[arg(long, value_enum)]
    pub(crate) state: Option<State>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Dlq {
    /// List dead jobs, oldest first
    #[command(after_help = "Examples:
  queuectl dlq list")]
    List,
    /// Put a dead job back into the queue, with all its retries
    #[command(after_help = "Examples:
  queuectl dlq retry job1")]
    Retry(OneJob),
}

#[derive(Debug, Args)]
pub(crate) struct OneJob {
    #[arg(value_name = "JOB_ID")]
    pub(crate) id: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Show the configuration
    #[command(after_help = "Examples:
  queuectl config get
  queuectl config get max_retries")]
    Get(Get),
    /// Change one value, for jobs enqueued from then on
    #[command(after_help = "Examples:
  queuectl config set max_retries 5
  queuectl config set backoff_base 3")]
    Set(Set),
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// max_retries or backoff_base; both when left out
    pub(crate) key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// max_retries or backoff_base
    pub(crate) key: String,
    #[arg(allow_negative_numbers = true)]
    pub(crate) value: String,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    #[arg(value_name = "JOB_ID")]
    pub(crate) id: String,
}
