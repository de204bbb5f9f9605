//! `batch submit`: any number of jobs from a file with one JSON object a line.
//!
//! Every line gets a key made of the batch's name and its number, unless it brings its own. Whoever
//! submits the same file under the same name again therefore adds only what is missing, whatever cut
//! the first try short.

use super::interruptible;
use crate::{
    hub::{Failure, Hub},
    output::{self, Format, Output, Record, Shape, jobs},
    problem::Problem,
};
use clap::{Args, Subcommand};
use forge_agent::hub::random_hex;
use forge_shared::{JobType, request::NewJob, response::Enqueued};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::sync::mpsc;

const STANDARD_INPUT: &str = "-";
/// Jobs sent at a time, and about how many bytes of them; a hub takes 10,000 and 32 MiB.
const CHUNK_JOBS: usize = 500;
const CHUNK_BYTES: usize = 4 << 20;
/// What a hub takes of one job, with room to spare: a longer line is none.
const LINE_BYTES_MAX: usize = 2 << 20;
/// Lines read ahead.
const AHEAD: usize = 1_000;
/// How long a hub may be away in the middle.
const PATIENCE: Duration = Duration::from_secs(120);
const NAME_MAX: usize = 200;

#[derive(Debug, Subcommand)]
pub(crate) enum Batch {
    /// Submit one job for each line of a file; -o jsonl tells the id of each
    #[command(after_help = "Examples:
  queuectl batch submit jobs.ndjson
  queuectl batch submit jobs.ndjson --batch nightly-2026-11-16
  generate | queuectl batch submit - --type render
  queuectl batch submit jobs.ndjson --dry-run

A line is a job as the API takes it: {\"type\":\"render\",\"params\":{\"frame\":1}}, with any of id, queue, priority, \
max_attempts, max_runtime_ms, run_at, delay_ms, expires_at, backoff, tags, command, solver_checksum, solver_url and \
idempotency_key.

A line that is wrong is told with its number and left out; then the exit code is 1. When it is cut \
short, the same command with the --batch that it named adds what is missing and nothing twice.")]
    Submit(Submit),
}

#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// The file; - is standard input
    file: PathBuf,
    /// The name under which no line is added twice; one is made when left out
    #[arg(long, value_name = "NAME")]
    batch: Option<String>,
    /// The type of jobs that do not say theirs
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<JobType>,
    /// Put lines that are wrong into this file, as they are
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    /// Only read and check all lines
    #[arg(long)]
    dry_run: bool,
}

const LINES: Shape =
    Shape { fields: &["line", "id", "status", "error"], columns: &["line", "id", "status", "error"] };

/// A line that is a job.
struct Line {
    number: u64,
    text: String,
    job: NewJob,
}

/// Where lines come from, and how far the reading is.
enum Read {
    Line { number: u64, bytes: u64, text: Result<String, String> },
    Failed(String),
}

pub(super) async fn run(hub: &Hub, command: Batch, format: Option<Format>) -> Result<(), Problem> {
    let Batch::Submit(submit) = command;
    let name = match &submit.batch {
        Some(name) if name.is_empty() || name.len() > NAME_MAX || name.chars().any(char::is_control) => {
            return Err(Problem::usage("Invalid name", format!("a batch has 1 to {NAME_MAX} bytes")));
        }
        Some(name) => name.clone(),
        None => format!("batch-{}", random_hex().map_err(|error| Problem::Storage(format!("{error:#}")))?),
    };
    if submit.batch.is_none() && !submit.dry_run {
        eprintln!("Batch {name}");
    }
    let (lines, total) = read(&submit.file)?;
    let rejects = submit.rejects.as_deref().map(create).transpose()?;
    let mut sending = Sending {
        hub,
        submit: &submit,
        name: &name,
        rejects,
        bar: bar(total),
        output: (!output::is_for_people(format)).then(|| output::to_stdout(format, LINES)),
        accepted: 0,
        wrong: 0,
    };
    let done = interruptible(sending.all(lines)).await;
    sending.finish(done)
}

fn create(path: &Path) -> Result<File, Problem> {
    File::create(path)
        .map_err(|error| Problem::storage(&format!("{} cannot be written", path.display()), error))
}

