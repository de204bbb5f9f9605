//! The machines that push metrics. They live in memory; a node's first push and its name are
//! durable before they are answered, its newest snapshot is saved every few seconds.
//!
//! A watcher holds a cursor, never a queue. Each change gives its node the next number, and a
//! node has only its newest one, so a watcher that comes back late finds each node that changed
//! once, as it is now.

mod bucket;
mod history;
#[cfg(test)]
mod history_tests;
mod node;
mod snapshot;
#[cfg(test)]
mod tests;
mod watch;

pub use bucket::Bucket;
pub use node::{HISTORY_MAX, RING_MAX};
pub use snapshot::{Invalid, Measured, Snapshot};
pub use watch::{PACE, Shape};

use crate::store::{self, NodeRecord, Store};
use bytes::Bytes;
use forge_shared::{NodeId, fleet::NodeStatus};
use node::Node;
use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

pub const NODES_MAX: usize = 10_000;
pub const BATCH_MAX: usize = 1000;
pub const NAME_BYTES_MAX: usize = 255;
const FLUSH_EVERY: Duration = Duration::from_secs(5);
/// How late a node may be called degraded or offline.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Snapshots that one call of the store saves.
const FLUSH_MAX: usize = 500;

/// Why a push was not taken.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refused {
    #[error("{}: {}", .0.field, .0.why)]
    Invalid(Invalid),
    #[error("the hub knows {NODES_MAX} nodes already and takes no new ones")]
    Full,
    #[error(transparent)]
    Store(#[from] store::Error),
}

pub struct Fleet {
    store: Arc<dyn Store>,
    nodes: RwLock<BTreeMap<NodeId, Arc<Node>>>,
    nodes_max: usize,
    /// First pushes that wait for the store.
    joining: AtomicUsize,
    changes: Mutex<Changes>,
    /// The newest number in `changes`, for whoever watches the fleet.
    newest: tokio::sync::watch::Sender<u64>,
    /// Held while history moves from memory to the store.
    saving: tokio::sync::RwLock<()>,
}

/// Each node under the number of its newest change.
#[derive(Default)]
struct Changes {
    by_number: BTreeMap<u64, Arc<Node>>,
    number_of: BTreeMap<NodeId, u64>,
}

impl Fleet {
    /// Takes up the nodes that the store knows.
    pub async fn load(store: Arc<dyn Store>) -> Result<Self, store::Error> {
        let records = store.nodes().await?;
        let fleet = Self {
            store,
            nodes: RwLock::default(),
            nodes_max: NODES_MAX,
            joining: AtomicUsize::new(0),
            changes: Mutex::default(),
            newest: tokio::sync::watch::Sender::new(0),
            saving: tokio::sync::RwLock::default(),
        };
        let now_ms = wall_ms();
        for record in records {
            let node = Arc::new(Node::new(record.id, record.name, record.last_seen, now_ms));
            if let Some(snapshot) = record.latest.as_deref().and_then(Snapshot::from_stored) {
                node.restore(snapshot);
            }
            fleet.add(node);
        }
        Ok(fleet)
    }

    /// Takes what a node pushed, oldest first. A new node and a new name are on disk before this
    /// returns.
    pub async fn ingest(&self, id: &NodeId, name: Option<&str>, pushed: &[Measured]) -> Result<(), Refused> {
        self.ingest_at(id, name, pushed, wall_ms()).await
    }

