//! Workers: registering, heartbeats for everything they hold, draining.

use super::{claimed, id, running};
use forge_tests::hub::Hub;
use serde_json::{Value, json};
use std::time::Duration;

async fn register(hub: &Hub, body: Value) -> Value {
    let mut worker = json!({"worker_id": "w"});
    worker.as_object_mut().expect("an object").extend(body.as_object().expect("an object").clone());
    let answer = hub.post("/api/workers/register", worker).await;
    if answer.status == 204 { Value::Null } else { answer.expect(200) }
}

#[tokio::test]
async fn a_registered_worker_is_described() {
    let hub = Hub::new().await;
    let about = json!({
        "name": "Worker", "cores": 8, "ram_gb": 15.5, "tags": ["gpu"], "hostname": "h", "pid": 7, "version": "1.2.3",
        "os": "linux", "arch": "x86_64", "slots": 4, "types": ["a"], "queues": ["ns/*"], "boot_id": "b1",
    });
    assert_eq!(register(&hub, about.clone()).await, Value::Null);
    let worker = hub.get("/api/workers/w").await.expect(200);
    for (field, value) in about.as_object().expect("an object") {
        assert_eq!(&worker[field], value, "{field}");
    }
    assert_eq!(
        (&worker["state"], &worker["draining"], &worker["jobs"]),
        (&json!("online"), &json!(false), &json!(0))
    );
    hub.post("/api/workers/register", json!({"worker_id": "bare"})).await.expect(204);
    let bare = hub.get("/api/workers/bare").await.expect(200);
    assert_eq!((&bare["cores"], &bare["ram_gb"], &bare["tags"]), (&json!(1), &json!(1.0), &json!([])));
    let all = hub.get("/api/workers").await.expect(200);
    assert_eq!(all.as_array().map(Vec::len), Some(2));
    hub.get("/api/workers/nobody").await.refused(404);
    hub.delete("/api/workers/bare").await.expect(204);
    hub.get("/api/workers/bare").await.refused(404);
}

#[tokio::test]
async fn holding_asks_what_is_left_of_each_lease() {
    let hub = Hub::new().await;
    let kept = running(&hub, json!({"type": "t"})).await;
    let stopped = running(&hub, json!({"type": "t"})).await;
    hub.post(&format!("/api/jobs/{}/cancel", id(&stopped)), json!({})).await.expect(202);
    let lost = claimed(&hub, json!({"type": "t"})).await;
    hub.delete(&format!("/api/jobs/{}", id(&lost))).await.expect(204);
    let holding: Vec<_> = [&kept, &stopped, &lost]
        .iter()
        .map(|job| json!({"lease_id": job["lease_id"], "phase": "running"}))
        .collect();
    let answer = register(&hub, json!({"holding": holding})).await;
    let actions: Vec<_> =
        answer["leases"].as_array().expect("leases").iter().map(|lease| &lease["action"]).collect();
    assert_eq!(actions, ["keep", "cancel", "gone"]);
    assert!(answer["protocol"].is_u64() && answer["abilities"].is_array());
    let beat = hub
        .post("/api/workers/w/heartbeat", json!({"holding": holding, "busy": 2, "rss_kb": 5, "outbox": 1}));
    let answer = beat.await.expect(200);
    assert_eq!(answer["worker"], "run");
    let actions: Vec<_> =
        answer["leases"].as_array().expect("leases").iter().map(|lease| &lease["action"]).collect();
    assert_eq!(actions, ["keep", "cancel", "gone"]);
    let worker = hub.get("/api/workers/w").await.expect(200);
    assert_eq!((&worker["busy"], &worker["rss_kb"], &worker["outbox"]), (&json!(2), &json!(5), &json!(1)));
}

#[tokio::test]
async fn a_new_boot_gives_back_what_the_old_one_had_not_started() {
    let hub = Hub::new().await;
    register(&hub, json!({"boot_id": "old"})).await;
    let claim = |boot: &str| json!({"worker_id": "w", "boot_id": boot});
    hub.enqueue(json!({"type": "t", "id": "assigned"})).await;
    hub.post("/api/jobs/claim", claim("old")).await.expect(200);
    register(&hub, json!({"boot_id": "new", "holding": []})).await;
    let back = hub.job("assigned").await;
    assert_eq!((&back["status"], &back["attempts"]), (&json!("pending"), &json!(0)), "released, at no cost");
    assert_eq!(hub.post("/api/jobs/claim", claim("old")).await.refused(409), "superseded_boot");
    hub.post("/api/jobs/claim", claim("new")).await.expect(200);
}

#[tokio::test]
async fn a_drained_worker_gets_nothing_new() {
    let hub = Hub::new().await;
    register(&hub, json!({})).await;
    let claim =
        hub.client().post(hub.url("/api/jobs/claim")).json(&json!({"worker_id": "w", "wait_ms": 60_000}));
    let waiting = tokio::spawn(claim.send());
    let held = hub.post("/api/workers/w/heartbeat", json!({"holding": []})).await.expect(200);
    assert_eq!(held["worker"], "run");
    let drained = hub.post("/api/workers/w/drain", json!({})).await;
    assert!(matches!(drained.status, 200 | 204), "{}", drained.text());
    let answer =
        tokio::time::timeout(Duration::from_secs(10), waiting).await.expect("the long poll is answered");
    assert_eq!(answer.expect("no panic").expect("an answer").status(), 204);
    hub.enqueue(json!({"type": "t"})).await;
    hub.post("/api/jobs/claim", json!({"worker_id": "w"})).await.expect(204);
    let order = hub.post("/api/workers/w/heartbeat", json!({"holding": []})).await.expect(200);
    assert_eq!(order["worker"], "drain");
    assert_eq!(hub.get("/api/workers/w").await.expect(200)["state"], "draining");
    hub.post("/api/workers/w/resume", json!({})).await;
    assert_eq!(hub.claim("w").await["status"], "assigned");
    hub.post("/api/workers/nobody/drain", json!({})).await.refused(404);
}
