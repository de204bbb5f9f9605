//! Watching.

use super::{id, report, running};
use forge_tests::{
    hub::{Hub, SECRET, client_with},
    sse::Stream,
};
use serde_json::json;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn the_public_stream_tells_the_five_stories() {
    let hub = Hub::new().await;
    let anybody = client_with(None);
    let mut stream =
        Stream::open(&anybody, &hub.url("/api/jobs/events"), None).await.expect("no token needed");
    let job =
        running(&hub, json!({"type": "t", "queue": "q", "max_attempts": 2, "params": {"secret": 1}})).await;
    let created = stream.until("job:created").await;
    let data = created.json();
    assert_eq!((&data["job_id"], &data["type"], &data["queue"]), (&job["id"], &json!("t"), &json!("q")));
    assert_eq!((&data["status"], &data["attempts"]), (&json!("pending"), &json!(0)));
    assert!(data["ts"].is_i64());
    assert_eq!(stream.until("job:assigned").await.json()["status"], "assigned");
    report(&hub, &job, "fail", json!({"reason": "private", "retry_in_ms": 0})).await.expect(200);
    let failed = stream.until("job:failed").await.json();
    assert_eq!(failed["status"], "pending", "it will be tried again");
    for hidden in ["params", "result", "reason", "worker_id", "progress"] {
        assert!(failed.get(hidden).is_none(), "{hidden} is not for everybody");
    }
    let again = hub.claim("w").await;
    report(&hub, &again, "fail", json!({"reason": "private"})).await.expect(200);
    assert_eq!(stream.until("job:quarantined").await.json()["status"], "quarantined");
    let job = running(&hub, json!({"type": "t"})).await;
    report(&hub, &job, "result", json!({"result": 1})).await.expect(200);
    assert_eq!(stream.until("job:completed").await.json()["job_id"], job["id"]);
}

#[tokio::test]
async fn a_watcher_that_comes_back_misses_nothing() {
    let hub = Hub::new().await;
    let client = client_with(Some(SECRET));
    let url = hub.url("/api/events?topics=jobs");
    let mut stream = Stream::open(&client, &url, None).await.expect("a stream");
    let first = hub.enqueue(json!({"type": "t"})).await;
    let seen = stream.until("job:created").await;
    assert_eq!(seen.json()["job_id"], json!(first));
    let (epoch, seq) = seen.position().expect("an id <epoch>-<seq>");
    drop(stream);
    let missed: Vec<String> =
        vec![hub.enqueue(json!({"type": "t"})).await, hub.enqueue(json!({"type": "t"})).await];
    let mut stream = Stream::open(&client, &url, seen.id.as_deref()).await.expect("a stream");
    for (n, id) in missed.iter().enumerate() {
        let message = stream.within(SOON).await;
        assert_eq!(message.json()["job_id"], json!(id));
        assert_eq!(message.position(), Some((epoch, seq + 1 + n as u64)), "numbers have no gaps");
    }
}

#[tokio::test]
async fn an_id_of_another_epoch_or_from_the_future_is_reset() {
    let hub = Hub::new().await;
    hub.enqueue(json!({"type": "t"})).await;
    let client = client_with(Some(SECRET));
    for last_id in ["99999999-1", "nonsense"] {
        let mut stream =
            Stream::open(&client, &hub.url("/api/jobs/events"), Some(last_id)).await.expect("a stream");
        let message =
            tokio::time::timeout(SOON, stream.next()).await.expect("soon").expect("read").expect("open");
        assert_eq!(message.event.as_deref(), Some("reset"), "{last_id}");
    }
}

#[tokio::test]
async fn the_full_stream_wants_a_token_and_tells_more() {
    let hub = Hub::new().await;
    let denied = client_with(None).get(hub.url("/api/events?topics=jobs")).send().await.expect("an answer");
    assert_eq!(denied.status(), 401);
    let mut stream = hub.stream("/api/events?topics=jobs,workers").await;
    hub.post("/api/workers/register", json!({"worker_id": "w"})).await.expect(204);
    assert_eq!(stream.until("worker:registered").await.json()["worker_id"], "w");
    let job = running(&hub, json!({"type": "t"})).await;
    assert_eq!(stream.until("job:running").await.json()["worker_id"], "w");
    report(&hub, &job, "progress", json!({"percent": 10, "message": "m"})).await;
    assert_eq!(stream.until("job:progress").await.json()["progress"]["message"], "m");
    report(&hub, &job, "fail", json!({"reason": "why", "retry_in_ms": 0})).await.expect(200);
    assert_eq!(stream.until("job:failed").await.json()["reason"], "why");
    hub.delete(&format!("/api/jobs/{}", id(&job))).await.expect(204);
    assert_eq!(stream.until("job:failed").await.json()["status"], "failed");
}

#[tokio::test]
async fn the_public_stream_can_be_closed() {
    let _turn = forge_tests::turn::shared().await;
    let hub = Hub::start(forge_tests::hub::Options::default().env("HUB_PUBLIC_EVENTS", "false")).await;
    for token in [None, Some(SECRET)] {
        let closed = client_with(token).get(hub.url("/api/jobs/events")).send().await.expect("an answer");
        assert!(matches!(closed.status().as_u16(), 401 | 403), "{}", closed.status());
    }
    let mut stream = hub.stream("/api/events?topics=jobs").await;
    hub.enqueue(json!({"type": "t"})).await;
    stream.until("job:created").await;
}
