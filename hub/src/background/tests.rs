use super::{
    operations::Operations,
    reaper::{self, reap},
    retention::{Keep, prune},
};
use crate::{
    store::Operation,
    test_rig::{Bench, holder_of, job_id, new_job},
};
use bytes::Bytes;
use forge_engine::{
    Command,
    command::{NewJob, Register},
};
use forge_shared::{
    Status, WorkerId,
    event::EventKind,
    request::{BulkAction, JobFilter},
};
use tokio_util::sync::CancellationToken;

const LEASE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 3_600_000;

async fn enqueue(bench: &Bench, jobs: Vec<NewJob>) {
    bench.submit(Command::Enqueue(jobs)).await.unwrap();
}

fn numbered(prefix: &str, count: usize) -> Vec<NewJob> {
    (0..count).map(|n| new_job(&format!("{prefix}{n}"))).collect()
}

#[tokio::test]
async fn a_lease_without_a_heartbeat_ends_and_the_job_is_due_again() {
    let bench = Bench::new().await;
    bench.enqueue("a").await;
    let first = bench.claim("w1").await.unwrap();
    bench.clock.step(LEASE_MS - 1);
    assert_eq!(reap(&bench.hub).await.unwrap(), 0);
    bench.start(&first).await;
    bench.clock.step(LEASE_MS - 1);
    assert_eq!(reap(&bench.hub).await.unwrap(), 0, "the heartbeat made it last longer");
    bench.clock.step(2);
    assert_eq!(reap(&bench.hub).await.unwrap(), 1);
    let job = bench.job("a").await;
    assert_eq!((job.status, job.worker_id, job.attempts), (Status::Pending, None, 1));
    assert_eq!(reap(&bench.hub).await.unwrap(), 0);
    let second = bench.claim("w2").await.unwrap();
    assert_eq!((second.job.attempt, second.lease_id == first.lease_id), (2, false));
}

#[tokio::test]
async fn a_job_that_runs_too_long_is_set_aside_after_some_patience() {
    let bench = Bench::new().await;
    bench.enqueue("a").await;
    let job = bench.claim("w").await.unwrap();
    bench.start(&job).await;
    // 300 s are allowed; the hub leaves the worker a quarter more to notice it by itself.
    for _ in 0..15 {
        bench.clock.step(25_000);
        assert_eq!(reap(&bench.hub).await.unwrap(), 0);
        bench.start(&job).await;
    }
    bench.clock.step(1);
    assert_eq!(reap(&bench.hub).await.unwrap(), 1);
    let job = bench.job("a").await;
    assert_eq!((job.status, job.fail_reason.as_deref()), (Status::Quarantined, Some("max_runtime_exceeded")));
}

#[tokio::test]
async fn a_job_that_waited_past_its_date_expires_however_many_there_are() {
    let bench = Bench::new().await;
    let expires_at = Some(bench.hub.now_ms() + 1_000);
    let jobs = numbered("j", 1_100).into_iter().map(|job| NewJob { expires_at, ..job });
    enqueue(&bench, jobs.collect()).await;
    assert_eq!(reap(&bench.hub).await.unwrap(), 0);
    bench.clock.step(1_000);
    assert_eq!(reap(&bench.hub).await.unwrap(), 1_100);
    let job = bench.job("j1099").await;
    assert_eq!((job.status, job.fail_reason.as_deref()), (Status::Failed, Some("expired")));
}

#[tokio::test]
async fn a_silent_worker_is_lost_once() {
    let bench = Bench::new().await;
    let worker = WorkerId::new("w").unwrap();
    let register = Register { worker: worker.clone(), boot: None, holding: None, about: "{}".into() };
    bench.submit(Command::Register(register)).await.unwrap();
    bench.clock.step(LEASE_MS + 1);
    assert_eq!(reap(&bench.hub).await.unwrap(), 1);
    bench.heard(EventKind::WorkerLost).await;
    assert_eq!(reap(&bench.hub).await.unwrap(), 0);
}

#[tokio::test]
async fn a_restarted_hub_reclaims_nothing_that_is_alive() {
    let bench = Bench::new().await;
    enqueue(&bench, numbered("j", 3)).await;
    let held = [bench.claim("w").await.unwrap(), bench.claim("w").await.unwrap()];
    bench.start(&held[0]).await;
    bench.clock.step(10 * LEASE_MS);
    let bench = bench.restart().await;
    assert_eq!(bench.hub.extend_leases().await.unwrap(), 2);
    assert_eq!(reap(&bench.hub).await.unwrap(), 0);
    bench.clock.step(LEASE_MS - 1);
    assert_eq!(reap(&bench.hub).await.unwrap(), 0);
    let alive = Command::CheckLease { job: held[0].job.id.clone(), holder: holder_of(&held[0]) };
    bench.submit(alive).await.unwrap();
    bench.clock.step(2);
    assert_eq!(reap(&bench.hub).await.unwrap(), 2, "whoever is silent since then is gone");
}

