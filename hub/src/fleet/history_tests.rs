use super::*;
use crate::test_rig::Bench;
use forge_shared::fleet::{HistoryPoint, HistoryRange, Spread};
use serde_json::json;

/// A round time: the start of a quarter day.
const START: i64 = 1_800_014_400_000;
const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Numbers that differ from each other and from one snapshot to the next.
fn values(ts: i64) -> [f64; 8] {
    let wave = |n: i64| ((ts / SECOND * (7 + 2 * n)) % 997) as f64 / 10.0;
    std::array::from_fn(|n| wave(n as i64))
}

fn measured(ts: i64) -> Measured {
    let [cpu, percent, used, read, write, rx, tx, load] = values(ts);
    let gpu = json!({"index": 1, "model": "G", "utilizationGpu": cpu, "vramUsed": null});
    serde_json::from_value(json!({
        "timestamp": ts, "cpu": cpu, "cpuCores": [cpu, percent],
        "memory": {"percent": percent, "used": used, "total": 128},
        "disk": {"read": read, "write": write}, "network": {"rx": rx, "tx": tx},
        "load": {"avg1": load, "avg5": 0, "avg15": 0}, "gpus": [gpu],
    }))
    .unwrap()
}

fn id() -> NodeId {
    NodeId::new("n").unwrap()
}

struct Rig {
    bench: Bench,
    fleet: Fleet,
    pushed: Vec<i64>,
}

impl Rig {
    async fn new() -> Self {
        let bench = Bench::new().await;
        let fleet = Fleet::load(bench.store.clone()).await.unwrap();
        Self { bench, fleet, pushed: Vec::new() }
    }

    /// The hub is killed: what was only in memory is gone.
    async fn crash(self) -> Self {
        let bench = self.bench.restart().await;
        let fleet = Fleet::load(bench.store.clone()).await.unwrap();
        Self { bench, fleet, pushed: self.pushed }
    }

    async fn push(&mut self, times: &[i64], now_ms: i64) {
        let pushed: Vec<_> = times.iter().map(|ts| measured(*ts)).collect();
        self.fleet.ingest_at(&id(), None, &pushed, now_ms).await.unwrap();
        self.pushed.extend(times);
    }

    /// Pushes each as it is taken.
    async fn live(&mut self, times: impl Iterator<Item = i64>) {
        for ts in times {
            self.push(&[ts], ts).await;
        }
    }

    async fn history(&self, range: HistoryRange, now_ms: i64) -> (i64, Vec<HistoryPoint>) {
        let history = self.fleet.history(&id(), range, now_ms).await.unwrap().unwrap();
        assert_eq!((history.from, history.to), (now_ms - range.ms(), now_ms));
        assert!(history.points.len() <= 600, "{} points", history.points.len());
        (history.step_ms, history.points)
    }

    /// Compares with what is computed from the pushed snapshots alone.
    async fn check(&self, range: HistoryRange, now_ms: i64, step_ms: i64) -> usize {
        let (step, points) = self.history(range, now_ms).await;
        assert_eq!(step, step_ms, "{range:?}");
        let first = (now_ms - range.ms()).div_euclid(step_ms) * step_ms;
        let mut expected: Vec<(i64, Vec<i64>)> = Vec::new();
        let mut times = self.pushed.clone();
        times.sort_unstable();
        for ts in times.into_iter().filter(|ts| *ts >= first) {
            let start = ts.div_euclid(step_ms) * step_ms;
            match expected.last_mut() {
                Some((last, times)) if *last == start => times.push(ts),
                _ => expected.push((start, vec![ts])),
            }
        }
        let starts: Vec<i64> = expected.iter().map(|(ts, _)| *ts).collect();
        assert_eq!(points.iter().map(|point| point.ts).collect::<Vec<_>>(), starts, "{range:?}");
        for (point, (_, times)) in points.iter().zip(&expected) {
            assert_eq!(point.samples as usize, times.len(), "{range:?} at {}", point.ts);
            let HistoryPoint { cpu, memory, memory_used, disk_read, disk_write, .. } = point;
            let HistoryPoint { network_rx, network_tx, load, .. } = point;
            let shown = [cpu, memory, memory_used, disk_read, disk_write, network_rx, network_tx, load];
            for (n, shown) in shown.into_iter().enumerate() {
                close(shown, &times.iter().map(|ts| values(*ts)[n]).collect::<Vec<_>>());
            }
            let cores = point.cores.as_ref().unwrap();
            assert!((cores[0] - cpu.mean).abs() < 0.01 && (cores[1] - memory.mean).abs() < 0.01);
            let gpu = &point.gpus[0];
            assert_eq!((gpu.index, gpu.model.as_deref(), gpu.vram_used), (1, Some("G"), None));
            assert!((gpu.utilization.unwrap().mean - cpu.mean).abs() < 0.01);
        }
        points.len()
    }
}

