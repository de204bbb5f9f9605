use super::{sse::Watchers, test_rig::*};
use axum::body::BodyDataStream;
use forge_shared::request::Scope;
use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// One message of a stream.
#[derive(Debug, Default, PartialEq)]
struct Message {
    id: Option<String>,
    event: Option<String>,
    data: Option<Value>,
    comment: bool,
}

struct Stream {
    body: BodyDataStream,
    ready: std::collections::VecDeque<Message>,
}

impl Stream {
    async fn next(&mut self) -> Option<Message> {
        while self.ready.is_empty() {
            let text = String::from_utf8(self.body.next().await?.unwrap().to_vec()).unwrap();
            self.ready.extend(text.split_terminator("\n\n").map(parse));
        }
        self.ready.pop_front()
    }

    async fn message(&mut self) -> Message {
        self.next().await.expect("the stream goes on")
    }

    /// The job and the name of the next event.
    async fn event(&mut self) -> (String, String) {
        let message = self.message().await;
        let data = message.data.expect("an event has data");
        (data["job_id"].as_str().unwrap_or_default().to_owned(), message.event.unwrap())
    }
}

fn parse(text: &str) -> Message {
    let mut message = Message::default();
    for line in text.lines() {
        match line.split_once(": ").unwrap() {
            ("id", id) => message.id = Some(id.to_owned()),
            ("event", event) => message.event = Some(event.to_owned()),
            ("data", data) => message.data = Some(serde_json::from_str(data).unwrap()),
            ("", _) => message.comment = true,
            other => panic!("{other:?}"),
        }
    }
    message
}

async fn watch(rig: &Rig, path: &str, headers: &[(&str, &str)]) -> Stream {
    let bearer = format!("Bearer {ADMIN}");
    let mut all = headers.to_vec();
    if !path.starts_with("/api/jobs/events") {
        all.push(("authorization", &bearer));
    }
    let response = rig.start("GET", path, &all, "").await;
    assert_eq!(response.status(), 200, "{path}");
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    Stream { body: response.into_body().into_data_stream(), ready: Default::default() }
}

/// Without comments that fill silence.
async fn quiet_rig() -> Rig {
    Rig::adjusted(|app| app.keep_alive = Duration::from_secs(1_000_000)).await
}

async fn id(rig: &Rig, seq: u64) -> String {
    format!("{}-{seq}", rig.store.event_range().await.unwrap().epoch)
}

#[tokio::test]
async fn a_watcher_is_told_where_it_stands_and_then_what_happens() {
    let rig = Rig::new().await;
    rig.enqueue("before").await;
    for path in ["/api/jobs/events", "/api/events"] {
        let last = rig.store.event_range().await.unwrap().last;
        let mut stream = watch(&rig, path, &[]).await;
        let first = Message { id: Some(id(&rig, last).await), ..Message::default() };
        assert_eq!(stream.message().await, first);
        let job = path.replace('/', "_");
        rig.enqueue(&job).await;
        let message = stream.message().await;
        assert_eq!(
            (message.id, message.event.as_deref()),
            (Some(id(&rig, last + 1).await), Some("job:created"))
        );
        let data = message.data.unwrap();
        assert_eq!(
            (&data["job_id"], &data["type"], &data["status"]),
            (&json!(job), &json!("t"), &json!("pending"))
        );
    }
}

#[tokio::test]
async fn a_watcher_that_comes_back_goes_on_where_it_was() {
    let rig = Rig::new().await;
    for job in ["a", "b", "c"] {
        rig.enqueue(job).await;
    }
    let second = id(&rig, 2).await;
    let by_query = format!("/api/events?last_event_id={second}");
    for (path, headers) in [
        ("/api/jobs/events", &[("last-event-id", &*second)][..]),
        ("/api/events", &[("last-event-id", &*second)][..]),
        (&by_query, &[][..]),
    ] {
        let mut stream = watch(&rig, path, headers).await;
        assert!(stream.message().await.comment);
        assert_eq!(stream.event().await.0, "c");
    }
    let mut stream = watch(&rig, "/api/events", &[("last-event-id", &id(&rig, 3).await)]).await;
    assert!(stream.message().await.comment);
    assert!(stream.next().now_or_never().is_none(), "there is nothing new");
    rig.enqueue("d").await;
    assert_eq!(stream.event().await.0, "d");
}

#[tokio::test]
async fn an_id_that_means_nothing_any_more_is_answered_with_reset() {
    let rig = Rig::new().await;
    for job in ["a", "b"] {
        rig.enqueue(job).await;
    }
    rig.bench.clock.step(1_000);
    rig.enqueue("c").await;
    rig.store.prune_events(rig.bench.hub.now_ms()).await.unwrap();
    let range = rig.store.event_range().await.unwrap();
    assert_eq!((range.first, range.last), (3, 3));
    let of = |seq: u64| format!("{}-{seq}", range.epoch);
    let other = format!("{}-3", range.epoch + 1);
    for (old, resets) in [
        (of(1), true),
        (of(2), false),
        (of(3), false),
        (of(4), true),
        (of(u64::MAX), true),
        (other, true),
        ("garbage".to_owned(), true),
        ("1-2-3".to_owned(), true),
        ("-".to_owned(), true),
        ("\u{e9}".to_owned(), true),
    ] {
        let mut stream = watch(&rig, "/api/jobs/events", &[("last-event-id", &old)]).await;
        let first = stream.message().await;
        assert_eq!(first.event.as_deref() == Some("reset"), resets, "{old}: {first:?}");
        if resets {
            assert_eq!(first.id, Some(of(3)), "what comes next is known from here on");
        }
    }
}

