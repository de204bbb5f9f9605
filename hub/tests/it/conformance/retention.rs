//! What only time brings about.

use crate::kit::*;
use bytes::Bytes;
use forge_engine::{
    Command,
    command::{Action, Idempotency, NewJob},
    job::Spec,
};
use forge_hub::store::Retention;
use forge_shared::{Phase, Status, request::JobFilter};
use std::sync::Arc;

async fn overdue(rig: &Rig) -> Vec<i64> {
    use forge_hub::clock::Clock as _;
    let mut jobs = rig.overdue(rig.clock.now(), 100).await.unwrap().jobs;
    jobs.sort_unstable();
    jobs
}

pub(super) async fn overdue_names_what_ran_out_of_time(rig: Rig) {
    rig.add(vec![NewJob { max_runtime_ms: Some(1_000), ..new_job("runs-long") }]).await;
    rig.add_ids(&["silent", "prepares-long"]).await;
    rig.add(vec![NewJob { expires_at: Some(START + 90_000_000), ..new_job("expires") }]).await;
    let jobs = rig.take(rig.claim_of("w", 3)).await;
    rig.done(beat(&jobs[0])).await;
    assert!(overdue(&rig).await.is_empty());
    let prepares =
        || Command::Heartbeat { job: jobs[2].id.clone(), holder: holder(&jobs[2]), phase: Phase::Preparing };
    for _ in 0..40 {
        rig.clock.pass(50_000);
        rig.done(beat(&jobs[0])).await;
        rig.done(prepares()).await;
    }
    assert_eq!(overdue(&rig).await, [1, 2, 3]);
    rig.clock.step(90_000_000, 0);
    assert_eq!(overdue(&rig).await, [1, 2, 3, 4]);
    assert_eq!(rig.reap().await, 4);
    assert!(overdue(&rig).await.is_empty());
}

pub(super) async fn a_step_of_the_wall_clock_ends_no_lease(rig: Rig) {
    rig.add_and_run(new_job("a"), "w").await;
    for step in [86_400_000, -2 * 86_400_000] {
        rig.clock.step(step, 0);
        assert_eq!(rig.reap().await, 0);
    }
    rig.clock.step(0, LEASE_MS);
    assert_eq!(rig.reap().await, 1, "a lease goes by the monotonic clock");
}

pub(super) async fn resuming_gives_live_leases_a_full_term(mut rig: Rig) {
    let running = rig.add_and_run(NewJob { max_runtime_ms: Some(100_000), ..new_job("a") }, "w").await;
    rig.add_and_take(new_job("b"), "w").await;
    rig.add_ids(&["c"]).await;
    rig.clock.pass(50_000);
    rig.done(beat(&running)).await;
    // The machine was off for a day, and its monotonic clock began anew.
    rig.clock.step(86_400_000, -5_000_000);
    rig.reopen().await;
    let live = rig.live_jobs(0, 100).await.unwrap();
    assert_eq!(count(rig.done(Command::Resume { jobs: live }).await), 2);
    assert_eq!(count(rig.done(Command::Resume { jobs: vec![3, 99] }).await), 0, "nobody holds these");
    assert_eq!(rig.reap().await, 0);
    rig.clock.pass(LEASE_MS - 1);
    assert_eq!(rig.reap().await, 0);
    rig.done(beat(&running)).await;
    rig.clock.pass(1);
    assert_eq!(rig.reap().await, 1);
    assert_eq!((rig.status("a").await, rig.status("b").await), (Status::Running, Status::Pending));
    // It has run for 110 s; the time the hub was away does not count.
    rig.clock.pass(20_000);
    assert_eq!(rig.reap().await, 0);
    rig.clock.pass(1);
    assert_eq!(rig.reap().await, 1);
    assert_eq!(rig.see("a").await.fail_reason.as_deref(), Some("max_runtime_exceeded"));
}

fn keep(rig: &Rig) -> Retention {
    Retention { now_ms: rig.now(), completed_ms: 1_000, failed_ms: 5_000, failed_max: 100 }
}

pub(super) async fn finished_jobs_are_prunable_by_age(rig: Rig) {
    let done = rig.add_and_take(new_job("done"), "w").await;
    rig.report(&done, completed("1")).await.unwrap();
    rig.add_ids(&["dead", "cancelled", "pending"]).await;
    rig.act("dead", Action::Kill).await.unwrap();
    rig.act("cancelled", Action::Cancel { even_running: false }).await.unwrap();
    assert!(rig.prunable(keep(&rig), 10).await.unwrap().is_empty());
    rig.clock.pass(1_001);
    assert_eq!(rig.prunable(keep(&rig), 10).await.unwrap(), [1]);
    rig.clock.pass(4_000);
    assert_eq!(rig.prunable(keep(&rig), 10).await.unwrap(), [1, 2, 3]);
    assert_eq!(rig.prunable(keep(&rig), 2).await.unwrap().len(), 2);
    assert_eq!(count(rig.done(Command::Prune { jobs: vec![1, 2, 3, 4] }).await), 3);
    assert_eq!(rig.status("pending").await, Status::Pending, "only what is finished goes");
}

