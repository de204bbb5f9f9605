//! Agents and hubs of neighbouring versions work together: what they said to each other is recorded in
//! `tests/recordings`, and played to the present ones. `make record` records the present version.

use crate::agent::{end_of, upload};
use forge_tests::{
    agent::{Agent, AgentOptions, until_exists},
    between::{
        recorded_hub::{Change, RecordedHub},
        recorder::Recorder,
    },
    hub::Hub,
    recording::{self, Entry, replay::replay},
    turn,
};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// What all jobs of a recording run. It finds its way by the params and the agent's home.
const PROGRAM: &str = r#"#!/bin/sh
params=$(cat)
case $params in *fail*)
  echo no luck >&2
  exit 3
esac
echo working >&2
case $params in *wait*)
  echo 'FORGE_PROGRESS {"percent": 50, "message": "half"}' >&2
  touch "$HOME/started"
  while ! test -e "$HOME/go"; do sleep 0.05; done
esac
echo '{"n": 7}'
"#;

const RESULTS: &str = "POST /api/jobs/results";
const RELEASE: &str = "POST /api/jobs/*/release";
const PROGRESS: &str = "POST /api/jobs/*/progress";
const BEAT: &str = "POST /api/workers/*/heartbeat";

fn options() -> AgentOptions {
    AgentOptions::default().env("NODE_NAME", "A machine").env("SHUTDOWN_GRACE_MS", "200")
}

/// Everything that agents say: registering, metrics singly and together, claims, beginning, log, progress, a result, a failure,
/// heartbeats, what waited in the outbox for the agent's and the hub's return, and giving back.
async fn record() -> Vec<Entry> {
    let mut hub = Hub::on_a_fixed_port().await;
    let recorder = Recorder::start(hub.address()).await;
    let (_, token) = hub.token("worker").await;
    let checksum = upload(&hub, PROGRAM).await;
    recorder.note(Entry::Upload(PROGRAM.to_owned()));
    let enqueue = async |hub: &Hub, id: &str, params: Value| {
        let job = json!({"id": id, "type": "recorded", "solver_checksum": checksum, "params": params, "max_attempts": 1});
        recorder.note(Entry::Enqueue(job.clone()));
        hub.enqueue(job).await;
    };
    let mut agent = Agent::start_at(&recorder.url(), options().token(&token).env("PUSH_INTERVAL_MS", "2000"));
    let home = agent.dir();
    let in_home = |name: &str| home.path().join(name);
    recorder.until("POST /api/ingest/*", |_| true).await;

    enqueue(&hub, "succeeds", json!({"do": "it"})).await;
    assert_eq!(end_of(&hub, "succeeds").await["status"], "completed");
    recorder.until(RESULTS, |_| true).await;
    enqueue(&hub, "fails", json!({"do": "fail"})).await;
    assert_eq!(end_of(&hub, "fails").await["fail_reason"], "exit_code:3");

    // Metrics are kept while the hub is away, and sent together.
    enqueue(&hub, "outlives-the-hub", json!({"do": "wait"})).await;
    until_exists(&in_home("started")).await;
    recorder.until(PROGRESS, |_| true).await;
    recorder.until(BEAT, |call| call.body["holding"][0]["phase"] == "running").await;
    hub.kill9().await;
    agent.until_log("metrics are kept for later").await;
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    recorder.note(Entry::HubRestarts);
    hub.restart().await;
    recorder.until("POST /api/ingest/*/batch", |_| true).await;

    // An outcome that nobody could be told, by an agent that died meanwhile.
    hub.kill9().await;
    fs::write(in_home("go"), "").expect("let the job end");
    agent.until_log("outcomes wait").await;
    agent.kill9().await;
    recorder.note(Entry::HubRestarts);
    hub.restart().await;
    recorder.note(Entry::AgentRestarts);
    agent.start_again();
    assert_eq!(end_of(&hub, "outlives-the-hub").await["result"], json!({"n": 7}));
    recorder.until(RESULTS, |call| call.body[0]["job_id"] == "outlives-the-hub").await;

    for name in ["go", "started"] {
        fs::remove_file(in_home(name)).expect("remove it");
    }
    enqueue(&hub, "is-given-back", json!({"do": "wait"})).await;
    until_exists(&in_home("started")).await;
    agent.terminate();
    assert!(agent.ended().await.success());
    recorder.until(RELEASE, |_| true).await;
    recorder.recording()
}