#[tokio::test]
async fn the_stream_without_a_token_hides_machines_reasons_and_progress() {
    let rig = Rig::new().await;
    let mut public = watch(&rig, "/api/jobs/events", &[]).await;
    let mut full = watch(&rig, "/api/events", &[]).await;
    let register = json!({ "worker_id": "secret-machine" });
    assert_eq!(rig.post("/api/workers/register", register).await.status, 204);
    rig.enqueue("a").await;
    let lease = rig.claim("secret-machine").await["lease_id"].clone();
    let holder = |more: Value| {
        let mut body = json!({ "worker_id": "secret-machine", "lease_id": lease });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    assert_eq!(rig.post("/api/jobs/a/heartbeat", holder(json!({}))).await.status, 204);
    let progress = holder(json!({ "percent": 50, "message": "secret-progress" }));
    assert_eq!(rig.post("/api/jobs/a/progress", progress).await.status, 204);
    let failure = holder(json!({ "reason": "secret-reason", "permanent": true }));
    assert_eq!(rig.post("/api/jobs/a/fail", failure).await.status, 200);

    let (mut shown, mut all) = (Vec::new(), Vec::new());
    while shown.last().is_none_or(|message: &Message| message.event.as_deref() != Some("job:quarantined")) {
        shown.push(public.message().await);
    }
    while all.last().is_none_or(|message: &Message| message.event.as_deref() != Some("job:quarantined")) {
        all.push(full.message().await);
    }
    assert!(!format!("{shown:?}").contains("secret"), "{shown:?}");
    for word in ["secret-machine", "secret-reason", "secret-progress"] {
        assert!(format!("{all:?}").contains(word), "{word}");
    }
    let names = |messages: &[Message]| messages.iter().filter_map(|m| m.event.clone()).collect::<Vec<_>>();
    assert_eq!(names(&all)[0], "worker:registered");
    assert_eq!(names(&shown), names(&all)[1..], "workers are none of the public's business");
}

#[tokio::test]
async fn events_without_a_token_can_be_closed() {
    let rig = Rig::adjusted(|app| app.public_events = false).await;
    let answer = rig.send("GET", "/api/jobs/events", &[], "").await;
    assert_eq!((answer.status, answer.code().as_str()), (403, "public_events_closed"));
    watch(&rig, "/api/events", &[]).await;
}

#[tokio::test]
async fn a_filtered_stream_carries_what_fits_and_moves_its_cursor_all_the_same() {
    let rig = quiet_rig().await;
    let mut stream = watch(&rig, "/api/jobs/events?type=other", &[]).await;
    stream.message().await;
    rig.enqueue("a").await;
    rig.enqueue("b").await;
    assert!(stream.next().now_or_never().is_none());
    tokio::time::pause();
    let start = tokio::time::Instant::now();
    let moved = Message { id: Some(id(&rig, 2).await), ..Message::default() };
    assert_eq!(stream.message().await, moved);
    assert!(start.elapsed() <= Duration::from_secs(15));
    let nothing = tokio::time::timeout(Duration::from_secs(60), stream.next()).await;
    assert!(nothing.is_err(), "a cursor that stands still is not told again");
    tokio::time::resume();
    assert_eq!(rig.post("/api/jobs", json!({ "id": "c", "type": "other" })).await.status, 201);
    assert_eq!(stream.message().await.id, Some(id(&rig, 3).await));
}

#[tokio::test]
async fn every_filter_must_fit() {
    let rig = Rig::new().await;
    let mut streams = Vec::new();
    for (query, wanted) in [
        ("queue=q1", "a"),
        ("queue=q2&type=t2", "c"),
        ("job_id=b", "b"),
        ("topics=jobs&type=t2&queue=q2", "c"),
    ] {
        streams.push((watch(&rig, &format!("/api/events?{query}"), &[]).await, wanted));
    }
    for (job, kind, queue) in [("a", "t1", "q1"), ("b", "t1", "q2"), ("c", "t2", "q2")] {
        let body = json!({ "id": job, "type": kind, "queue": queue });
        assert_eq!(rig.post("/api/jobs", body).await.status, 201);
    }
    for (mut stream, wanted) in streams {
        assert!(stream.message().await.data.is_none());
        assert_eq!(stream.event().await.0, wanted);
        assert!(stream.ready.is_empty());
    }
    let mut of_worker = watch(&rig, "/api/events?worker_id=w2", &[]).await;
    of_worker.message().await;
    for worker in ["w1", "w2"] {
        rig.claim(worker).await;
    }
    assert_eq!(of_worker.message().await.data.unwrap()["worker_id"], "w2");
}

#[tokio::test]
async fn topics_choose_what_a_stream_carries() {
    let rig = Rig::new().await;
    let mut workers = watch(&rig, "/api/events?topics=workers,queues,alerts", &[]).await;
    workers.message().await;
    rig.enqueue("a").await;
    rig.post("/api/workers/register", json!({ "worker_id": "w" })).await;
    assert_eq!(workers.event().await.1, "worker:registered");

    let snapshot = json!({
        "timestamp": 1, "cpu": 7, "cpuCores": [7],
        "memory": {"percent": 1, "used": 2, "total": 3}, "disk": {"read": 0, "write": 0},
        "network": {"rx": 0, "tx": 0}, "load": {"avg1": 0, "avg5": 0, "avg15": 0},
    });
    let mut nodes = watch(&rig, "/api/events?topics=nodes", &[]).await;
    assert!(nodes.message().await.id.is_some());
    assert_eq!(rig.post("/api/ingest/n1", snapshot).await.status, 204);
    let node = nodes.message().await;
    assert_eq!((node.id, node.event.as_deref()), (None, Some("node")));
    let node = node.data.unwrap();
    assert_eq!((&node["latest"]["cpu"], &node["status"]), (&json!(7), &json!("online")));
    assert!(node.get("history").is_none(), "who watches has it, or reads it once: {node}");

    let many = (0..17).map(|n| format!("log:j{n}")).collect::<Vec<_>>().join(",");
    for topics in ["", "jobs,weather", "log:", "log:a%2Fb", &many] {
        let answer = rig.get(&format!("/api/events?topics={topics}")).await;
        assert_eq!((answer.status, &answer.value()["field"]), (400, &json!("topics")), "{topics}");
    }
}

#[tokio::test]
async fn a_jobs_log_is_followed_from_attempt_to_attempt() {
    let rig = Rig::new().await;
    rig.start_log_wakes();
    rig.enqueue("j1").await;
    let mut logs = watch(&rig, "/api/events?topics=log:j1", &[]).await;
    logs.message().await;
    for (attempt, text) in [(1, "one"), (2, "two")] {
        let lease = rig.claim("w").await["lease_id"].as_str().unwrap().to_owned();
        let path = format!("/api/jobs/j1/logs?worker_id=w&lease_id={lease}&offset=0");
        assert_eq!(rig.admin("POST", &path, &[], text).await.status, 200);
        let piece = logs.message().await;
        assert_eq!((piece.id, piece.event.as_deref()), (None, Some("log")));
        let wanted = json!({ "job_id": "j1", "attempt": attempt, "offset": 0, "text": text });
        assert_eq!(piece.data.unwrap(), wanted);
        let body = json!({ "worker_id": "w", "lease_id": lease });
        assert_eq!(rig.post("/api/jobs/j1/release", body).await.status, 200);
    }
}

#[tokio::test]
async fn the_tail_that_is_kept_of_a_long_log_is_shown_to_whoever_comes_late() {
    let rig = Rig::new().await;
    rig.enqueue("j1").await;
    let lease = rig.claim("w").await["lease_id"].as_str().unwrap().to_owned();
    let megabyte = "0123456789abcdef".repeat(1 << 16);
    for n in 0..18 {
        let path = format!("/api/jobs/j1/logs?worker_id=w&lease_id={lease}&offset={}", n << 20);
        assert_eq!(rig.admin("POST", &path, &[], megabyte.clone()).await.status, 200);
    }
    let kept_from: u64 = rig.get("/api/jobs/j1/logs").await.header("x-log-offset").parse().unwrap();
    assert!(kept_from > 0);
    let mut logs = watch(&rig, "/api/events?topics=log:j1", &[]).await;
    logs.message().await;
    assert_eq!(logs.message().await.data.unwrap()["offset"], kept_from);
}

#[tokio::test]
async fn streams_are_limited_and_end_with_their_token_and_with_the_hub() {
    let rig = Rig::adjusted(|app| app.watchers = Arc::new(Watchers::new(2))).await;
    let token = rig.make_token(Scope::Viewer).await;
    let bearer = format!("Bearer {}", token.secret);
    let response = rig.start("GET", "/api/events", &[("authorization", &bearer)], "").await;
    let mut by_token = Stream { body: response.into_body().into_data_stream(), ready: Default::default() };
    let mut by_admin = watch(&rig, "/api/events", &[]).await;
    by_token.message().await;
    by_admin.message().await;
    let answer = rig.get("/api/events").await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "too_many_watchers"));
    rig.admin("DELETE", &format!("/api/tokens/{}", token.token.id), &[], "").await;
    assert_eq!(by_token.next().await, None);
    assert!(by_admin.next().now_or_never().is_none());
    rig.app.stop.cancel();
    assert_eq!(by_admin.next().await, None);
}
