//! `events`: what happens on a hub, as it happens.

use super::interruptible;
use crate::{
    hub::{Events as Stream, Happened, Hub},
    output::{self, Format, Output, Record, Shape},
    problem::Problem,
    span::iso,
};
use clap::Args;
use forge_shared::{JobId, JobType, QueueName, WorkerId, event::Event, fleet::Node};
use serde_json::{Value, json};

/// Events of the past that are shown when nothing else is asked for.
const LAST_DEFAULT: u64 = 20;

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// Go on with what happens, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Begin with those among the last N events that match; 20, and with --follow none, when left out
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "after")]
    last: Option<u64>,
    /// Begin after the event with this id, as -o jsonl shows it
    #[arg(long, value_name = "EVENT_ID")]
    after: Option<String>,
    /// What about
    #[arg(long, value_delimiter = ',', default_values_t = ["jobs".to_owned(), "workers".to_owned()], value_parser = ["jobs", "workers", "nodes"])]
    topics: Vec<String>,
    /// Only of jobs of this type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<JobType>,
    /// Only of jobs of this queue
    #[arg(long)]
    queue: Option<QueueName>,
    /// Only of this job
    #[arg(long, value_name = "JOB_ID")]
    job: Option<JobId>,
    /// Only of this worker
    #[arg(long, value_name = "WORKER_ID")]
    worker: Option<WorkerId>,
}

const EVENTS: Shape = Shape {
    fields: &[
        "id",
        "at",
        "event",
        "job_id",
        "type",
        "queue",
        "worker_id",
        "status",
        "attempt",
        "wait_ms",
        "run_ms",
        "run_at",
        "reason",
        "progress",
        "node",
    ],
    columns: &["at", "event", "job_id", "type", "queue", "worker_id", "status", "reason"],
};

/// A stream is not a list: where nobody reads a table, it is one object a line.
pub(super) fn stream_format(format: Option<Format>) -> Format {
    match format {
        Some(format) => format,
        None if output::is_for_people(None) => Format::Table,
        None => Format::Jsonl,
    }
}

fn event_record(id: Option<&str>, event: &Event) -> Record {
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
    Record(vec![
        ("id", text(id)),
        ("at", iso(event.ts)),
        ("event", event.kind.as_str().into()),
        ("job_id", text(event.job_id.as_ref().map(JobId::as_str))),
        ("type", text(event.job_type.as_ref().map(JobType::as_str))),
        ("queue", text(event.queue.as_ref().map(QueueName::as_str))),
        ("worker_id", text(event.worker_id.as_ref().map(WorkerId::as_str))),
        ("status", text(event.status.map(|status| status.as_str()))),
        ("attempt", json!(event.attempt)),
        ("wait_ms", json!(event.wait_ms)),
        ("run_ms", json!(event.run_ms)),
        ("run_at", event.run_at.map_or(Value::Null, iso)),
        ("reason", text(event.reason.as_deref())),
        ("progress", json!(event.progress)),
        ("node", Value::Null),
    ])
}

fn node_record(node: &Node) -> Record {
    let mut record = Record(EVENTS.fields.iter().map(|field| (*field, Value::Null)).collect());
    for (name, value) in &mut record.0 {
        match *name {
            "at" => *value = iso(node.last_seen),
            "event" => *value = "node".into(),
            "status" => *value = json!(node.status),
            "node" => *value = json!({ "id": node.id, "name": node.name, "latest": node.latest }),
            _ => {}
        }
    }
    record
}

/// Prints events as they come.
pub(super) struct Printer {
    output: Box<dyn Output>,
    for_people: bool,
}

impl Printer {
    pub(super) fn new(format: Option<Format>) -> Self {
        let format = stream_format(format);
        Self { output: output::to_stdout(Some(format), EVENTS), for_people: format == Format::Table }
    }

    pub(super) fn event(&mut self, id: Option<&str>, event: &Event) -> std::io::Result<()> {
        if self.for_people {
            return output::say(&line(event));
        }
        self.output.item(&event_record(id, event))?;
        self.output.flush()
    }

    fn node(&mut self, node: &Node) -> std::io::Result<()> {
        if self.for_people {
            let status = json!(node.status);
            let cpu =
                node.latest.as_ref().map_or_else(String::new, |latest| format!("  cpu {:.0}%", latest.cpu));
            let line = format!(
                "{}  {:<17}  {}  {}{cpu}",
                clock(node.last_seen),
                "node",
                node.id,
                status.as_str().unwrap_or("")
            );
            return output::say(&output::visible(&line));
        }
        self.output.item(&node_record(node))?;
        self.output.flush()
    }

    pub(super) fn end(&mut self) -> std::io::Result<()> {
        if self.for_people { Ok(()) } else { self.output.end() }
    }
}

/// The time of day: whoever follows knows the day.
fn clock(ms: i64) -> String {
    let iso = iso(ms);
    iso.as_str().and_then(|text| text.get(11..23)).unwrap_or("").to_owned()
}

