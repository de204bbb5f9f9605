//! What the three lists show, as text, and how they are sorted. What is not known is a dash, never a zero.

use super::model::{Data, Pane};
use crate::{
    output::{text::visible, tone::Tone},
    span::age,
};
use forge_shared::{
    Job, Status,
    fleet::{Node, NodeStatus},
    overview::QueueOverview,
    response::{Worker, WorkerState},
};
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

pub(super) const UNKNOWN: &str = "–";

/// One line of a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) cells: Vec<Cell>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) tone: Option<Tone>,
    key: Key,
}

#[derive(Debug, Clone, PartialEq)]
enum Key {
    Text(String),
    Number(f64),
    Unknown,
}

/// A column: what it is called, and how wide it is; 0 shares what is left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) width: u16,
    pub(super) is_number: bool,
}

const fn column(title: &'static str, width: u16, is_number: bool) -> Column {
    Column { title, width, is_number }
}

const MACHINES: &[Column] = &[
    column("machine", 0, false),
    column("state", 8, false),
    column("cpu", 4, true),
    column("mem", 4, true),
    column("jobs", 5, true),
];
const QUEUES: &[Column] = &[
    column("queue", 0, false),
    column("due", 5, true),
    column("later", 5, true),
    column("run", 5, true),
    column("oldest", 7, true),
];
const JOBS: &[Column] = &[
    column("job", 0, false),
    column("type", 12, false),
    column("state", 10, false),
    column("machine", 12, false),
    column("try", 4, true),
    column("for", 7, true),
    column("done", 4, true),
];

/// For how long a job has been so, among its columns.
pub(super) const AGE: usize = 5;

pub(super) fn columns(pane: Pane) -> &'static [Column] {
    match pane {
        Pane::Machines => MACHINES,
        Pane::Queues => QUEUES,
        Pane::Jobs => JOBS,
    }
}

impl Cell {
    fn text(text: &str) -> Self {
        let shown = visible(text);
        Self { key: Key::Text(shown.to_lowercase()), text: shown, tone: None }
    }

    fn state(word: &str) -> Self {
        Self { tone: Tone::of(word), ..Self::text(word) }
    }

    fn number(number: Option<f64>, text: impl FnOnce(f64) -> String) -> Self {
        match number {
            Some(number) => Self { text: text(number), tone: None, key: Key::Number(number) },
            None => Self { text: UNKNOWN.to_owned(), tone: None, key: Key::Unknown },
        }
    }

    fn count(number: Option<u64>) -> Self {
        Self::number(number.map(|number| number as f64), |number| short(number as u64))
    }

    fn percent(number: Option<f64>) -> Self {
        Self::number(number, |number| format!("{number:.0}%"))
    }

    fn age(ms: Option<i64>) -> Self {
        Self::number(ms.map(|ms| ms as f64), |ms| age(ms as i64))
    }
}

/// A number in at most five characters.
pub(super) fn short(number: u64) -> String {
    match number {
        0..=99_999 => number.to_string(),
        100_000..=9_999_999 => format!("{}k", number / 1_000),
        _ => format!("{}M", number / 1_000_000),
    }
}

/// A machine that pushes metrics, takes jobs, or both. Under one id it is one machine.
pub(super) fn machines(data: &Data) -> Option<Vec<Row>> {
    if data.nodes.is_none() && data.workers.is_none() {
        return None;
    }
    let workers: BTreeMap<&str, &Worker> =
        data.workers.iter().flatten().map(|worker| (worker.id.as_str(), worker)).collect();
    let nodes = data.nodes.as_ref();
    let named = nodes.into_iter().flat_map(|nodes| nodes.keys().map(String::as_str));
    let ids: BTreeSet<&str> = named.chain(workers.keys().copied()).collect();
    let row = |id: &str| machine(id, nodes.and_then(|nodes| nodes.get(id)), workers.get(id).copied());
    Some(ids.into_iter().map(row).collect())
}

fn machine(id: &str, node: Option<&Node>, worker: Option<&Worker>) -> Row {
    let name = node.map(|node| node.name.as_str()).or_else(|| worker?.name.as_deref()).unwrap_or(id);
    let state = match (worker.map(|worker| worker.state), node.map(|node| node.status)) {
        (Some(WorkerState::Lost), _) => "lost",
        (Some(WorkerState::Draining), _) => "draining",
        (_, Some(NodeStatus::Offline)) => "offline",
        (_, Some(NodeStatus::Degraded)) => "degraded",
        (Some(WorkerState::Online), _) | (None, Some(NodeStatus::Online)) => "online",
        (None, None) => UNKNOWN,
    };
    // Old measurements are no measurements.
    let fresh = node.filter(|node| node.status != NodeStatus::Offline).and_then(|node| node.latest.as_ref());
    let jobs = match worker {
        Some(worker) => {
            Cell { text: format!("{}/{}", worker.jobs, worker.slots), ..Cell::count(Some(worker.jobs)) }
        }
        None => Cell::count(None),
    };
    let cells = vec![
        Cell::text(name),
        Cell::state(state),
        Cell::percent(fresh.map(|snapshot| snapshot.cpu)),
        Cell::percent(fresh.map(|snapshot| snapshot.memory.percent)),
        jobs,
    ];
    Row { id: id.to_owned(), cells }
}

