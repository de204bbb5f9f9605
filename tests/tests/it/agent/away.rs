//! The hub goes away and comes back; the agent dies and comes back. No outcome is lost or doubled.

use super::{end_of, runs, script, steered};
use forge_tests::cable::Cable;
use forge_tests::{
    agent::{Agent, AgentOptions, until_exists, until_process_gone},
    hub::{Hub, Options},
};
use serde_json::json;
use std::{
    fs,
    time::{Duration, Instant},
};

#[tokio::test]
async fn agent_waits_for_a_hub_that_is_not_there_yet() {
    let mut hub = Hub::on_a_fixed_port().await;
    hub.kill9().await;
    let agent = Agent::start(&hub, AgentOptions::default());
    agent.until_log("not registered yet").await;
    hub.restart().await;
    let job = script(&hub, "echo 1").await;
    let id = hub.enqueue(job).await;
    assert_eq!(end_of(&hub, &id).await["result"], json!(1));
}

#[tokio::test]
async fn job_goes_on_while_the_hub_is_away_and_its_result_arrives_when_it_is_back() {
    let mut hub = Hub::on_a_fixed_port().await;
    let agent = Agent::start(&hub, AgentOptions::default());
    let dir = agent.dir();
    let job = script(&hub, &steered(dir.path())).await;
    let id = hub.enqueue(job).await;
    until_exists(&dir.path().join("started")).await;
    hub.kill9().await;
    fs::write(dir.path().join("go"), "").unwrap();
    agent.until_log("outcomes wait").await;
    hub.restart().await;
    let job = end_of(&hub, &id).await;
    assert_eq!(
        (&job["status"], &job["result"], &job["attempt"]),
        (&json!("completed"), &json!(7), &json!(1))
    );
    assert_eq!(runs(dir.path()), 1);
}

#[tokio::test]
async fn hub_that_is_away_for_two_minutes_in_the_middle_of_a_job_costs_nothing() {
    let mut hub = Hub::on_a_fixed_port().await;
    let agent = Agent::start(&hub, AgentOptions::default());
    let dir = agent.dir();
    let job = script(&hub, &steered(dir.path())).await;
    let id = hub.enqueue(job).await;
    until_exists(&dir.path().join("started")).await;
    hub.kill9().await;
    // Two lease times: the absence itself is what is tested.
    tokio::time::sleep(Duration::from_secs(120)).await;
    hub.restart().await;
    agent.until_log("the hub is back").await;
    fs::write(dir.path().join("go"), "").unwrap();
    let job = end_of(&hub, &id).await;
    assert_eq!((&job["result"], &job["attempt"], runs(dir.path())), (&json!(7), &json!(1), 1), "{job}");
}

#[tokio::test]
async fn agent_killed_between_a_solvers_end_and_the_outbox_runs_the_job_again() {
    let hub = Hub::new().await;
    let mut agent = Agent::start(&hub, AgentOptions::default());
    let dir = agent.dir();
    fs::write(dir.path().join("agent"), agent.pid().to_string()).unwrap();
    // The solver's last act halts the agent, which then cannot learn of its end.
    let lines = format!(
        "cd {}; echo run >> runs; test $(wc -l < runs) = 2 && echo 9 && exit
        echo $$ > solver; echo $PPID > supervisor; echo 9; kill -STOP $(cat agent)",
        dir.path().display()
    );
    let job = script(&hub, &lines).await;
    let id = hub.enqueue(job).await;
    until_exists(&dir.path().join("supervisor")).await;
    until_process_gone(&dir.path().join("solver")).await;
    agent.kill9().await;
    until_process_gone(&dir.path().join("supervisor")).await;
    assert_eq!(hub.job(&id).await["result"], json!(null), "nobody was told");
    agent.start_again();
    let job = end_of(&hub, &id).await;
    assert_eq!(
        (&job["status"], &job["result"], &job["attempt"]),
        (&json!("completed"), &json!(9), &json!(2)),
        "{job}"
    );
    assert_eq!(runs(dir.path()), 2);
}

#[tokio::test]
async fn outcome_on_disk_survives_the_agents_death() {
    let mut hub = Hub::on_a_fixed_port().await;
    let mut agent = Agent::start(&hub, AgentOptions::default());
    let dir = agent.dir();
    let job = script(&hub, &steered(dir.path())).await;
    let id = hub.enqueue(job).await;
    until_exists(&dir.path().join("started")).await;
    hub.kill9().await;
    fs::write(dir.path().join("go"), "").unwrap();
    agent.until_log("outcomes wait").await;
    agent.kill9().await;
    hub.restart().await;
    agent.start_again();
    let job = end_of(&hub, &id).await;
    assert_eq!((&job["result"], &job["attempt"]), (&json!(7), &json!(1)), "{job}");
    assert_eq!(runs(dir.path()), 1);
}

