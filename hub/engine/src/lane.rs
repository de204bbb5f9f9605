//! Lanes: all pending jobs with the same queue, type and priority, in the order they are due.
//!
//! A claim must cost the same with ten jobs and ten million, so only the first entries of each
//! lane are kept in memory and the lanes are ordered by their first entry. A lane whose first
//! entry is in the future is not looked at until its time comes; one whose known entries are used
//! up is refilled from the store.
//!
//! Invariant: a lane knows every entry up to its `frontier`; it knows all of them when it holds
//! as many as it counts.

use crate::command::Filter;
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use core::cmp::Reverse;
use forge_shared::{JobType, QueueName};

/// How many entries of one lane stay in memory.
const KNOWN_MAX: usize = 1_024;
/// How many are fetched at a time.
pub const REFILL: u32 = 256;

pub type LaneId = u32;

/// Where a job stands in its lane: due time, then age.
pub type Entry = (i64, i64);

const BEFORE_ALL: Entry = (i64::MIN, i64::MIN);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LaneKey {
    pub queue: QueueName,
    pub kind: JobType,
    pub priority: i16,
}

#[derive(Debug, Clone)]
struct Lane {
    key: LaneKey,
    /// How many entries there are, known or not.
    n: u64,
    known: BTreeSet<Entry>,
    frontier: Entry,
}

impl Lane {
    fn knows_all(&self) -> bool {
        self.known.len() as u64 == self.n
    }
}

/// A lane as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneRow {
    pub id: LaneId,
    pub key: LaneKey,
    /// A lane with none is removed.
    pub n: u64,
}

/// Entries of a lane that the planner wants to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadsWanted {
    pub lane: LaneId,
    pub after: Entry,
    pub max: u32,
}

/// What a claim would take next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Best {
    Job(LaneId, Entry),
    /// These lanes must be refilled before anybody can tell.
    Unknown(Vec<HeadsWanted>),
    Nothing,
}

/// Orders lanes by their first entry: higher priority, then due earlier, then older.
type Rank = (Reverse<i16>, Entry, LaneId);

#[derive(Debug, Clone, Default)]
pub struct Lanes {
    lanes: BTreeMap<LaneId, Lane>,
    by_key: BTreeMap<LaneKey, LaneId>,
    ready: BTreeSet<Rank>,
    ready_by_type: BTreeMap<JobType, BTreeSet<Rank>>,
    ready_by_queue: BTreeMap<QueueName, BTreeSet<Rank>>,
    future: BTreeSet<(i64, LaneId)>,
    unknown: BTreeSet<LaneId>,
    last_id: LaneId,
    now_ms: i64,
    touched: BTreeSet<LaneId>,
    /// Lanes in which something became claimable since the last look.
    stirred: BTreeSet<LaneId>,
}

impl Lanes {
    pub fn load(rows: Vec<LaneRow>) -> Self {
        let mut lanes = Self { now_ms: i64::MIN, ..Self::default() };
        for LaneRow { id, key, n } in rows {
            lanes.last_id = lanes.last_id.max(id);
            lanes.by_key.insert(key.clone(), id);
            lanes.lanes.insert(id, Lane { key, n, known: BTreeSet::new(), frontier: BEFORE_ALL });
            lanes.unknown.insert(id);
            lanes.stirred.insert(id);
        }
        lanes
    }

    /// Lets in the lanes whose first entry has become due.
    pub fn advance(&mut self, now_ms: i64) {
        if now_ms < self.now_ms {
            self.step_back(now_ms);
        }
        self.now_ms = now_ms;
        while let Some(&(run_at, id)) = self.future.first() {
            if run_at > self.now_ms {
                break;
            }
            self.unplace(id);
            self.place(id);
            self.stirred.insert(id);
        }
    }

    /// The wall clock was set back: what was due may not be any more.
    fn step_back(&mut self, now_ms: i64) {
        let ready: Vec<LaneId> = self.ready.iter().map(|(_, _, id)| *id).collect();
        for id in &ready {
            self.unplace(*id);
        }
        self.now_ms = now_ms;
        for id in ready {
            self.place(id);
        }
    }

    /// When the next lane becomes due.
    pub fn next_due(&self) -> Option<i64> {
        self.future.first().map(|(run_at, _)| *run_at)
    }