fn close(shown: &Spread, all: &[f64]) {
    let near = |a: f32, b: f64| (f64::from(a) - b).abs() < 0.01;
    let (min, max) = all.iter().fold((f64::MAX, f64::MIN), |(min, max), v| (min.min(*v), max.max(*v)));
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    assert!(
        near(shown.min, min) && near(shown.mean, mean) && near(shown.max, max),
        "{shown:?} is not {min} {mean} {max}"
    );
}

#[tokio::test]
async fn the_last_hour_has_a_point_every_ten_seconds_and_none_in_a_gap() {
    let mut rig = Rig::new().await;
    rig.live(
        (0..1500)
            .map(|n| START + n * 5 * SECOND)
            .filter(|ts| !(1000..1300).contains(&((ts - START) / SECOND / 5))),
    )
    .await;
    let now_ms = START + 1500 * 5 * SECOND;
    assert_eq!(rig.check(HistoryRange::Hour, now_ms, 10 * SECOND).await, 360 - 150);
}

#[tokio::test]
async fn minutes_are_right_whenever_they_are_saved_and_through_a_restart() {
    let mut rig = Rig::new().await;
    for turn in 0..180 {
        let start = START + turn * 47 * SECOND;
        rig.live((0..9).map(|n| start + n * 5 * SECOND)).await;
        rig.fleet.save_history().await.unwrap();
        if turn == 100 {
            rig = rig.crash().await;
        }
    }
    let now_ms = START + 180 * 47 * SECOND;
    for _ in 0..2 {
        rig.check(HistoryRange::HalfDay, now_ms, 2 * MINUTE).await;
        rig.check(HistoryRange::Day, now_ms, 3 * MINUTE).await;
        rig.check(HistoryRange::Week, now_ms, 30 * MINUTE).await;
        rig.check(HistoryRange::Month, now_ms, 90 * MINUTE).await;
        rig.check(HistoryRange::Year, now_ms, 18 * HOUR).await;
        // Nothing waits any more, and saving nothing changes nothing.
        rig.fleet.save_history().await.unwrap();
    }
    let rig = rig.crash().await;
    rig.check(HistoryRange::Hour, now_ms, MINUTE).await;
}

#[tokio::test]
async fn what_waits_to_be_saved_is_shown_and_lost_in_a_crash() {
    let mut rig = Rig::new().await;
    rig.live((0..12).map(|n| START + n * 5 * SECOND)).await;
    rig.fleet.save_history().await.unwrap();
    rig.live((12..18).map(|n| START + n * 5 * SECOND)).await;
    let now_ms = START + 90 * SECOND;
    rig.check(HistoryRange::Day, now_ms, 3 * MINUTE).await;
    let mut rig = rig.crash().await;
    rig.pushed.truncate(12);
    rig.check(HistoryRange::Day, now_ms, 3 * MINUTE).await;
}

