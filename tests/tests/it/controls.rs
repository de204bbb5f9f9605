//! Hubs that break a promise on purpose. A checker that lets one of them pass would let a real
//! defect pass as well.

use crate::sync_order;
use forge_tests::{
    binary,
    history::{self, Granted, History, Outcome, Recorder, Request, Violation},
    hub::{Hub, Options},
    load, turn,
};
use serde_json::json;
use tokio::task::JoinSet;

/// Kills right after acknowledgements until something is lost, at most this often.
const KILLS_MAX: usize = 40;
const BURST: usize = 64;

/// Two workers and one lease that is no longer anybody's.
async fn fencing(options: Options) -> History {
    let hub = Hub::start(options).await;
    let recorder = Recorder::default();
    let marker = "contested";
    let start = recorder.tick();
    let job = hub.enqueue(json!({"type": "t", "params": {"marker": marker}})).await;
    let request = Request::Enqueue { marker: marker.to_owned(), key: None };
    recorder.note(start, request, Outcome::Enqueued { job: job.clone() });
    let mut leases = Vec::new();
    for worker in ["first", "second"] {
        let start = recorder.tick();
        let claimed = hub.claim(worker).await;
        let lease = claimed["lease_id"].as_str().expect("a lease").to_owned();
        let attempt = claimed["attempt"].as_u64().expect("an attempt");
        let granted = Granted { job: job.clone(), lease: lease.clone(), attempt };
        recorder.note(start, Request::Claim, Outcome::Claimed(vec![granted]));
        if worker == "first" {
            let path = format!("/api/jobs/{job}/fail");
            let body = json!({"worker_id": worker, "lease_id": lease, "reason": "r", "retry_in_ms": 0});
            let start = recorder.tick();
            hub.post(&path, body).await.expect(200);
            let request = Request::Fail { job: job.clone(), lease: lease.clone(), reason: "r".to_owned() };
            recorder.note(start, request, Outcome::Done);
        }
        leases.push(lease);
    }
    // The first worker comes back with a result that nobody waits for any more, then the second
    // reports the real one.
    for (lease, worker) in leases.iter().zip(["first", "second"]) {
        let result = format!("of the {worker}");
        let body = json!({"worker_id": worker, "lease_id": lease, "result": {"value": result}});
        let start = recorder.tick();
        let answer = hub.post(&format!("/api/jobs/{job}/result"), body).await;
        let outcome = if answer.status == 200 { Outcome::Done } else { Outcome::Refused(answer.status) };
        recorder.note(start, Request::Result { job: job.clone(), lease: lease.clone(), result }, outcome);
    }
    History { calls: recorder.calls(), seen: None, kept: load::kept(&hub).await.expect("list the jobs") }
}

/// Kills the hub the moment a burst of enqueues has been acknowledged.
async fn killed_after_acknowledging(options: Options, kills: usize) -> Vec<Violation> {
    let mut hub = Hub::start(options).await;
    let recorder = std::sync::Arc::new(Recorder::default());
    for round in 0..kills {
        let mut burst = JoinSet::new();
        for n in 0..BURST {
            let marker = format!("{round}-{n}");
            let body = json!({"type": "t", "params": {"marker": marker}});
            let request = hub.client().post(hub.url("/api/jobs")).json(&body);
            let recorder = recorder.clone();
            burst.spawn(async move {
                let start = recorder.tick();
                let Ok(response) = request.send().await else { return };
                let Ok(answer) = response.json::<serde_json::Value>().await else { return };
                let job = answer["id"].as_str().unwrap_or_default().to_owned();
                recorder.note(start, Request::Enqueue { marker, key: None }, Outcome::Enqueued { job });
            });
        }
        // Half of them are on their way when the axe falls.
        for _ in 0..BURST / 2 {
            burst.join_next().await;
        }
        hub.kill9().await;
        while burst.join_next().await.is_some() {}
        hub.restart().await;
        let kept = load::kept(&hub).await.expect("list the jobs");
        let violations = history::check(&History { calls: recorder.calls(), seen: None, kept });
        if !violations.is_empty() {
            return violations;
        }
    }
    Vec::new()
}

#[tokio::test]
async fn a_sound_hub_passes_the_scenarios_of_the_controls() {
    let _turn = turn::alone().await;
    assert_eq!(history::check(&fencing(Options::default()).await), []);
    assert_eq!(killed_after_acknowledging(Options::default(), 5).await, []);
}

#[tokio::test]
async fn a_hub_without_fencing_is_caught() {
    let _turn = turn::alone().await;
    let options = Options::default().binary(binary::faulty_hub("fault-no-fencing"));
    let violations = history::check(&fencing(options).await);
    let stale = violations.iter().any(|violation| matches!(violation, Violation::StaleLease { .. }));
    assert!(stale, "the checker missed it: {violations:?}");
}

#[tokio::test]
async fn a_hub_that_acknowledges_early_is_caught() {
    let _turn = turn::alone().await;
    let binary = binary::faulty_hub("fault-ack-early");
    let violations = killed_after_acknowledging(Options::default().binary(binary.clone()), KILLS_MAX).await;
    let lost = violations.iter().any(|violation| matches!(violation, Violation::JobLost { .. }));
    assert!(lost, "{KILLS_MAX} kills right after acknowledgements lost nothing");
    if sync_order::untraceable().is_none() {
        let order = sync_order::record(Options::default().binary(binary)).await;
        assert!(!order.too_early.is_empty(), "the trace shows nothing");
    }
}

#[tokio::test]
async fn a_hub_that_does_not_sync_is_caught() {
    if let Some(why) = sync_order::untraceable() {
        eprintln!("SKIPPED: {why}");
        return;
    }
    let _turn = turn::alone().await;
    let options = Options::default().binary(binary::faulty_hub("fault-sync-normal"));
    let order = sync_order::record(options).await;
    assert!(order.too_early.len() > order.answers / 2, "of {} only {:?}", order.answers, order.too_early);
}
