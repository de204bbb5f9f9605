use super::*;
use crate::test_rig::{Bench, claim_of, job_id, new_job};
use forge_engine::command::Register;
use forge_shared::{Status, WorkerId, event::EventKind};
use futures_util::FutureExt;
use tokio::task::JoinHandle;

const LONG: Duration = Duration::from_secs(3_600);

fn ends() -> [CancellationToken; 2] {
    [CancellationToken::new(), CancellationToken::new()]
}

/// A claim that waits, once it does.
async fn waiting(bench: &Bench, ends: &[CancellationToken; 2]) -> JoinHandle<Result<Claimed, Denied>> {
    let (hub, ends) = (bench.hub.clone(), ends.clone());
    let claim = tokio::spawn(async move { hub.claim(claim_of("w"), Some(LONG), [&ends[0], &ends[1]]).await });
    parked(bench, 1).await;
    claim
}

/// The writer takes messages in order, so it has counted whatever came before each ping.
async fn parked(bench: &Bench, claims: u64) {
    while bench.store.figures().waiting_claims != claims {
        bench.store.ping().await.unwrap();
    }
}

async fn claimed(waiting: JoinHandle<Result<Claimed, Denied>>) -> Vec<ClaimedJob> {
    let mut claimed = waiting.await.unwrap().unwrap();
    let jobs = claimed.jobs().await.unwrap();
    claimed.delivered();
    jobs
}

#[tokio::test]
async fn a_claim_is_answered_with_the_job_and_its_lease() {
    let bench = Bench::new().await;
    bench.enqueue("a").await;
    let job = bench.claim("w").await.unwrap();
    assert_eq!((job.job.id.as_str(), job.job.status, job.job.attempt), ("a", Status::Assigned, 1));
    assert_eq!((job.lease_ms, job.heartbeat_ms), (60_000, HEARTBEAT_MS));
    assert!(bench.claim("w").await.is_none());
}

#[tokio::test]
async fn a_caller_that_goes_away_with_its_answer_gives_the_lease_back_free() {
    let bench = Bench::new().await;
    bench.enqueue("a").await;
    let never = ends();
    let claimed = bench.hub.claim(claim_of("w"), None, [&never[0], &never[1]]).await.unwrap();
    assert_eq!(bench.job("a").await.status, Status::Assigned);
    drop(claimed);
    bench.heard(EventKind::JobReleased).await;
    let job = bench.job("a").await;
    assert_eq!((job.status, job.attempts), (Status::Pending, 0));
    assert!(bench.claim("other").await.is_some());
}

#[tokio::test]
async fn a_caller_that_goes_away_before_its_answer_gives_the_lease_back_free() {
    let bench = Bench::new().await;
    bench.enqueue("a").await;
    let never = ends();
    // Polled once and dropped: the claim is on its way to the writer and nobody waits for it.
    assert!(bench.hub.claim(claim_of("w"), None, [&never[0], &never[1]]).now_or_never().is_none());
    bench.heard(EventKind::JobReleased).await;
    let job = bench.job("a").await;
    assert_eq!((job.status, job.attempts), (Status::Pending, 0));
}

#[tokio::test]
async fn a_caller_that_stops_waiting_takes_no_job() {
    let bench = Bench::new().await;
    let claim = waiting(&bench, &ends()).await;
    assert_eq!(bench.hub.metrics.long_polls(), 1);
    claim.abort();
    assert!(claim.await.is_err_and(|ended| ended.is_cancelled()));
    assert_eq!(bench.hub.metrics.long_polls(), 0);
    parked(&bench, 0).await;
    bench.enqueue("a").await;
    assert_eq!((bench.job("a").await.status, bench.job("a").await.attempt), (Status::Pending, 0));
}

#[tokio::test]
async fn a_long_poll_is_answered_by_an_enqueue() {
    let bench = Bench::new().await;
    let claim = waiting(&bench, &ends()).await;
    bench.enqueue("a").await;
    assert_eq!(claimed(claim).await[0].job.id, job_id("a"));
    assert_eq!(bench.job("a").await.status, Status::Assigned);
    assert_eq!(bench.hub.metrics.long_polls(), 0);
}

#[tokio::test]
async fn a_long_poll_is_answered_when_a_job_becomes_due() {
    let bench = Bench::new().await;
    let due = forge_engine::command::Due::After(50);
    bench
        .submit(Command::Enqueue(vec![forge_engine::command::NewJob { due, ..new_job("a") }]))
        .await
        .unwrap();
    let claim = waiting(&bench, &ends()).await;
    assert_eq!(bench.job("a").await.status, Status::Pending);
    bench.clock.step(50);
    assert_eq!(claimed(claim).await[0].job.id, job_id("a"));
}