#[tokio::test]
async fn a_machine_that_was_offline_fills_its_gap_once() {
    let mut rig = Rig::new().await;
    rig.live((0..60).map(|n| START + n * 5 * SECOND)).await;
    rig.live((300..360).map(|n| START + n * 5 * SECOND)).await;
    rig.fleet.save_history().await.unwrap();
    let now_ms = START + HOUR;
    let kept: Vec<i64> = (60..300).map(|n| START + n * 5 * SECOND).collect();
    rig.push(&kept, now_ms).await;
    // The answer was lost, so the agent sends it all again.
    rig.push(&kept, now_ms).await;
    rig.pushed.truncate(rig.pushed.len() - kept.len());
    for _ in 0..2 {
        rig.check(HistoryRange::Hour, now_ms, 10 * SECOND).await;
        rig.check(HistoryRange::Day, now_ms, 3 * MINUTE).await;
        rig.check(HistoryRange::Week, now_ms, 30 * MINUTE).await;
        rig.fleet.save_history().await.unwrap();
    }
}

#[tokio::test]
async fn snapshots_from_the_future_and_of_long_ago_are_no_history() {
    let mut rig = Rig::new().await;
    let now_ms = START + 30 * DAY;
    rig.push(&[now_ms + 2 * MINUTE, now_ms - 8 * DAY], now_ms).await;
    rig.pushed.clear();
    rig.push(&[now_ms - 6 * DAY], now_ms).await;
    rig.check(HistoryRange::Week, now_ms, 30 * MINUTE).await;
    rig.check(HistoryRange::Year, now_ms, 18 * HOUR).await;
}

#[tokio::test]
async fn a_year_is_at_most_600_points_and_old_tiers_go() {
    let mut rig = Rig::new().await;
    let days = 100;
    for turn in 0..days * 4 {
        let start = START + turn * 6 * HOUR;
        rig.push(&[start + HOUR, start + 2 * HOUR], start + 2 * HOUR).await;
        rig.fleet.save_history().await.unwrap();
    }
    let now_ms = START + days * DAY;
    rig.check(HistoryRange::Month, now_ms, 90 * MINUTE).await;
    rig.check(HistoryRange::Year, now_ms, 18 * HOUR).await;
    let rows = async |tier| rig.bench.store.history(&id(), tier, 0).await.unwrap().len() as i64;
    assert_eq!(rows(store::HistoryTier::Minutes).await, days * 8);
    rig.bench.store.prune_history(now_ms).await.unwrap();
    let kept =
        [store::HistoryTier::Minutes, store::HistoryTier::QuarterHours, store::HistoryTier::QuarterDays];
    let kept = [rows(kept[0]).await, rows(kept[1]).await, rows(kept[2]).await];
    // A quarter day longer than promised, so that none is ever made anew from a part of it.
    assert_eq!(kept, [7 * 8 + 2, 90 * 8 + 2, days * 4]);
    rig.check(HistoryRange::Month, now_ms, 90 * MINUTE).await;
    rig.check(HistoryRange::Year, now_ms, 18 * HOUR).await;
}

#[tokio::test]
async fn what_a_machine_does_not_measure_is_null() {
    let rig = Rig::new().await;
    let bare = json!({
        "timestamp": START, "cpu": 5, "memory": {"percent": 1, "used": 2, "total": 3},
        "disk": {"read": 0, "write": 0}, "network": {"rx": 0, "tx": 0},
        "load": {"avg1": 0, "avg5": 0, "avg15": 0}, "gpus": [{"index": 0}],
    });
    let bare: Measured = serde_json::from_value(bare).unwrap();
    rig.fleet.ingest_at(&id(), None, &[bare], START).await.unwrap();
    let (_, points) = rig.history(HistoryRange::Hour, START).await;
    assert_eq!(points[0].cores, None);
    let gpu = serde_json::to_value(&points[0].gpus[0]).unwrap();
    assert_eq!(gpu, json!({"index": 0, "model": null, "utilization": null, "vram_used": null}));
    assert!(
        rig.fleet.history(&NodeId::new("x").unwrap(), HistoryRange::Hour, START).await.unwrap().is_none()
    );
}
