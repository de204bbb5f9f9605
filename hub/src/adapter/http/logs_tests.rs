use super::{logs, test_rig::*};
use axum::{
    body::Body,
    http::{Method, StatusCode},
};
use forge_shared::{JobId, WorkerId};
use futures_util::{FutureExt, StreamExt};
use serde_json::json;

async fn rig(status: &str, attempt: u32) -> Rig {
    let rig = Rig::new(logs::routes()).await;
    rig.store.set_job("j1", status, attempt);
    *rig.store.holder.lock().unwrap() = Some(WorkerId::new("w1").unwrap());
    rig
}

async fn append(rig: &Rig, query: &str, body: impl Into<Body>) -> Answer {
    let path = format!("/api/jobs/j1/logs?worker_id=w1&lease_id=l1&{query}");
    rig.call(Method::POST, &path, &[], body.into()).await
}

fn finish(rig: &Rig) {
    rig.store.set_job("j1", "completed", 1);
    rig.app.log_wakes.wake(&JobId::new("j1").unwrap());
}

#[tokio::test]
async fn what_is_appended_can_be_read() {
    let rig = rig("running", 2).await;
    assert_eq!(append(&rig, "attempt=2&offset=0", "hello ").await.json(), json!({"offset": 6}));
    assert_eq!(append(&rig, "offset=4&unknown=1", "o world").await.json(), json!({"offset": 11}));
    let all = rig.get("/api/jobs/j1/logs").await;
    assert_eq!((all.status, &all.body[..]), (StatusCode::OK, &b"hello world"[..]));
    assert_eq!(all.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!((all.header("x-log-offset"), all.header("x-log-end")), ("0", "11"));
    let tail = rig.get("/api/jobs/j1/logs?attempt=2&offset=6").await;
    assert_eq!((&tail.body[..], tail.header("x-log-offset")), (&b"world"[..], "6"));
    assert_eq!(rig.get("/api/jobs/j1/logs?attempt=1").await.body, "");
}

#[tokio::test]
async fn a_long_log_is_streamed_whole() {
    let rig = rig("running", 1).await;
    let megabyte: Vec<u8> = (0..1 << 20).map(|n| (n % 251) as u8).collect();
    for n in 0..3u64 {
        let answer = append(&rig, &format!("offset={}", n << 20), megabyte.clone()).await;
        assert_eq!(answer.json()["offset"], (n + 1) << 20);
    }
    let all = rig.get("/api/jobs/j1/logs").await.body;
    assert!(all == megabyte.repeat(3));
}

#[tokio::test]
async fn a_hole_is_answered_with_the_offset_the_hub_has() {
    let rig = rig("running", 1).await;
    append(&rig, "offset=0", "abc").await;
    let answer = append(&rig, "offset=9", "x").await;
    assert_eq!(answer.status, StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!((&answer.json()["code"], &answer.json()["offset"]), (&json!("wrong_offset"), &json!(3)));
}

#[tokio::test]
async fn only_the_live_lease_may_append() {
    let rig = rig("running", 3).await;
    let wrong = append(&rig, "attempt=2&offset=0", "x").await;
    assert_eq!((wrong.status, &wrong.json()["code"]), (StatusCode::CONFLICT, &json!("wrong_attempt")));
    *rig.store.holder.lock().unwrap() = None;
    let lost = append(&rig, "attempt=3&offset=0", "x").await;
    assert_eq!((lost.status, &lost.json()["code"]), (StatusCode::CONFLICT, &json!("lease_lost")));
    *rig.store.job.lock().unwrap() = None;
    assert_eq!(append(&rig, "offset=0", "x").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn bad_requests_are_refused() {
    let rig = rig("running", 1).await;
    let long = append(&rig, "offset=0", vec![0; (1 << 20) + 1]).await;
    assert_eq!((long.status, &long.json()["code"]), (StatusCode::PAYLOAD_TOO_LARGE, &json!("too_large")));
    for query in ["", "offset=-1", "offset=a", "offset=0&attempt=x"] {
        assert_eq!(append(&rig, query, "x").await.status, StatusCode::BAD_REQUEST, "{query}");
    }
    for (path, status) in [
        ("/api/jobs/j1/logs?attempt=0", 404),
        ("/api/jobs/j1/logs?attempt=2", 404),
        ("/api/jobs/other/logs", 404),
        ("/api/jobs/j1/logs?follow=2", 400),
        ("/api/jobs/j1/logs?colour=red", 400),
        ("/api/jobs/claim/logs", 400),
    ] {
        assert_eq!(rig.get(path).await.status.as_u16(), status, "{path}");
    }
}

#[tokio::test]
async fn a_follower_gets_what_is_appended_until_the_job_is_over() {
    let rig = rig("running", 1).await;
    append(&rig, "offset=0", "one ").await;
    let (head, mut log) = rig.open("/api/jobs/j1/logs?follow=1").await;
    assert_eq!(head.headers["x-log-offset"], "0");
    assert_eq!(head.headers["x-log-end"], "4");
    assert_eq!(log.next().await.unwrap().unwrap(), "one ");
    assert!(log.next().now_or_never().is_none());
    append(&rig, "offset=4", "two").await;
    assert_eq!(log.next().await.unwrap().unwrap(), "two");
    append(&rig, "offset=7", " three").await;
    finish(&rig);
    assert_eq!(log.next().await.unwrap().unwrap(), " three");
    assert!(log.next().await.is_none());
    drop(log);
    assert_eq!(rig.app.watchers.open(), 0);
}

#[tokio::test]
async fn a_follower_of_a_waiting_job_gets_its_first_attempt() {
    let rig = rig("pending", 0).await;
    let (_, mut log) = rig.open("/api/jobs/j1/logs?follow=1").await;
    assert!(log.next().now_or_never().is_none());
    rig.store.set_job("j1", "running", 1);
    append(&rig, "offset=0", "hi").await;
    assert_eq!(log.next().await.unwrap().unwrap(), "hi");
    rig.store.set_job("j1", "running", 2);
    assert!(log.next().await.is_none(), "the attempt is over when the next one begins");
}

#[tokio::test]
async fn a_follower_ends_with_the_hub() {
    let rig = rig("running", 1).await;
    let (_, mut log) = rig.open("/api/jobs/j1/logs?follow=1").await;
    assert!(log.next().now_or_never().is_none());
    rig.app.stop.cancel();
    assert!(log.next().await.is_none());
}
