//! The overview is taken from counters; after any number of kills they must equal a recount.

use forge_tests::{
    history::History,
    hub::{Hub, Options},
    load::{Load, Place},
    turn,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

const KILLS: u64 = 15;
const LOAD_MS: std::ops::Range<u64> = 80..200;

/// What people do while the load goes on: some of it hits a hub that is about to die.
async fn people(hub: &Hub, round: u64) {
    let delay = [1, 400, 3_600_000][(round % 3) as usize];
    let jobs: Vec<Value> = (0..20)
        .map(|n| json!({"type": "load", "queue": format!("q{}", n % 3), "delay_ms": delay, "id": format!("s-{round}-{n}")}))
        .collect();
    hub.post("/api/jobs/batch", json!(jobs)).await;
    for (n, action) in ["cancel", "kill", "run-now", "cancel", "kill"].into_iter().enumerate() {
        hub.post(&format!("/api/jobs/s-{round}-{n}/{action}"), json!({})).await;
    }
    hub.post(&format!("/api/jobs/s-{round}-0/retry"), json!({})).await;
    hub.delete(&format!("/api/jobs/s-{round}-1?purge=true")).await;
}

async fn all_jobs(hub: &Hub) -> Vec<Value> {
    let (mut jobs, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = hub.get(&format!("/api/jobs?limit=1000{cursor}")).await;
        assert_eq!(page.status, 200);
        jobs.extend(page.json().as_array().expect("a listing is an array").clone());
        match page.header("x-next-cursor") {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return jobs,
        }
    }
}

fn count(jobs: &[Value], wanted: impl Fn(&Value) -> bool) -> u64 {
    jobs.iter().filter(|job| wanted(job)).count() as u64
}

fn compare(overview: &Value, jobs: &[Value], history: &History) {
    let now = overview["ts"].as_i64().expect("a time");
    let ahead = |job: &Value| job["status"] == "pending" && job["run_at"].as_i64() > Some(now);
    let tried = |job: &Value| job["attempt"].as_u64() > Some(0);
    for status in ["pending", "assigned", "running", "completed", "failed", "quarantined"] {
        assert_eq!(overview["jobs"][status], count(jobs, |job| job["status"] == status), "{status}");
    }
    let views = [
        ("due", count(jobs, |job| job["status"] == "pending" && !ahead(job))),
        ("scheduled", count(jobs, |job| ahead(job) && !tried(job))),
        ("retrying", count(jobs, |job| ahead(job) && tried(job))),
        ("blocked", 0),
        ("dead", count(jobs, |job| job["status"] == "quarantined")),
        ("cancelled", count(jobs, |job| job["fail_reason"] == "cancelled")),
    ];
    for (view, n) in views {
        assert_eq!(overview["views"][view], n, "{view}");
    }
    let mut queues: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for job in jobs {
        let queue = queues.entry(job["queue"].as_str().expect("a queue")).or_default();
        queue[0] += u64::from(job["status"] == "pending" && !ahead(job));
        queue[1] += u64::from(ahead(job));
        queue[2] += u64::from(job["status"] == "assigned" || job["status"] == "running");
    }
    let shown: BTreeMap<&str, [u64; 3]> = overview["queues"]
        .as_array()
        .expect("a list of queues")
        .iter()
        .map(|queue| {
            let numbers = ["due", "scheduled", "running"].map(|name| queue[name].as_u64().expect("a number"));
            (queue["name"].as_str().expect("a name"), numbers)
        })
        .collect();
    assert_eq!(shown, queues);
    let oldest = jobs.iter().filter(|job| job["status"] == "pending" && !ahead(job));
    let oldest = oldest.map(|job| now - job["run_at"].as_i64().expect("a time")).max();
    assert_eq!(overview["oldest_waiting_ms"].as_i64(), oldest);

    let seen = history.seen.as_ref().expect("there was a watcher");
    let events = |name: &str, status: Option<&str>| {
        let wanted = |event: &&forge_tests::history::Seen| {
            event.name == name && (status.is_none() || event.status.as_deref() == status)
        };
        seen.iter().filter(wanted).count() as u64
    };
    let (completed, ended) = (
        events("job:completed", None),
        events("job:failed", Some("failed")) + events("job:quarantined", None),
    );
    assert_eq!(overview["total"], json!({"completed": completed, "failed": ended}));
    let failures = |job: &Value| {
        let history = job["fail_history"].as_array().expect("a history");
        history.iter().filter(|failure| failure["kind"] != "cancelled").count() as u64
    };
    let attempts: u64 = jobs.iter().map(failures).sum();
    for series in ["minutes", "days"] {
        let sum = |field: &str| -> u64 {
            let periods = overview[series].as_array().expect("periods").iter();
            periods.map(|period| period[field].as_u64().expect("a number")).sum()
        };
        let sums = (sum("completed"), sum("failed"), sum("failed_attempts"));
        assert_eq!(sums, (completed, ended, attempts), "{series}");
    }
    assert!(
        completed > 50 && ended > 10 && attempts > 10,
        "too little happened: {completed} {ended} {attempts}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_overview_equals_a_recount_after_a_random_load_with_kills() {
    let _turn = turn::alone().await;
    let mut hub = Hub::start(Options::default()).await;
    let load = Load::start(&hub, 3, 4).await;
    for round in 0..KILLS {
        people(&hub, round).await;
        let spread = LOAD_MS.end - LOAD_MS.start;
        tokio::time::sleep(Duration::from_millis(LOAD_MS.start + round * 97 % spread)).await;
        hub.kill9().await;
        load.place(Place::Down);
        hub.restart().await;
        load.place(Place::At(hub.address()));
    }
    let history = load.finish(&hub).await.expect("the run itself works");
    for _ in 0..2 {
        let overview = hub.get("/api/overview").await.json();
        compare(&overview, &all_jobs(&hub).await, &history);
        hub.kill9().await;
        hub.restart().await;
    }
}
