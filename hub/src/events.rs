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
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return };
        let (first, last) = (first.seq, last.seq);
        {
            let mut recent = self.recent.write().expect("nobody panics with the lock");
            // Another process wrote to the same file: what it wrote is only in the database.
            if first > self.newest() + 1 {
                *recent = Recent { batches: VecDeque::new(), events: 0, after: first - 1 };
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_rig::{Bench, new_job};
    use forge_engine::Command;

    async fn enqueue(bench: &Bench, batch: usize, jobs: usize) {
        let jobs = (0..jobs).map(|n| new_job(&format!("b{batch}-{n}"))).collect();
        bench.submit(Command::Enqueue(jobs)).await.unwrap();
    }

    /// Reads as a watcher does, until there is nothing left.
    async fn read(bench: &Bench, mut cursor: u64) -> Vec<u64> {
        let mut seen = Vec::new();
        loop {
            let batches = bench.hub.events.after(&*bench.store, cursor).await.unwrap();
            let seqs = batches.iter().flat_map(|batch| batch.events.iter()).map(|event| event.seq);
            seen.extend(seqs);
            match seen.last() {
                Some(last) if *last > cursor => cursor = *last,
                _ => return seen,
            }
        }
    }

    #[tokio::test]
    async fn a_slow_watcher_reads_everything_once_and_in_order() {
        let bench = Bench::new().await;
        let (batches, size) = (12, 1_500);
        for batch in 0..batches {
            enqueue(&bench, batch, size).await;
        }
        let all = (batches * size) as u64;
        assert!(bench.hub.events.recent.read().unwrap().after > 0, "the oldest are only in the database");
        for cursor in [0, 1, 749, 1_500, 1_501, 9_999, all - 1, all] {
            assert_eq!(read(&bench, cursor).await, (cursor + 1..=all).collect::<Vec<_>>(), "from {cursor}");
        }
    }

    #[tokio::test]
    async fn a_cursor_in_the_middle_of_a_batch_gets_its_rest() {
        let bench = Bench::new().await;
        enqueue(&bench, 0, 5).await;
        enqueue(&bench, 1, 2).await;
        assert_eq!(read(&bench, 3).await, [4, 5, 6, 7]);
        let bench = bench.restart().await;
        assert_eq!(bench.hub.events.newest(), 7);
        enqueue(&bench, 2, 1).await;
        assert_eq!(read(&bench, 3).await, [4, 5, 6, 7, 8], "from the database and then from memory");
    }

    #[tokio::test]
    async fn what_another_process_wrote_in_between_is_not_left_out() {
        let bench = Bench::new().await;
        enqueue(&bench, 0, 1).await;
        let other = Bench::on(bench.folder.clone(), bench.clock.clone()).await;
        enqueue(&other, 1, 2).await;
        enqueue(&bench, 2, 1).await;
        assert_eq!(read(&bench, 0).await, [1, 2, 3, 4]);
        assert_eq!(read(&bench, 1).await, [2, 3, 4]);
    }

    #[tokio::test]
    async fn the_lag_is_that_of_the_slowest_watcher() {
        let bench = Bench::new().await;
        let events = &bench.hub.events;
        assert_eq!(events.lag(), 0);
        let (slow, fast) = (events.cursor(0), events.cursor(0));
        enqueue(&bench, 0, 5).await;
        fast.set(4);
        assert_eq!(events.lag(), 5);
        slow.set(3);
        assert_eq!(events.lag(), 2);
        drop(slow);
        assert_eq!((events.lag(), fast.get()), (1, 4));
    }

    #[tokio::test]
    async fn the_text_of_a_batch_is_made_once_for_each_kind_of_watcher() {
        let bench = Bench::new().await;
        enqueue(&bench, 0, 1).await;
        let batch = bench.hub.events.after(&*bench.store, 0).await.unwrap().remove(0);
        let text = |public, text: &'static str| batch.text(public, |_| Bytes::from_static(text.as_bytes()));
        assert_eq!((text(true, "a"), text(false, "b")), ("a".into(), "b".into()));
        assert_eq!((text(true, "c"), text(false, "d")), ("a".into(), "b".into()));
    }
}
