//! Publishes what the store committed. A watcher holds a cursor, not a queue: it reads from the
//! newest batches kept in memory, or from the database when it fell behind.

use crate::store::{self, EventBatch, EventRange, Store};
use bytes::Bytes;
use forge_shared::event::Event;
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, OnceLock, RwLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::watch;

/// Events kept in memory for watchers that keep up.
const RECENT_MAX: usize = 16_384;
/// Events read at once for a watcher that fell behind.
const CATCH_UP: usize = 1_000;

pub struct Events {
    epoch: u64,
    recent: RwLock<Recent>,
    /// The highest number published.
    newest: watch::Sender<u64>,
    cursors: Mutex<Vec<Weak<AtomicU64>>>,
}

/// How far a watcher has read; counted for as long as it lives.
pub struct Cursor(Arc<AtomicU64>);

impl Cursor {
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self, seq: u64) {
        self.0.store(seq, Ordering::Relaxed);
    }
}

struct Recent {
    batches: VecDeque<Arc<Batch>>,
    events: usize,
    /// Everything after this number is in memory.
    after: u64,
}

/// The events of one commit, and their text once somebody wanted it.
pub struct Batch {
    pub events: EventBatch,
    public_text: OnceLock<Bytes>,
    full_text: OnceLock<Bytes>,
}

impl Batch {
    fn new(events: EventBatch) -> Self {
        Self { events, public_text: OnceLock::new(), full_text: OnceLock::new() }
    }

    fn last(&self) -> u64 {
        self.events.last().map_or(0, |event| event.seq)
    }

    /// The whole batch as text, made once for all watchers who want it unfiltered.
    pub fn text(&self, public: bool, make: impl FnOnce(&[Event]) -> Bytes) -> Bytes {
        let text = if public { &self.public_text } else { &self.full_text };
        text.get_or_init(|| make(&self.events)).clone()
    }
}

impl Events {
    pub fn new(range: EventRange) -> Self {
        Self {
            epoch: range.epoch,
            recent: RwLock::new(Recent { batches: VecDeque::new(), events: 0, after: range.last }),
            newest: watch::Sender::new(range.last),
            cursors: Mutex::new(Vec::new()),
        }
    }

    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub fn newest(&self) -> u64 {
        *self.newest.borrow()
    }

    /// Wakes with every commit.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    pub fn cursor(&self, seq: u64) -> Cursor {
        let cursor = Arc::new(AtomicU64::new(seq));
        let mut cursors = self.cursors.lock().expect("nobody panics with the lock");
        cursors.retain(|cursor| cursor.strong_count() > 0);
        cursors.push(Arc::downgrade(&cursor));
        Cursor(cursor)
    }

    /// How many events the slowest watcher has not read.
    pub fn lag(&self) -> u64 {
        let cursors = self.cursors.lock().expect("nobody panics with the lock");
        let slowest =
            cursors.iter().filter_map(Weak::upgrade).map(|cursor| cursor.load(Ordering::Relaxed)).min();
        slowest.map_or(0, |slowest| self.newest().saturating_sub(slowest))
    }

    pub fn publish(&self, events: EventBatch) {
        let Some(last) = events.last().map(|event| event.seq) else { return };
        {
            let mut recent = self.recent.write().expect("nobody panics with the lock");
            recent.events += events.len();
            recent.batches.push_back(Arc::new(Batch::new(events)));
            while recent.events > RECENT_MAX && recent.batches.len() > 1 {
                if let Some(oldest) = recent.batches.pop_front() {
                    recent.events -= oldest.events.len();
                    recent.after = oldest.last();
                }
            }
        }
        self.newest.send_replace(last);
    }

    /// What comes after a cursor, in order; empty when there is nothing yet.
    pub async fn after(&self, store: &dyn Store, cursor: u64) -> Result<Vec<Arc<Batch>>, store::Error> {
        if cursor >= self.newest() {
            return Ok(Vec::new());
        }
        {
            let recent = self.recent.read().expect("nobody panics with the lock");
            if cursor >= recent.after {
                let from = recent.batches.partition_point(|batch| batch.last() <= cursor);
                return Ok(recent.batches.range(from..).map(|batch| trim(batch, cursor)).collect());
            }
        }
        let events = store.events_after(cursor, CATCH_UP).await?;
        Ok(if events.is_empty() { Vec::new() } else { vec![Arc::new(Batch::new(events.into()))] })
    }
}

/// A cursor may stand in the middle of a batch.
fn trim(batch: &Arc<Batch>, cursor: u64) -> Arc<Batch> {
    if batch.events.first().is_some_and(|event| event.seq > cursor) {
        return batch.clone();
    }
    Arc::new(Batch::new(batch.events.iter().filter(|event| event.seq > cursor).cloned().collect()))
}
