use super::test_rig::*;
use axum::body::Body;
use futures_util::{FutureExt, StreamExt};
use serde_json::json;

/// A hub whose job `j1` is held by `w1`, in this attempt.
async fn held(attempt: u32) -> (Rig, String) {
    let rig = Rig::new().await;
    rig.start_log_wakes();
    rig.enqueue("j1").await;
    let mut lease = String::new();
    for n in 1..=attempt {
        lease = take(&rig).await;
        if n < attempt {
            give_back(&rig, &lease).await;
        }
    }
    (rig, lease)
}

/// Claims `j1` and says which lease that gave.
async fn take(rig: &Rig) -> String {
    let job = rig.claim("w1").await;
    assert_eq!(job["id"], "j1");
    job["lease_id"].as_str().unwrap().to_owned()
}

async fn give_back(rig: &Rig, lease: &str) {
    let body = json!({ "worker_id": "w1", "lease_id": lease });
    assert_eq!(rig.post("/api/jobs/j1/release", body).await.status, 200);
}

async fn finish(rig: &Rig, lease: &str) {
    let body = json!({ "worker_id": "w1", "lease_id": lease, "result": 1 });
    assert_eq!(rig.post("/api/jobs/j1/result", body).await.status, 200);
}

async fn append(rig: &Rig, lease: &str, query: &str, body: impl Into<Body>) -> Answer {
    let path = format!("/api/jobs/j1/logs?worker_id=w1&lease_id={lease}&{query}");
    rig.admin("POST", &path, &[], body.into()).await
}

#[tokio::test]
async fn what_is_appended_can_be_read() {
    let (rig, lease) = held(2).await;
    assert_eq!(append(&rig, &lease, "attempt=2&offset=0", "hello ").await.value(), json!({"offset": 6}));
    assert_eq!(append(&rig, &lease, "offset=4&unknown=1", "o world").await.value(), json!({"offset": 11}));
    let all = rig.get("/api/jobs/j1/logs").await;
    assert_eq!((all.status, &all.body[..]), (200, &b"hello world"[..]));
    assert_eq!(all.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!((all.header("x-log-offset"), all.header("x-log-end")), ("0", "11"));
    let tail = rig.get("/api/jobs/j1/logs?attempt=2&offset=6").await;
    assert_eq!((&tail.body[..], tail.header("x-log-offset")), (&b"world"[..], "6"));
    assert_eq!(rig.get("/api/jobs/j1/logs?attempt=1").await.body, "");
}

#[tokio::test]
async fn a_long_log_is_streamed_whole() {
    let (rig, lease) = held(1).await;
    let megabyte: Vec<u8> = (0..1 << 20).map(|n| (n % 251) as u8).collect();
    for n in 0..3u64 {
        let answer = append(&rig, &lease, &format!("offset={}", n << 20), megabyte.clone()).await;
        assert_eq!(answer.value()["offset"], (n + 1) << 20);
    }
    let all = rig.get("/api/jobs/j1/logs").await.body;
    assert!(all == megabyte.repeat(3));
}

#[tokio::test]
async fn a_hole_is_answered_with_the_offset_the_hub_has() {
    let (rig, lease) = held(1).await;
    append(&rig, &lease, "offset=0", "abc").await;
    let answer = append(&rig, &lease, "offset=9", "x").await;
    assert_eq!(answer.status, 416);
    assert_eq!((answer.code().as_str(), &answer.value()["offset"]), ("wrong_offset", &json!(3)));
}

#[tokio::test]
async fn only_the_live_lease_may_append() {
    let (rig, lease) = held(3).await;
    let wrong = append(&rig, &lease, "attempt=2&offset=0", "x").await;
    assert_eq!((wrong.status, wrong.code().as_str()), (409, "wrong_attempt"));
    give_back(&rig, &lease).await;
    let lost = append(&rig, &lease, "attempt=3&offset=0", "x").await;
    assert_eq!((lost.status, lost.code().as_str()), (409, "lease_lost"));
    assert_eq!(rig.admin("DELETE", "/api/jobs/j1", &[], "").await.status, 204);
    assert_eq!(rig.admin("DELETE", "/api/jobs/j1?purge=true", &[], "").await.status, 204);
    assert_eq!(append(&rig, &lease, "offset=0", "x").await.status, 404);
}

#[tokio::test]
async fn bad_requests_are_refused() {
    let (rig, lease) = held(1).await;
    let long = append(&rig, &lease, "offset=0", vec![0; (1 << 20) + 1]).await;
    assert_eq!((long.status, long.code().as_str()), (413, "too_large"));
    for query in ["", "offset=-1", "offset=a", "offset=0&attempt=x"] {
        assert_eq!(append(&rig, &lease, query, "x").await.status, 400, "{query}");
    }
    for (path, status) in [
        ("/api/jobs/j1/logs?attempt=0", 404),
        ("/api/jobs/j1/logs?attempt=2", 404),
        ("/api/jobs/other/logs", 404),
        ("/api/jobs/j1/logs?follow=2", 400),
        ("/api/jobs/j1/logs?colour=red", 400),
        ("/api/jobs/claim/logs", 400),
    ] {
        assert_eq!(rig.get(path).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn a_follower_gets_what_is_appended_until_the_job_is_over() {
    let (rig, lease) = held(1).await;
    append(&rig, &lease, "offset=0", "one ").await;
    let (head, mut log) = rig.open("/api/jobs/j1/logs?follow=1").await;
    assert_eq!(head.headers["x-log-offset"], "0");
    assert_eq!(head.headers["x-log-end"], "4");
    assert_eq!(log.next().await.unwrap().unwrap(), "one ");
    assert!(log.next().now_or_never().is_none());
    append(&rig, &lease, "offset=4", "two").await;
    assert_eq!(log.next().await.unwrap().unwrap(), "two");
    append(&rig, &lease, "offset=7", " three").await;
    finish(&rig, &lease).await;
    assert_eq!(log.next().await.unwrap().unwrap(), " three");
    assert!(log.next().await.is_none());
    drop(log);
    assert_eq!(rig.app.watchers.open(), 0);
}

#[tokio::test]
async fn a_follower_of_a_waiting_job_gets_its_first_attempt() {
    let (rig, _) = held(0).await;
    let (_, mut log) = rig.open("/api/jobs/j1/logs?follow=1").await;
    assert!(log.next().now_or_never().is_none());
    let lease = take(&rig).await;
    append(&rig, &lease, "offset=0", "hi").await;
    assert_eq!(log.next().await.unwrap().unwrap(), "hi");
    give_back(&rig, &lease).await;
    take(&rig).await;
    assert!(log.next().await.is_none(), "the attempt is over when the next one begins");
}

#[tokio::test]
async fn a_follower_ends_with_the_hub() {
    let (rig, _) = held(1).await;
    let (_, mut log) = rig.open("/api/jobs/j1/logs?follow=1").await;
    assert!(log.next().now_or_never().is_none());
    rig.app.stop.cancel();
    assert!(log.next().await.is_none());
}
