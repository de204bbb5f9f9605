//! Adding jobs.

use super::{now_ms, report};
use forge_tests::hub::Hub;
use serde_json::{Value, json};

#[tokio::test]
async fn defaults_are_filled_in() {
    let hub = Hub::new().await;
    let id = hub.enqueue(json!({"type": "t"})).await;
    let job = hub.job(&id).await;
    let expected = json!({
        "type": "t", "queue": "default", "params": {}, "status": "pending", "priority": 0, "attempt": 0, "attempts": 0,
        "max_attempts": 3, "max_runtime_ms": 300_000, "worker_id": null, "result": null, "fail_reason": null,
        "fail_history": [], "tags": [], "claimed_at": null, "completed_at": null, "progress": null,
    });
    for (field, value) in expected.as_object().expect("an object") {
        assert_eq!(&job[field], value, "{field}");
    }
    assert!((job["created_at"].as_i64().expect("a time") - now_ms()).abs() < 60_000);
}

#[tokio::test]
async fn params_come_back_digit_for_digit() {
    let hub = Hub::new().await;
    let params = r#"{"big":123456789012345678901234567890,"ratio":1.10,"tiny":1e-30,"text":"\u00e4\"\\"}"#;
    let body = format!(r#"{{"type":"t","params":{params}}}"#);
    let request =
        hub.client().post(hub.url("/api/jobs")).header("content-type", "application/json").body(body);
    let made = hub.send(request).await.expect(201);
    let raw = hub.get(&format!("/api/jobs/{}", made["id"].as_str().expect("an id"))).await.text();
    assert!(raw.contains(params), "{raw}");
}

#[tokio::test]
async fn everything_that_was_sent_is_kept() {
    let hub = Hub::new().await;
    let sent = json!({
        "id": "my-own_1", "type": "t", "queue": "ns/a/b", "params": [1, "two", null], "priority": -7,
        "max_attempts": 9, "max_runtime_ms": null, "expires_at": 4_000_000_000_000_i64, "command": "make all",
        "tags": ["x", "y"], "solver_url": "https://example.org/s", "solver_checksum": "0".repeat(64),
        "backoff": {"kind": "fixed", "first_ms": 10, "factor": 2.0, "max_ms": 20, "jitter": "half"},
    });
    assert_eq!(hub.post("/api/jobs", sent.clone()).await.expect(201)["id"], "my-own_1");
    let job = hub.job("my-own_1").await;
    for (field, value) in sent.as_object().expect("an object") {
        assert_eq!(&job[field], value, "{field}");
    }
}

#[tokio::test]
async fn a_taken_id_is_409() {
    let hub = Hub::new().await;
    hub.post("/api/jobs", json!({"id": "a", "type": "t"})).await.expect(201);
    assert_eq!(hub.post("/api/jobs", json!({"id": "a", "type": "t"})).await.refused(409), "id_taken");
    let batch = json!([{"id": "b", "type": "t"}, {"id": "a", "type": "t"}]);
    assert_eq!(hub.post("/api/jobs/batch", batch).await.refused(409), "id_taken");
    hub.get("/api/jobs/b").await.refused(404);
}

#[tokio::test]
async fn the_same_idempotency_key_is_the_same_job() {
    let hub = Hub::new().await;
    let body = json!({"type": "t", "params": {"n": 1}, "idempotency_key": "order-1"});
    let first = hub.post("/api/jobs", body.clone()).await.expect(201);
    let again = hub.post("/api/jobs", body).await.expect(200);
    assert_eq!(first["id"], again["id"]);
    // The header says the same as the field.
    let with_header = |body: Value| {
        hub.client().post(hub.url("/api/jobs")).header("Idempotency-Key", "order-1").json(&body)
    };
    let by_header = hub.send(with_header(json!({"type": "t", "params": {"n": 1}}))).await.expect(200);
    assert_eq!(first["id"], by_header["id"]);
    let other = hub.send(with_header(json!({"type": "t", "params": {"n": 2}}))).await;
    assert_eq!(other.refused(409), "idempotency_key_reused");
    assert_eq!(hub.get("/api/jobs").await.expect(200).as_array().map(Vec::len), Some(1));
    // It lives as long as the job: purged, the key is free.
    let id = first["id"].as_str().expect("an id");
    hub.delete(&format!("/api/jobs/{id}")).await.expect(204);
    hub.delete(&format!("/api/jobs/{id}?purge=true")).await.expect(204);
    hub.send(with_header(json!({"type": "t", "params": {"n": 2}}))).await.expect(201);
}

#[tokio::test]
async fn a_known_key_answers_with_what_became_of_the_job() {
    let hub = Hub::new().await;
    let body = json!({"type": "t", "idempotency_key": "k"});
    hub.post("/api/jobs", body.clone()).await.expect(201);
    let job = hub.claim("w").await;
    report(&hub, &job, "result", json!({"result": 1})).await.expect(200);
    assert_eq!(hub.post("/api/jobs", body).await.expect(200)["status"], "completed");
}

#[tokio::test]
async fn a_batch_is_answered_one_by_one_in_order() {
    let hub = Hub::new().await;
    let jobs: Vec<Value> =
        (0..300).map(|n| json!({"type": "t", "id": format!("j{n}"), "params": n})).collect();
    let made = hub.post("/api/jobs/batch", Value::Array(jobs)).await.expect(201);
    let made = made.as_array().expect("an array");
    assert_eq!(made.len(), 300);
    for (n, answer) in made.iter().enumerate() {
        assert_eq!((&answer["id"], &answer["status"]), (&json!(format!("j{n}")), &json!("pending")));
    }
    assert_eq!(hub.claim("w").await["id"], "j0", "the first of a batch is the first in line");
}

#[tokio::test]
async fn one_bad_job_refuses_the_batch_and_is_named() {
    let hub = Hub::new().await;
    let jobs = json!([{"type": "t"}, {"type": "t", "priority": 40_000}]);
    let answer = hub.post("/api/jobs/batch", jobs).await;
    assert!(answer.json()["field"].as_str().is_some_and(|field| field.contains('1')), "{}", answer.text());
    assert_eq!(answer.refused(400), "invalid_field");
    assert_eq!(hub.get("/api/jobs").await.expect(200), json!([]));
}

#[tokio::test]
async fn a_job_is_not_claimed_before_its_time() {
    let hub = Hub::new().await;
    let later = now_ms() + 3_600_000;
    let at = hub.enqueue(json!({"type": "t", "run_at": later})).await;
    hub.enqueue(json!({"type": "t", "delay_ms": 3_600_000})).await;
    hub.post("/api/jobs/claim", json!({"worker_id": "w"})).await.expect(204);
    assert_eq!(hub.job(&at).await["run_at"], later);
    let scheduled = hub.get("/api/jobs?view=scheduled").await.expect(200);
    assert_eq!(scheduled.as_array().map(Vec::len), Some(2));
    hub.post(&format!("/api/jobs/{at}/run-now"), json!({})).await.expect(200);
    assert_eq!(hub.claim("w").await["id"], json!(at));
}

#[tokio::test]
async fn a_waiting_claim_gets_a_job_when_its_time_comes() {
    let hub = Hub::new().await;
    let id = hub.enqueue(json!({"type": "t", "delay_ms": 300})).await;
    let job = hub.post("/api/jobs/claim", json!({"worker_id": "w", "wait_ms": 20_000})).await.expect(200);
    assert_eq!(job["id"], json!(id));
    let early = job["run_at"].as_i64().expect("a time") - job["claimed_at"].as_i64().expect("a time");
    assert!(early <= 0, "claimed {early} ms too early");
}

#[tokio::test]
async fn a_job_past_its_date_is_not_handed_out() {
    let hub = Hub::new().await;
    let id = hub.enqueue(json!({"type": "t", "expires_at": now_ms() + 150, "delay_ms": 100})).await;
    let ended = hub.get(&format!("/api/jobs/{id}?wait_ms=30000")).await.expect(200);
    assert_eq!((&ended["status"], &ended["fail_reason"]), (&json!("failed"), &json!("expired")));
    hub.post("/api/jobs/claim", json!({"worker_id": "w"})).await.expect(204);
}
