//! `queues list`: what waits where.

use crate::{
    hub::Hub,
    output::{self, Format, Record, Shape},
    problem::Problem,
    span::age,
};
use clap::Subcommand;
use forge_shared::overview::{Overview, QueueOverview};
use serde_json::Value;

#[derive(Debug, Subcommand)]
pub(crate) enum Queues {
    /// List queues: what is due, what waits for its time, what runs, and for how long the oldest has been due
    #[command(after_help = "Examples:
  queuectl queues list
  queuectl queues list -o json | jq '.[] | select(.due > 100)'")]
    List,
}

pub(super) const QUEUES: Shape = Shape {
    fields: &[
        "name",
        "due",
        "scheduled",
        "running",
        "oldest_wait_ms",
        "completed_last_hour",
        "failed_last_hour",
    ],
    columns: &["name", "due", "scheduled", "running", "oldest", "completed_last_hour", "failed_last_hour"],
};

pub(super) async fn run(hub: &Hub, command: Queues, format: Option<Format>) -> Result<(), Problem> {
    let Queues::List = command;
    let overview: Overview = hub.get("/api/overview").read().await?;
    print(&overview.queues, format)
}

pub(super) fn print(queues: &[QueueOverview], format: Option<Format>) -> Result<(), Problem> {
    let for_people = output::is_for_people(format);
    Ok(output::print_all(format, QUEUES, queues.iter().map(|queue| record(queue, for_people)))?)
}

fn record(queue: &QueueOverview, for_people: bool) -> Record {
    let mut fields = vec![
        ("name", queue.name.as_str().into()),
        ("due", queue.due.into()),
        ("scheduled", queue.scheduled.into()),
        ("running", queue.running.into()),
        ("oldest_wait_ms", queue.oldest_wait_ms.map_or(Value::Null, Value::from)),
        ("completed_last_hour", queue.completed_last_hour.into()),
        ("failed_last_hour", queue.failed_last_hour.into()),
    ];
    if for_people {
        fields.push(("oldest", queue.oldest_wait_ms.map_or(Value::Null, |ms| age(ms).into())));
    }
    Record(fields)
}
