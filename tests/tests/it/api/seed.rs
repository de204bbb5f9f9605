//! The hub's original API, in the shapes that its first clients use: without leases, claim ids or
//! any newer field.

use forge_tests::hub::Hub;
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn a_job_goes_from_enqueue_to_completed() {
    let hub = Hub::new().await;
    let body = json!({
        "type": "prodplan", "params": {"lines": [1, 2], "ratio": 1.10}, "priority": 5, "max_attempts": 2,
        "max_runtime_ms": 60_000, "solver_url": "https://example.org/solver", "solver_checksum": "a".repeat(64),
    });
    let made = hub.post("/api/jobs", body).await.expect(201);
    assert_eq!(made["status"], "pending");
    let id = made["id"].as_str().expect("an id");
    assert_eq!(id.len(), 32);
    assert!(id.bytes().all(|byte| byte.is_ascii_hexdigit()));

    let registered =
        json!({"worker_id": "worker-01", "name": "Worker 01", "cores": 8, "ram_gb": 16, "tags": ["gpu"]});
    hub.post("/api/workers/register", registered).await.expect(204);
    let job = hub
        .post("/api/jobs/claim", json!({"worker_id": "worker-01", "types": ["prodplan"]}))
        .await
        .expect(200);
    assert_eq!((job["id"].as_str(), &job["status"]), (Some(id), &json!("assigned")));
    assert_eq!(job["params"]["lines"], json!([1, 2]));
    assert_eq!(job["solver_url"], "https://example.org/solver");
    assert_eq!((&job["attempts"], &job["max_attempts"], &job["priority"]), (&json!(1), &json!(2), &json!(5)));

    let path = |what: &str| format!("/api/jobs/{id}/{what}");
    let beat = hub.post(&path("heartbeat"), json!({"worker_id": "worker-01"})).await;
    assert!(beat.body.is_empty());
    beat.expect(204);
    let running = hub.job(id).await;
    assert_eq!((&running["status"], &running["worker_id"]), (&json!("running"), &json!("worker-01")));
    assert!(running["claimed_at"].is_i64() && running["heartbeat_at"].is_i64());

    let result = json!({"worker_id": "worker-01", "result": {"cost": 12}, "result_hash": "b".repeat(64)});
    hub.post(&path("result"), result.clone()).await.expect(200);
    hub.post(&path("result"), result).await.expect(200);
    let done = hub.job(id).await;
    assert_eq!((&done["status"], &done["result"]), (&json!("completed"), &json!({"cost": 12})));
    assert_eq!(done["result_hash"], json!("b".repeat(64)));
    assert!(done["completed_at"].is_i64());
}

#[tokio::test]
async fn a_claim_without_a_job_is_204() {
    let hub = Hub::new().await;
    let answer = hub.post("/api/jobs/claim", json!({"worker_id": "w"})).await;
    assert!(answer.body.is_empty());
    answer.expect(204);
    hub.enqueue(json!({"type": "a", "params": {}})).await;
    hub.post("/api/jobs/claim", json!({"worker_id": "w", "types": ["b"]})).await.expect(204);
    hub.post("/api/jobs/claim", json!({"worker_id": "w", "types": []})).await.expect(200);
}

#[tokio::test]
async fn somebody_else_s_job_is_409() {
    let hub = Hub::new().await;
    let id = hub.enqueue(json!({"type": "a", "params": {}})).await;
    hub.claim("w").await;
    for (what, body) in [
        ("heartbeat", json!({"worker_id": "other"})),
        ("result", json!({"worker_id": "other", "result": 1})),
        ("fail", json!({"worker_id": "other", "reason": "r"})),
    ] {
        let code = hub.post(&format!("/api/jobs/{id}/{what}"), body).await.refused(409);
        assert_eq!(code, "lease_lost", "{what}");
    }
    assert_eq!(hub.job(&id).await["status"], "assigned");
}

