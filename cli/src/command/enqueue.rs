//! `enqueue`: reads a job as people write it, and has it added.

use crate::{
    backend::{Backend, JOBS, NewJob},
    local::{
        folder::Folder,
        settings::{MAX_RETRIES_MAX, Settings},
    },
    output::{self, Format},
    problem::Problem,
};
use clap::Args;
use forge_shared::JobId;
use jiff::Timestamp;
use serde_json::{Map, Value};

const STANDARD_INPUT: &str = "-";
/// The longest argument that Linux accepts, with the zero byte at its end.
const COMMAND_BYTES_MAX: usize = 128 << 10;

#[derive(Debug, Args)]
pub(crate) struct Enqueue {
    /// The job as a JSON object: id and command, and if you like max_retries, attempts, state
    /// (pending), priority, run_at (ISO 8601 or milliseconds) and timeout_ms. With `-`, one object
    /// a line is read from standard input
    #[arg(value_name = "JOB_JSON")]
    job: String,
}

/// `folder` is the one whose configuration fills in what is left out; a hub has its own.
pub(super) fn read(folder: Option<&Folder>, command: &Enqueue) -> Result<Vec<NewJob>, Problem> {
    let load = || folder.map(Settings::load).transpose();
    if command.job != STANDARD_INPUT {
        let fields = object(&command.job)?;
        return Ok(vec![job(fields, load()?.as_ref())?]);
    }
    let text = std::io::read_to_string(std::io::stdin())
        .map_err(|error| Problem::Storage(format!("standard input cannot be read: {error}")))?;
    let mut objects = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        objects.push((at + 1, object(line).map_err(|problem| in_line(at + 1, problem))?));
    }
    let settings = load()?;
    objects
        .into_iter()
        .map(|(at, fields)| job(fields, settings.as_ref()).map_err(|why| in_line(at, why)))
        .collect()
}

pub(super) async fn run(
    backend: &dyn Backend,
    jobs: Vec<NewJob>,
    format: Option<Format>,
) -> Result<(), Problem> {
    let several = jobs.len() != 1;
    let jobs = backend.enqueue(jobs).await?;
    if output::is_for_people(format) {
        let what = match &jobs[..] {
            [job] if !several => job.id.clone(),
            jobs => format!("{} jobs", jobs.len()),
        };
        return Ok(output::say(&format!("Enqueued {what}"))?);
    }
    let mut output = output::to_stdout(format, JOBS);
    if !several {
        return Ok(jobs.iter().try_for_each(|job| output.one(&job.record()))?);
    }
    jobs.iter().try_for_each(|job| output.item(&job.record()))?;
    Ok(output.end()?)
}

fn in_line(line: usize, problem: Problem) -> Problem {
    match problem {
        Problem::Usage(text) => Problem::Usage(format!("{text} (line {line}; no job was added)")),
        other => other,
    }
}

fn object(text: &str) -> Result<Map<String, Value>, Problem> {
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(incomplete()),
        Err(error) => Err(Problem::usage(
            "Invalid JSON",
            format!(
                "{error}; write it as '{{\"id\":\"job1\",\"command\":\"echo hello\"}}', in single quotes"
            ),
        )),
    }
}

fn incomplete() -> Problem {
    Problem::usage("id and command required", "both are text, and not empty")
}

fn job(mut fields: Map<String, Value>, settings: Option<&Settings>) -> Result<NewJob, Problem> {
    let mut text = |name| match fields.remove(name) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text),
        _ => Err(incomplete()),
    };
    let (id, command) = (text("id")?, text("command")?);
    let id = JobId::new(&id).map_err(|why| Problem::usage("Invalid id", why))?;
    if command.contains('\0') || command.len() >= COMMAND_BYTES_MAX {
        let help = "a command has no zero byte and less than 128 KiB; put a longer one into a script";
        return Err(Problem::usage("Invalid command", help));
    }
    let mut fields = Fields(fields);
    let max_retries = fields.whole("max_retries", 0, MAX_RETRIES_MAX.into())?;
    let attempts = fields.whole("attempts", 0, MAX_RETRIES_MAX.into())?;
    let priority = fields.whole("priority", i16::MIN.into(), i16::MAX.into())?;
    let timeout_ms = fields.whole("timeout_ms", 1, i64::MAX)?;
    let run_at = fields.time("run_at")?;
    match fields.take("state") {
        None => {}
        Some(Value::String(state)) if state == "pending" => {}
        Some(_) => {
            return Err(Problem::usage("Invalid state", "a job begins as \"pending\"; leave state out"));
        }
    }
    // What `list` prints can be enqueued again.
    for shown in ["created_at", "updated_at"] {
        fields.take(shown);
    }
    if let Some(name) = fields.0.keys().next() {
        return Err(Problem::usage(
            "Unknown field",
            format!(
                "'{name}'; there are id, command, max_retries, attempts, state, priority, run_at and timeout_ms"
            ),
        ));
    }
    let number = |value: Option<i64>| value.and_then(|n| u32::try_from(n).ok());
    Ok(NewJob {
        id,
        command,
        max_retries: number(max_retries).or(settings.map(|settings| settings.max_retries)),
        attempts: number(attempts).unwrap_or(0),
        priority: priority.and_then(|n| i16::try_from(n).ok()).unwrap_or(0),
        run_at,
        timeout_ms,
        backoff_base: settings.map(Settings::backoff_base),
    })
}

/// What is left to look at.
struct Fields(Map<String, Value>);

impl Fields {
    /// A field that is null is one that is not there.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    fn whole(&mut self, name: &str, min: i64, max: i64) -> Result<Option<i64>, Problem> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = value.as_i64().filter(|number| (min..=max).contains(number));
        number.map(Some).ok_or_else(|| {
            let most = if max == i64::MAX { String::new() } else { format!(" to {max}") };
            Problem::usage(&format!("Invalid {name}"), format!("it must be a whole number from {min}{most}"))
        })
    }

    fn time(&mut self, name: &str) -> Result<Option<i64>, Problem> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let time = match &value {
            Value::String(text) => text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond),
            Value::Number(number) => number.as_i64(),
            _ => None,
        };
        time.map(Some).ok_or_else(|| {
            let help = "write a time such as \"2026-12-24T18:00:00Z\", or milliseconds since 1970";
            Problem::usage(&format!("Invalid {name}"), help)
        })
    }
}
