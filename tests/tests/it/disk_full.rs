//! The disk under the hub's data is full: writes say so, reads go on, nothing is lost, and with
//! room everything goes on without a restart.

use data_encoding::HEXLOWER;
use forge_tests::{
    agent::{Agent, AgentOptions, until_exists},
    disk::SmallDisk,
    hub::{Answer, Hub, Options},
    turn,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    fs,
    time::{Duration, Instant},
};
use tempfile::TempDir;

const DISK_MIB: u32 = 48;
/// Left by the ballast, for jobs to fill.
const FOR_JOBS: usize = 3 << 20;
const LARGE: usize = 200 << 10;

async fn hub_on(disk: &SmallDisk) -> Hub {
    let database = disk.path().join("data/forge-fleet.sqlite");
    Hub::start(Options::default().env("SQLITE_PATH", &database.display().to_string())).await
}

fn large_job() -> Value {
    json!({"type": "large", "params": {"text": "x".repeat(LARGE)}})
}

/// Adds jobs until the hub has no room for a long while; the ids of those it took.
async fn fill_with_jobs(hub: &Hub, disk: &SmallDisk) -> Vec<String> {
    const REFUSED_IN_A_ROW: usize = 5;
    let (mut taken, mut refused) = (Vec::new(), 0);
    while refused < REFUSED_IN_A_ROW {
        let answer = hub.post("/api/jobs", large_job()).await;
        if answer.status == 201 {
            taken.push(answer.json()["id"].as_str().expect("an id").to_owned());
            refused = 0;
        } else {
            assert_no_room(answer);
            refused += 1;
            disk.fill(0);
        }
        assert!(taken.len() < 500, "the disk is never full");
    }
    taken
}

#[track_caller]
fn assert_no_room(answer: Answer) {
    let later = answer.header("retry-after").map(str::to_owned);
    let body = answer.expect(507);
    assert_eq!(later.as_deref(), Some("10"));
    assert_eq!(body["code"], "disk_full");
    let why = body["error"].as_str().expect("an error says why");
    assert!(why.contains("disk is full") && why.contains("free some space"), "{why}");
}

async fn put_solver(hub: &Hub, bytes: Vec<u8>) -> Answer {
    let name = HEXLOWER.encode(&Sha256::digest(&bytes));
    hub.send(hub.client().put(hub.url(&format!("/api/solvers/{name}"))).body(bytes)).await
}

async fn append_log(hub: &Hub, job: &Value, offset: usize, bytes: usize) -> Answer {
    let (id, lease) = (job["id"].as_str().expect("an id"), job["lease_id"].as_str().expect("a lease"));
    let path = format!("/api/jobs/{id}/logs?worker_id=w&lease_id={lease}&offset={offset}");
    hub.send(hub.client().post(hub.url(&path)).body("l".repeat(bytes))).await
}

async fn report(hub: &Hub, job: &Value, result: &str) -> Answer {
    let path = format!("/api/jobs/{}/result", job["id"].as_str().expect("an id"));
    hub.post(&path, json!({"worker_id": "w", "lease_id": job["lease_id"], "result": {"text": result}})).await
}

fn codes(health: &Value) -> Vec<&str> {
    let problems = health["problems"].as_array().expect("problems");
    problems.iter().filter_map(|problem| problem["code"].as_str()).collect()
}