#[tokio::test]
async fn failures_use_attempts_up() {
    let hub = Hub::new().await;
    let backoff = json!({"kind": "none"});
    let id = hub.enqueue(json!({"type": "a", "params": {}, "max_attempts": 2, "backoff": backoff})).await;
    let path = format!("/api/jobs/{id}/fail");
    let fail = |reason: &str| hub.post(&path, json!({"worker_id": "w", "reason": reason}));
    hub.claim("w").await;
    fail("disk full").await.expect(200);
    let again = hub.job(&id).await;
    assert_eq!(
        (&again["status"], &again["attempts"], &again["worker_id"]),
        (&json!("pending"), &json!(1), &Value::Null)
    );
    hub.claim("w").await;
    fail("disk still full").await.expect(200);
    let dead = hub.job(&id).await;
    assert_eq!((&dead["status"], &dead["attempts"]), (&json!("quarantined"), &json!(2)));
    let reasons: Vec<_> =
        dead["fail_history"].as_array().expect("a history").iter().map(|f| &f["reason"]).collect();
    assert_eq!(reasons, ["disk full", "disk still full"]);
    assert_eq!(dead["fail_history"][0]["worker_id"], "w");
    assert!(dead["fail_history"][0]["ts"].is_i64());
    hub.post("/api/jobs/claim", json!({"worker_id": "w"})).await.expect(204);
}

#[tokio::test]
async fn cancelling_by_delete_is_for_jobs_that_have_not_started() {
    let hub = Hub::new().await;
    let pending = hub.enqueue(json!({"type": "a", "params": {}})).await;
    let answer = hub.delete(&format!("/api/jobs/{pending}")).await;
    assert!(answer.body.is_empty());
    answer.expect(204);
    let job = hub.job(&pending).await;
    assert_eq!((&job["status"], &job["fail_reason"]), (&json!("failed"), &json!("cancelled")));
    hub.delete(&format!("/api/jobs/{pending}")).await.expect(204);

    let assigned = hub.enqueue(json!({"type": "a", "params": {}})).await;
    hub.claim("w").await;
    hub.delete(&format!("/api/jobs/{assigned}")).await.expect(204);
    hub.post(&format!("/api/jobs/{assigned}/heartbeat"), json!({"worker_id": "w"})).await.refused(409);

    let running = hub.enqueue(json!({"type": "a", "params": {}})).await;
    hub.claim("w").await;
    hub.post(&format!("/api/jobs/{running}/heartbeat"), json!({"worker_id": "w"})).await.expect(204);
    assert_eq!(hub.delete(&format!("/api/jobs/{running}")).await.refused(409), "wrong_state");
    assert_eq!(hub.job(&running).await["status"], "running");
    hub.post(&format!("/api/jobs/{running}/result"), json!({"worker_id": "w", "result": 1}))
        .await
        .expect(200);
    assert_eq!(hub.delete(&format!("/api/jobs/{running}")).await.refused(409), "wrong_state");
}

#[tokio::test]
async fn an_unknown_job_is_404_everywhere() {
    let hub = Hub::new().await;
    let worker = json!({"worker_id": "w", "reason": "r", "result": 1});
    assert_eq!(hub.get("/api/jobs/nope").await.refused(404), "not_found");
    assert_eq!(hub.delete("/api/jobs/nope").await.refused(404), "not_found");
    for what in ["heartbeat", "result", "fail"] {
        assert_eq!(
            hub.post(&format!("/api/jobs/nope/{what}"), worker.clone()).await.refused(404),
            "not_found"
        );
    }
}

#[tokio::test]
async fn every_route_but_the_public_ones_wants_a_token() {
    let hub = Hub::new().await;
    for (method, path) in [
        (Method::POST, "/api/jobs"),
        (Method::GET, "/api/jobs"),
        (Method::GET, "/api/jobs/x"),
        (Method::DELETE, "/api/jobs/x"),
        (Method::POST, "/api/workers/register"),
        (Method::POST, "/api/jobs/claim"),
        (Method::POST, "/api/jobs/x/heartbeat"),
        (Method::POST, "/api/jobs/x/result"),
        (Method::POST, "/api/jobs/x/fail"),
    ] {
        for token in [None, Some("wrong")] {
            let answer = hub.call_as(token, method.clone(), path, Some(&json!({}))).await;
            assert!(
                answer.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")),
                "{path}"
            );
            answer.refused(401);
        }
    }
    hub.call_as(None, Method::GET, "/api/health", None).await.expect(200);
    let events =
        forge_tests::hub::client_with(None).get(hub.url("/api/jobs/events")).send().await.expect("an answer");
    assert_eq!(events.status(), 200);
}
