use super::{fleet, test_rig::*};
use axum::http::{Method, StatusCode};
use futures_util::StreamExt;
use serde_json::{Value, json};

fn snapshot(timestamp: i64, cpu: f64) -> Value {
    json!({
        "timestamp": timestamp, "cpu": cpu, "cpuCores": [cpu], "surprise": {"new": true},
        "memory": {"percent": 1, "used": 2, "total": 3}, "disk": {"read": 0, "write": 0},
        "network": {"rx": 0, "tx": 0}, "load": {"avg1": 0, "avg5": 0, "avg15": 0},
    })
}

async fn rig() -> Rig {
    Rig::new(fleet::routes()).await
}

#[tokio::test]
async fn a_pushed_snapshot_is_in_the_fleet_view() {
    let rig = rig().await;
    assert_eq!(rig.get("/api/fleet").await.json(), json!([]));
    let push =
        rig.send(Method::POST, "/api/ingest/n1", &[("x-node-name", "Rack 1")], snapshot(5, 12.5)).await;
    assert_eq!((push.status, push.body.len()), (StatusCode::NO_CONTENT, 0));
    rig.send(Method::POST, "/api/ingest/n0", &[], snapshot(5, 1.0)).await;
    let fleet = rig.get("/api/fleet").await;
    assert_eq!(fleet.header("content-type"), "application/json");
    let fleet = fleet.json();
    assert_eq!((&fleet[0]["id"], &fleet[1]["id"]), (&json!("n0"), &json!("n1")));
    let node = &fleet[1];
    assert_eq!((&node["name"], &node["status"]), (&json!("Rack 1"), &json!("online")));
    assert_eq!((&node["latest"]["cpu"], &node["history"][0]["timestamp"]), (&json!(12.5), &json!(5)));
    assert!(node["latest"].get("surprise").is_none());
    assert!(node["lastSeen"].as_i64().unwrap() > 1_600_000_000_000);
}

#[tokio::test]
async fn a_batch_is_read_back_oldest_first() {
    let rig = rig().await;
    let batch = json!([snapshot(1, 1.0), snapshot(3, 3.0), snapshot(2, 2.0)]);
    let push = rig.send(Method::POST, "/api/ingest/n1/batch", &[], batch).await;
    assert_eq!(push.status, StatusCode::NO_CONTENT);
    let newest = rig.get("/api/nodes/n1/snapshot?limit=2").await.json();
    assert_eq!((&newest[0]["timestamp"], &newest[1]["timestamp"]), (&json!(2), &json!(3)));
    assert_eq!(rig.get("/api/nodes/n1/snapshot?limit=9999").await.json().as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn bad_input_is_refused_by_field_and_nothing_is_stored() {
    let rig = rig().await;
    let check = async |path: &str, body: Value, field: &str| {
        let answer = rig.send(Method::POST, path, &[], body).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path} {field}");
        assert_eq!(answer.json()["field"], field, "{path}");
    };
    check("/api/ingest/n1", snapshot(-1, 1.0), "timestamp").await;
    check("/api/ingest/n1", snapshot(1, -1.0), "cpu").await;
    check("/api/ingest/n1/batch", json!([snapshot(1, 1.0), snapshot(1, -1.0)]), "[1].cpu").await;
    check("/api/ingest/a%2Fb", snapshot(1, 1.0), "node_id").await;
    let mut wrong = snapshot(1, 1.0);
    wrong["memory"]["used"] = json!("much");
    check("/api/ingest/n1", wrong, "memory.used").await;
    let long = vec![snapshot(1, 1.0); 1001];
    let answer = rig.send(Method::POST, "/api/ingest/n1/batch", &[], Value::from(long)).await;
    assert_eq!(
        (answer.status, answer.json()["code"].clone()),
        (StatusCode::BAD_REQUEST, json!("batch_too_long"))
    );
    let named = rig.send(Method::POST, "/api/ingest/n1", &[("x-node-name", "")], snapshot(1, 1.0)).await;
    assert_eq!(named.json()["field"], "X-Node-Name");
    assert_eq!(rig.get("/api/nodes/n1/snapshot").await.status, StatusCode::NOT_FOUND);
    assert_eq!(rig.get("/api/nodes/n1/events").await.status, StatusCode::NOT_FOUND);
    assert_eq!(rig.get("/api/nodes/n1/snapshot?limit=0").await.json()["field"], "limit");
    assert!(rig.app.fleet.is_empty());
}

#[tokio::test]
async fn event_streams_open_with_what_is_known_and_close_with_the_hub() {
    let rig = rig().await;
    rig.send(Method::POST, "/api/ingest/n1", &[], snapshot(1, 1.0)).await;
    let (head, mut fleet) = rig.open("/api/fleet/events").await;
    assert_eq!(head.headers["content-type"], "text/event-stream");
    assert_eq!(head.headers["cache-control"], "no-cache, no-store");
    let (_, mut node) = rig.open("/api/nodes/n1/events").await;
    let first = fleet.next().await.unwrap().unwrap();
    assert!(first.starts_with(b"data: {\"id\":\"n1\","), "{first:?}");
    let first = node.next().await.unwrap().unwrap();
    assert!(first.starts_with(b"data: {\"timestamp\":1,"), "{first:?}");
    rig.send(Method::POST, "/api/ingest/n1", &[], snapshot(2, 1.0)).await;
    let second = node.next().await.unwrap().unwrap();
    assert!(second.starts_with(b"data: {\"timestamp\":2,"), "{second:?}");
    assert_eq!(rig.app.watchers.open(), 2);
    rig.app.stop.cancel();
    assert!(fleet.next().await.is_none());
    assert!(node.next().await.is_none());
    drop((fleet, node));
    assert_eq!(rig.app.watchers.open(), 0);
}