/// On a terminal only: elsewhere nobody watches.
fn bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{bar:40} {percent:>3}%  {msg}  {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {msg}  {elapsed}"),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Reads in a thread of its own, which may wait for its input when the process ends.
fn read(path: &Path) -> Result<(mpsc::Receiver<Read>, Option<u64>), Problem> {
    let (sender, lines) = mpsc::channel(AHEAD);
    if path.as_os_str() == STANDARD_INPUT {
        std::thread::spawn(move || send_lines(io::stdin().lock(), &sender));
        return Ok((lines, None));
    }
    let unreadable = |error| Problem::storage(&format!("{} cannot be read", path.display()), error);
    let file = File::open(path).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    std::thread::spawn(move || send_lines(BufReader::new(file), &sender));
    Ok((lines, meta.is_file().then_some(meta.len())))
}

fn send_lines(mut input: impl BufRead, lines: &mpsc::Sender<Read>) {
    let (mut number, mut bytes) = (0, 0);
    loop {
        let mut line = Vec::new();
        let read = match input.read_until(b'\n', &mut line) {
            Ok(0) => return,
            Err(error) => Read::Failed(error.to_string()),
            Ok(n) => {
                number += 1;
                bytes += n as u64;
                if line.trim_ascii().is_empty() {
                    continue;
                }
                let text = String::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned());
                Read::Line { number, bytes, text }
            }
        };
        if lines.blocking_send(read).is_err() {
            return;
        }
    }
}

struct Sending<'a> {
    hub: &'a Hub,
    submit: &'a Submit,
    name: &'a str,
    rejects: Option<File>,
    bar: ProgressBar,
    /// For programs, who want to know each id.
    output: Option<Box<dyn Output>>,
    accepted: u64,
    wrong: u64,
}

impl Sending<'_> {
    async fn all(&mut self, mut lines: mpsc::Receiver<Read>) -> Result<(), Problem> {
        let (mut chunk, mut chunk_bytes, mut at) = (Vec::new(), 0, 0);
        while let Some(read) = lines.recv().await {
            match read {
                Read::Failed(error) => {
                    return Err(Problem::storage("The jobs cannot be read to their end", error));
                }
                Read::Line { number, text: Err(why), .. } => self.reject(number, "", &why)?,
                Read::Line { number, bytes, text: Ok(text) } => {
                    at = bytes;
                    match self.parse(number, &text) {
                        Ok(job) => {
                            chunk_bytes += text.len();
                            chunk.push(Line { number, text, job });
                        }
                        Err(why) => self.reject(number, &text, &why)?,
                    }
                }
            }
            if chunk.len() >= CHUNK_JOBS || chunk_bytes >= CHUNK_BYTES {
                self.send(std::mem::take(&mut chunk)).await?;
                chunk_bytes = 0;
                self.bar.set_position(at);
            }
        }
        self.send(chunk).await?;
        self.bar.set_position(at);
        Ok(())
    }

    fn parse(&self, number: u64, text: &str) -> Result<NewJob, String> {
        if text.len() > LINE_BYTES_MAX {
            return Err(format!("it has more than {LINE_BYTES_MAX} bytes"));
        }
        let mut job: NewJob = match (&self.submit.kind, serde_json::from_str(text)) {
            (_, Ok(job)) => job,
            (Some(kind), Err(error)) => with_type(text, kind).ok_or_else(|| why(&error))?,
            (None, Err(error)) => return Err(why(&error)),
        };
        job.idempotency_key.get_or_insert_with(|| format!("{}:{number}", self.name));
        Ok(job)
    }

    /// Adds jobs; one that the hub refuses is left out, and the others are sent again.
    async fn send(&mut self, mut lines: Vec<Line>) -> Result<(), Problem> {
        while !lines.is_empty() {
            if self.submit.dry_run {
                self.accepted += lines.len() as u64;
                self.tell();
                return Ok(());
            }
            let sent: Vec<&NewJob> = lines.iter().map(|line| &line.job).collect();
            let call = self.hub.post("/api/jobs/batch").json(&sent).repeatable_for(PATIENCE);
            let failure = match call.try_read::<Vec<Enqueued>>().await? {
                Ok(added) => return self.added(&lines, &added),
                Err(failure) => failure,
            };
            let at = refused_item(&failure).filter(|at| *at < lines.len());
            let Some(at) = at else { return Err(failure.problem(self.hub)) };
            let line = lines.remove(at);
            let why = failure.body.error.replace("; none of the jobs was added", "");
            self.reject(line.number, &line.text, &why)?;
        }
        Ok(())
    }

    fn added(&mut self, lines: &[Line], added: &[Enqueued]) -> Result<(), Problem> {
        self.accepted += lines.len() as u64;
        self.tell();
        let Some(output) = &mut self.output else { return Ok(()) };
        for (line, added) in lines.iter().zip(added) {
            output.item(&Record(vec![
                ("line", line.number.into()),
                ("id", added.id.as_str().into()),
                ("status", added.status.as_str().into()),
                ("error", Value::Null),
            ]))?;
        }
        Ok(output.flush()?)
    }

    fn reject(&mut self, number: u64, text: &str, why: &str) -> Result<(), Problem> {
        self.wrong += 1;
        self.bar.suspend(|| eprintln!("Line {number} is not submitted: {}", output::visible(why)));
        if let Some(file) = &mut self.rejects {
            let written = writeln!(file, "{}", text.trim_end_matches(['\r', '\n']));
            written.map_err(|error| Problem::storage("The wrong lines cannot be written", error))?;
        }
        let Some(output) = &mut self.output else { return Ok(()) };
        let record = Record(vec![
            ("line", number.into()),
            ("id", Value::Null),
            ("status", Value::Null),
            ("error", why.into()),
        ]);
        Ok(output.item(&record)?)
    }

    fn tell(&self) {
        self.bar.set_message(jobs(self.accepted));
        self.bar.tick();
    }

    fn finish(&mut self, done: Result<(), Problem>) -> Result<(), Problem> {
        self.bar.finish_and_clear();
        if let Some(output) = &mut self.output {
            output.end()?;
        }
        let (accepted, wrong) = (self.accepted, self.wrong);
        if let Err(problem) = done {
            return Err(match problem {
                Problem::NobodyReads => problem,
                problem => cut_short(problem, accepted, self.how_to_go_on()),
            });
        }
        let summary = match self.submit.dry_run {
            true => format!("Would submit {}", jobs(accepted)),
            false => format!("Submitted {}", jobs(accepted)),
        };
        match &self.output {
            None => output::say(&summary)?,
            Some(_) => eprintln!("{summary}"),
        }
        if wrong == 0 {
            return Ok(());
        }
        Err(Problem::refused(
            &format!("{wrong} {} wrong and left out", if wrong == 1 { "line is" } else { "lines are" }),
            format!("mend them in place, then add what is missing: {}", self.how_to_go_on()),
        ))
    }

    /// The same again, under the same name.
    fn how_to_go_on(&self) -> String {
        let kind = self.submit.kind.as_ref().map_or_else(String::new, |kind| format!(" --type {kind}"));
        format!("`queuectl batch submit {} --batch {}{kind}`", self.submit.file.display(), self.name)
    }
}

