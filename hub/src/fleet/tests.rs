use super::*;
use crate::test_rig::Bench;
use forge_shared::fleet::Node as WireNode;
use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};
use std::pin::pin;
use tokio::time::{Instant, advance};

fn measured(timestamp: i64, cpu: i64) -> Measured {
    serde_json::from_value(json!({
        "timestamp": timestamp, "cpu": cpu, "cpuCores": [cpu],
        "memory": {"percent": 1, "used": 2, "total": 3}, "disk": {"read": 0, "write": 0},
        "network": {"rx": 0, "tx": 0}, "load": {"avg1": 0, "avg5": 0, "avg15": 0},
    }))
    .unwrap()
}

fn id(text: &str) -> NodeId {
    NodeId::new(text).unwrap()
}

async fn fleet() -> (Bench, Arc<Fleet>) {
    let bench = Bench::new().await;
    let fleet = Fleet::load(bench.store.clone()).await.unwrap();
    (bench, Arc::new(fleet))
}

/// A node as a restarted hub would find it.
async fn stored(bench: &Bench, node: &str) -> NodeRecord {
    let nodes = bench.store.nodes().await.unwrap();
    nodes.into_iter().find(|record| record.id == id(node)).unwrap()
}

async fn push(fleet: &Fleet, node: &str, pushed: &[(i64, i64)]) {
    let pushed: Vec<_> = pushed.iter().map(|(timestamp, cpu)| measured(*timestamp, *cpu)).collect();
    fleet.ingest(&id(node), None, &pushed).await.unwrap();
}

fn node(fleet: &Fleet, node: &str) -> WireNode {
    serde_json::from_slice(&fleet.node_json(&id(node), HISTORY_MAX).unwrap()).unwrap()
}

fn times(fleet: &Fleet, node: &str, limit: usize) -> Vec<i64> {
    let json = fleet.snapshots_json(&id(node), limit).unwrap();
    let snapshots: Vec<Value> = serde_json::from_slice(&json).unwrap();
    snapshots.iter().map(|snapshot| snapshot["timestamp"].as_i64().unwrap()).collect()
}

fn data(message: &Bytes) -> Value {
    let text = std::str::from_utf8(message).unwrap();
    serde_json::from_str(text.strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap()).unwrap()
}

#[tokio::test]
async fn the_first_push_and_a_new_name_are_saved_before_the_answer() {
    let (bench, fleet) = fleet().await;
    let saved = async || {
        let node = stored(&bench, "a").await;
        let latest: Value = serde_json::from_str(&node.latest.unwrap()).unwrap();
        (node.name, latest["cpu"].clone())
    };
    push(&fleet, "a", &[(1, 10)]).await;
    assert_eq!(saved().await, ("a".to_owned(), json!(10)));
    push(&fleet, "a", &[(2, 20)]).await;
    assert_eq!(saved().await, ("a".to_owned(), json!(10)), "what is known is saved later");
    fleet.ingest(&id("a"), Some("Rack 1"), &[measured(3, 30)]).await.unwrap();
    assert_eq!(saved().await, ("Rack 1".to_owned(), json!(30)));
    fleet.ingest(&id("a"), Some("Rack 1"), &[measured(4, 40)]).await.unwrap();
    assert_eq!(saved().await, ("Rack 1".to_owned(), json!(30)));
    assert_eq!(node(&fleet, "a").name, "Rack 1");
}