pub(super) fn queues(queues: &[QueueOverview]) -> Vec<Row> {
    let row = |queue: &QueueOverview| {
        let cells = vec![
            Cell::text(queue.name.as_str()),
            Cell::count(Some(queue.due)),
            Cell::count(Some(queue.scheduled)),
            Cell::count(Some(queue.running)),
            match queue.due {
                // None waits: that is known.
                0 => Cell { text: String::new(), ..Cell::age(Some(-1)) },
                _ => Cell::age(queue.oldest_wait_ms),
            },
        ];
        Row { id: queue.name.to_string(), cells }
    };
    queues.iter().map(row).collect()
}

/// `now_ms` is the hub's time.
pub(super) fn jobs(jobs: &[Job], now_ms: Option<i64>) -> Vec<Row> {
    jobs.iter().map(|job| self::job(job, now_ms)).collect()
}

fn job(job: &Job, now_ms: Option<i64>) -> Row {
    let since = match job.status {
        Status::Pending => Some(job.created_at),
        Status::Assigned => job.claimed_at,
        Status::Running => job.started_at.or(job.claimed_at),
        Status::Completed | Status::Failed | Status::Quarantined => job.finished_at,
    };
    let state = match job.status {
        Status::Running if job.cancel_requested => "cancelling",
        Status::Failed if job.fail_reason.as_deref() == Some("cancelled") => "cancelled",
        Status::Quarantined => "dead",
        Status::Pending if job.next_retry_at.is_some() => "retrying",
        status => status.as_str(),
    };
    let cells = vec![
        Cell::text(job.id.as_str()),
        Cell::text(job.kind.as_str()),
        Cell::state(state),
        job.worker_id.as_ref().map_or_else(|| Cell::text(""), |worker| Cell::text(worker.as_str())),
        Cell {
            text: format!("{}/{}", job.attempts, job.max_attempts),
            ..Cell::count(Some(job.attempts.into()))
        },
        Cell::age(now_ms.zip(since).map(|(now, since)| now - since)),
        Cell::percent(job.progress.as_ref().and_then(|progress| progress.percent)),
    ];
    Row { id: job.id.to_string(), cells }
}

/// By one column; what is not known comes last, whichever way it goes.
pub(super) fn sort(rows: &mut [Row], by: usize, is_reversed: bool) {
    let compare = |a: &Row, b: &Row| {
        let (left, right) = (&a.cells[by].key, &b.cells[by].key);
        let order = match (left, right) {
            (Key::Unknown, Key::Unknown) => Ordering::Equal,
            (Key::Unknown, _) => return Ordering::Greater,
            (_, Key::Unknown) => return Ordering::Less,
            (Key::Number(a), Key::Number(b)) => a.total_cmp(b),
            (Key::Text(a), Key::Text(b)) => a.cmp(b),
            (Key::Number(_), Key::Text(_)) => Ordering::Less,
            (Key::Text(_), Key::Number(_)) => Ordering::Greater,
        };
        if is_reversed { order.reverse() } else { order }
    };
    rows.sort_by(|a, b| compare(a, b).then_with(|| a.id.cmp(&b.id)));
}

/// Whether any of its words contains the text.
pub(super) fn matches(row: &Row, text: &str) -> bool {
    let text = text.to_lowercase();
    row.id.to_lowercase().contains(&text)
        || row.cells.iter().any(|cell| cell.text.to_lowercase().contains(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_is_a_dash_and_sorted_last() {
        let row = |id: &str, cpu| Row { id: id.to_owned(), cells: vec![Cell::percent(cpu)] };
        let mut rows = vec![row("a", None), row("b", Some(0.0)), row("c", Some(70.4))];
        assert_eq!(rows.iter().map(|row| row.cells[0].text.as_str()).collect::<Vec<_>>(), ["–", "0%", "70%"]);
        for (is_reversed, expected) in [(false, "bca"), (true, "cba")] {
            sort(&mut rows, 0, is_reversed);
            assert_eq!(rows.iter().map(|row| row.id.as_str()).collect::<String>(), expected);
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([short(99_999), short(123_456), short(12_345_678)], ["99999", "123k", "12M"]);
    }
}
