//! One machine: when it was heard of last, and its newest snapshots.

use super::{
    history::Recent,
    snapshot::{Snapshot, framed},
};
use bytes::Bytes;
use forge_shared::{NodeId, fleet::NodeStatus};
use serde::Serialize;
use std::{collections::VecDeque, sync::MutexGuard, time::Duration};
use tokio::{sync::watch, time::Instant};

/// Snapshots kept of each node.
pub const RING_MAX: usize = 360;
/// And their bytes: a machine with hundreds of cores keeps fewer.
const RING_BYTES_MAX: usize = 1 << 20;
/// Snapshots shown in the fleet view.
pub const HISTORY_MAX: usize = 60;
/// Snapshots stamped further ahead than this give way once the node's clock is right again.
const AHEAD_MS_TOLERATED: i64 = 60_000;

const ONLINE_FOR: Duration = Duration::from_secs(15);
const DEGRADED_FOR: Duration = Duration::from_secs(60);

pub(super) struct Node {
    pub(super) id: NodeId,
    state: std::sync::Mutex<State>,
    /// The number of the newest snapshot, for whoever watches this node.
    arrivals: watch::Sender<u64>,
    pub(super) recent: std::sync::Mutex<Recent>,
}

pub(super) struct State {
    pub(super) name: String,
    pub(super) last_seen: i64,
    heard: Heard,
    ring: VecDeque<Kept>,
    ring_bytes: usize,
    /// What the store does not have yet.
    pub(super) dirty: bool,
    /// The status that watchers were told of.
    pub(super) told: NodeStatus,
    /// The message for fleet watchers, made when the first one wants it.
    message: Option<(NodeStatus, Bytes)>,
}

/// Silence is counted on the monotonic clock, so that a clock step takes no node offline. After
/// a restart only the stored wall time tells how long it had lasted already.
#[derive(Clone, Copy)]
struct Heard {
    at: Instant,
    silent_before: Duration,
}

struct Kept {
    /// In order of arrival, which is not always the order of time.
    number: u64,
    snapshot: Snapshot,
}

impl Heard {
    fn status(self) -> NodeStatus {
        match self.at.elapsed().saturating_add(self.silent_before) {
            silence if silence < ONLINE_FOR => NodeStatus::Online,
            silence if silence < DEGRADED_FOR => NodeStatus::Degraded,
            _ => NodeStatus::Offline,
        }
    }
}