#[tokio::test]
async fn killed_agent_leaves_nothing_running_and_its_job_is_run_again() {
    let hub = Hub::new().await;
    let mut agent = Agent::start(&hub, AgentOptions::default());
    let dir = agent.dir();
    let lines = format!(
        "echo run >> {0}/runs; test $(wc -l < {0}/runs) = 2 && echo 8 && exit; setsid sleep 5151 & touch {0}/started; sleep 5151",
        dir.path().display()
    );
    let job = script(&hub, &lines).await;
    let id = hub.enqueue(job).await;
    until_exists(&dir.path().join("started")).await;
    agent.kill9().await;
    forge_tests::agent::until_gone("sleep 5151", dir.path()).await;
    agent.start_again();
    let job = end_of(&hub, &id).await;
    assert_eq!((&job["status"], &job["result"]), (&json!("completed"), &json!(8)), "{job}");
    assert_eq!(runs(dir.path()), 2);
}

#[tokio::test]
async fn hub_that_forgot_the_worker_is_told_again() {
    let hub = Hub::new().await;
    let agent = Agent::start(&hub, AgentOptions::default());
    agent.until_log("\"registered\"").await;
    hub.delete("/api/workers/machine").await.expect(204);
    agent.until_log("registering again").await;
    let job = script(&hub, "echo 1").await;
    let id = hub.enqueue(job).await;
    assert_eq!(end_of(&hub, &id).await["result"], json!(1));
}

#[tokio::test]
async fn result_waits_out_a_revoked_token() {
    let hub = Hub::new().await;
    let (token_id, token) = hub.token("worker").await;
    let mut agent = Agent::start(&hub, AgentOptions::default().token(&token));
    let dir = agent.dir();
    let job = script(&hub, &steered(dir.path())).await;
    let id = hub.enqueue(job).await;
    until_exists(&dir.path().join("started")).await;
    hub.delete(&format!("/api/tokens/{token_id}")).await.expect(204);
    fs::write(dir.path().join("go"), "").unwrap();
    agent.until_log("does not accept this token").await;
    agent.until_log("outcomes wait").await;
    agent.kill9().await;
    let (_, token) = hub.token("worker").await;
    agent.options = agent.options.clone().token(&token);
    agent.start_again();
    let job = end_of(&hub, &id).await;
    assert_eq!((&job["result"], &job["attempt"]), (&json!(7), &json!(1)), "{job}");
}

/// Runs a job on a machine whose network is pulled for a while; the job ends meanwhile or after.
async fn with_the_cable_pulled(cut: Duration, ends_meanwhile: bool) {
    let Some(cable) = Cable::lay() else { return };
    let hub = Hub::start(Options::default().env("HOST", "0.0.0.0")).await;
    let url = format!("http://{}:{}", cable.here, hub.address().port());
    let agent = Agent::start_at(&url, AgentOptions::default().wrapper(cable.wrapper()));
    let dir = agent.dir();
    let job = script(&hub, &steered(dir.path())).await;
    let id = hub.enqueue(job).await;
    until_exists(&dir.path().join("started")).await;
    // The hub knows that it runs before the cut, so that what follows is about a running job.
    let deadline = Instant::now() + Duration::from_secs(30);
    while hub.job(&id).await["status"] != "running" {
        assert!(Instant::now() < deadline, "the job should run");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    cable.pull();
    if ends_meanwhile {
        fs::write(dir.path().join("go"), "").expect("tell the solver to end");
    }
    // The cut itself is what is tested; nothing happens that could be waited for.
    tokio::time::sleep(cut).await;
    let meanwhile = hub.job(&id).await;
    let expected = if cut > Duration::from_secs(80) { "pending" } else { "running" };
    assert_eq!(meanwhile["status"], expected, "{meanwhile}");
    cable.plug_in();
    if !ends_meanwhile {
        agent.until_log("the hub is back").await;
        fs::write(dir.path().join("go"), "").expect("tell the solver to end");
    }
    let job = end_of(&hub, &id).await;
    assert_eq!(
        (&job["result"], &job["attempt"], &job["attempts"]),
        (&json!(7), &json!(1), &json!(1)),
        "{job}"
    );
    assert_eq!(runs(dir.path()), 1);
}

#[tokio::test]
async fn network_that_is_cut_for_30_s_is_not_noticed_by_the_job() {
    with_the_cable_pulled(Duration::from_secs(30), true).await;
}

#[tokio::test]
async fn network_that_is_cut_for_90_s_costs_the_lease_and_the_work_is_salvaged() {
    with_the_cable_pulled(Duration::from_secs(90), false).await;
}
