//! Handing jobs out.

use super::{id, ids, report};
use forge_tests::hub::Hub;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

async fn claim(hub: &Hub, body: Value) -> Option<Value> {
    let answer = hub.post("/api/jobs/claim", body).await;
    match answer.status {
        204 => None,
        _ => Some(answer.expect(200)),
    }
}

#[tokio::test]
async fn the_answer_carries_the_lease() {
    let hub = Hub::new().await;
    hub.enqueue(json!({"type": "t", "params": {"a": 1}})).await;
    let job = hub.claim("w").await;
    assert!(job["lease_id"].as_str().is_some_and(|lease| !lease.is_empty()));
    assert_eq!((&job["lease_ms"], &job["heartbeat_ms"]), (&json!(60_000), &json!(10_000)));
    assert_eq!((&job["attempt"], &job["attempts"], &job["params"]), (&json!(1), &json!(1), &json!({"a": 1})));
    assert_eq!(job["worker_id"], "w");
}

#[tokio::test]
async fn higher_priority_first_then_first_come() {
    let hub = Hub::new().await;
    for (name, priority) in [("low", -1), ("a", 0), ("b", 0), ("high", 32_767), ("lowest", -32_768)] {
        hub.enqueue(json!({"id": name, "type": name, "priority": priority})).await;
    }
    for expected in ["high", "a", "b", "low", "lowest"] {
        assert_eq!(hub.claim("w").await["id"], expected);
    }
}

#[tokio::test]
async fn types_and_queues_select() {
    let hub = Hub::new().await;
    for (name, kind, queue) in
        [("1", "x", "default"), ("2", "y", "ns/a"), ("3", "x", "ns/b"), ("4", "x", "nsx/a")]
    {
        hub.enqueue(json!({"id": name, "type": kind, "queue": queue})).await;
    }
    let by = |types: &[&str], queues: &[&str]| json!({"worker_id": "w", "types": types, "queues": queues, "max": 10});
    let take = async |types: &[&str], queues: &[&str]| {
        let jobs = claim(&hub, by(types, queues)).await.unwrap_or(json!([]));
        for job in jobs.as_array().expect("an array") {
            report(&hub, job, "release", json!({})).await.expect(200);
        }
        ids(&jobs).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(take(&["y"], &[]).await, ["2"]);
    assert_eq!(take(&[], &["ns/*"]).await, ["2", "3"]);
    assert_eq!(take(&["x"], &["ns/*", "default"]).await, ["1", "3"]);
    assert_eq!(take(&[], &["ns"]).await, [""; 0]);
    assert_eq!(take(&[], &[]).await, ["1", "2", "3", "4"]);
}

#[tokio::test]
async fn max_makes_the_answer_an_array() {
    let hub = Hub::new().await;
    for _ in 0..3 {
        hub.enqueue(json!({"type": "t"})).await;
    }
    let one = claim(&hub, json!({"worker_id": "w", "max": 1})).await.expect("a job");
    assert_eq!(ids(&one).len(), 1);
    let rest = claim(&hub, json!({"worker_id": "w", "max": 10})).await.expect("jobs");
    assert_eq!(ids(&rest).len(), 2);
    let leases: Vec<_> = rest.as_array().expect("an array").iter().map(|job| &job["lease_id"]).collect();
    assert_ne!(leases[0], leases[1]);
}

#[tokio::test]
async fn a_repeated_claim_id_returns_the_same_jobs() {
    let hub = Hub::new().await;
    for _ in 0..4 {
        hub.enqueue(json!({"type": "t"})).await;
    }
    let body = json!({"worker_id": "w", "max": 2, "claim_id": "c-1"});
    let first = claim(&hub, body.clone()).await.expect("jobs");
    let again = claim(&hub, body.clone()).await.expect("the same jobs");
    let leases = |jobs: &Value| {
        jobs.as_array().expect("jobs").iter().map(|job| job["lease_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(leases(&first), leases(&again));
    assert_eq!(again[0]["attempts"], 1);
    // One of them done: only the other is still under its lease.
    report(&hub, &first[0], "result", json!({"result": 1})).await.expect(200);
    let rest = claim(&hub, body.clone()).await.expect("the other job");
    assert_eq!(leases(&rest), leases(&first)[1..]);
    report(&hub, &first[1], "result", json!({"result": 1})).await.expect(200);
    let fresh = claim(&hub, body).await.expect("new jobs");
    assert!(!leases(&first).contains(&fresh[0]["lease_id"]), "all done: the id claims afresh");
}

#[tokio::test]
async fn a_long_poll_ends_with_a_job_or_with_204() {
    let hub = Hub::new().await;
    let began = Instant::now();
    assert_eq!(claim(&hub, json!({"worker_id": "w", "wait_ms": 300})).await, None);
    assert!(began.elapsed() >= Duration::from_millis(300));

    let request =
        hub.client().post(hub.url("/api/jobs/claim")).json(&json!({"worker_id": "w", "wait_ms": 60_000}));
    let waiting = tokio::spawn(request.send());
    let made = hub.enqueue(json!({"type": "t"})).await;
    let answer = tokio::time::timeout(Duration::from_secs(10), waiting).await.expect("it is woken");
    let answer = answer.expect("no panic").expect("an answer");
    assert_eq!(answer.status(), 200);
    let job: Value = answer.json().await.expect("a job");
    assert_eq!(id(&job), made);
}

#[tokio::test]
async fn waiting_claims_are_served_one_each() {
    let hub = Hub::new().await;
    let mut waiting = tokio::task::JoinSet::new();
    for n in 0..8 {
        let body = json!({"worker_id": format!("w{n}"), "wait_ms": 30_000});
        waiting.spawn(hub.client().post(hub.url("/api/jobs/claim")).json(&body).send());
    }
    let jobs: Vec<Value> = (0..8).map(|n| json!({"type": "t", "id": format!("j{n}")})).collect();
    hub.post("/api/jobs/batch", Value::Array(jobs)).await.expect(201);
    let mut got = std::collections::BTreeSet::new();
    while let Some(answer) = waiting.join_next().await {
        let answer = answer.expect("no panic").expect("an answer");
        assert_eq!(answer.status(), 200);
        got.insert(id(&answer.json().await.expect("a job")).to_owned());
    }
    assert_eq!(got.len(), 8);
}

#[tokio::test]
async fn a_caller_that_hung_up_costs_the_job_nothing() {
    let hub = Hub::new().await;
    let body = json!({"worker_id": "gone", "wait_ms": 60_000});
    let request = hub.client().post(hub.url("/api/jobs/claim")).json(&body);
    // Dropping the future closes the connection while the hub waits.
    let _ = tokio::time::timeout(Duration::from_millis(300), request.send()).await;
    let id = hub.enqueue(json!({"type": "t"})).await;
    let job = hub.post("/api/jobs/claim", json!({"worker_id": "w", "wait_ms": 20_000})).await.expect(200);
    assert_eq!((&job["id"], &job["attempts"]), (&json!(id), &json!(1)));
}

#[tokio::test]
async fn unknown_fields_of_a_worker_are_ignored() {
    let hub = Hub::new().await;
    hub.enqueue(json!({"type": "t"})).await;
    let body = json!({"worker_id": "w", "free": {"slots": 4, "cores": 2.5, "ram_gb": 1}, "from_the_future": {"x": 1}});
    let job = hub.post("/api/jobs/claim", body).await.expect(200);
    report(&hub, &job, "heartbeat", json!({"from_the_future": 1})).await.expect(204);
    report(&hub, &job, "result", json!({"result": 1, "from_the_future": 1})).await.expect(200);
}