fn cut_short(problem: Problem, accepted: u64, how_to_go_on: String) -> Problem {
    let more = format!(
        "{} submitted so far; to add what is missing, and nothing twice: {how_to_go_on}",
        jobs(accepted)
    );
    let text = match problem.to_string() {
        text if text.is_empty() => format!("Interrupted\n  {more}"),
        text => format!("{text}\n  {more}"),
    };
    problem.with_text(text)
}

/// It has one line only, and is told the number that it has in the file.
fn why(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column", " at column")
}

/// Puts the type into an object that has none.
fn with_type(text: &str, kind: &JobType) -> Option<NewJob> {
    let rest = text.trim().strip_prefix('{')?;
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    let kind = serde_json::to_string(kind).ok()?;
    serde_json::from_str(&format!("{{\"type\":{kind}{comma}{rest}")).ok()
}

/// The place of the job at fault: the hub names the field `[3]` or `[3].priority`.
fn refused_item(failure: &Failure) -> Option<usize> {
    let field = failure.body.field.as_deref()?.strip_prefix('[')?;
    field.split(']').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_put_where_none_is() {
        let kind = JobType::new("render").unwrap();
        for (text, fits) in
            [("{}", true), (r#"{"params":{"n":1.10}}"#, true), ("[]", false), (r#"{"x":1}"#, false)]
        {
            let job = with_type(text, &kind);
            assert_eq!(job.is_some(), fits, "{text}");
            assert!(job.is_none_or(|job| job.kind == kind));
        }
        let job = with_type(r#" {"params":{"n":1.10}}"#, &kind).unwrap();
        assert_eq!(job.params.unwrap().get(), r#"{"n":1.10}"#);
    }
}