pub(super) async fn failed_jobs_are_prunable_by_number(rig: Rig) {
    rig.add_ids(&["a", "b", "c", "d"]).await;
    for id in ["d", "a", "b", "c"] {
        rig.clock.pass(1);
        rig.act(id, if id == "a" { Action::Kill } else { Action::Cancel { even_running: false } })
            .await
            .unwrap();
    }
    let kept = |failed_max| Retention { failed_max, ..keep(&rig) };
    assert!(rig.prunable(kept(4), 10).await.unwrap().is_empty());
    assert_eq!(rig.prunable(kept(2), 10).await.unwrap(), [1, 4], "those that ended first");
}

pub(super) async fn a_pruned_job_leaves_nothing_behind(mut rig: Rig) {
    let spec = Spec { params: Arc::from("{}"), tags: vec!["red".to_owned()], ..Spec::default() };
    let idempotency = Some(Idempotency { key: Arc::from("key"), body: [1; 32] });
    let job = || NewJob { spec: spec.clone(), idempotency: idempotency.clone(), ..new_job("a") };
    let taken = rig.add_and_take(job(), "w").await;
    rig.report(&taken, failed("broke")).await.unwrap();
    rig.act("a", Action::Kill).await.unwrap();
    rig.append_log(&job_id("a"), 1, 0, Bytes::from_static(b"text")).await.unwrap();
    rig.done(Command::Prune { jobs: vec![1] }).await;
    rig.delete_logs(vec![job_id("a")]).await.unwrap();
    rig.reopen().await;
    assert!(rig.job(&job_id("a")).await.unwrap().is_none());
    assert!(rig.attempts(&job_id("a")).await.unwrap().is_none());
    let red = JobFilter { tag: Some("red".to_owned()), ..JobFilter::default() };
    assert_eq!(rig.count_matching(red).await.unwrap(), 0);
    assert!(rig.counts().await.unwrap().is_empty());
    assert_eq!(rig.read_log(&job_id("a"), 1, 0, 10).await.unwrap().end, 0);
    // Its id and its key are free again; its number is not.
    assert!(rig.add(vec![job()]).await[0].created);
    assert_eq!(rig.last_job().await.unwrap(), 2);
    assert!(rig.see("a").await.fail_history.is_empty());
}

/// One commit for each of these times.
async fn events_at(rig: &Rig, steps: impl IntoIterator<Item = i64>) {
    for (n, step) in steps.into_iter().enumerate() {
        rig.clock.step(step, 0);
        rig.add_ids(&[&format!("at-{step}-{n}")]).await;
    }
}

async fn kept_events(rig: &Rig) -> Vec<u64> {
    let kept: Vec<u64> = rig.all_events().await.iter().map(|event| event.seq).collect();
    let range = rig.event_range().await.unwrap();
    assert_eq!(kept.first().copied().unwrap_or(range.last + 1), range.first);
    kept
}

pub(super) async fn old_events_go_and_the_newest_stays(mut rig: Rig) {
    events_at(&rig, [0, 10, 10, 10]).await;
    rig.prune_events(START + 20).await.unwrap();
    assert_eq!(kept_events(&rig).await, [3, 4]);
    rig.prune_events(START + 1_000).await.unwrap();
    assert_eq!(kept_events(&rig).await, [4], "the newest tells 'nothing new' from 'too old'");
    rig.reopen().await;
    events_at(&rig, [5]).await;
    assert_eq!(kept_events(&rig).await, [4, 5]);
}

pub(super) async fn events_are_pruned_without_holes_after_a_clock_step(rig: Rig) {
    events_at(&rig, [0, 1_000, -900, 100, 1_000]).await;
    rig.prune_events(START + 150).await.unwrap();
    let kept = kept_events(&rig).await;
    assert!(kept.iter().copied().eq(kept[0]..=5), "there is a hole in {kept:?}");
}

pub(super) async fn however_many_old_events_there_are_all_go(rig: Rig) {
    events_at(&rig, std::iter::repeat_n(1, 1_200)).await;
    rig.prune_events(rig.now()).await.unwrap();
    assert_eq!(kept_events(&rig).await, [1_200]);
}
