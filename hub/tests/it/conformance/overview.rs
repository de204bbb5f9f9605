//! The counters behind the overview.

use crate::kit::*;
use forge_engine::{
    Command,
    command::{Action, Due, NewJob},
    plan::{Flow, ViewKey},
};
use forge_hub::store::{JobsOverview, Order, Page};
use forge_shared::{QueueName, Status, View, request::JobFilter};
use std::collections::BTreeMap;

const MINUTE: i64 = 60_000;
const DAY: i64 = 86_400_000;

async fn look(rig: &Rig) -> JobsOverview {
    rig.overview(rig.now()).await.unwrap()
}

/// The counters against a look at every job.
async fn check(rig: &Rig) {
    let page = Page { limit: 1_000, offset: 0, order: Order::NewestFirst, after: None, now_ms: rig.now() };
    let mut counts: BTreeMap<(QueueName, Status), u64> = BTreeMap::new();
    let mut views: BTreeMap<ViewKey, u64> = BTreeMap::new();
    let mut oldest: BTreeMap<QueueName, i64> = BTreeMap::new();
    for job in rig.jobs(JobFilter::default(), page).await.unwrap().jobs {
        *counts.entry((job.queue.clone(), job.status)).or_default() += 1;
        let view = match job.status {
            Status::Pending if job.run_at > rig.now() && job.attempt > 0 => Some(View::Retrying),
            Status::Pending if job.run_at > rig.now() => Some(View::Scheduled),
            Status::Failed if job.fail_reason.as_deref() == Some("cancelled") => Some(View::Cancelled),
            Status::Pending => {
                let first = oldest.entry(job.queue.clone()).or_insert(job.run_at);
                *first = job.run_at.min(*first);
                None
            }
            _ => None,
        };
        if let Some(view) = view {
            *views.entry((view, job.queue)).or_default() += 1;
        }
    }
    let shown = look(rig).await;
    let shown_counts = shown.counts.into_iter().map(|count| ((count.queue, count.status), count.n));
    assert_eq!(shown_counts.collect::<BTreeMap<_, _>>(), counts);
    let shown_views = shown.views.into_iter().filter(|(_, n)| *n > 0);
    assert_eq!(shown_views.collect::<BTreeMap<_, _>>(), views, "at {}", rig.now() - START);
    let mut shown_oldest: BTreeMap<QueueName, i64> = BTreeMap::new();
    for (queue, at) in shown.oldest {
        let first = shown_oldest.entry(queue).or_insert(at);
        *first = at.min(*first);
    }
    assert_eq!(shown_oldest, oldest);
}

fn later(id: &str, ms: i64, to: &str) -> NewJob {
    NewJob { due: Due::After(ms), queue: queue(to), ..new_job(id) }
}

pub(super) async fn scheduled_jobs_become_due_without_a_write(mut rig: Rig) {
    rig.add(vec![later("a", 1_000, "x"), later("b", 2_000, "x"), later("c", 2_000, "y"), new_job("d")]).await;
    for _ in 0..5 {
        check(&rig).await;
        rig.clock.pass(500);
    }
    assert!(look(&rig).await.views.values().all(|n| *n == 0));
    // The next batch takes what became due off the counters, and a new process finds them so.
    rig.add(vec![later("e", 1_000, "x")]).await;
    check(&rig).await;
    rig.reopen().await;
    check(&rig).await;
    rig.clock.step(-1_800, 0);
    check(&rig).await;
    rig.clock.step(5_000, 0);
    check(&rig).await;
}

pub(super) async fn every_way_out_of_a_view_is_counted(mut rig: Rig) {
    let ids = ["now", "moved", "sooner", "later", "cancelled", "killed", "taken"];
    rig.add(ids.iter().map(|id| later(id, 10_000, "x")).collect()).await;
    let patch = |run_at, to: Option<&str>| Action::Patch { priority: None, run_at, queue: to.map(queue) };
    let now = rig.now();
    for (id, action) in [
        ("now", Action::RunNow),
        ("moved", patch(None, Some("y"))),
        ("sooner", patch(Some(now - 5), None)),
        ("later", patch(Some(now + 99_000), None)),
        ("cancelled", Action::Cancel { even_running: false }),
        ("killed", Action::Kill),
    ] {
        rig.act(id, action).await.unwrap();
        check(&rig).await;
    }
    rig.clock.pass(11_000);
    check(&rig).await;
    // Tried again later, released, given up, retried by a person, removed.
    let first = rig.take_one("w").await;
    rig.report(&first, failed("broke")).await.unwrap();
    check(&rig).await;
    let second = rig.take_one("w").await;
    rig.done(Command::Snooze { job: second.id.clone(), holder: holder(&second), delay_ms: 5_000 }).await;
    check(&rig).await;
    rig.act("cancelled", Action::Retry).await.unwrap();
    rig.act("killed", Action::Delete).await.unwrap();
    check(&rig).await;
    rig.reopen().await;
    rig.clock.pass(3_000);
    check(&rig).await;
    rig.add_ids(&["more"]).await;
    check(&rig).await;
}

