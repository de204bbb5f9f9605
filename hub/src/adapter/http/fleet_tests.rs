use super::test_rig::*;
use futures_util::StreamExt;
use serde_json::{Value, json};

fn snapshot(timestamp: i64, cpu: f64) -> Value {
    json!({
        "timestamp": timestamp, "cpu": cpu, "cpuCores": [cpu], "surprise": {"new": true},
        "memory": {"percent": 1, "used": 2, "total": 3}, "disk": {"read": 0, "write": 0},
        "network": {"rx": 0, "tx": 0}, "load": {"avg1": 0, "avg5": 0, "avg15": 0},
    })
}

#[tokio::test]
async fn a_pushed_snapshot_is_in_the_fleet_view() {
    let rig = Rig::new().await;
    assert_eq!(rig.get("/api/fleet").await.value(), json!([]));
    let push = rig
        .admin("POST", "/api/ingest/n1", &[("x-node-name", "Rack 1")], snapshot(5, 12.5).to_string())
        .await;
    assert_eq!((push.status, push.body.len()), (204, 0));
    rig.admin("POST", "/api/ingest/n0", &[], snapshot(5, 1.0).to_string()).await;
    let fleet = rig.get("/api/fleet").await;
    assert_eq!(fleet.header("content-type"), "application/json");
    let fleet = fleet.value();
    assert_eq!((&fleet[0]["id"], &fleet[1]["id"]), (&json!("n0"), &json!("n1")));
    let node = &fleet[1];
    assert_eq!((&node["name"], &node["status"]), (&json!("Rack 1"), &json!("online")));
    assert_eq!((&node["latest"]["cpu"], &node["history"][0]["timestamp"]), (&json!(12.5), &json!(5)));
    assert!(node["latest"].get("surprise").is_none());
    assert!(node["lastSeen"].as_i64().unwrap() > 1_600_000_000_000);
}

#[tokio::test]
async fn a_batch_is_read_back_oldest_first() {
    let rig = Rig::new().await;
    let batch = json!([snapshot(1, 1.0), snapshot(3, 3.0), snapshot(2, 2.0)]);
    let push = rig.admin("POST", "/api/ingest/n1/batch", &[], batch.to_string()).await;
    assert_eq!(push.status, 204);
    let newest = rig.get("/api/nodes/n1/snapshot?limit=2").await.value();
    assert_eq!((&newest[0]["timestamp"], &newest[1]["timestamp"]), (&json!(2), &json!(3)));
    assert_eq!(rig.get("/api/nodes/n1/snapshot?limit=9999").await.value().as_array().unwrap().len(), 3);
    let fleet = rig.get("/api/fleet?history=2").await.value();
    assert_eq!(fleet[0]["history"], newest);
    assert_eq!(fleet[0]["latest"]["timestamp"], 3);
    assert_eq!(rig.get("/api/fleet?history=0").await.value()[0]["history"], json!([]));
}

#[tokio::test]
async fn bad_input_is_refused_by_field_and_nothing_is_stored() {
    let rig = Rig::new().await;
    let check = async |path: &str, body: Value, field: &str| {
        let answer = rig.admin("POST", path, &[], body.to_string()).await;
        assert_eq!(answer.status, 400, "{path} {field}");
        assert_eq!(answer.value()["field"], field, "{path}");
    };
    check("/api/ingest/n1", snapshot(-1, 1.0), "timestamp").await;
    check("/api/ingest/n1", snapshot(1, -1.0), "cpu").await;
    check("/api/ingest/n1/batch", json!([snapshot(1, 1.0), snapshot(1, -1.0)]), "[1].cpu").await;
    check("/api/ingest/a%2Fb", snapshot(1, 1.0), "node_id").await;
    let mut wrong = snapshot(1, 1.0);
    wrong["memory"]["used"] = json!("much");
    check("/api/ingest/n1", wrong, "memory.used").await;
    let long = vec![snapshot(1, 1.0); 1001];
    let answer = rig.admin("POST", "/api/ingest/n1/batch", &[], Value::from(long).to_string()).await;
    assert_eq!((answer.status, answer.value()["code"].clone()), (400, json!("batch_too_long")));
    let named =
        rig.admin("POST", "/api/ingest/n1", &[("x-node-name", "")], snapshot(1, 1.0).to_string()).await;
    assert_eq!(named.value()["field"], "X-Node-Name");
    assert_eq!(rig.get("/api/nodes/n1/snapshot").await.status, 404);
    assert_eq!(rig.get("/api/nodes/n1/events").await.status, 404);
    assert_eq!(rig.get("/api/nodes/n1/snapshot?limit=0").await.value()["field"], "limit");
    assert!(rig.app.fleet.is_empty());
}

#[tokio::test]
async fn event_streams_open_with_what_is_known_and_close_with_the_hub() {
    let rig = Rig::new().await;
    rig.admin("POST", "/api/ingest/n1", &[], snapshot(1, 1.0).to_string()).await;
    let (head, mut fleet) = rig.open("/api/fleet/events").await;
    assert_eq!(head.headers["content-type"], "text/event-stream");
    assert_eq!(head.headers["cache-control"], "no-cache, no-store");
    let (_, mut node) = rig.open("/api/nodes/n1/events").await;
    let first = fleet.next().await.unwrap().unwrap();
    assert!(first.starts_with(b"data: {\"id\":\"n1\","), "{first:?}");
    let first = node.next().await.unwrap().unwrap();
    assert!(first.starts_with(b"data: {\"timestamp\":1,"), "{first:?}");
    rig.admin("POST", "/api/ingest/n1", &[], snapshot(2, 1.0).to_string()).await;
    let second = node.next().await.unwrap().unwrap();
    assert!(second.starts_with(b"data: {\"timestamp\":2,"), "{second:?}");
    assert_eq!(rig.app.watchers.open(), 2);
    rig.app.stop.cancel();
    assert!(fleet.next().await.is_none());
    assert!(node.next().await.is_none());
    drop((fleet, node));
    assert_eq!(rig.app.watchers.open(), 0);
}

#[tokio::test]
async fn the_past_of_a_machine_is_shown_and_a_wrong_range_names_the_right_ones() {
    let rig = Rig::new().await;
    let now_ms = crate::clock::wall_ms();
    rig.admin("POST", "/api/ingest/n1", &[], snapshot(now_ms, 12.5).to_string()).await;
    for range in ["1h", "12h", "24h", "7d", "30d", "1y"] {
        let history = rig.get(&format!("/api/nodes/n1/history?range={range}")).await;
        assert_eq!(history.status, 200, "{range}");
        let history = history.value();
        assert_eq!(history["range"], range);
        let point = &history["points"][0];
        assert_eq!((&point["samples"], &point["cpu"]["mean"]), (&json!(1), &json!(12.5)), "{range}");
        assert_eq!((&point["cores"], &point["gpus"]), (&json!([12.5]), &json!([])));
    }
    assert_eq!(rig.get("/api/nodes/n1/history").await.value()["range"], "1h");
    let wrong = rig.get("/api/nodes/n1/history?range=2h").await;
    assert_eq!((wrong.status, &wrong.value()["field"]), (400, &json!("range")));
    for good in ["1h", "12h", "24h", "7d", "30d", "1y"] {
        assert!(wrong.value()["error"].as_str().unwrap().contains(good), "{}", wrong.value());
    }
    assert_eq!(rig.get("/api/nodes/nobody/history?range=1h").await.status, 404);
}