/// `make record`.
#[tokio::test]
#[ignore = "writes a file that is kept, started by `make record`"]
async fn record_this_version() {
    let entries = record().await;
    let minor = env!("CARGO_PKG_VERSION").rsplit_once('.').expect("a version").0;
    let path = recording::folder().join(format!("agent-{minor}.jsonl"));
    let text = recording::write(&entries);
    fs::write(&path, &text).expect("write the recording");
    println!("{}: {} entries, {} bytes", path.display(), entries.len(), text.len());
}

#[tokio::test]
async fn recorded_agents_work_with_this_hub() {
    for (name, recording) in recording::all() {
        let mut hub = Hub::new().await;
        let (_, token) = hub.token("worker").await;
        let stumbles = replay(&mut hub, &token, &recording).await;
        assert!(stumbles.is_empty(), "{name}:\n{}", stumbles.join("\n"));
        for id in ["succeeds", "outlives-the-hub"] {
            let job = hub.job(id).await;
            assert_eq!(
                (&job["status"], &job["result"]),
                (&json!("completed"), &json!({"n": 7})),
                "{name}: {job}"
            );
        }
        let log = hub.get("/api/jobs/succeeds/logs").await.text();
        assert_eq!(log, "working\n", "{name}");
        assert_eq!(hub.job("outlives-the-hub").await["progress"]["message"], "half", "{name}");
        assert_eq!(hub.job("fails").await["status"], "quarantined", "{name}");
        assert_eq!(hub.job("is-given-back").await["status"], "pending", "{name}");
        let machine = &hub.get("/api/fleet").await.expect(200)[0];
        assert_eq!((&machine["name"], &machine["status"]), (&json!("A machine"), &json!("online")), "{name}");
        let worker = hub.get("/api/workers/machine").await.expect(200);
        assert!(worker["version"].is_string(), "{name}: {worker}");
    }
}

/// The present agent lives through what the recorded one did.
async fn agent_works_with_the_recorded_hub(change: Change) {
    let _turn = turn::shared().await;
    for (_name, recording) in recording::all() {
        let mut hub = RecordedHub::start(&recording, change).await;
        let mut agent = Agent::start_at(&hub.url(), options());
        let home = agent.dir();
        let of = |reports: &Value, job: &str| {
            reports.as_array().and_then(|all| all.iter().find(|report| report["job_id"] == job)).cloned()
        };
        let told = async |hub: &RecordedHub, job: &str| {
            of(&hub.until(RESULTS, |reports| of(reports, job).is_some()).await, job).expect("it is there")
        };
        let done = told(&hub, "succeeds").await;
        assert_eq!((&done["result"], &done["lease_id"]), (&json!({"n": 7}), &json!("lease-01")), "{done}");
        hub.until("POST /api/jobs/*/logs", |log| log == "working\n").await;
        assert_eq!(told(&hub, "fails").await["reason"], "exit_code:3");

        until_exists(&home.path().join("started")).await;
        hub.until(PROGRESS, |progress| progress["message"] == "half").await;
        hub.go_away();
        fs::write(home.path().join("go"), "").expect("let the job end");
        agent.until_log("outcomes wait").await;
        agent.kill9().await;
        forget(home.path(), "go");
        forget(home.path(), "started");
        hub.come_back().await;
        agent.start_again();
        let registered = hub.until("POST /api/workers/register", |body| body["holding"][0].is_object()).await;
        assert_eq!(registered["holding"][0]["phase"], "reporting", "{registered}");
        assert_eq!(told(&hub, "outlives-the-hub").await["result"], json!({"n": 7}));

        until_exists(&home.path().join("started")).await;
        agent.terminate();
        hub.until(RELEASE, |body| body["lease_id"] == "lease-04").await;
        assert!(agent.ended().await.success());
    }
}

fn forget(home: &Path, name: &str) {
    fs::remove_file(home.join(name)).expect("remove it");
}

fn with_unknown_fields(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(with_unknown_fields);
            map.insert("of_a_later_version".to_owned(), json!({"any": ["thing", 1, null]}));
        }
        Value::Array(items) => items.iter_mut().for_each(with_unknown_fields),
        _ => {}
    }
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

#[tokio::test]
async fn this_agent_works_with_recorded_hubs() {
    agent_works_with_the_recorded_hub(|_| {}).await;
}

#[tokio::test]
async fn this_agent_ignores_what_a_later_hub_adds() {
    agent_works_with_the_recorded_hub(with_unknown_fields).await;
}

#[tokio::test]
async fn this_agent_does_without_what_an_earlier_hub_left_out() {
    agent_works_with_the_recorded_hub(without_nulls).await;
}
