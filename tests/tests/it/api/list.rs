//! Finding jobs.

use super::{claimed, id, ids, report};
use forge_tests::hub::Hub;
use serde_json::json;

#[tokio::test]
async fn newest_first_fifty_by_default_and_pages_without_overlap() {
    let hub = Hub::new().await;
    assert_eq!(hub.get("/api/jobs").await.expect(200), json!([]));
    let jobs: Vec<_> = (0..120).map(|n| json!({"id": format!("j{n:03}"), "type": "t"})).collect();
    hub.post("/api/jobs/batch", json!(jobs)).await.expect(201);
    let first = hub.get("/api/jobs").await;
    let next = first.header("x-next-cursor").expect("there is more").to_owned();
    let first = first.expect(200);
    assert_eq!(ids(&first).len(), 50);
    assert_eq!(ids(&first)[0], "j119");
    let offset = hub.get("/api/jobs?limit=50&offset=50").await.expect(200);
    assert_eq!(ids(&offset)[0], "j069");

    // A job that arrives between two pages moves nothing.
    hub.enqueue(json!({"id": "late", "type": "t"})).await;
    let second = hub.get(&format!("/api/jobs?cursor={next}")).await;
    let next = second.header("x-next-cursor").expect("there is more").to_owned();
    assert_eq!(ids(&second.expect(200))[0], "j069");
    let third = hub.get(&format!("/api/jobs?cursor={next}")).await;
    assert!(third.header("x-next-cursor").is_none(), "that was all");
    let third = third.expect(200);
    assert_eq!((ids(&third).len(), ids(&third)[19]), (20, "j000"));
}

#[tokio::test]
async fn waiting_jobs_can_be_listed_soonest_first() {
    let hub = Hub::new().await;
    for (id, delay_ms) in [("last", 900_000), ("first", 300_000), ("second", 600_000)] {
        hub.enqueue(json!({"id": id, "type": "t", "delay_ms": delay_ms})).await;
    }
    hub.enqueue(json!({"id": "due", "type": "t"})).await;
    let query = "/api/jobs?view=scheduled&sort=due&limit=2";
    let page = hub.get(query).await;
    let next = page.header("x-next-cursor").expect("there is more").to_owned();
    assert_eq!(ids(&page.expect(200)), ["first", "second"]);
    let page = hub.get(&format!("{query}&cursor={next}")).await;
    assert!(page.header("x-next-cursor").is_none(), "that was all");
    assert_eq!(ids(&page.expect(200)), ["last"]);
}

#[tokio::test]
async fn every_filter_selects() {
    let hub = Hub::new().await;
    let made = [
        json!({"id": "apple-1", "type": "press", "queue": "fruit/red", "tags": ["ripe"]}),
        json!({"id": "apple-2", "type": "press", "queue": "fruit/green"}),
        json!({"id": "stone", "type": "crush", "tags": ["hard", "ripe"]}),
    ];
    for job in made {
        hub.enqueue(job).await;
    }
    let job =
        hub.post("/api/jobs/claim", json!({"worker_id": "miller", "types": ["crush"]})).await.expect(200);
    let find = async |query: &str| {
        let found = hub.get(&format!("/api/jobs?{query}")).await.expect(200);
        let mut found: Vec<_> = ids(&found).into_iter().map(str::to_owned).collect();
        found.sort();
        found
    };
    assert_eq!(find("status=pending").await, ["apple-1", "apple-2"]);
    assert_eq!(find("status=assigned").await, ["stone"]);
    assert_eq!(find("type=press").await, ["apple-1", "apple-2"]);
    assert_eq!(find("queue=fruit%2Fred").await, ["apple-1"]);
    assert_eq!(find("worker_id=miller").await, ["stone"]);
    assert_eq!(find("tag=ripe").await, ["apple-1", "stone"]);
    assert_eq!(find("tag=ripe&status=pending").await, ["apple-1"]);
    assert_eq!(find("q=apple-").await, ["apple-1", "apple-2"]);
    assert_eq!(find("q=crush").await, ["stone"]);
    assert_eq!(find("q=hard").await, ["stone"]);
    assert_eq!(find("since=4000000000000").await, [""; 0]);
    assert_eq!(find("until=1000").await, [""; 0]);
    assert_eq!(find("since=1000&until=4000000000000").await.len(), 3);
    report(&hub, &job, "fail", json!({"reason": "too hard to crush", "permanent": true})).await.expect(200);
    assert_eq!(find("q=hard%20to").await, ["stone"]);
    assert_eq!(find("view=dead").await, ["stone"]);
    assert_eq!(find("limit=1").await.len(), 1);
}

#[tokio::test]
async fn live_jobs_are_counted_by_worker() {
    let hub = Hub::new().await;
    let first = claimed(&hub, json!({"type": "t"})).await;
    claimed(&hub, json!({"type": "t"})).await;
    hub.enqueue(json!({"type": "t"})).await;
    hub.claim("other").await;
    let counts = async || hub.get("/api/jobs/counts-by-worker").await.expect(200);
    assert_eq!(counts().await, json!({"w": 2, "other": 1}));
    report(&hub, &first, "result", json!({"result": id(&first)})).await.expect(200);
    assert_eq!(counts().await, json!({"w": 1, "other": 1}));
}
