//! Machines and solvers.

use data_encoding::HEXLOWER;
use forge_tests::hub::Hub;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::time::Duration;

fn snapshot(timestamp: i64, cpu: f64) -> Value {
    json!({
        "timestamp": timestamp, "cpu": cpu, "cpuCores": [cpu, cpu],
        "memory": {"percent": 50.0, "used": 4.0, "total": 8.0}, "disk": {"read": 0.5, "write": 0.25},
        "network": {"rx": 1.0, "tx": 2.0}, "load": {"avg1": 0.1, "avg5": 0.2, "avg15": 0.3}, "newField": [1, 2],
    })
}

#[tokio::test]
async fn a_push_makes_a_node_known() {
    let hub = Hub::new().await;
    let push = hub
        .client()
        .post(hub.url("/api/ingest/node-1"))
        .header("X-Node-Name", "Node One")
        .json(&snapshot(1, 10.0));
    hub.send(push).await.expect(204);
    let replay: Vec<_> = (2..5).map(|n| snapshot(n, 20.0)).collect();
    hub.post("/api/ingest/node-1/batch", json!(replay)).await.expect(204);
    let fleet = hub.get("/api/fleet").await.expect(200);
    let node = &fleet[0];
    assert_eq!(
        (&node["id"], &node["name"], &node["status"]),
        (&json!("node-1"), &json!("Node One"), &json!("online"))
    );
    assert!(node["lastSeen"].is_i64());
    assert_eq!(node["latest"]["timestamp"], 4);
    assert_eq!(node["history"].as_array().map(Vec::len), Some(4));
    let newest = hub.get("/api/nodes/node-1/snapshot?limit=2").await.expect(200);
    let times: Vec<_> =
        newest.as_array().expect("an array").iter().map(|snapshot| &snapshot["timestamp"]).collect();
    assert_eq!(times, [3, 4]);
    hub.get("/api/nodes/nobody/snapshot").await.refused(404);
    assert_eq!(hub.get("/api/health").await.expect(200)["nodes"], 1);
}

#[tokio::test]
async fn fleet_watchers_see_each_node_at_once() {
    let hub = Hub::new().await;
    hub.post("/api/ingest/n1", snapshot(1, 10.0)).await.expect(204);
    let mut fleet = hub.stream("/api/fleet/events").await;
    let message = fleet.within(Duration::from_secs(10)).await;
    assert_eq!((message.event.as_deref(), &message.json()["id"]), (None, &json!("n1")));
    let mut node = hub.stream("/api/nodes/n1/events").await;
    assert_eq!(node.within(Duration::from_secs(10)).await.json()["timestamp"], 1);
    hub.post("/api/ingest/n1", snapshot(2, 10.0)).await.expect(204);
    assert_eq!(node.within(Duration::from_secs(10)).await.json()["timestamp"], 2);
    assert_eq!(fleet.within(Duration::from_secs(10)).await.json()["latest"]["timestamp"], 2);
}

#[tokio::test]
async fn a_solver_exists_only_when_it_hashes_to_its_name() {
    let hub = Hub::new().await;
    let solver: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let sha256 = HEXLOWER.encode(&Sha256::digest(&solver));
    let path = format!("/api/solvers/{sha256}");
    let put = |bytes: Vec<u8>| hub.send(hub.client().put(hub.url(&path)).body(bytes));
    let mut wrong = solver.clone();
    wrong[7] ^= 1;
    assert_eq!(put(wrong).await.status, 422);
    hub.get(&path).await.refused(404);
    assert_eq!(hub.get("/api/solvers").await.expect(200), json!([]));
    let made = put(solver.clone()).await;
    assert!(matches!(made.status, 200 | 201 | 204), "{}", made.text());
    let whole = hub.get(&path).await;
    assert_eq!((whole.status, whole.body == solver), (200, true));
    let etag = whole.header("etag").expect("an etag").to_owned();
    let part = hub.send(hub.client().get(hub.url(&path)).header("range", "bytes=4-11")).await;
    assert_eq!((part.status, &part.body[..]), (206, &solver[4..12]));
    assert_eq!(part.header("content-range"), Some(&*format!("bytes 4-11/{}", solver.len())));
    let same = hub.send(hub.client().get(hub.url(&path)).header("if-none-match", etag)).await;
    assert_eq!(same.status, 304);
    let list = hub.get("/api/solvers").await.expect(200);
    assert_eq!((&list[0]["sha256"], &list[0]["bytes"]), (&json!(sha256), &json!(solver.len())));
    hub.delete(&path).await.expect(204);
    hub.get(&path).await.refused(404);
}