pub(super) async fn what_ended_is_counted_by_minute_and_day_and_never_taken_back(mut rig: Rig) {
    let complete = async |rig: &Rig, id: &str| {
        let job = rig.add_and_take(new_job(id), "w").await;
        rig.report(&job, completed("1")).await.unwrap();
    };
    complete(&rig, "a").await;
    rig.clock.pass(MINUTE);
    complete(&rig, "b").await;
    let job = rig.add_and_take(NewJob { max_attempts: 2, queue: queue("y"), ..new_job("c") }, "w").await;
    rig.report(&job, failed("broke")).await.unwrap();
    rig.clock.pass(1_000);
    let job = rig.take_one("w").await;
    rig.clock.pass(LEASE_MS);
    rig.reap().await;
    assert_eq!(rig.status("c").await, Status::Quarantined);
    // A late result: it ended twice, once as failed and once as completed.
    rig.report(&job, completed("1")).await.unwrap();
    rig.add_ids(&["d"]).await;
    rig.act("d", Action::Cancel { even_running: false }).await.unwrap();
    let flow = |completed, failed, failed_attempts| Flow { completed, failed, failed_attempts };
    for _ in 0..2 {
        let shown = look(&rig).await;
        let minutes: Vec<_> = shown
            .minutes
            .iter()
            .map(|at| ((at.ts - START) / MINUTE, at.queue.as_ref().unwrap().to_string(), at.flow))
            .collect();
        let row = |minute: i64, queue: &str, flow| (minute, queue.to_owned(), flow);
        assert_eq!(
            minutes,
            [
                row(0, "default", flow(1, 0, 0)),
                row(1, "default", flow(1, 0, 0)),
                row(1, "y", flow(0, 0, 1)),
                row(2, "default", flow(0, 1, 0)),
                row(2, "y", flow(1, 1, 1)),
            ]
        );
        assert_eq!(shown.days.iter().map(|at| at.flow).collect::<Vec<_>>(), [flow(3, 2, 2)]);
        assert_eq!(
            (shown.total, shown.days[0].ts % DAY, shown.days[0].queue.is_none()),
            (flow(3, 2, 2), 0, true)
        );
        rig.reopen().await;
    }
    for id in ["a", "b", "c", "d"] {
        rig.act(id, Action::Delete).await.unwrap();
    }
    assert_eq!(look(&rig).await.total, flow(3, 2, 2));
    // Old minutes and days go; the total stays.
    rig.clock.step(45 * DAY, 0);
    complete(&rig, "e").await;
    let shown = rig.overview(START).await.unwrap();
    assert_eq!((shown.minutes.len(), shown.days.len(), shown.total), (1, 1, flow(4, 2, 2)));
}

pub(super) async fn many_jobs_that_become_due_at_once_are_settled_in_steps(rig: Rig) {
    let jobs = |n: i64| (0..n).map(move |i| NewJob { id: None, ..later("x", 1_000 + i, "x") }).collect();
    rig.add(jobs(9_000)).await;
    rig.clock.pass(60_000);
    let due = async || look(&rig).await.views.values().sum::<u64>();
    for _ in 0..4 {
        assert_eq!(due().await, 0);
        rig.done(Command::Tick).await;
    }
    let taken = rig.take(rig.claim_of("w", 1_000)).await;
    assert_eq!((taken.len(), due().await), (1_000, 0));
}

pub(super) async fn the_jobs_of_a_worker_are_found_by_when_it_ran_them(rig: Rig) {
    let run = async |id: &str, worker: &str| {
        rig.add_ids(&[id]).await;
        rig.clock.pass(500);
        let job = rig.take_one(worker).await;
        rig.clock.pass(500);
        rig.report(&job, completed("1")).await.unwrap();
        rig.clock.pass(1_000);
    };
    run("a", "w1").await;
    run("b", "w1").await;
    run("c", "w2").await;
    run("d", "w1").await;
    rig.add_and_take(new_job("e"), "w1").await;
    let found = async |since: Option<i64>, until: Option<i64>| {
        let filter = JobFilter {
            worker_id: Some(worker_id("w1")),
            since: since.map(|at| START + at),
            until: until.map(|at| START + at),
            ..JobFilter::default()
        };
        let page = Page { limit: 100, offset: 0, order: Order::NewestFirst, after: None, now_ms: rig.now() };
        let listed = rig.jobs(filter.clone(), page).await.unwrap();
        assert_eq!(rig.count_matching(filter).await.unwrap(), listed.jobs.len() as u64);
        listed.jobs.iter().map(|job| job.id.to_string()).collect::<Vec<_>>().join(" ")
    };
    // a waited from 0 and ran from 500 to 1,000 ms, b waited from 2,000, c from 4,000, d from 6,000
    // on; e has been running since 8,000.
    assert_eq!(found(None, None).await, "e d b a");
    assert_eq!(found(Some(0), Some(9_000)).await, "e d b a");
    assert_eq!(found(Some(1_000), Some(2_500)).await, "a");
    assert_eq!(found(Some(1_001), Some(6_501)).await, "d b");
    assert_eq!(found(Some(2_500), None).await, "e d b");
    assert_eq!(found(None, Some(2_501)).await, "b a");
    assert_eq!(found(Some(7_001), Some(8_000)).await, "");
}
