//! The API as its users see it: codes, bodies and headers.

mod claim;
mod enqueue;
mod events;
mod fleet;
mod list;
mod logs;
mod outcome;
mod people;
mod seed;
mod workers;

use forge_tests::hub::{Answer, Hub};
use serde_json::{Value, json};

/// A worker's call about a claimed job, with its lease.
async fn report(hub: &Hub, job: &Value, what: &str, mut body: Value) -> Answer {
    body["worker_id"] = job["worker_id"].clone();
    body["lease_id"] = job["lease_id"].clone();
    let id = job["id"].as_str().expect("a claimed job has an id");
    hub.post(&format!("/api/jobs/{id}/{what}"), body).await
}

/// A job that a worker has, and its lease.
async fn claimed(hub: &Hub, body: Value) -> Value {
    let id = hub.enqueue(body).await;
    let job = hub.claim("w").await;
    assert_eq!(job["id"], json!(id), "the queue was empty before");
    job
}

/// The same, and its work has begun.
async fn running(hub: &Hub, body: Value) -> Value {
    let job = claimed(hub, body).await;
    report(hub, &job, "heartbeat", json!({})).await.expect(204);
    job
}

fn id(job: &Value) -> &str {
    job["id"].as_str().expect("a job has an id")
}

fn ids(jobs: &Value) -> Vec<&str> {
    jobs.as_array().expect("an array of jobs").iter().map(id).collect()
}

/// Milliseconds since 1970.
fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_millis()).expect("before the year 292 million")
}
