//! `workers …`: who takes jobs from the hub, and who should not any more.

use crate::{
    confirm::Caution,
    hub::Hub,
    output::{self, Format, Record, Shape},
    problem::Problem,
    span::{iso, iso_or_none},
};
use clap::{Args, Subcommand};
use forge_shared::{
    WorkerId,
    response::{Worker, WorkerState},
};
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub(crate) enum Workers {
    /// List workers, with the jobs that each holds
    #[command(after_help = "Examples:
  queuectl workers list
  queuectl workers list --state lost
  queuectl workers list -o csv")]
    List(List),
    /// Show all that is known of a worker
    #[command(after_help = "Examples:
  queuectl workers show rack-3")]
    Show(One),
    /// Let workers finish what they have and take nothing new, also after a restart
    #[command(after_help = "Examples:
  queuectl workers drain rack-3
  queuectl workers drain rack-3 rack-4")]
    Drain(Several),
    /// Let drained workers take jobs again
    #[command(after_help = "Examples:
  queuectl workers resume rack-3")]
    Resume(Several),
    /// Remove workers from the list; one that lives comes back when it is heard of
    #[command(after_help = "Examples:
  queuectl workers forget rack-3
  queuectl workers forget rack-3 --yes")]
    Forget(Forget),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only workers in this state
    #[arg(long, value_parser = ["online", "draining", "lost"])]
    state: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    #[arg(value_name = "WORKER_ID")]
    id: WorkerId,
}

#[derive(Debug, Args)]
pub(crate) struct Several {
    #[arg(value_name = "WORKER_ID", required = true)]
    ids: Vec<WorkerId>,
}

#[derive(Debug, Args)]
pub(crate) struct Forget {
    #[command(flatten)]
    workers: Several,
    #[command(flatten)]
    caution: Caution,
}

const WORKERS: Shape = Shape {
    fields: &[
        "id",
        "name",
        "state",
        "jobs",
        "slots",
        "cores",
        "ram_gb",
        "tags",
        "types",
        "queues",
        "hostname",
        "pid",
        "version",
        "os",
        "arch",
        "boot_id",
        "registered_at",
        "last_heartbeat",
        "busy",
        "rss_kb",
        "outbox",
    ],
    columns: &[
        "id",
        "state",
        "jobs",
        "slots",
        "cores",
        "ram_gb",
        "version",
        "last_heartbeat",
        "types",
        "queues",
        "tags",
    ],
};
const ACTED: Shape = Shape { fields: &["id", "state"], columns: &["id", "state"] };

pub(super) async fn run(hub: &Hub, command: Workers, format: Option<Format>) -> Result<(), Problem> {
    match command {
        Workers::List(list) => {
            let workers: Vec<Worker> = hub.get("/api/workers").read().await?;
            let wanted =
                |worker: &&Worker| list.state.as_deref().is_none_or(|state| word(worker.state) == state);
            Ok(output::print_all(format, WORKERS, workers.iter().filter(wanted).map(record))?)
        }
        Workers::Show(One { id }) => Ok(output::print_one(format, &record(&find(hub, &id).await?))?),
        Workers::Drain(Several { ids }) => order(hub, &ids, "drain", format).await,
        Workers::Resume(Several { ids }) => order(hub, &ids, "resume", format).await,
        Workers::Forget(command) => forget(hub, command, format).await,
    }
}

pub(super) fn word(state: WorkerState) -> &'static str {
    match state {
        WorkerState::Online => "online",
        WorkerState::Draining => "draining",
        WorkerState::Lost => "lost",
    }
}

fn record(worker: &Worker) -> Record {
    let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::from);
    let list = |texts: Vec<&str>| if texts.is_empty() { Value::Null } else { json!(texts) };
    Record(vec![
        ("id", worker.id.as_str().into()),
        ("name", text(&worker.name)),
        ("state", word(worker.state).into()),
        ("jobs", worker.jobs.into()),
        ("slots", worker.slots.into()),
        ("cores", worker.cores.into()),
        ("ram_gb", json!((worker.ram_gb * 10.0).round() / 10.0)),
        ("tags", list(worker.tags.iter().map(String::as_str).collect())),
        ("types", list(worker.types.iter().map(|kind| kind.as_str()).collect())),
        ("queues", list(worker.queues.iter().map(|queue| queue.as_str()).collect())),
        ("hostname", text(&worker.hostname)),
        ("pid", worker.pid.map_or(Value::Null, Value::from)),
        ("version", text(&worker.version)),
        ("os", text(&worker.os)),
        ("arch", text(&worker.arch)),
        ("boot_id", worker.boot_id.as_ref().map_or(Value::Null, |id| id.as_str().into())),
        ("registered_at", iso(worker.registered_at)),
        ("last_heartbeat", iso_or_none(worker.last_heartbeat)),
        ("busy", worker.busy.map_or(Value::Null, Value::from)),
        ("rss_kb", worker.rss_kb.map_or(Value::Null, Value::from)),
        ("outbox", worker.outbox.map_or(Value::Null, Value::from)),
    ])
}

async fn find(hub: &Hub, id: &WorkerId) -> Result<Worker, Problem> {
    hub.get(format!("/api/workers/{id}")).find().await?.ok_or_else(|| unknown(id))
}

fn unknown(id: &WorkerId) -> Problem {
    Problem::refused("Worker not found", format!("'{id}' is no worker; `queuectl workers list` shows them"))
}

/// One after the other, up to the first that cannot be found.
async fn order(hub: &Hub, ids: &[WorkerId], verb: &str, format: Option<Format>) -> Result<(), Problem> {
    let mut output = output::to_stdout(format, ACTED);
    for id in ids {
        match hub.post(format!("/api/workers/{id}/{verb}")).try_done().await {
            Ok(()) => {}
            Err(failure) if failure.is_not_found() => {
                output.end()?;
                return Err(unknown(id));
            }
            Err(failure) => return Err(failure.problem(hub)),
        }
        let worker = find(hub, id).await?;
        output.item(&Record(vec![("id", id.as_str().into()), ("state", word(worker.state).into())]))?;
    }
    Ok(output.end()?)
}

async fn forget(hub: &Hub, command: Forget, format: Option<Format>) -> Result<(), Problem> {
    let Forget { workers: Several { ids }, caution } = command;
    let mut found = Vec::new();
    for id in &ids {
        found.push(find(hub, id).await?);
    }
    let act = if caution.dry_run { "would be forgotten" } else { "forgotten" };
    if !caution.dry_run {
        let names: Vec<String> =
            found.iter().map(|worker| format!("{} ({})", worker.id, word(worker.state))).collect();
        caution.ask(&format!("Forget {}", names.join(", ")))?;
        for id in &ids {
            hub.delete(format!("/api/workers/{id}")).done().await?;
        }
    }
    let record = |id: &WorkerId| Record(vec![("id", id.as_str().into()), ("state", act.into())]);
    Ok(output::print_all(format, ACTED, ids.iter().map(record))?)
}
