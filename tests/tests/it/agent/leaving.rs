//! Stopping, draining, and giving way.

use super::{end_of, script};
use forge_tests::{
    agent::{Agent, AgentOptions, until_exists},
    hub::Hub,
};
use serde_json::json;
use std::fs;

#[tokio::test]
async fn stopping_agent_finishes_its_job() {
    for stop in [Agent::terminate, Agent::interrupt] {
        finishes_its_job(stop).await;
    }
}

async fn finishes_its_job(stop: fn(&Agent)) {
    let hub = Hub::new().await;
    let mut agent = Agent::start(&hub, AgentOptions::default());
    let dir = agent.dir();
    let lines = format!(
        "touch {0}/started; while ! test -e {0}/go; do sleep 0.05; done; echo 5",
        dir.path().display()
    );
    let job = script(&hub, &lines).await;
    let id = hub.enqueue(job).await;
    until_exists(&dir.path().join("started")).await;
    stop(&agent);
    agent.until_log("running ones may finish").await;
    fs::write(dir.path().join("go"), "").expect("tell the solver to end");
    assert!(agent.ended().await.success());
    let job = hub.job(&id).await;
    assert_eq!(
        (&job["status"], &job["result"]),
        (&json!("completed"), &json!(5)),
        "told before the agent ended: {job}"
    );
}

#[tokio::test]
async fn job_that_does_not_finish_in_time_is_given_back_at_once() {
    for stop in [Agent::terminate, Agent::interrupt] {
        gives_its_job_back(stop).await;
    }
}

async fn gives_its_job_back(stop: fn(&Agent)) {
    let hub = Hub::new().await;
    let mut agent = Agent::start(&hub, AgentOptions::default().env("SHUTDOWN_GRACE_MS", "200"));
    let dir = agent.dir();
    let job = script(&hub, &format!("touch {}/started; sleep 6161", dir.path().display())).await;
    let id = hub.enqueue(job).await;
    until_exists(&dir.path().join("started")).await;
    stop(&agent);
    assert!(agent.ended().await.success());
    let job = hub.job(&id).await;
    assert_eq!((&job["status"], &job["attempts"]), (&json!("pending"), &json!(0)), "given back free: {job}");
    forge_tests::agent::until_gone("sleep 6161", dir.path()).await;
}

#[tokio::test]
async fn second_signal_stops_now() {
    let hub = Hub::new().await;
    let mut agent = Agent::start(&hub, AgentOptions::default());
    let dir = agent.dir();
    let job = script(&hub, &format!("touch {}/started; sleep 7171", dir.path().display())).await;
    let id = hub.enqueue(job).await;
    until_exists(&dir.path().join("started")).await;
    agent.terminate();
    agent.until_log("running ones may finish").await;
    agent.terminate();
    assert!(agent.ended().await.success());
    assert_eq!(hub.job(&id).await["status"], "pending");
}

#[tokio::test]
async fn drained_worker_takes_nothing_until_it_is_resumed() {
    let hub = Hub::new().await;
    let agent = Agent::start(&hub, AgentOptions::default().env("JOB_POLL_INTERVAL_MS", "100"));
    agent.until_log("\"registered\"").await;
    let answer = hub.post("/api/workers/machine/drain", json!({})).await;
    assert!(matches!(answer.status, 200 | 204), "{}", answer.text());
    agent.until_log("order for this worker changed").await;
    let job = script(&hub, "echo 1").await;
    let id = hub.enqueue(job).await;
    assert_eq!(hub.job(&id).await["status"], "pending");
    let answer = hub.post("/api/workers/machine/resume", json!({})).await;
    assert!(matches!(answer.status, 200 | 204), "{}", answer.text());
    assert_eq!(end_of(&hub, &id).await["result"], json!(1));
}

#[tokio::test]
async fn older_of_two_agents_with_one_name_gives_way() {
    let hub = Hub::new().await;
    let mut older = Agent::start(&hub, AgentOptions::default().env("JOB_POLL_INTERVAL_MS", "100"));
    older.until_log("\"registered\"").await;
    let newer = Agent::start(&hub, AgentOptions::default());
    newer.until_log("\"registered\"").await;
    let job = script(&hub, "echo 1").await;
    let id = hub.enqueue(job).await;
    assert_eq!(end_of(&hub, &id).await["result"], json!(1));
    assert_eq!(older.ended().await.code(), Some(3));
    older.until_log("give each machine its own NODE_ID").await;
}
