//! Following the fleet or one node. The streams are endless; whoever serves them ends them.

use super::{Fleet, Node};
use bytes::Bytes;
use forge_shared::NodeId;
use futures_util::stream::{Stream, unfold};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch::Receiver,
    time::{Instant, sleep_until},
};

/// The least time between two messages about the same node to the same watcher.
pub const PACE: Duration = Duration::from_secs(2);

/// Goes in rounds: every node that changed since the last round once, then a pause.
struct FleetWatcher {
    fleet: Arc<Fleet>,
    newest: Receiver<u64>,
    /// Changes up to this number were sent.
    sent: u64,
    /// This round ends here.
    upto: u64,
    /// When the last message went out.
    last: Option<Instant>,
    shape: Shape,
}

/// What a message says of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// All that the fleet view shows.
    Whole,
    /// That without the history: the watcher has what came before.
    Brief,
}

impl FleetWatcher {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some((number, node)) = self.fleet.change_after(self.sent, self.upto) {
                self.sent = number;
                self.last = Some(Instant::now());
                let mut state = node.state();
                return Some(match self.shape {
                    Shape::Whole => state.message(&node.id),
                    Shape::Brief => state.brief_message(&node.id),
                });
            }
            self.sent = self.upto;
            if let Some(last) = self.last.take() {
                sleep_until(last + PACE).await;
            }
            let upto = self.newest.wait_for(|newest| *newest > self.sent).await.ok()?;
            self.upto = *upto;
        }
    }
}

struct NodeWatcher {
    node: Arc<Node>,
    arrivals: Receiver<u64>,
    sent: u64,
    first: Option<Bytes>,
}

impl NodeWatcher {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            {
                // Numbers are given out under this lock, so none falls between looking and waiting.
                let state = self.node.state();
                if let Some((number, message)) = state.after(self.sent) {
                    self.sent = number;
                    return Some(message);
                }
                self.sent = *self.arrivals.borrow_and_update();
            }
            self.arrivals.changed().await.ok()?;
        }
    }
}

impl Fleet {
    /// Every node once, then each whenever it changed, as messages of an event stream.
    pub fn watch(self: &Arc<Self>, shape: Shape) -> impl Stream<Item = Bytes> + Send + use<> {
        let mut newest = self.newest.subscribe();
        let upto = *newest.borrow_and_update();
        let watcher = FleetWatcher { fleet: Arc::clone(self), newest, sent: 0, upto, last: None, shape };
        unfold(watcher, |mut watcher| async move { watcher.next().await.map(|message| (message, watcher)) })
    }

    /// The newest snapshot of a node, then each that arrives. A watcher too slow for the ring
    /// misses the oldest. `None` when there is no such node.
    pub fn watch_node(&self, id: &NodeId) -> Option<impl Stream<Item = Bytes> + Send + use<>> {
        let node = self.node(id)?;
        let (arrivals, sent, first) = {
            let state = node.state();
            let arrivals = node.subscribe();
            let sent = *arrivals.borrow();
            (arrivals, sent, state.latest().map(super::Snapshot::message))
        };
        let watcher = NodeWatcher { node, arrivals, sent, first };
        Some(unfold(
            watcher,
            |mut watcher| async move { watcher.next().await.map(|message| (message, watcher)) },
        ))
    }
}