#[tokio::test]
async fn a_node_that_could_not_be_saved_is_not_known() {
    let (bench, fleet) = fleet().await;
    bench.store.close().await;
    assert!(matches!(fleet.ingest(&id("a"), None, &[measured(1, 1)]).await, Err(Refused::Store(_))));
    assert!(fleet.is_empty());
    assert_eq!(fleet.joining.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn batches_are_merged_by_time_without_duplicates() {
    let (_bench, fleet) = fleet().await;
    push(&fleet, "a", &[(10, 1), (30, 3)]).await;
    push(&fleet, "a", &[(10, 1), (20, 2), (30, 3), (30, 4), (5, 0)]).await;
    assert_eq!(times(&fleet, "a", 360), [5, 10, 20, 30, 30]);
    assert_eq!(times(&fleet, "a", 2), [30, 30]);
    let shown = node(&fleet, "a");
    assert_eq!(shown.latest.unwrap().cpu, 4.0);
    assert_eq!(shown.history.len(), 5);
}

#[tokio::test]
async fn a_node_keeps_360_snapshots_and_shows_60() {
    let (_bench, fleet) = fleet().await;
    let pushed: Vec<_> = (0..400).map(|n| (n, 1)).collect();
    push(&fleet, "a", &pushed).await;
    assert_eq!(times(&fleet, "a", 999), (40..400).collect::<Vec<_>>());
    push(&fleet, "a", &[(3, 1)]).await;
    assert_eq!(times(&fleet, "a", 1000)[0], 40);
    let history = node(&fleet, "a").history;
    assert_eq!((history.len(), history[0].timestamp), (60, 340));
}

#[tokio::test]
async fn a_corrected_clock_shows_the_present_again() {
    let (_bench, fleet) = fleet().await;
    let now = wall_ms();
    push(&fleet, "a", &[(now - 1000, 1)]).await;
    push(&fleet, "a", &[(now + 3_600_000, 2)]).await;
    assert_eq!(node(&fleet, "a").latest.unwrap().cpu, 2.0);
    push(&fleet, "a", &[(now, 3)]).await;
    assert_eq!(node(&fleet, "a").latest.unwrap().cpu, 3.0);
    assert_eq!(times(&fleet, "a", 9), [now - 1000, now]);
}

#[tokio::test]
async fn what_is_too_much_is_refused() {
    let (bench, fleet) = fleet().await;
    let many = vec![measured(1, 1); BATCH_MAX + 1];
    assert!(matches!(fleet.ingest(&id("a"), None, &many).await, Err(Refused::Invalid(_))));
    assert!(matches!(fleet.ingest(&id("a"), Some("a\nb"), &[]).await, Err(Refused::Invalid(_))));
    let refused = fleet.ingest(&id("a"), None, &[measured(1, 1), measured(-1, 1)]).await.unwrap_err();
    assert!(matches!(refused, Refused::Invalid(invalid) if invalid.field == "[1].timestamp"));
    assert!(fleet.is_empty());

    let mut small = Fleet::load(bench.store.clone()).await.unwrap();
    small.nodes_max = 2;
    push(&small, "a", &[(1, 1)]).await;
    push(&small, "b", &[(1, 1)]).await;
    assert!(matches!(small.ingest(&id("c"), None, &[measured(1, 1)]).await, Err(Refused::Full)));
    push(&small, "a", &[(2, 1)]).await;
    assert_eq!(small.ids(), [id("a"), id("b")]);
}

#[tokio::test(start_paused = true)]
async fn silence_makes_a_node_degraded_and_then_offline() {
    let (_bench, fleet) = fleet().await;
    push(&fleet, "a", &[(1, 1)]).await;
    for (after_ms, status) in [
        (14_999, NodeStatus::Online),
        (1, NodeStatus::Degraded),
        (44_999, NodeStatus::Degraded),
        (1, NodeStatus::Offline),
    ] {
        advance(Duration::from_millis(after_ms)).await;
        assert_eq!(fleet.status(&id("a")), Some(status));
        assert_eq!(node(&fleet, "a").status, status);
    }
    push(&fleet, "a", &[(2, 1)]).await;
    assert_eq!(fleet.status(&id("a")), Some(NodeStatus::Online));
}

#[tokio::test]
async fn nodes_and_their_last_snapshot_survive_a_restart() {
    let bench = Bench::new().await;
    let mut fleet = Fleet::load(bench.store.clone()).await.unwrap();
    push(&fleet, "a", &[(1, 1)]).await;
    push(&fleet, "a", &[(2, 7)]).await;
    push(&fleet, "b", &[]).await;
    let bench = bench.restart().await;
    assert!(fleet.flush().await.is_err(), "its store is closed");
    fleet.store = bench.store.clone();
    fleet.flush().await.unwrap();
    let silent = stored(&bench, "b").await;
    let silent = NodeRecord { last_seen: silent.last_seen - 30_000, ..silent };
    bench.store.save_node(silent).await.unwrap();

    let again = Fleet::load(bench.store.clone()).await.unwrap();
    let shown = node(&again, "a");
    assert_eq!((shown.latest.clone().unwrap().cpu, shown.history.len()), (7.0, 1));
    assert_eq!(shown.last_seen, node(&fleet, "a").last_seen);
    assert_eq!(shown.status, NodeStatus::Online);
    assert_eq!((node(&again, "b").status, node(&again, "b").latest), (NodeStatus::Degraded, None));
}

#[tokio::test(start_paused = true)]
async fn the_background_saves_at_intervals_and_at_the_end() {
    let (bench, fleet) = fleet().await;
    push(&fleet, "a", &[(1, 1)]).await;
    push(&fleet, "a", &[(2, 2)]).await;
    let stop = CancellationToken::new();
    let run = tokio::spawn({
        let (fleet, stop) = (Arc::clone(&fleet), stop.clone());
        async move { fleet.run(stop).await }
    });
    let saved = async || {
        // The store takes writes in order, so whatever was sent before this is in.
        bench.store.ping().await.unwrap();
        stored(&bench, "a").await.latest.unwrap()
    };
    tokio::time::sleep(FLUSH_EVERY * 2).await;
    assert!(saved().await.contains("\"cpu\":2"));
    push(&fleet, "a", &[(3, 3)]).await;
    stop.cancel();
    run.await.unwrap();
    assert!(saved().await.contains("\"cpu\":3"));
}

#[tokio::test(start_paused = true)]
async fn a_fleet_watcher_sees_every_node_and_then_changes_at_most_every_two_seconds() {
    let (_bench, fleet) = fleet().await;
    push(&fleet, "a", &[(1, 1)]).await;
    push(&fleet, "b", &[(1, 1)]).await;
    let mut watcher = pin!(fleet.watch(Shape::Whole));
    assert_eq!(data(&watcher.next().await.unwrap())["id"], "a");
    assert_eq!(data(&watcher.next().await.unwrap())["id"], "b");
    let start = Instant::now();
    for cpu in 2..5 {
        push(&fleet, "a", &[(cpu, cpu)]).await;
    }
    let message = data(&watcher.next().await.unwrap());
    assert_eq!(start.elapsed(), PACE);
    assert_eq!((&message["id"], &message["latest"]["cpu"]), (&json!("a"), &json!(4)));
    advance(PACE).await;
    assert!(watcher.next().now_or_never().is_none());
    push(&fleet, "c", &[(1, 1)]).await;
    assert_eq!(data(&watcher.next().now_or_never().unwrap().unwrap())["id"], "c");
}

#[tokio::test(start_paused = true)]
async fn a_fleet_watcher_hears_of_silence() {
    let (_bench, fleet) = fleet().await;
    push(&fleet, "a", &[(1, 1)]).await;
    let stop = CancellationToken::new();
    tokio::spawn({
        let (fleet, stop) = (Arc::clone(&fleet), stop.clone());
        async move { fleet.run(stop).await }
    });
    let mut watcher = pin!(fleet.watch(Shape::Whole));
    let start = Instant::now();
    for (status, seconds) in [("online", 0), ("degraded", 15), ("offline", 60)] {
        assert_eq!(data(&watcher.next().await.unwrap())["status"], status);
        assert!((seconds..=seconds + 1).contains(&start.elapsed().as_secs()), "{status}");
    }
    stop.cancel();
}

#[tokio::test]
async fn a_message_is_made_once_for_all_watchers() {
    let (_bench, fleet) = fleet().await;
    push(&fleet, "a", &[(1, 1)]).await;
    let (mut one, mut two) = (pin!(fleet.watch(Shape::Whole)), pin!(fleet.watch(Shape::Whole)));
    let (first, second) = (one.next().await.unwrap(), two.next().await.unwrap());
    assert_eq!(first.as_ptr(), second.as_ptr());
}

#[tokio::test]
async fn a_node_watcher_gets_the_latest_at_once_and_then_each_snapshot() {
    let (_bench, fleet) = fleet().await;
    assert!(fleet.watch_node(&id("a")).is_none());
    push(&fleet, "a", &[(1, 1), (2, 2)]).await;
    let mut watcher = pin!(fleet.watch_node(&id("a")).unwrap());
    assert_eq!(data(&watcher.next().await.unwrap())["timestamp"], 2);
    assert!(watcher.next().now_or_never().is_none());
    push(&fleet, "a", &[(2, 2)]).await;
    assert!(watcher.next().now_or_never().is_none());
    push(&fleet, "a", &[(4, 4), (3, 3)]).await;
    assert_eq!(data(&watcher.next().await.unwrap())["timestamp"], 4);
    assert_eq!(data(&watcher.next().await.unwrap())["timestamp"], 3);
}

#[tokio::test]
async fn a_slow_node_watcher_misses_what_the_ring_dropped() {
    let (_bench, fleet) = fleet().await;
    push(&fleet, "a", &[(0, 1)]).await;
    let mut watcher = pin!(fleet.watch_node(&id("a")).unwrap());
    watcher.next().await.unwrap();
    let pushed: Vec<_> = (1..=500).map(|n| (n, 1)).collect();
    push(&fleet, "a", &pushed).await;
    assert_eq!(data(&watcher.next().await.unwrap())["timestamp"], 141);
    // Snapshots that were taken back leave numbers without a snapshot behind.
    let now = wall_ms();
    push(&fleet, "b", &[(now + 3_600_000, 1)]).await;
    let mut watcher = pin!(fleet.watch_node(&id("b")).unwrap());
    watcher.next().await.unwrap();
    push(&fleet, "b", &[(now + 3_600_001, 1)]).await;
    push(&fleet, "b", &[(now, 1)]).await;
    assert_eq!(data(&watcher.next().await.unwrap())["timestamp"], now);
    assert!(watcher.next().now_or_never().is_none());
}