    async fn ingest_at(
        &self,
        id: &NodeId,
        name: Option<&str>,
        pushed: &[Measured],
        now_ms: i64,
    ) -> Result<(), Refused> {
        let snapshots = check(name, pushed, now_ms)?;
        let known = self.node(id);
        let named = |node: &Arc<Node>| name.is_none_or(|name| node.state().name == name);
        if !known.as_ref().is_some_and(named) {
            let _place = if known.is_none() { Some(self.reserve()?) } else { None };
            let newest = snapshots.iter().max_by_key(|snapshot| snapshot.timestamp);
            let record = NodeRecord {
                id: id.clone(),
                name: name.unwrap_or(id.as_str()).to_owned(),
                last_seen: now_ms,
                latest: newest.map(|snapshot| String::from_utf8_lossy(&snapshot.json()).into_owned()),
            };
            let fresh = Node::new(id.clone(), record.name.clone(), now_ms, now_ms);
            self.store.save_node(record).await?;
            if known.is_none() {
                self.add(Arc::new(fresh));
                tracing::info!(node.id = %id, "node joined");
            }
        }
        if let Some(node) = self.node(id) {
            node.hear(snapshots, name, now_ms);
            node.remember(pushed.iter().map(|measured| (measured.timestamp, measured.sample())), now_ms);
            self.changed(&node);
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.nodes.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn ids(&self) -> Vec<NodeId> {
        self.nodes.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// A node in the shape of the fleet view, with so many of its newest snapshots.
    pub fn node_json(&self, id: &NodeId, history: usize) -> Option<Bytes> {
        let node = self.node(id)?;
        let mut state = node.state();
        // The whole of it may have been made for a watcher already.
        Some(match history {
            HISTORY_MAX => snapshot::unframed(&state.message(id)),
            some => state.json(id, some),
        })
    }

    pub fn status(&self, id: &NodeId) -> Option<NodeStatus> {
        self.node(id).map(|node| node.state().status())
    }

    /// The newest snapshots of a node as a JSON array, oldest first.
    pub fn snapshots_json(&self, id: &NodeId, limit: usize) -> Option<Bytes> {
        let node = self.node(id)?;
        let mut out = Vec::new();
        node::write_array(node.state().newest(limit), &mut out);
        Some(out.into())
    }

    /// Saves the newest snapshots of the nodes that pushed since the last time.
    pub async fn flush(&self) -> Result<(), store::Error> {
        let nodes: Vec<_> =
            self.nodes.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let dirty = nodes.into_iter().filter(|node| std::mem::take(&mut node.state().dirty));
        let dirty: Vec<Arc<Node>> = dirty.collect();
        for (i, some) in dirty.chunks(FLUSH_MAX).enumerate() {
            let latest = some.iter().filter_map(|node| {
                let state = node.state();
                let json = String::from_utf8_lossy(&state.latest()?.json()).into_owned();
                Some((node.id.clone(), state.last_seen, json))
            });
            if let Err(error) = self.store.save_snapshots(latest.collect()).await {
                dirty[i * FLUSH_MAX..].iter().for_each(|node| node.state().dirty = true);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Tells watchers of nodes whose status changed because they are silent.
    pub fn notice_silence(&self) {
        let nodes: Vec<_> =
            self.nodes.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        for node in nodes {
            if node.aged() {
                tracing::info!(node.id = %node.id, status = ?node.state().told, "node is silent");
                self.changed(&node);
            }
        }
    }

    /// Flushes and notices silence until the hub stops, and then once more.
    pub async fn run(&self, stop: CancellationToken) {
        let mut flush = interval(FLUSH_EVERY);
        let mut look = interval(LOOK_EVERY);
        flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let stopping = tokio::select! {
                _ = look.tick() => {
                    self.notice_silence();
                    continue;
                }
                _ = flush.tick() => false,
                () = stop.cancelled() => true,
            };
            if let Err(error) = self.flush().await {
                tracing::warn!(%error, "the newest snapshots could not be saved; trying again");
            }
            if stopping {
                return;
            }
        }
    }

    fn node(&self, id: &NodeId) -> Option<Arc<Node>> {
        self.nodes.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Two first pushes at once make one node.
    fn add(&self, node: Arc<Node>) {
        let mut nodes = self.nodes.write().unwrap_or_else(PoisonError::into_inner);
        let node = Arc::clone(nodes.entry(node.id.clone()).or_insert(node));
        drop(nodes);
        self.changed(&node);
    }

    fn reserve(&self) -> Result<Place<'_>, Refused> {
        let place = Place(&self.joining);
        if self.joining.fetch_add(1, Ordering::SeqCst) + self.len() >= self.nodes_max {
            return Err(Refused::Full);
        }
        Ok(place)
    }

    fn changed(&self, node: &Arc<Node>) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = changes.number_of.get(&node.id).copied() {
            changes.by_number.remove(&old);
        }
        self.newest.send_modify(|newest| {
            *newest += 1;
            changes.by_number.insert(*newest, Arc::clone(node));
            changes.number_of.insert(node.id.clone(), *newest);
        });
    }

    /// The first node that changed after this number, but not after `upto`.
    fn change_after(&self, number: u64, upto: u64) -> Option<(u64, Arc<Node>)> {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut later = changes.by_number.range((Bound::Excluded(number), Bound::Included(upto)));
        later.next().map(|(found, node)| (*found, Arc::clone(node)))
    }
}

/// Holds a place for a node that joins; dropping it gives the place back or leaves it to the
/// node that took it.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn check(name: Option<&str>, pushed: &[Measured], now_ms: i64) -> Result<Vec<Snapshot>, Refused> {
    let refused = |field: String, why: String| Refused::Invalid(Invalid { field, why });
    if name.is_some_and(|name| {
        name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control)
    }) {
        let why = format!("must be 1 to {NAME_BYTES_MAX} bytes without control characters");
        return Err(refused("X-Node-Name".to_owned(), why));
    }
    if pushed.len() > BATCH_MAX {
        return Err(refused(String::new(), format!("a batch has at most {BATCH_MAX} snapshots")));
    }
    let alone = pushed.len() == 1;
    let snapshots = pushed.iter().enumerate().map(|(i, measured)| {
        Snapshot::new(measured, now_ms).map_err(|Invalid { field, why }| {
            refused(if alone { field } else { format!("[{i}].{field}") }, why)
        })
    });
    snapshots.collect()
}

pub(crate) fn wall_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