async fn until_health(hub: &Hub, wanted: impl Fn(&[&str]) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let health = hub.get("/api/health").await.expect(200);
        if wanted(&codes(&health)) {
            return;
        }
        assert!(Instant::now() < deadline, "{health}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn count_jobs(hub: &Hub) -> u64 {
    let overview = hub.get("/api/overview").await.expect(200);
    let counts = overview["jobs"].as_object().unwrap_or_else(|| panic!("counts in {overview}"));
    counts.values().filter_map(Value::as_u64).sum()
}

#[tokio::test]
async fn writes_are_refused_reads_go_on_and_room_mends_it() {
    let _turn = turn::shared().await;
    let Some(disk) = SmallDisk::file_system(DISK_MIB) else { return };
    let mut hub = hub_on(&disk).await;
    let first = hub.enqueue(json!({"type": "first"})).await;
    let held = hub.claim("w").await;
    assert_eq!(held["id"], json!(first));
    append_log(&hub, &held, 0, 1_000).await.expect(200);
    put_solver(&hub, b"#!/bin/sh\n".to_vec()).await.expect(201);
    // Waits for a job that comes when there is room again.
    let waiting = tokio::spawn({
        let body = json!({"worker_id": "waiting", "types": ["later"], "wait_ms": 60_000});
        let request = hub.client().post(hub.url("/api/jobs/claim")).json(&body);
        async move { request.send().await.expect("an answer").json::<Value>().await.expect("a job") }
    });
    hub.until_long_polls(1).await;

    disk.fill(FOR_JOBS);
    let mut jobs = fill_with_jobs(&hub, &disk).await;
    assert!(jobs.len() > 3, "some jobs fitted: {}", jobs.len());
    jobs.push(first.clone());

    assert_no_room(hub.post("/api/jobs/batch", json!([large_job(), large_job()])).await);
    // A small write may fit into what the log has already; then it counts.
    let claim = hub.post("/api/jobs/claim", json!({"worker_id": "w", "types": ["large"]})).await;
    let live = if claim.status == 200 { 2 } else { 1 };
    if live == 1 {
        assert_no_room(claim);
    }
    let result = "r".repeat(7 << 20);
    assert_no_room(report(&hub, &held, &result).await);
    assert_no_room(append_log(&hub, &held, 1_000, 1 << 20).await);
    assert_no_room(put_solver(&hub, vec![7; 4 << 20]).await);

    let health = hub.get("/api/health").await.expect(200);
    assert_eq!((&health["ok"], &health["status"]), (&json!(true), &json!("degraded")));
    assert!(codes(&health).contains(&"disk_full"), "{health}");
    assert_eq!(hub.get("/api/ready").await.refused(503), "not_ready");
    assert!(hub.metric("forge_problems").await >= 1.0);
    assert_eq!(count_jobs(&hub).await, jobs.len() as u64);
    let assigned = hub.get("/api/jobs?status=assigned").await.expect(200);
    assert_eq!(assigned.as_array().map(Vec::len), Some(live));
    for id in &jobs {
        hub.get(&format!("/api/jobs/{id}")).await.expect(200);
    }
    assert_eq!(hub.job(&first).await["status"], held["status"]);
    let log = hub.get(&format!("/api/jobs/{first}/logs")).await;
    assert_eq!((log.status, log.body.len()), (200, 1_000));
    let solvers = hub.get("/api/solvers").await.expect(200);
    assert_eq!(solvers.as_array().map(Vec::len), Some(1));
    hub.get("/api/jobs?limit=5").await.expect(200);
    assert_eq!(hub.get("/").await.status, 200);
    until_health(&hub, |codes| codes.contains(&"disk_low")).await;

    disk.make_room();
    until_health(&hub, |codes| !codes.contains(&"disk_full")).await;
    hub.get("/api/ready").await.expect(200);
    append_log(&hub, &held, 1_000, 1_000).await.expect(200);
    report(&hub, &held, &result).await.expect(200);
    put_solver(&hub, vec![7; 4 << 20]).await.expect(201);
    let later = hub.enqueue(json!({"type": "later"})).await;
    assert_eq!(waiting.await.expect("the claim ends")["id"], json!(later));
    jobs.push(later);
    assert_eq!(hub.log().matches("the disk has room again").count(), 1, "{}", hub.log());

    // The files are whole: a hub that starts reads all of them.
    hub.stop().await;
    hub.restart().await;
    assert_eq!(count_jobs(&hub).await, jobs.len() as u64);
    let done = hub.job(&first).await;
    assert_eq!(done["result"]["text"].as_str().map(str::len), Some(result.len()));
}

#[tokio::test]
async fn agent_keeps_an_outcome_until_the_hub_has_room_for_it() {
    const BYTES: usize = 6 << 20;
    let _turn = turn::shared().await;
    let Some(disk) = SmallDisk::file_system(DISK_MIB) else { return };
    let hub = hub_on(&disk).await;
    let dir = TempDir::new().unwrap();
    let script = format!(
        "cd {}; touch started; while ! test -e go; do sleep 0.05; done; head -c {BYTES} /dev/zero | tr '\\0' x",
        dir.path().display()
    );
    let handlers = json!({"t": ["/bin/sh", "-c", script]}).to_string();
    let agent = Agent::start(&hub, AgentOptions::default().env("WORKER_HANDLERS", &handlers));
    let id = hub.enqueue(json!({"type": "t"})).await;
    until_exists(&dir.path().join("started")).await;
    disk.fill(0);
    fs::write(dir.path().join("go"), "").unwrap();
    agent.until_log("disk is full").await;
    until_health(&hub, |codes| codes.contains(&"disk_full")).await;
    disk.make_room();
    let job = hub.get(&format!("/api/jobs/{id}?wait_ms=60000")).await.expect(200);
    assert_eq!((&job["status"], &job["attempt"]), (&json!("completed"), &json!(1)));
    assert_eq!(job["result"]["stdout"].as_str().map(str::len), Some(BYTES));
}

#[tokio::test]
async fn hub_on_a_full_disk_does_not_start_and_says_what_to_do() {
    let _turn = turn::shared().await;
    let Some(disk) = SmallDisk::file_system(8) else { return };
    let mut hub = hub_on(&disk).await;
    let id = hub.enqueue(json!({"type": "t"})).await;
    hub.kill9().await;
    disk.fill(0);
    let database = disk.path().join("data/forge-fleet.sqlite");
    let options = Options::default().env("SQLITE_PATH", &database.display().to_string());
    let refused = Hub::try_start(options).await.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("there is no room for the database"), "{refused}");
    disk.make_room();
    hub.restart().await;
    assert_eq!(hub.job(&id).await["status"], "pending");
}
