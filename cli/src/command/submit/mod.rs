//! `submit`: a job of any type, for a hub.

mod params;
pub(super) mod wait;

use crate::{
    hub::Hub,
    output::{self, Format, Record},
    problem::Problem,
    span::{Moment, Span},
};
use clap::{Args, ValueEnum};
use forge_agent::hub::random_hex;
use forge_hub::clock::wall_ms;
use forge_shared::{
    Backoff, BackoffKind, Jitter, JobId, JobType, QueueName, request::NewJob, response::Enqueued,
};
use std::{io::IsTerminal as _, path::PathBuf, str::FromStr, time::Duration};

/// How long a hub that is away is waited for: the job has a key by which it is added once only.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// What kind of work it is; workers choose by it
    #[arg(value_name = "TYPE")]
    kind: JobType,
    /// The job's id; one is made when left out
    #[arg(long)]
    id: Option<JobId>,
    /// The queue that it waits in
    #[arg(long)]
    queue: Option<QueueName>,
    /// The highest comes first; from -32768 to 32767
    #[arg(long, allow_negative_numbers = true, value_name = "N")]
    priority: Option<i16>,
    /// A word to find it by; may be said several times
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// The same key again is the same job, not a second one
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait until it has ended, and print its result
    #[arg(long)]
    wait: bool,
    /// Wait no longer than this; the job goes on, and the exit code is 7
    #[arg(long, value_name = "SPAN", requires = "wait")]
    timeout: Option<Span>,
    #[command(flatten)]
    params: params::Params,
    #[command(flatten)]
    program: Program,
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    tries: Tries,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Its program")]
struct Program {
    /// A program to run: uploaded when the hub does not have it, found by its sha256
    #[arg(long, value_name = "FILE", conflicts_with_all = ["solver_checksum", "solver_url"])]
    solver: Option<PathBuf>,
    /// The sha256 of a program that the hub has, or of --solver-url
    #[arg(long, value_name = "SHA256")]
    solver_checksum: Option<String>,
    /// Where agents fetch the program
    #[arg(long, value_name = "URL", requires = "solver_checksum")]
    solver_url: Option<String>,
    /// A shell line, run by agents that allow it
    #[arg(long, value_name = "LINE", conflicts_with_all = ["solver", "solver_checksum"])]
    command: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "When")]
struct When {
    /// Not before this time, or this span from now
    #[arg(long, value_name = "TIME")]
    run_at: Option<Moment>,
    /// Not before this long from when the hub has it
    #[arg(long, value_name = "SPAN", conflicts_with = "run_at")]
    delay: Option<Span>,
    /// Fails when it still waits at this time, or this span from now
    #[arg(long, value_name = "TIME")]
    expires_at: Option<Moment>,
    /// Ends a run that takes longer; `none` is no limit
    #[arg(long, value_name = "SPAN")]
    max_runtime: Option<Limit>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "When it fails")]
struct Tries {
    /// How often it is tried in all
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// How the pauses between attempts grow
    #[arg(long, value_enum, value_name = "KIND")]
    backoff: Option<Kind>,
    /// The first pause
    #[arg(long, value_name = "SPAN", requires = "backoff")]
    backoff_first: Option<Span>,
    /// What each further pause is multiplied by; the base for power
    #[arg(long, value_name = "X", requires = "backoff")]
    backoff_factor: Option<f64>,
    /// The longest pause
    #[arg(long, value_name = "SPAN", requires = "backoff")]
    backoff_max: Option<Span>,
    /// How much chance there is in a pause
    #[arg(long, value_enum, value_name = "PART", requires = "backoff")]
    backoff_jitter: Option<Chance>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// No pauses
    None,
    /// Always the first
    Fixed,
    /// The first, times the factor each time
    Exponential,
    /// Growing with the fourth power, as Sidekiq does
    Sidekiq,
    /// The factor to the power of the failures, in seconds
    Power,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Chance {
    None,
    /// Between half and all of it
    Half,
    /// Between nothing and all of it
    Full,
}

/// A span, or none at all.
#[derive(Debug, Clone, Copy)]
struct Limit(Option<i64>);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            span => Ok(Self(Some(span.parse::<Span>()?.0))),
        }
    }
}

impl Tries {
    fn backoff(&self) -> Option<Backoff> {
        let default = Backoff::default();
        let ms = |span: Option<Span>, default| span.map_or(default, |span| span.0.unsigned_abs());
        Some(Backoff {
            kind: match self.backoff? {
                Kind::None => BackoffKind::None,
                Kind::Fixed => BackoffKind::Fixed,
                Kind::Exponential => BackoffKind::Exponential,
                Kind::Sidekiq => BackoffKind::Sidekiq,
                Kind::Power => BackoffKind::Power,
            },
            first_ms: ms(self.backoff_first, default.first_ms),
            factor: self.backoff_factor.unwrap_or(default.factor),
            max_ms: ms(self.backoff_max, default.max_ms),
            jitter: match self.backoff_jitter {
                None => default.jitter,
                Some(Chance::None) => Jitter::None,
                Some(Chance::Half) => Jitter::Half,
                Some(Chance::Full) => Jitter::Full,
            },
        })
    }
}

pub(super) async fn run(hub: &Hub, submit: Box<Submit>, format: Option<Format>) -> Result<(), Problem> {
    let params = submit.params.read()?;
    let solver_checksum = match &submit.program.solver {
        Some(path) => {
            let pushed = hub.push_solver(path).await?;
            if pushed.uploaded && std::io::stderr().is_terminal() {
                eprintln!("Uploaded {} ({} bytes)", path.display(), pushed.solver.bytes);
            }
            Some(pushed.solver.sha256)
        }
        None => submit.program.solver_checksum,
    };
    let now_ms = wall_ms();
    let key = match submit.idempotency_key {
        Some(key) => key,
        None => random_hex().map_err(|error| Problem::Storage(format!("{error:#}")))?,
    };
    let new = NewJob {
        id: submit.id,
        kind: submit.kind,
        queue: submit.queue,
        params,
        priority: submit.priority,
        max_attempts: submit.tries.max_attempts,
        max_runtime_ms: submit.when.max_runtime.map(|limit| limit.0),
        run_at: submit.when.run_at.map(|at| at.in_the_future(now_ms)),
        delay_ms: submit.when.delay.map(|span| span.0),
        expires_at: submit.when.expires_at.map(|at| at.in_the_future(now_ms)),
        backoff: submit.tries.backoff(),
        tags: Some(submit.tags).filter(|tags| !tags.is_empty()),
        idempotency_key: Some(key),
        command: submit.program.command,
        solver_url: submit.program.solver_url,
        solver_checksum,
    };
    let added: Enqueued = hub.post("/api/jobs").json(&new).repeatable_for(PATIENCE).read().await?;
    if submit.wait {
        return wait::until_ended(hub, &added.id, submit.timeout, format).await;
    }
    if output::is_for_people(format) {
        return Ok(output::say(&format!(
            "Submitted {0}; `queuectl jobs watch {0}` tells how it goes",
            added.id
        ))?);
    }
    let record = Record(vec![("id", added.id.as_str().into()), ("status", added.status.as_str().into())]);
    Ok(output::print_one(format, &record)?)
}