    pub fn insert(&mut self, key: &LaneKey, entry: Entry) -> LaneId {
        let id = match self.by_key.get(key) {
            Some(id) => *id,
            None => {
                self.last_id += 1;
                let lane = Lane { key: key.clone(), n: 0, known: BTreeSet::new(), frontier: BEFORE_ALL };
                self.lanes.insert(self.last_id, lane);
                self.by_key.insert(key.clone(), self.last_id);
                self.last_id
            }
        };
        self.touched.insert(id);
        if entry.0 <= self.now_ms {
            self.stirred.insert(id);
        }
        let lane = self.lanes.get_mut(&id).expect("the lane was found or made above");
        let known = lane.knows_all() || entry <= lane.frontier;
        lane.n += 1;
        if known {
            let new_first = lane.known.first().is_none_or(|first| entry < *first);
            if new_first {
                self.unplace(id);
            }
            let lane = self.lanes.get_mut(&id).expect("still there");
            lane.known.insert(entry);
            if lane.known.len() > KNOWN_MAX {
                lane.known.pop_last();
                lane.frontier = *lane.known.last().expect("more than one entry");
            }
            if new_first {
                self.place(id);
            }
        }
        id
    }

    pub fn remove(&mut self, key: &LaneKey, entry: Entry) {
        let Some(&id) = self.by_key.get(key) else { return };
        self.touched.insert(id);
        let lane = self.lanes.get_mut(&id).expect("by_key and lanes agree");
        let was_first = lane.known.first() == Some(&entry);
        if was_first || lane.n == 1 || lane.known.is_empty() {
            self.unplace(id);
            let lane = self.lanes.get_mut(&id).expect("still there");
            lane.known.remove(&entry);
            lane.n -= 1;
            if lane.n > 0 {
                self.place(id);
            }
        } else {
            lane.known.remove(&entry);
            lane.n -= 1;
        }
    }

    /// The best job for a filter.
    pub fn best(&self, filter: &Filter) -> Best {
        let wanted: Vec<HeadsWanted> = self
            .unknown
            .iter()
            .filter_map(|id| {
                let lane = &self.lanes[id];
                filter.takes(&lane.key.queue, &lane.key.kind).then_some(HeadsWanted {
                    lane: *id,
                    after: lane.frontier,
                    max: REFILL,
                })
            })
            .collect();
        if !wanted.is_empty() {
            return Best::Unknown(wanted);
        }
        let first_taken = |ranks: &BTreeSet<Rank>| {
            ranks
                .iter()
                .find(|(_, _, id)| {
                    let key = &self.lanes[id].key;
                    filter.takes(&key.queue, &key.kind)
                })
                .copied()
        };
        let best = if !filter.types.is_empty() {
            filter.types.iter().filter_map(|kind| first_taken(self.ready_by_type.get(kind)?)).min()
        } else if !filter.queues.is_empty() {
            let ranks = filter.queues.iter().flat_map(|pattern| match pattern.prefix() {
                Some(prefix) => self
                    .ready_by_queue
                    .range(QueueName::trusted(prefix)..)
                    .take_while(|(queue, _)| queue.as_str().starts_with(prefix))
                    .collect::<Vec<_>>(),
                None => self
                    .ready_by_queue
                    .get_key_value(&QueueName::trusted(pattern.as_str()))
                    .into_iter()
                    .collect(),
            });
            ranks.filter_map(|(_, ranks)| ranks.first().copied()).min()
        } else {
            self.ready.first().copied()
        };
        best.map_or(Best::Nothing, |(_, entry, id)| Best::Job(id, entry))
    }

    pub fn key(&self, id: LaneId) -> &LaneKey {
        &self.lanes[&id].key
    }

    pub fn try_key(&self, id: LaneId) -> Option<&LaneKey> {
        self.lanes.get(&id).map(|lane| &lane.key)
    }

    pub fn id(&self, key: &LaneKey) -> Option<LaneId> {
        self.by_key.get(key).copied()
    }

    /// Takes in entries that a store found after a lane's frontier. `overlay` is what the current
    /// batch has changed and the store does not know yet: for each touched job its entry in this
    /// lane, or `None` when it is not in it.
    pub fn refill(&mut self, wanted: &HeadsWanted, rows: &[Entry], overlay: &BTreeMap<i64, Option<Entry>>) {
        let id = wanted.lane;
        if !self.lanes.contains_key(&id) {
            return;
        }
        self.unplace(id);
        let lane = self.lanes.get_mut(&id).expect("checked above");
        let exhausted = rows.len() < wanted.max as usize;
        let old = lane.frontier;
        let frontier = if exhausted { (i64::MAX, i64::MAX) } else { *rows.last().expect("not exhausted") };
        lane.known.extend(rows.iter().filter(|(_, seq)| !overlay.contains_key(seq)));
        lane.known.extend(overlay.values().flatten().filter(|entry| **entry > old && **entry <= frontier));
        lane.frontier = if exhausted { lane.known.last().copied().unwrap_or(old) } else { frontier };
        if exhausted {
            // The count is what decides whether everything is known, so it must be right.
            lane.n = lane.known.len() as u64;
        }
        self.place(id);
    }

