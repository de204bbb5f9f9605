//! What workers report.

use super::{claimed, id, report, running};
use forge_tests::hub::Hub;
use serde_json::{Value, json};

#[tokio::test]
async fn preparing_keeps_a_job_assigned() {
    let hub = Hub::new().await;
    let job = claimed(&hub, json!({"type": "t"})).await;
    report(&hub, &job, "heartbeat", json!({"phase": "preparing"})).await.expect(204);
    assert_eq!(hub.job(id(&job)).await["status"], "assigned");
    report(&hub, &job, "heartbeat", json!({"phase": "running"})).await.expect(204);
    let running = hub.job(id(&job)).await;
    assert_eq!(running["status"], "running");
    assert!(running["started_at"].is_i64());
}

#[tokio::test]
async fn the_same_result_is_200_and_a_different_one_409() {
    let hub = Hub::new().await;
    // By the bytes of the result itself.
    let job = running(&hub, json!({"type": "t"})).await;
    report(&hub, &job, "result", json!({"result": {"x": 1}})).await.expect(200);
    report(&hub, &job, "result", json!({"result": {"x": 1}})).await.expect(200);
    assert_eq!(
        report(&hub, &job, "result", json!({"result": {"x": 2}})).await.refused(409),
        "different_result"
    );
    assert_eq!(hub.job(id(&job)).await["result"], json!({"x": 1}));
    // By the hash that the worker sends.
    let job = running(&hub, json!({"type": "t"})).await;
    let hashed = |hash: char, n: u64| json!({"result": n, "result_hash": hash.to_string().repeat(64)});
    report(&hub, &job, "result", hashed('a', 1)).await.expect(200);
    report(&hub, &job, "result", hashed('a', 1)).await.expect(200);
    assert_eq!(report(&hub, &job, "result", hashed('b', 1)).await.refused(409), "different_result");
}

#[tokio::test]
async fn idempotency_keys_decide_when_both_calls_have_one() {
    let hub = Hub::new().await;
    let job = running(&hub, json!({"type": "t"})).await;
    let send = async |key: &str, result: Value, hash: &str| {
        let body = json!({"worker_id": "w", "lease_id": job["lease_id"], "result": result, "result_hash": hash.repeat(64)});
        let url = hub.url(&format!("/api/jobs/{}/result", id(&job)));
        hub.send(hub.client().post(url).header("X-Idempotency-Key", key).json(&body)).await
    };
    send("k", json!(1), "a").await.expect(200);
    send("k", json!(1), "a").await.expect(200);
    assert_eq!(send("k", json!(2), "b").await.refused(409), "different_result");
    assert_eq!(send("other", json!(1), "a").await.refused(409), "different_result");
}

#[tokio::test]
async fn a_failure_waits_for_its_backoff_and_tells_when() {
    let hub = Hub::new().await;
    let backoff = json!({"kind": "fixed", "first_ms": 3_600_000, "jitter": "none"});
    let job = running(&hub, json!({"type": "t", "backoff": backoff})).await;
    let body = json!({"reason": "oops", "error_class": "Oops", "backtrace": "at line 1"});
    let answer = report(&hub, &job, "fail", body).await.expect(200);
    assert_eq!(answer["status"], "pending");
    let waiting = hub.job(id(&job)).await;
    assert_eq!(waiting["next_retry_at"], answer["next_retry_at"]);
    let wait = waiting["next_retry_at"].as_i64().expect("a time") - super::now_ms();
    assert!((3_500_000..3_600_001).contains(&wait), "{wait}");
    let failure = &waiting["fail_history"][0];
    assert_eq!(
        (&failure["reason"], &failure["kind"], &failure["attempt"]),
        (&json!("oops"), &json!("error"), &json!(1))
    );
    assert_eq!((&failure["error_class"], &failure["backtrace"]), (&json!("Oops"), &json!("at line 1")));
    let retrying = hub.get("/api/jobs?view=retrying").await.expect(200);
    assert_eq!(super::ids(&retrying), [id(&job)]);
    hub.post("/api/jobs/claim", json!({"worker_id": "w"})).await.expect(204);
}

#[tokio::test]
async fn retry_in_ms_overrides_the_backoff_and_permanent_ends() {
    let hub = Hub::new().await;
    let job = running(&hub, json!({"type": "t"})).await;
    report(&hub, &job, "fail", json!({"reason": "r", "retry_in_ms": 0})).await.expect(200);
    let again = hub.claim("w").await;
    assert_eq!((id(&again), &again["attempts"], &again["attempt"]), (id(&job), &json!(2), &json!(2)));
    report(&hub, &again, "fail", json!({"reason": "no hope", "permanent": true})).await.expect(200);
    let dead = hub.job(id(&job)).await;
    assert_eq!((&dead["status"], &dead["fail_reason"]), (&json!("quarantined"), &json!("no hope")));
}

#[tokio::test]
async fn a_timeout_is_quarantined() {
    let hub = Hub::new().await;
    let job = running(&hub, json!({"type": "t"})).await;
    report(&hub, &job, "fail", json!({"reason": "too slow", "kind": "timeout"})).await.expect(200);
    let dead = hub.job(id(&job)).await;
    assert_eq!(
        (&dead["status"], &dead["fail_reason"]),
        (&json!("quarantined"), &json!("max_runtime_exceeded"))
    );
}