#[tokio::test]
async fn the_reaper_comes_by_itself_until_the_hub_stops() {
    let bench = Bench::new().await;
    bench.enqueue("a").await;
    bench.claim("w").await.unwrap();
    bench.clock.step(2 * LEASE_MS);
    let stop = CancellationToken::new();
    tokio::time::pause();
    let run = tokio::spawn(reaper::run(bench.hub.clone(), reaper::EVERY, stop.clone()));
    bench.heard(EventKind::JobFailed).await;
    assert_eq!(bench.job("a").await.status, Status::Pending);
    stop.cancel();
    run.await.unwrap();
}

#[tokio::test]
async fn finished_jobs_go_when_they_were_kept_long_enough_and_their_logs_with_them() {
    let bench = Bench::new().await;
    let never = CancellationToken::new();
    enqueue(&bench, numbered("j", 3)).await;
    let done = bench.claim("w").await.unwrap();
    bench.store.append_log(&done.job.id, 1, 0, Bytes::from_static(b"hello")).await.unwrap();
    bench.complete(&done).await;
    let failed = bench.claim("w").await.unwrap();
    bench.fail(&failed).await;
    for (days, kept) in [(6, 3), (2, 2), (171, 2), (2, 1), (1_000, 1)] {
        bench.clock.step(days * DAY_MS);
        prune(&bench.hub, Keep::default(), &never).await.unwrap();
        assert_eq!(
            bench.store.count_matching(JobFilter::default()).await.unwrap(),
            kept,
            "{days} days later"
        );
    }
    assert_eq!(bench.job("j2").await.status, Status::Pending, "what is not over is never removed");
    assert_eq!(bench.store.read_log(&done.job.id, 1, 0, 100).await.unwrap().end, 0);
}

#[tokio::test]
async fn too_many_failed_jobs_go_oldest_first() {
    let bench = Bench::new().await;
    enqueue(&bench, numbered("j", 5)).await;
    for _ in 0..4 {
        let job = bench.claim("w").await.unwrap();
        bench.fail(&job).await;
        bench.clock.step(1);
    }
    let keep = Keep { failed_max: 2, ..Keep::default() };
    assert_eq!(prune(&bench.hub, keep, &CancellationToken::new()).await.unwrap(), 2);
    for (job, kept) in [("j0", false), ("j1", false), ("j2", true), ("j3", true), ("j4", true)] {
        assert_eq!(bench.store.job(&job_id(job)).await.unwrap().is_some(), kept, "{job}");
    }
}

#[tokio::test]
async fn old_events_go_however_many_there_are_and_the_newest_stays() {
    let bench = Bench::new().await;
    // Each of these is a commit of its own.
    for n in 0..1_200 {
        bench.enqueue(&format!("j{n}")).await;
    }
    bench.clock.step(8 * DAY_MS);
    prune(&bench.hub, Keep::default(), &CancellationToken::new()).await.unwrap();
    let range = bench.store.event_range().await.unwrap();
    assert_eq!((range.first, range.last), (1_200, 1_200));
}

#[tokio::test]
async fn a_bulk_action_goes_on_after_a_restart_where_it_was() {
    let bench = Bench::new().await;
    enqueue(&bench, numbered("j", 700)).await;
    let operation = Operation {
        id: "op".to_owned(),
        action: BulkAction::Kill,
        priority: None,
        filter: JobFilter { status: Some(Status::Pending), ..JobFilter::default() },
        after: 300,
        upto: bench.store.last_job().await.unwrap(),
        matched: 300,
        changed: 300,
        skipped: 0,
        done: false,
        created_at: bench.hub.now_ms(),
    };
    bench.store.save_operation(operation.clone(), None).await.unwrap();
    let bench = bench.restart().await;
    bench.enqueue("later").await;
    let stop = CancellationToken::new();
    let (operations, run) = Operations::start(bench.hub.clone(), stop.clone()).await.unwrap();
    let run = tokio::spawn(run);
    // They run one after the other, so the end of this one is the end of the first.
    let nothing =
        Operation { id: "nothing".to_owned(), after: 0, upto: 0, matched: 0, changed: 0, ..operation };
    let ended = operations.add(nothing).await.unwrap();
    assert_eq!((ended.done, ended.matched), (true, 0));
    let stands = bench.store.operation("op").await.unwrap().unwrap();
    assert_eq!((stands.done, stands.matched, stands.changed, stands.skipped), (true, 700, 700, 0));
    assert_eq!(bench.job("j299").await.status, Status::Pending, "those were done before");
    assert_eq!(bench.job("j300").await.status, Status::Quarantined);
    assert_eq!(bench.job("j699").await.status, Status::Quarantined);
    assert_eq!(bench.job("later").await.status, Status::Pending, "it came after the action");
    assert!(bench.store.unfinished_operations().await.unwrap().is_empty());
    stop.cancel();
    run.await.unwrap();
}