    /// Lanes whose count changed since the last call; those with none are dropped.
    pub fn take_touched(&mut self) -> Vec<LaneRow> {
        let touched = core::mem::take(&mut self.touched);
        touched
            .into_iter()
            .filter_map(|id| {
                let lane = self.lanes.get(&id)?;
                let row = LaneRow { id, key: lane.key.clone(), n: lane.n };
                if row.n == 0 {
                    self.by_key.remove(&row.key);
                    self.lanes.remove(&id);
                    self.unknown.remove(&id);
                    self.stirred.remove(&id);
                }
                Some(row)
            })
            .collect()
    }

    pub fn take_stirred(&mut self) -> Vec<LaneKey> {
        let stirred = core::mem::take(&mut self.stirred);
        stirred.iter().filter_map(|id| Some(self.lanes.get(id)?.key.clone())).collect()
    }

    fn place(&mut self, id: LaneId) {
        let lane = &self.lanes[&id];
        match lane.known.first() {
            Some(&first) if first.0 <= self.now_ms => {
                let rank = (Reverse(lane.key.priority), first, id);
                self.ready.insert(rank);
                index(&mut self.ready_by_type, &lane.key.kind).insert(rank);
                index(&mut self.ready_by_queue, &lane.key.queue).insert(rank);
            }
            Some(&(run_at, _)) => {
                self.future.insert((run_at, id));
            }
            None if lane.n > 0 => {
                self.unknown.insert(id);
                // Nobody knows what is due in it, or when, until somebody looks.
                self.stirred.insert(id);
            }
            None => {}
        }
    }

    fn unplace(&mut self, id: LaneId) {
        let lane = &self.lanes[&id];
        match lane.known.first() {
            Some(&first) => {
                let rank = (Reverse(lane.key.priority), first, id);
                if self.ready.remove(&rank) {
                    unindex(&mut self.ready_by_type, &lane.key.kind, &rank);
                    unindex(&mut self.ready_by_queue, &lane.key.queue, &rank);
                } else {
                    self.future.remove(&(first.0, id));
                }
            }
            None => {
                self.unknown.remove(&id);
            }
        }
    }
}

fn index<'a, K: Ord + Clone>(sets: &'a mut BTreeMap<K, BTreeSet<Rank>>, key: &K) -> &'a mut BTreeSet<Rank> {
    if !sets.contains_key(key) {
        sets.insert(key.clone(), BTreeSet::new());
    }
    sets.get_mut(key).expect("inserted above")
}

