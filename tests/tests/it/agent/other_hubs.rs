//! Hubs of other versions: one that can neither keep a claim waiting nor hand out several jobs, one that says what jobs require; and claims
//! that are lost on their way.

use super::{end_of, runs, script, steered};
use forge_tests::{
    agent::{Agent, AgentOptions, until_exists},
    between::front::{Changes, Front},
    hub::Hub,
};
use serde_json::{Value, json};
use std::{fs, time::Duration};

/// As a hub understands it that can neither wait nor hand out several jobs.
fn simple(claim: &mut Value) {
    let claim = claim.as_object_mut().expect("an object");
    claim.remove("wait_ms");
    claim.remove("max");
}

fn without_waiting(claim: &mut Value) {
    claim.as_object_mut().expect("an object").remove("wait_ms");
}

#[tokio::test]
async fn hub_that_does_not_wait_is_asked_once_in_each_interval() {
    const CLAIMS: u32 = 12;
    const INTERVAL: Duration = Duration::from_millis(200);
    let hub = Hub::new().await;
    let front = Front::start(hub.address(), Changes { claim: simple, ..Changes::default() }).await;
    let options = AgentOptions::default().env("JOB_POLL_INTERVAL_MS", &INTERVAL.as_millis().to_string());
    let _agent = Agent::start_at(&front.url(), options);
    let claims = front.until_claims(|claims| claims.len() > CLAIMS as usize).await;
    assert!(claims.iter().all(|(_, claim)| claim["wait_ms"].is_u64()), "a newer hub would have waited");
    // Each pause is at least three quarters of the interval.
    let took = claims[CLAIMS as usize].0 - claims[0].0;
    assert!(took >= INTERVAL * CLAIMS * 3 / 4, "{CLAIMS} claims in {took:?}");
    let job = script(&hub, "echo 1").await;
    let id = hub.enqueue(job).await;
    assert_eq!(end_of(&hub, &id).await["result"], json!(1));
}

#[tokio::test]
async fn what_running_jobs_require_is_not_offered_again_and_limits_their_memory() {
    let hub = Hub::new().await;
    let with_requirements = |job: &mut Value| job["requires"] = json!({"cores": 3, "ram_gb": 0.5});
    let changes = Changes { claim: without_waiting, job: with_requirements, ..Changes::default() };
    let front = Front::start(hub.address(), changes).await;
    let options = AgentOptions::default()
        .env("JOB_POLL_INTERVAL_MS", "100")
        .env("WORKER_SLOTS", "2")
        .env("WORKER_CORES", "4")
        .env("WORKER_RAM_GB", "2");
    let agent = Agent::start_at(&front.url(), options);
    let dir = agent.dir();
    let before = front.until_claims(|claims| !claims.is_empty()).await;
    assert_eq!(before[0].1["free"], json!({"slots": 1, "cores": 4.0, "ram_gb": 2.0}));

    let lines = format!("ulimit -d > {}/limit; {}", dir.path().display(), steered(dir.path()));
    let job = script(&hub, &lines).await;
    let id = hub.enqueue(job).await;
    until_exists(&dir.path().join("started")).await;
    let left = json!({"slots": 1, "cores": 1.0, "ram_gb": 1.5});
    front.until_claims(|claims| claims.last().is_some_and(|(_, claim)| claim["free"] == left)).await;
    assert_eq!(fs::read_to_string(dir.path().join("limit")).unwrap().trim(), (512 << 10).to_string());

    // This hub does not look at what is offered, and hands out more than there is room for.
    let job = script(&hub, "echo 2").await;
    let second = hub.enqueue(job).await;
    agent.until_log("given back: there is too little left").await;
    fs::write(dir.path().join("go"), "").unwrap();
    assert_eq!(end_of(&hub, &id).await["result"], json!(7));
    assert_eq!(runs(dir.path()), 1);
    let second = end_of(&hub, &second).await;
    assert_eq!((&second["result"], &second["attempts"]), (&json!(2), &json!(1)), "{second}");
}

#[tokio::test]
async fn free_slot_does_not_wait_long_for_what_it_asked_ahead() {
    let hub = Hub::new().await;
    let asked_ahead = |claim: &Value| claim["wait_ms"].is_null();
    let front = Front::start(hub.address(), Changes { loses: asked_ahead, ..Changes::default() }).await;
    let _agent = Agent::start_at(&front.url(), AgentOptions::default());
    // After a short job the next one is asked for while the second runs.
    for _ in 0..2 {
        let job = script(&hub, "echo 1").await;
        let id = hub.enqueue(job).await;
        assert_eq!(end_of(&hub, &id).await["result"], json!(1));
    }
    let lost =
        |claims: &[(std::time::Instant, Value)]| claims.iter().position(|(_, claim)| asked_ahead(claim));
    let claims = front.until_claims(|claims| lost(claims).is_some_and(|at| at + 1 < claims.len())).await;
    let at = lost(&claims).expect("it was waited for");
    let ((asked, first), (again, second)) = (&claims[at], &claims[at + 1]);
    assert_eq!(first["claim_id"], second["claim_id"], "the same question");
    // The request itself would have waited for 15 s.
    assert!(*again - *asked < Duration::from_secs(10), "{:?}", *again - *asked);
}