#[tokio::test]
async fn a_superseded_lease_changes_nothing() {
    let hub = Hub::new().await;
    let old = running(&hub, json!({"type": "t"})).await;
    report(&hub, &old, "fail", json!({"reason": "r", "retry_in_ms": 0})).await.expect(200);
    let new = hub.claim("w").await;
    for (what, body) in [
        ("heartbeat", json!({})),
        ("result", json!({"result": "old"})),
        ("fail", json!({"reason": "old"})),
        ("release", json!({})),
        ("snooze", json!({"delay_ms": 1})),
        ("progress", json!({"percent": 1})),
    ] {
        // The worker is the same, so only the lease tells them apart.
        assert_eq!(report(&hub, &old, what, body).await.refused(409), "lease_lost", "{what}");
    }
    report(&hub, &new, "result", json!({"result": "new"})).await.expect(200);
    assert_eq!(hub.job(id(&new)).await["result"], "new");
}

#[tokio::test]
async fn giving_back_costs_no_attempt() {
    let hub = Hub::new().await;
    let job = running(&hub, json!({"type": "t"})).await;
    report(&hub, &job, "release", json!({})).await.expect(200);
    let back = hub.job(id(&job)).await;
    assert_eq!(
        (&back["status"], &back["attempts"], &back["attempt"]),
        (&json!("pending"), &json!(0), &json!(1))
    );
    let job = hub.claim("w").await;
    report(&hub, &job, "snooze", json!({"delay_ms": 3_600_000})).await.expect(200);
    let asleep = hub.job(id(&job)).await;
    assert_eq!((&asleep["attempts"], &asleep["attempt"]), (&json!(0), &json!(2)));
    assert!(asleep["run_at"].as_i64().expect("a time") > super::now_ms() + 3_000_000);
    hub.post("/api/jobs/claim", json!({"worker_id": "w"})).await.expect(204);
}

#[tokio::test]
async fn many_reports_get_one_answer_each() {
    let hub = Hub::new().await;
    for _ in 0..3 {
        hub.enqueue(json!({"type": "t"})).await;
    }
    let jobs = hub.post("/api/jobs/claim", json!({"worker_id": "w", "max": 3})).await.expect(200);
    let entry = |n: usize, mut body: Value| {
        body["job_id"] = jobs[n]["id"].clone();
        body["worker_id"] = json!("w");
        body["lease_id"] = jobs[n]["lease_id"].clone();
        body
    };
    let mut stale = entry(2, json!({"result": 3}));
    stale["lease_id"] = jobs[1]["lease_id"].clone();
    let mut unknown = entry(2, json!({"result": 3}));
    unknown["job_id"] = json!("nope");
    let reports = json!([entry(0, json!({"result": 1})), entry(1, json!({"reason": "r"})), stale, unknown]);
    for round in 0..2 {
        let answers = hub.post("/api/jobs/results", reports.clone()).await.expect(200);
        let codes: Vec<_> =
            answers.as_array().expect("an array").iter().map(|answer| &answer["code"]).collect();
        assert_eq!(codes, [200, 200, 409, 404], "round {round}: {answers}");
        assert_eq!(answers[0]["status"], "completed");
        assert_eq!(answers[2]["error"]["code"], "lease_lost");
    }
    assert_eq!(hub.job(id(&jobs[1])).await["fail_history"].as_array().map(Vec::len), Some(1));
    assert_eq!(hub.job(id(&jobs[2])).await["status"], "assigned");
}

#[tokio::test]
async fn progress_is_shown() {
    let hub = Hub::new().await;
    let job = running(&hub, json!({"type": "t"})).await;
    let answer = report(&hub, &job, "progress", json!({"percent": 42.5, "message": "half way"})).await;
    assert!(matches!(answer.status, 200 | 204), "{}", answer.text());
    let progress = &hub.job(id(&job)).await["progress"];
    assert_eq!((&progress["percent"], &progress["message"]), (&json!(42.5), &json!("half way")));
}

#[tokio::test]
async fn attempts_tell_the_story_of_each_claim() {
    let hub = Hub::new().await;
    let job = running(&hub, json!({"type": "t"})).await;
    report(&hub, &job, "fail", json!({"reason": "first", "retry_in_ms": 0})).await.expect(200);
    let job = hub.claim("w2").await;
    report(&hub, &job, "release", json!({})).await.expect(200);
    let job = hub.claim("w3").await;
    report(&hub, &job, "result", json!({"result": 1, "usage": {"cpu_ms": 7}})).await.expect(200);
    let attempts = hub.get(&format!("/api/jobs/{}/attempts", id(&job))).await.expect(200);
    let story: Vec<_> = attempts
        .as_array()
        .expect("an array")
        .iter()
        .map(|attempt| {
            (attempt["attempt"].as_u64(), attempt["worker_id"].as_str(), attempt["outcome"].as_str())
        })
        .collect();
    let expected = [(1, "w", "failed"), (2, "w2", "released"), (3, "w3", "completed")];
    assert_eq!(story, expected.map(|(n, worker, outcome)| (Some(n), Some(worker), Some(outcome))));
    assert_eq!(attempts[0]["reason"], "first");
    assert_eq!(attempts[2]["usage"], json!({"cpu_ms": 7}));
}