impl Node {
    pub(super) fn new(id: NodeId, name: String, last_seen: i64, now_ms: i64) -> Self {
        let silent_ms = u64::try_from(now_ms.saturating_sub(last_seen)).unwrap_or(0);
        let heard = Heard { at: Instant::now(), silent_before: Duration::from_millis(silent_ms) };
        let state = State {
            name,
            last_seen,
            heard,
            ring: VecDeque::new(),
            ring_bytes: 0,
            dirty: false,
            told: heard.status(),
            message: None,
        };
        Self { id, state: state.into(), arrivals: watch::Sender::new(0), recent: std::sync::Mutex::default() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Puts a stored snapshot back.
    pub(super) fn restore(&self, snapshot: Snapshot) {
        self.merge(&mut self.state(), [snapshot]);
    }

    /// A push that has just arrived.
    pub(super) fn hear(
        &self,
        snapshots: impl IntoIterator<Item = Snapshot>,
        name: Option<&str>,
        now_ms: i64,
    ) {
        let mut state = self.state();
        let snapshots: Vec<Snapshot> = snapshots.into_iter().collect();
        let sane = |snapshot: &Snapshot| snapshot.timestamp <= now_ms.saturating_add(AHEAD_MS_TOLERATED);
        if snapshots.iter().all(sane) {
            while state.ring.back().is_some_and(|kept| !sane(&kept.snapshot)) {
                state.pop_newest();
            }
        }
        if let Some(name) = name {
            state.name.replace_range(.., name);
        }
        state.last_seen = now_ms;
        state.heard = Heard { at: Instant::now(), silent_before: Duration::ZERO };
        state.told = NodeStatus::Online;
        state.dirty = true;
        state.message = None;
        self.merge(&mut state, snapshots);
    }

    /// Notes a status that came with time alone. True when watchers are to be told.
    pub(super) fn aged(&self) -> bool {
        let mut state = self.state();
        let status = state.heard.status();
        std::mem::replace(&mut state.told, status) != status
    }

    fn merge(&self, state: &mut State, snapshots: impl IntoIterator<Item = Snapshot>) {
        self.arrivals.send_if_modified(|number| {
            let before = *number;
            for snapshot in snapshots {
                if state.insert(*number + 1, snapshot) {
                    *number += 1;
                }
            }
            *number != before
        });
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.arrivals.subscribe()
    }
}

impl State {
    /// Keeps the ring in the order of time. False when it is a duplicate or too old to keep.
    fn insert(&mut self, number: u64, snapshot: Snapshot) -> bool {
        let at = self.ring.partition_point(|kept| kept.snapshot.timestamp <= snapshot.timestamp);
        let same_time =
            self.ring.range(..at).rev().take_while(|kept| kept.snapshot.timestamp == snapshot.timestamp);
        if same_time.into_iter().any(|kept| kept.snapshot == snapshot) {
            return false;
        }
        if at == 0 && self.ring.len() == RING_MAX {
            return false;
        }
        self.ring_bytes += snapshot.message().len();
        self.ring.insert(at, Kept { number, snapshot });
        while self.ring.len() > RING_MAX || (self.ring_bytes > RING_BYTES_MAX && self.ring.len() > 1) {
            if let Some(oldest) = self.ring.pop_front() {
                self.ring_bytes -= oldest.snapshot.message().len();
            }
        }
        true
    }

    fn pop_newest(&mut self) {
        if let Some(newest) = self.ring.pop_back() {
            self.ring_bytes -= newest.snapshot.message().len();
        }
    }

    pub(super) fn latest(&self) -> Option<&Snapshot> {
        self.ring.back().map(|kept| &kept.snapshot)
    }

    pub(super) fn status(&self) -> NodeStatus {
        self.heard.status()
    }

    /// The newest `n`, oldest first.
    pub(super) fn newest(&self, n: usize) -> impl Iterator<Item = &Snapshot> {
        self.ring.range(self.ring.len() - n.min(self.ring.len())..).map(|kept| &kept.snapshot)
    }

    /// The first snapshot that arrived after the one with this number.
    pub(super) fn after(&self, number: u64) -> Option<(u64, Bytes)> {
        let later = self.ring.iter().filter(|kept| kept.number > number);
        later.min_by_key(|kept| kept.number).map(|kept| (kept.number, kept.snapshot.message()))
    }

    /// The node in the shape of the fleet view, as an event stream carries it; made once for all
    /// who watch.
    pub(super) fn message(&mut self, id: &NodeId) -> Bytes {
        let status = self.status();
        if let Some((said, message)) = &self.message
            && *said == status
        {
            return message.clone();
        }
        let message = framed(|out| self.write_json(id, status, HISTORY_MAX, out));
        self.message = Some((status, message.clone()));
        message
    }

    /// The same without the history, which is nearly all of it.
    pub(super) fn brief_message(&self, id: &NodeId) -> Bytes {
        framed(|out| {
            self.write_head(id, self.status(), out);
            out.push(b'}');
        })
    }

    /// The node in the shape of the fleet view, with so much of its history.
    pub(super) fn json(&self, id: &NodeId, history: usize) -> Bytes {
        let mut out = Vec::new();
        self.write_json(id, self.status(), history, &mut out);
        out.into()
    }

    fn write_json(&self, id: &NodeId, status: NodeStatus, history: usize, out: &mut Vec<u8>) {
        self.write_head(id, status, out);
        out.extend_from_slice(b",\"history\":");
        write_array(self.newest(history), out);
        out.push(b'}');
    }

    /// All but the history and the brace at the end.
    fn write_head(&self, id: &NodeId, status: NodeStatus, out: &mut Vec<u8>) {
        let head = Head { id, name: &self.name, last_seen: self.last_seen, status };
        serde_json::to_writer(&mut *out, &head).expect("strings and numbers are always JSON");
        let brace = out.pop();
        debug_assert_eq!(brace, Some(b'}'));
        out.extend_from_slice(b",\"latest\":");
        match self.latest() {
            Some(latest) => out.extend_from_slice(&latest.json()),
            None => out.extend_from_slice(b"null"),
        }
    }
}

/// What the fleet view says of a node before its snapshots, which are text already.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    id: &'a NodeId,
    name: &'a str,
    last_seen: i64,
    status: NodeStatus,
}

pub(super) fn write_array<'a>(snapshots: impl Iterator<Item = &'a Snapshot>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, snapshot) in snapshots.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&snapshot.json());
    }
    out.push(b']');
}
