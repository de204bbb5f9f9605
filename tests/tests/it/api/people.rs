//! What a person can do to jobs.

use super::{claimed, id, ids, report, running};
use forge_tests::hub::Hub;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn cancel_ends_a_waiting_job_and_asks_a_running_one_to_stop() {
    let hub = Hub::new().await;
    let pending = hub.enqueue(json!({"type": "t"})).await;
    hub.post(&format!("/api/jobs/{pending}/cancel"), json!({})).await.expect(200);
    assert_eq!(hub.job(&pending).await["fail_reason"], "cancelled");
    hub.post(&format!("/api/jobs/{pending}/cancel"), json!({})).await.expect(200);

    let job = running(&hub, json!({"type": "t"})).await;
    hub.post(&format!("/api/jobs/{}/cancel", id(&job)), json!({})).await.expect(202);
    let asked = hub.job(id(&job)).await;
    assert_eq!((&asked["status"], &asked["cancel_requested"]), (&json!("running"), &json!(true)));
    let beat = report(&hub, &job, "heartbeat", json!({})).await.expect(200);
    assert_eq!(beat, json!({"cancel": true}));
    report(&hub, &job, "fail", json!({"reason": "stopped", "kind": "cancelled"})).await.expect(200);
    let ended = hub.job(id(&job)).await;
    assert_eq!((&ended["status"], &ended["fail_reason"]), (&json!("failed"), &json!("cancelled")));
    let cancelled = hub.get("/api/jobs?view=cancelled").await.expect(200);
    assert_eq!(cancelled.as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn work_that_was_done_all_the_same_counts() {
    let hub = Hub::new().await;
    let job = running(&hub, json!({"type": "t"})).await;
    hub.post(&format!("/api/jobs/{}/cancel", id(&job)), json!({})).await.expect(202);
    report(&hub, &job, "result", json!({"result": "done"})).await.expect(200);
    assert_eq!(hub.job(id(&job)).await["status"], "completed");
    let cancel = format!("/api/jobs/{}/cancel", id(&job));
    assert_eq!(hub.post(&cancel, json!({})).await.refused(409), "wrong_state");
}

#[tokio::test]
async fn retry_gives_a_dead_job_a_new_life() {
    let hub = Hub::new().await;
    let job = running(&hub, json!({"type": "t", "max_attempts": 1})).await;
    let retry = format!("/api/jobs/{}/retry", id(&job));
    assert_eq!(hub.post(&retry, json!({})).await.refused(409), "wrong_state");
    report(&hub, &job, "fail", json!({"reason": "r"})).await.expect(200);
    assert_eq!(ids(&hub.get("/api/jobs?view=dead").await.expect(200)), [id(&job)]);
    hub.post(&retry, json!({})).await.expect(200);
    let alive = hub.job(id(&job)).await;
    assert_eq!(
        (&alive["status"], &alive["attempts"], &alive["attempt"]),
        (&json!("pending"), &json!(0), &json!(1))
    );
    assert_eq!(alive["fail_history"].as_array().map(Vec::len), Some(1), "its history stays");
    assert_eq!(hub.claim("w").await["attempt"], 2);
}

#[tokio::test]
async fn kill_and_patch_are_for_pending_jobs() {
    let hub = Hub::new().await;
    let doomed = hub.enqueue(json!({"type": "t"})).await;
    hub.post(&format!("/api/jobs/{doomed}/kill"), json!({})).await.expect(200);
    let killed = hub.job(&doomed).await;
    assert_eq!((&killed["status"], &killed["fail_reason"]), (&json!("quarantined"), &json!("killed")));

    hub.enqueue(json!({"id": "first", "type": "t"})).await;
    hub.enqueue(json!({"id": "second", "type": "t"})).await;
    let patch = json!({"priority": 9, "queue": "fast"});
    let patched = hub.patch("/api/jobs/second", patch).await;
    assert!(matches!(patched.status, 200 | 204), "{}", patched.text());
    let job = hub.claim("w").await;
    assert_eq!((&job["id"], &job["queue"], &job["priority"]), (&json!("second"), &json!("fast"), &json!(9)));
    assert_eq!(hub.patch("/api/jobs/second", json!({"priority": 1})).await.refused(409), "wrong_state");
    assert_eq!(hub.post("/api/jobs/second/kill", json!({})).await.refused(409), "wrong_state");
    let later = super::now_ms() + 3_600_000;
    hub.patch("/api/jobs/first", json!({"run_at": later})).await;
    assert_eq!(hub.job("first").await["run_at"], later);
    hub.post("/api/jobs/claim", json!({"worker_id": "w"})).await.expect(204);
}

#[tokio::test]
async fn only_a_finished_job_can_be_purged() {
    let hub = Hub::new().await;
    let job = claimed(&hub, json!({"type": "t", "id": "p"})).await;
    assert_eq!(hub.delete("/api/jobs/p?purge=true").await.refused(409), "wrong_state");
    report(&hub, &job, "result", json!({"result": 1})).await.expect(200);
    hub.delete("/api/jobs/p?purge=true").await.expect(204);
    hub.get("/api/jobs/p").await.refused(404);
    assert_eq!(hub.get("/api/jobs").await.expect(200), json!([]));
    hub.enqueue(json!({"type": "t", "id": "p"})).await;
}

#[tokio::test]
async fn bulk_counts_first_and_then_acts() {
    let hub = Hub::new().await;
    for n in 0..30 {
        let tags = if n % 2 == 0 { json!(["even"]) } else { json!([]) };
        hub.enqueue(json!({"type": "t", "tags": tags, "queue": "q"})).await;
    }
    let filter = json!({"queue": "q", "tag": "even"});
    let dry = hub
        .post("/api/jobs/bulk", json!({"action": "cancel", "filter": filter, "dry_run": true}))
        .await
        .expect(200);
    assert_eq!((&dry["matched"], &dry["changed"]), (&json!(15), &json!(0)));
    assert!(dry["sample"].as_array().is_some_and(|sample| !sample.is_empty()));
    assert_eq!(hub.get("/api/jobs?status=failed").await.expect(200), json!([]));

    let answer = hub.post("/api/jobs/bulk", json!({"action": "cancel", "filter": filter})).await;
    assert!(matches!(answer.status, 200 | 202), "{}", answer.text());
    let cancelled = async {
        loop {
            let failed = hub.get("/api/jobs?status=failed&limit=100").await.expect(200);
            if failed.as_array().map(Vec::len) == Some(15) {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), cancelled).await.expect("all are cancelled");
    let pending = hub.get("/api/jobs?status=pending&limit=100").await.expect(200);
    assert_eq!(pending.as_array().map(Vec::len), Some(15), "the others are left alone");
}

#[tokio::test]
async fn wait_ms_answers_when_the_job_has_ended() {
    let hub = Hub::new().await;
    let job = running(&hub, json!({"type": "t"})).await;
    let path = format!("/api/jobs/{}?wait_ms=", id(&job));
    assert_eq!(hub.get(&format!("{path}50")).await.expect(200)["status"], "running");
    let waiting = tokio::spawn(hub.client().get(hub.url(&format!("{path}60000"))).send());
    report(&hub, &job, "result", json!({"result": 5})).await.expect(200);
    let answer = tokio::time::timeout(Duration::from_secs(10), waiting).await.expect("it is woken");
    let ended: serde_json::Value = answer.expect("no panic").expect("an answer").json().await.expect("a job");
    assert_eq!((&ended["status"], &ended["result"]), (&json!("completed"), &json!(5)));
    assert_eq!(
        hub.get(&format!("{path}60000")).await.expect(200)["status"],
        "completed",
        "at once when it has"
    );
}
