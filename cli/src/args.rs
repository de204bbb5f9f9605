//! What can be typed: one line for each group of commands. What belongs to a group is beside what it
//! does, in `command/`.

use crate::{
    command::{
        batch::Batch, bench::Bench, config::Config, context::Context, dlq::Dlq, enqueue::Enqueue,
        events::Events, jobs::Jobs, nodes::Nodes, overview::Audit, queue::List, queue::Logs, queues::Queues,
        sessions::Sessions, shell::Completions, shell::Man, solvers::Solvers, submit::Submit, tokens::Tokens,
        worker::Worker, workers::Workers,
    },
    output::Format,
    problem::EXIT_CODES,
    target::Where,
};
use clap::{Args, Parser, Subcommand};

/// The queue from a terminal: of this folder, without a server, or of a hub.
///
/// Without a hub it runs shell commands in the background: a durable queue in ./queue.db, workers, retries with
/// exponential backoff, and a dead letter queue. With --hub, HUB_URL or a saved context the same commands, and
/// more, are about that hub.
#[derive(Debug, Parser)]
#[command(name = "queuectl", version = forge_version::LONG, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Arguments {
    /// How to print; a table on a terminal and JSON elsewhere when left out
    #[arg(short, long, global = true, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
    #[command(flatten)]
    pub(crate) place: Where,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a shell command, or put it in the place of the one with the same id
    #[command(after_help = "Examples:
  queuectl enqueue '{\"id\":\"job1\",\"command\":\"echo hello\"}'
  queuectl enqueue '{\"id\":\"nightly\",\"command\":\"make report\",\"max_retries\":5,\"run_at\":\"2026-12-24T02:00:00Z\"}'
  queuectl enqueue - < jobs.jsonl
  queuectl --hub https://hub.example.com enqueue '{\"id\":\"job1\",\"command\":\"echo hello\"}'

A hub adds a job only under a new id, and leaves what is not said to its own defaults.")]
    Enqueue(Enqueue),
    /// Start, stop or be a worker of this folder's queue
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
  watch -n 1 queuectl status
  queuectl --context prod status")]
    Status,
    /// List jobs, oldest first (of a hub newest first); dead ones only with --state dead
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
    /// Show or change what new jobs of this folder begin with
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
    /// Look at jobs and act on them, one or many
    #[command(
        subcommand,
        after_help = "Examples:
  queuectl jobs list --status running
  queuectl jobs show job1
  queuectl jobs retry --view dead --type render --dry-run"
    )]
    Jobs(Jobs),
    /// Submit a job of any type to a hub
    #[command(after_help = "Examples:
  queuectl submit render --param frame=12 --param 'size=[800,600]'
  queuectl submit render --params-file scene.json --solver ./render --wait
  echo '{\"n\":27}' | queuectl submit factor --params-file - --wait --timeout 10m
  queuectl submit report --queue nightly --run-at 2026-12-24T02:00:00Z --max-runtime 1h
  queuectl submit command --command 'make report' --max-runtime none

With --wait the result is printed, as JSON; the exit code is 0 when the job completed, 6 when it did not, and 7 \
when it had not ended within --timeout.")]
    Submit(Box<Submit>),
    /// Submit many jobs to a hub
    #[command(
        subcommand,
        after_help = "Examples:
  queuectl batch submit jobs.ndjson"
    )]
    Batch(Batch),
    /// Show what happens on a hub, as it happens
    #[command(after_help = "Examples:
  queuectl events
  queuectl events -f
  queuectl events -f --topics jobs --type render -o jsonl
  queuectl events -f --after 1-4711")]
    Events(Events),
    /// Look after who is logged in to a hub's dashboard
    #[command(
        subcommand,
        after_help = "Examples:
  queuectl sessions list
  queuectl sessions end 5f2c0a9be1d34c67"
    )]
    Sessions(Sessions),
    /// Save hubs under a name, and choose one
    #[command(
        subcommand,
        after_help = "Examples:
  queuectl context add prod https://hub.example.com --token-file prod.token
  queuectl context use prod
  queuectl context list"
    )]
    Context(Context),
    /// Look at a hub's queues
    #[command(
        subcommand,
        after_help = "Examples:
  queuectl queues list"
    )]
    Queues(Queues),
    /// Look after those who take jobs from a hub
    #[command(
        subcommand,
        after_help = "Examples:
  queuectl workers list
  queuectl workers drain rack-3"
    )]
    Workers(Workers),
    /// Look at a hub's machines and their load
    #[command(
        subcommand,
        after_help = "Examples:
  queuectl nodes list
  queuectl nodes history rack-3 --range 24h"
    )]
    Nodes(Nodes),
    /// Keep programs for jobs on a hub
    #[command(
        subcommand,
        after_help = "Examples:
  queuectl solvers push ./render
  queuectl solvers list"
    )]
    Solvers(Solvers),
    /// Make tokens and take them back
    #[command(
        subcommand,
        after_help = "Examples:
  queuectl tokens create ci --scope producer
  queuectl tokens list"
    )]
    Tokens(Tokens),
    /// Show a hub at a glance: machines, jobs, queues, what ended
    #[command(after_help = "Examples:
  queuectl overview
  queuectl overview -o json | jq .minutes")]
    Overview,
    /// Show a hub's version, sizes, how long it keeps things, and limits
    #[command(after_help = "Examples:
  queuectl settings")]
    Settings,
    /// Read who did what to a hub, newest first
    #[command(after_help = "Examples:
  queuectl audit
  queuectl audit -n 0 -o csv > audit.csv")]
    Audit(Audit),
    /// Find what is wrong between you and the queue, and what to do about it
    #[command(after_help = "Examples:
  queuectl doctor
  queuectl --context prod doctor -o json

Exit code 1 when there is a problem; warnings are none.")]
    Doctor,
    /// Measure a hub from here, with jobs of its own that are removed again
    #[command(after_help = "Examples:
  queuectl bench
  queuectl bench --quick -o json

It needs an administrator's token, or leaves out what the token may not do. Jobs of others are not touched; a hub that is busy with them is slower for both.")]
    Bench(Bench),
    /// Watch a hub on the whole screen: machines, queues, jobs and throughput, live
    #[command(after_help = "Examples:
  queuectl top
  queuectl --context prod top

Keys: ? shows them all, q quits. Nothing is cancelled without a question.")]
    Top,
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
pub(crate) struct OneJob {
    /// Which job
    #[arg(value_name = "JOB_ID")]
    pub(crate) id: String,
}
