//! What jobs print.

use super::{id, running};
use forge_tests::hub::{Answer, Hub};
use serde_json::{Value, json};

async fn append(hub: &Hub, job: &Value, offset: usize, text: &str) -> Answer {
    let lease = job["lease_id"].as_str().expect("a lease");
    let path = format!("/api/jobs/{}/logs?worker_id=w&lease_id={lease}&offset={offset}", id(job));
    hub.send(hub.client().post(hub.url(&path)).body(text.to_owned())).await
}

#[tokio::test]
async fn chunks_join_by_their_offsets() {
    let hub = Hub::new().await;
    let job = running(&hub, json!({"type": "t"})).await;
    assert_eq!(append(&hub, &job, 0, "one\n").await.expect(200)["offset"], 4);
    assert_eq!(append(&hub, &job, 4, "two\n").await.expect(200)["offset"], 8);
    // A gap is answered with where the hub is, so that the worker can go on from there.
    let gap = append(&hub, &job, 100, "three\n").await;
    assert_eq!((gap.status, &gap.json()["offset"]), (416, &json!(8)));
    let path = format!("/api/jobs/{}/logs", id(&job));
    assert_eq!(hub.get(&path).await.text(), "one\ntwo\n");
}
