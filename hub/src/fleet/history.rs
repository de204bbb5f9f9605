//! The past of each machine. Its snapshots of the last hour are in memory; what they come to in
//! each minute waits here until the history duty adds it to the store, which keeps minutes for a
//! week and rolls them up to quarter hours and quarter days.
//!
//! A snapshot counts for the time it was taken, however late it arrives. Whoever reads sees the
//! stored minutes and the waiting ones together, so nothing is missing while it waits.

use super::{
    Fleet, Node,
    bucket::{Bucket, Sample},
    wall_ms,
};
use crate::store::{self, HistoryTier};
use forge_shared::{
    NodeId,
    fleet::{HistoryRange, NodeHistory},
};
use std::{collections::BTreeMap, sync::PoisonError};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;
/// Snapshots in memory of each machine; one that pushes more often than every 5 s keeps less than
/// an hour of them.
const SAMPLES_MAX: usize = 724;
/// The first point of the last hour may begin before it.
const SAMPLES_KEPT_MS: i64 = HOUR_MS + FINE_STEP_MS;
/// What is stamped further ahead than this is no history yet.
const AHEAD_MS_MAX: i64 = 60_000;
/// What one call of the store takes.
const FLUSH_MAX: usize = 500;

/// Buckets by when they start.
type Buckets = BTreeMap<i64, Bucket>;

#[derive(Default)]
pub(super) struct Recent {
    samples: BTreeMap<i64, Sample>,
    /// Minutes, or parts of them, that the store does not have yet.
    unsaved: Buckets,
}

impl Recent {
    fn record(&mut self, timestamp: i64, sample: Sample, now_ms: i64) {
        let oldest = now_ms - HistoryTier::Minutes.keep_ms();
        if timestamp < oldest || timestamp > now_ms + AHEAD_MS_MAX || self.samples.contains_key(&timestamp) {
            return;
        }
        add(&mut self.unsaved, floor(timestamp, MINUTE_MS), &Bucket::from(&sample));
        if timestamp >= now_ms - SAMPLES_KEPT_MS {
            self.samples.insert(timestamp, sample);
        }
        while self.samples.len() > SAMPLES_MAX
            || self.samples.first_key_value().is_some_and(|(ts, _)| *ts < now_ms - SAMPLES_KEPT_MS)
        {
            self.samples.pop_first();
        }
    }
}

fn floor(ts: i64, step_ms: i64) -> i64 {
    ts.div_euclid(step_ms) * step_ms
}

fn add(buckets: &mut Buckets, ts: i64, bucket: &Bucket) {
    match buckets.get_mut(&ts) {
        Some(there) => there.merge(bucket),
        None => {
            buckets.insert(ts, bucket.clone());
        }
    }
}

/// Where a range is read from, and how wide its points are: never more than 600 of them.
fn tier_and_step(range: HistoryRange) -> (HistoryTier, i64) {
    match range {
        HistoryRange::Hour => (HistoryTier::Minutes, MINUTE_MS),
        HistoryRange::HalfDay => (HistoryTier::Minutes, 2 * MINUTE_MS),
        HistoryRange::Day => (HistoryTier::Minutes, 3 * MINUTE_MS),
        HistoryRange::Week => (HistoryTier::QuarterHours, 30 * MINUTE_MS),
        HistoryRange::Month => (HistoryTier::QuarterHours, 90 * MINUTE_MS),
        HistoryRange::Year => (HistoryTier::QuarterDays, 18 * HOUR_MS),
    }
}

/// The width of a point of the last hour while it is all in memory.
const FINE_STEP_MS: i64 = 10_000;

impl Node {
    pub(super) fn remember(&self, samples: impl Iterator<Item = (i64, Sample)>, now_ms: i64) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        for (timestamp, sample) in samples {
            recent.record(timestamp, sample, now_ms);
        }
    }
}

impl Fleet {
    /// The past of a node; `None` when there is no such node.
    pub async fn history(
        &self,
        id: &NodeId,
        range: HistoryRange,
        now_ms: i64,
    ) -> Result<Option<NodeHistory>, store::Error> {
        let Some(node) = self.node(id) else { return Ok(None) };
        let from = now_ms - range.ms();
        let (tier, mut step_ms) = tier_and_step(range);
        // What is stored and what waits must be of the same moment.
        let _no_flush = self.saving.read().await;
        let mut stored = self.store.history(id, tier, floor(from, tier.width_ms())).await?;
        let points = {
            let recent = node.recent.lock().unwrap_or_else(PoisonError::into_inner);
            let unsaved = recent.unsaved.range(floor(from, tier.width_ms())..);
            stored.extend(unsaved.map(|(ts, bucket)| (*ts, bucket.clone())));
            let before = |first: &i64| stored.iter().any(|(ts, _)| ts + MINUTE_MS <= *first);
            let all_in_memory = recent.samples.keys().next().is_some_and(|first| !before(first));
            if range == HistoryRange::Hour && all_in_memory {
                step_ms = FINE_STEP_MS;
                stored = recent.samples.iter().map(|(ts, sample)| (*ts, sample.into())).collect();
            }
            let first = floor(from, step_ms);
            let mut points = Buckets::new();
            for (ts, bucket) in stored.iter().filter(|(ts, _)| (first..=now_ms).contains(ts)) {
                add(&mut points, floor(*ts, step_ms), bucket);
            }
            points
        };
        let points = points.into_iter().map(|(ts, bucket)| bucket.point(ts)).collect();
        Ok(Some(NodeHistory { range, from, to: now_ms, step_ms, points }))
    }

    /// Adds what waits in memory to the store.
    pub async fn save_history(&self) -> Result<(), store::Error> {
        let nodes: Vec<_> =
            self.nodes.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let _alone = self.saving.write().await;
        let mut unsaved = Vec::new();
        for node in &nodes {
            let mut recent = node.recent.lock().unwrap_or_else(PoisonError::into_inner);
            let minutes = std::mem::take(&mut recent.unsaved);
            unsaved.extend(minutes.into_iter().map(|(ts, bucket)| (node.id.clone(), ts, bucket)));
        }
        let mut failed = Ok(());
        for some in unsaved.chunks(FLUSH_MAX) {
            if failed.is_ok() {
                failed = self.store.add_history(some.to_vec()).await;
            }
            if failed.is_err() {
                for (id, ts, bucket) in some {
                    let Some(node) = self.node(id) else { continue };
                    let mut recent = node.recent.lock().unwrap_or_else(PoisonError::into_inner);
                    add(&mut recent.unsaved, *ts, bucket);
                }
            }
        }
        failed
    }

    /// Removes what was kept long enough.
    pub async fn prune_history(&self) -> Result<(), store::Error> {
        self.store.prune_history(wall_ms()).await
    }
}