#[tokio::test]
async fn a_long_poll_is_called_off_when_its_time_is_up() {
    let bench = Bench::new().await;
    let never = ends();
    tokio::time::pause();
    let started = tokio::time::Instant::now();
    let mut claimed = bench.hub.claim(claim_of("w"), Some(LONG), [&never[0], &never[1]]).await.unwrap();
    assert!(started.elapsed() >= LONG);
    assert!(claimed.jobs().await.unwrap().is_empty());
    tokio::time::resume();
    parked(&bench, 0).await;
    bench.enqueue("a").await;
    assert_eq!(bench.job("a").await.status, Status::Pending);
}

#[tokio::test]
async fn a_long_poll_is_answered_when_the_hub_stops_or_the_token_is_revoked() {
    for which in [0, 1] {
        let (bench, ends) = (Bench::new().await, ends());
        let claim = waiting(&bench, &ends).await;
        ends[which].cancel();
        assert!(claimed(claim).await.is_empty());
        parked(&bench, 0).await;
    }
}

#[tokio::test]
async fn a_drain_answers_the_workers_long_poll() {
    let bench = Bench::new().await;
    let worker = WorkerId::new("w").unwrap();
    let register = Register { worker: worker.clone(), boot: None, holding: None, about: "{}".into() };
    bench.submit(Command::Register(register)).await.unwrap();
    let claim = waiting(&bench, &ends()).await;
    bench.submit(Command::Drain { worker: worker.clone(), draining: true }).await.unwrap();
    assert!(claimed(claim).await.is_empty());
    bench.enqueue("a").await;
    assert!(bench.claim("w").await.is_none(), "it drains");
    bench.submit(Command::Drain { worker, draining: false }).await.unwrap();
    assert!(bench.claim("w").await.is_some());
}

#[tokio::test]
async fn whoever_waits_for_a_job_is_answered_when_it_has_ended() {
    let bench = Bench::new().await;
    bench.enqueue("a").await;
    let (hub, never) = (bench.hub.clone(), ends());
    let mut done = Box::pin(async move {
        hub.job_when_done(&job_id("a"), LONG, [&never[0], &never[1]]).await.unwrap().unwrap()
    });
    assert!((&mut done).now_or_never().is_none());
    bench.enqueue("b").await;
    let job = bench.claim("w").await.unwrap();
    bench.start(&job).await;
    assert!((&mut done).now_or_never().is_none());
    bench.complete(&job).await;
    assert_eq!(done.await.status, Status::Completed);
    assert_eq!(bench.hub.metrics.long_polls(), 0);
}

#[tokio::test]
async fn whoever_waits_for_a_job_is_answered_at_once_when_there_is_nothing_to_wait_for() {
    let bench = Bench::new().await;
    let never = ends();
    let never = [&never[0], &never[1]];
    assert!(bench.hub.job_when_done(&job_id("none"), LONG, never).await.unwrap().is_none());
    bench.enqueue("a").await;
    let job = bench.claim("w").await.unwrap();
    bench.complete(&job).await;
    let done = bench.hub.job_when_done(&job_id("a"), LONG, never).await.unwrap().unwrap();
    assert_eq!(done.status, Status::Completed);
}

#[tokio::test]
async fn whoever_waits_for_a_job_is_told_how_it_stands_when_the_time_is_up_or_the_hub_stops() {
    let bench = Bench::new().await;
    bench.enqueue("a").await;
    let ends = ends();
    let both = [&ends[0], &ends[1]];
    tokio::time::pause();
    let stands = bench.hub.job_when_done(&job_id("a"), LONG, both).await.unwrap().unwrap();
    assert_eq!(stands.status, Status::Pending);
    tokio::time::resume();
    ends[0].cancel();
    let stands = bench.hub.job_when_done(&job_id("a"), LONG, both).await.unwrap().unwrap();
    assert_eq!(stands.status, Status::Pending);
}

#[tokio::test]
async fn a_removed_job_answers_whoever_waits_for_it() {
    let bench = Bench::new().await;
    bench.enqueue("a").await;
    let (hub, never) = (bench.hub.clone(), ends());
    let done =
        tokio::spawn(async move { hub.job_when_done(&job_id("a"), LONG, [&never[0], &never[1]]).await });
    while bench.hub.metrics.long_polls() == 0 {
        tokio::task::yield_now().await;
    }
    let act = |action| Command::Act { jobs: vec![job_id("a")], action };
    bench.submit(act(forge_engine::command::Action::Kill)).await.unwrap();
    bench.submit(act(forge_engine::command::Action::Delete)).await.unwrap();
    let last = done.await.unwrap().unwrap();
    assert!(last.is_none_or(|job| job.status == Status::Quarantined));
}