fn unindex<K: Ord>(sets: &mut BTreeMap<K, BTreeSet<Rank>>, key: &K, rank: &Rank) {
    if let Some(ranks) = sets.get_mut(key) {
        ranks.remove(rank);
        if ranks.is_empty() {
            sets.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_shared::QueuePattern;
    use std::{collections::HashSet, vec};

    fn key(queue: &str, kind: &str, priority: i16) -> LaneKey {
        LaneKey { queue: QueueName::new(queue).unwrap(), kind: JobType::new(kind).unwrap(), priority }
    }

    fn filter(types: &[&str], queues: &[&str]) -> Filter {
        Filter {
            types: types.iter().map(|t| JobType::new(t).unwrap()).collect(),
            queues: queues.iter().map(|q| QueuePattern::new(q).unwrap()).collect(),
        }
    }

    fn next_seq(lanes: &Lanes, types: &[&str], queues: &[&str]) -> Option<i64> {
        match lanes.best(&filter(types, queues)) {
            Best::Job(_, (_, seq)) => Some(seq),
            Best::Nothing => None,
            Best::Unknown(_) => panic!("everything is known here"),
        }
    }

    #[test]
    fn best_goes_by_priority_then_due_time_then_age() {
        let mut lanes = Lanes::load(vec![]);
        lanes.advance(100);
        lanes.insert(&key("a", "t", 0), (10, 1));
        lanes.insert(&key("b", "t", 0), (5, 2));
        lanes.insert(&key("a", "u", 7), (50, 3));
        lanes.insert(&key("a", "u", 9), (200, 4));
        assert_eq!(next_seq(&lanes, &[], &[]), Some(3));
        assert_eq!(next_seq(&lanes, &["t"], &[]), Some(2));
        assert_eq!(next_seq(&lanes, &["t"], &["a"]), Some(1));
        assert_eq!(next_seq(&lanes, &["x"], &[]), None);
        assert_eq!(lanes.next_due(), Some(200));
        lanes.advance(200);
        assert_eq!(next_seq(&lanes, &[], &[]), Some(4));
    }

    #[test]
    fn a_clock_set_back_makes_what_was_due_wait_again() {
        let mut lanes = Lanes::load(vec![]);
        lanes.advance(100);
        lanes.insert(&key("a", "t", 0), (90, 1));
        lanes.advance(50);
        assert_eq!(next_seq(&lanes, &[], &[]), None);
        lanes.advance(90);
        assert_eq!(next_seq(&lanes, &[], &[]), Some(1));
    }

    #[test]
    fn prefixes_reach_every_queue_below() {
        let mut lanes = Lanes::load(vec![]);
        lanes.advance(0);
        lanes.insert(&key("ns/a", "t", 0), (0, 2));
        lanes.insert(&key("ns/b", "t", 0), (0, 1));
        lanes.insert(&key("nsx", "t", 5), (0, 3));
        assert_eq!(next_seq(&lanes, &[], &["ns/*"]), Some(1));
        assert_eq!(next_seq(&lanes, &[], &["ns/a", "nsx"]), Some(3));
    }

    /// The lane's entries as a store would hold them, beside the lanes under test.
    #[test]
    fn a_refilled_lane_hands_out_every_entry_once_and_in_order() {
        let lane = key("q", "t", 0);
        let mut stored: BTreeSet<Entry> = (0..3_000).map(|seq| (0, seq)).collect();
        let mut lanes = Lanes::load(vec![LaneRow { id: 1, key: lane.clone(), n: 3_000 }]);
        lanes.advance(0);
        let mut seen = HashSet::new();
        let mut last = -1;
        let mut released = false;
        loop {
            match lanes.best(&Filter::default()) {
                Best::Unknown(wanted) => {
                    for want in wanted {
                        let rows: Vec<Entry> = stored
                            .range((core::ops::Bound::Excluded(want.after), core::ops::Bound::Unbounded))
                            .take(want.max as usize)
                            .copied()
                            .collect();
                        lanes.refill(&want, &rows, &BTreeMap::new());
                    }
                }
                Best::Job(_, entry) => {
                    assert!(entry.1 > last || released);
                    last = entry.1;
                    lanes.remove(&lane, entry);
                    stored.remove(&entry);
                    assert!(seen.insert(entry.1) || released);
                    if entry.1 == 1_000 && !released {
                        // Given back: it stands before everything that is left.
                        released = true;
                        lanes.insert(&lane, (0, 5));
                        stored.insert((0, 5));
                        assert_eq!(lanes.best(&Filter::default()), Best::Job(1, (0, 5)));
                    }
                }
                Best::Nothing => break,
            }
        }
        assert_eq!(seen.len(), 3_000);
        assert!(stored.is_empty());
        assert_eq!(lanes.take_touched(), [LaneRow { id: 1, key: lane.clone(), n: 0 }]);
        assert_eq!(lanes.id(&lane), None);
    }

    #[test]
    fn a_refill_respects_what_the_batch_has_changed_already() {
        let lane = key("q", "t", 0);
        let mut lanes = Lanes::load(vec![LaneRow { id: 1, key: lane.clone(), n: 2 }]);
        lanes.advance(0);
        // This batch cancelled job 1 and added job 9; the store still shows 1 and 2.
        lanes.remove(&lane, (0, 1));
        lanes.insert(&lane, (0, 9));
        let Best::Unknown(wanted) = lanes.best(&Filter::default()) else { panic!("not loaded yet") };
        let overlay = BTreeMap::from([(1, None), (9, Some((0, 9)))]);
        lanes.refill(&wanted[0], &[(0, 1), (0, 2)], &overlay);
        assert_eq!(next_seq(&lanes, &[], &[]), Some(2));
        lanes.remove(&lane, (0, 2));
        assert_eq!(next_seq(&lanes, &[], &[]), Some(9));
    }

    #[test]
    fn a_long_lane_forgets_its_tail_and_asks_again() {
        let lane = key("q", "t", 0);
        let mut lanes = Lanes::load(vec![]);
        lanes.advance(0);
        for seq in 0..(KNOWN_MAX as i64 + 500) {
            lanes.insert(&lane, (0, seq));
        }
        for seq in 0..KNOWN_MAX as i64 {
            assert_eq!(next_seq(&lanes, &[], &[]), Some(seq));
            lanes.remove(&lane, (0, seq));
        }
        let Best::Unknown(wanted) = lanes.best(&Filter::default()) else { panic!("the tail is unknown") };
        assert_eq!(wanted[0].after, (0, KNOWN_MAX as i64 - 1));
    }
}