fn line(event: &Event) -> String {
    let mut words = vec![format!("{}  {:<17}", clock(event.ts), event.kind.as_str())];
    words.extend(event.job_id.as_ref().map(ToString::to_string));
    words.extend(event.job_type.as_ref().map(ToString::to_string));
    words.extend(
        event.queue.as_ref().filter(|queue| queue.as_str() != "default").map(|queue| format!("in {queue}")),
    );
    words.extend(event.worker_id.as_ref().map(|worker| format!("on {worker}")));
    words.extend(event.run_ms.map(|ms| format!("ran {}", crate::span::spoken(ms))));
    words.extend(event.reason.as_ref().map(|reason| format!("({reason})")));
    if let Some(progress) = &event.progress {
        words.extend(progress.percent.map(|percent| format!("{percent:.0}%")));
        words.extend(progress.message.clone());
    }
    output::visible(&words.join("  "))
}

pub(super) async fn run(hub: &Hub, command: Events, format: Option<Format>) -> Result<(), Problem> {
    let mut printer = Printer::new(format);
    let done = match command.follow {
        true => interruptible(follow(hub, &command, &mut printer)).await,
        false => interruptible(past(hub, &command, &mut printer)).await,
    };
    printer.end()?;
    done
}

async fn follow(hub: &Hub, command: &Events, printer: &mut Printer) -> Result<(), Problem> {
    let after = match (&command.after, command.last) {
        (Some(id), _) => Some(id.clone()),
        (None, Some(last)) => Some(place_before(hub, last).await?.0),
        (None, None) => None,
    };
    let mut stream = Stream::new(hub, command.query(), after);
    loop {
        match stream.next().await? {
            Happened::Lost { why } => eprintln!("The stream broke off ({why}); trying to go on where it was"),
            Happened::Reset => eprintln!("Events were missed: the hub does not have them any more"),
            happened => command.print(&happened, printer)?,
        }
    }
}

/// What is stored already, up to now.
async fn past(hub: &Hub, command: &Events, printer: &mut Printer) -> Result<(), Problem> {
    let (before, newest) = place_before(hub, command.last.unwrap_or(LAST_DEFAULT)).await?;
    let begin = command.after.clone().unwrap_or(before);
    // The hub says nothing about events that a filter leaves out, so none is used and the end is seen.
    let mut stream =
        Stream::new(hub, vec![("topics".to_owned(), "jobs,workers".to_owned())], Some(begin.clone()));
    if number(&begin) >= number(&newest) {
        return Ok(());
    }
    loop {
        let happened = stream.next().await?;
        match &happened {
            Happened::Reset => {
                return Err(Problem::refused(
                    "The hub does not have these events any more",
                    "ask for fewer with --last, or follow what happens from now on with --follow",
                ));
            }
            Happened::Event { id: Some(id), .. } => {
                let is_last = number(id) >= number(&newest);
                command.print(&happened, printer)?;
                if is_last {
                    return Ok(());
                }
            }
            // The end of the stream is not always an event that is told.
            Happened::Place { id } if number(id) >= number(&newest) => return Ok(()),
            Happened::Lost { why } => return Err(broke_off(why)),
            _ => {}
        }
    }
}

fn broke_off(why: &str) -> Problem {
    Problem::unreachable("The stream of events broke off", format!("{why}; try again"))
}

/// The place so many events before the newest, and that of the newest.
async fn place_before(hub: &Hub, events: u64) -> Result<(String, String), Problem> {
    let mut stream = Stream::new(hub, vec![("topics".to_owned(), "jobs,workers".to_owned())], None);
    loop {
        match stream.next().await? {
            Happened::Place { id } => {
                let epoch = id.split('-').next().unwrap_or_default();
                return Ok((format!("{epoch}-{}", number(&id).saturating_sub(events)), id));
            }
            Happened::Lost { why } => return Err(broke_off(&why)),
            _ => {}
        }
    }
}

fn number(id: &str) -> u64 {
    id.split_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

impl Events {
    fn query(&self) -> Vec<(String, String)> {
        let mut query = vec![("topics".to_owned(), self.topics.join(","))];
        let mut add =
            |name: &str, value: Option<String>| query.extend(value.map(|value| (name.to_owned(), value)));
        add("type", self.kind.as_ref().map(ToString::to_string));
        add("queue", self.queue.as_ref().map(ToString::to_string));
        add("job_id", self.job.as_ref().map(ToString::to_string));
        add("worker_id", self.worker.as_ref().map(ToString::to_string));
        query
    }

    fn print(&self, happened: &Happened, printer: &mut Printer) -> Result<(), Problem> {
        let Happened::Event { id, name, .. } = happened else { return Ok(()) };
        if name == "node" {
            return Ok(happened.read::<Node>().map_or(Ok(()), |node| printer.node(&node))?);
        }
        match happened.read::<Event>().filter(|event| self.wants(event)) {
            Some(event) => Ok(printer.event(id.as_deref(), &event)?),
            None => Ok(()),
        }
    }

    fn wants(&self, event: &Event) -> bool {
        fn fits<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
            wanted.is_none() || wanted == found
        }
        let topic = if event.kind.is_job() { "jobs" } else { "workers" };
        self.topics.iter().any(|wanted| wanted == topic)
            && fits(self.kind.as_ref(), event.job_type.as_ref())
            && fits(self.queue.as_ref(), event.queue.as_ref())
            && fits(self.job.as_ref(), event.job_id.as_ref())
            && fits(self.worker.as_ref(), event.worker_id.as_ref())
    }
}
