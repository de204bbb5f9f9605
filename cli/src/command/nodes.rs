//! `nodes …`: machines that push their metrics.

use crate::{
    hub::Hub,
    output::{self, Format, Record, Shape},
    problem::Problem,
    span::iso,
};
use clap::{Args, Subcommand};
use forge_shared::{
    NodeId,
    fleet::{Gpu, HistoryPoint, Node, NodeHistory, NodeStatus, Snapshot},
};
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub(crate) enum Nodes {
    /// List machines with what they measured last
    #[command(after_help = "Examples:
  queuectl nodes list
  queuectl nodes list --status offline
  queuectl nodes list -o csv")]
    List(List),
    /// Show what a machine measured last
    #[command(after_help = "Examples:
  queuectl nodes show rack-3
  queuectl nodes show rack-3 -o json | jq .gpus")]
    Show(One),
    /// Show what a machine did: means, and the highest of processor and memory, oldest first
    #[command(after_help = "Examples:
  queuectl nodes history rack-3
  queuectl nodes history rack-3 --range 7d -o csv > rack-3.csv")]
    History(Past),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only machines in this state
    #[arg(long, value_parser = ["online", "degraded", "offline"])]
    status: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    #[arg(value_name = "NODE_ID")]
    id: NodeId,
}

#[derive(Debug, Args)]
pub(crate) struct Past {
    #[command(flatten)]
    node: One,
    /// How far back
    #[arg(long, default_value = "1h", value_parser = ["1h", "12h", "24h", "7d", "30d", "1y"])]
    range: String,
}

const NODES: Shape = Shape {
    fields: &[
        "id",
        "name",
        "status",
        "last_seen",
        "cpu_percent",
        "memory_percent",
        "memory_used_gib",
        "memory_total_gib",
        "load1",
        "disk_read_mib_s",
        "disk_write_mib_s",
        "network_rx_mib_s",
        "network_tx_mib_s",
        "gpus",
    ],
    columns: &[
        "id",
        "name",
        "status",
        "cpu_percent",
        "memory_percent",
        "memory_total_gib",
        "load1",
        "last_seen",
    ],
};
const POINTS: Shape = Shape {
    fields: &[
        "at",
        "samples",
        "cpu_percent",
        "cpu_percent_max",
        "memory_percent",
        "memory_percent_max",
        "memory_used_gib",
        "load1",
        "disk_read_mib_s",
        "disk_write_mib_s",
        "network_rx_mib_s",
        "network_tx_mib_s",
        "gpus",
    ],
    columns: &["at", "cpu_percent", "cpu_percent_max", "memory_percent", "memory_percent_max", "load1"],
};

pub(super) async fn run(hub: &Hub, command: Nodes, format: Option<Format>) -> Result<(), Problem> {
    match command {
        Nodes::List(list) => {
            let nodes: Vec<Node> = hub.get("/api/fleet").query("history", 0).read().await?;
            let wanted =
                |node: &&Node| list.status.as_deref().is_none_or(|status| word(node.status) == status);
            Ok(output::print_all(format, NODES, nodes.iter().filter(wanted).map(record))?)
        }
        Nodes::Show(One { id }) => {
            let nodes: Vec<Node> = hub.get("/api/fleet").query("history", 0).read().await?;
            let node = nodes.iter().find(|node| node.id == id).ok_or_else(|| unknown(&id))?;
            Ok(output::print_one(format, &record(node))?)
        }
        Nodes::History(Past { node: One { id }, range }) => {
            let call = hub.get(format!("/api/nodes/{id}/history")).query("range", range);
            let history: NodeHistory = call.find().await?.ok_or_else(|| unknown(&id))?;
            Ok(output::print_all(format, POINTS, history.points.iter().map(point))?)
        }
    }
}

pub(super) fn word(status: NodeStatus) -> &'static str {
    match status {
        NodeStatus::Online => "online",
        NodeStatus::Degraded => "degraded",
        NodeStatus::Offline => "offline",
    }
}

fn unknown(id: &NodeId) -> Problem {
    Problem::refused(
        "Machine not found",
        format!("'{id}' pushes no metrics; `queuectl nodes list` shows those that do"),
    )
}

/// One digit after the point; nobody reads more.
fn rounded(number: f64) -> Value {
    json!((number * 10.0).round() / 10.0)
}

fn record(node: &Node) -> Record {
    let latest = |field: fn(&Snapshot) -> f64| {
        node.latest.as_ref().map_or(Value::Null, |latest| rounded(field(latest)))
    };
    let gpus = node.latest.as_ref().and_then(|latest| latest.gpus.as_deref()).unwrap_or_default();
    Record(vec![
        ("id", node.id.as_str().into()),
        ("name", node.name.clone().into()),
        ("status", word(node.status).into()),
        ("last_seen", iso(node.last_seen)),
        ("cpu_percent", latest(|latest| latest.cpu)),
        ("memory_percent", latest(|latest| latest.memory.percent)),
        ("memory_used_gib", latest(|latest| latest.memory.used)),
        ("memory_total_gib", latest(|latest| latest.memory.total)),
        ("load1", latest(|latest| latest.load.avg1)),
        ("disk_read_mib_s", latest(|latest| latest.disk.read)),
        ("disk_write_mib_s", latest(|latest| latest.disk.write)),
        ("network_rx_mib_s", latest(|latest| latest.network.rx)),
        ("network_tx_mib_s", latest(|latest| latest.network.tx)),
        ("gpus", if gpus.is_empty() { Value::Null } else { gpus.iter().map(gpu).collect() }),
    ])
}

fn gpu(gpu: &Gpu) -> Value {
    let mut fields = serde_json::Map::new();
    let numbers = [
        ("use_percent", gpu.utilization_gpu),
        ("vram_used_mb", gpu.vram_used),
        ("vram_total_mb", gpu.vram_total),
        ("celsius", gpu.temperature_gpu),
    ];
    fields.insert("index".to_owned(), gpu.index.into());
    fields.extend(gpu.model.iter().map(|model| ("model".to_owned(), model.as_str().into())));
    // What a card does not tell is left out.
    fields.extend(numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), rounded(number?)))));
    fields.into()
}

fn point(point: &HistoryPoint) -> Record {
    let short = |number: f32| rounded(f64::from(number));
    let gpus: Value = point
        .gpus
        .iter()
        .map(|gpu| json!({"index": gpu.index, "use_percent": gpu.utilization.map(|spread| short(spread.mean))}))
        .collect();
    Record(vec![
        ("at", iso(point.ts)),
        ("samples", point.samples.into()),
        ("cpu_percent", short(point.cpu.mean)),
        ("cpu_percent_max", short(point.cpu.max)),
        ("memory_percent", short(point.memory.mean)),
        ("memory_percent_max", short(point.memory.max)),
        ("memory_used_gib", short(point.memory_used.mean)),
        ("load1", short(point.load.mean)),
        ("disk_read_mib_s", short(point.disk_read.mean)),
        ("disk_write_mib_s", short(point.disk_write.mean)),
        ("network_rx_mib_s", short(point.network_rx.mean)),
        ("network_tx_mib_s", short(point.network_tx.mean)),
        ("gpus", if point.gpus.is_empty() { Value::Null } else { gpus }),
    ])
}
