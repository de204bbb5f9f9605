//! Handing out jobs.

use crate::kit::*;
use forge_engine::{
    Command, Job,
    command::{Action, Claim, Due, NewJob},
    job::Spec,
};
use forge_shared::{ClaimId, Status};
use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

pub(super) async fn jobs_go_out_by_priority_then_due_time_then_age(rig: Rig) {
    let jobs = [("low", -5, -9), ("late", 0, 3), ("first", 0, 1), ("second", 0, 1), ("high", 32_767, 5)];
    let jobs = jobs.map(|(id, priority, after)| NewJob {
        priority,
        due: if after > 0 { Due::After(after) } else { Due::Now },
        queue: queue(if priority == 0 { "one" } else { "two" }),
        ..new_job(id)
    });
    rig.add(jobs.into()).await;
    rig.clock.pass(10);
    let taken = rig.take_ids(rig.claim_of("w", 4)).await;
    assert_eq!(taken, ["high", "first", "second", "late"]);
    assert_eq!(rig.take_ids(rig.claim_of("w", 4)).await, ["low"]);
}

pub(super) async fn filters_choose_types_and_queues(rig: Rig) {
    let jobs =
        [("a", "x", "q"), ("b", "y", "q"), ("c", "x", "ns/one"), ("d", "y", "ns/two"), ("e", "y", "nsx")];
    rig.add(
        jobs.map(|(id, kind, name)| NewJob { kind: job_type(kind), queue: queue(name), ..new_job(id) })
            .into(),
    )
    .await;
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (&["z"], &[], &[]),
        (&[], &["ns"], &[]),
        (&["x"], &["ns/two", "nsx"], &[]),
        (&["x"], &["ns/*"], &["c"]),
        (&["x", "y"], &["q"], &["a", "b"]),
        (&[], &["ns/*", "nsx"], &["d", "e"]),
    ];
    for (types, queues, expected) in cases {
        let claim = Claim { filter: filter(types, queues), ..rig.claim_of("w", 10) };
        assert_eq!(rig.take_ids(claim).await, *expected, "{types:?} {queues:?}");
    }
}

pub(super) async fn a_released_job_keeps_its_place(rig: Rig) {
    rig.add_ids(&["a", "b"]).await;
    let first = rig.take_one("w").await;
    rig.done(Command::Release { job: first.id.clone(), holder: holder(&first) }).await;
    rig.clock.pass(50);
    assert_eq!(rig.take_ids(rig.claim_of("w", 2)).await, ["a", "b"]);
}

pub(super) async fn nothing_is_claimed_before_its_time(rig: Rig) {
    let scheduled = |id: &str, due| NewJob { due, priority: 9, ..new_job(id) };
    rig.add(vec![scheduled("at", Due::At(START + 100)), scheduled("after", Due::After(200))]).await;
    rig.add_ids(&["now"]).await;
    assert_eq!(rig.take_ids(rig.claim_of("w", 9)).await, ["now"]);
    rig.clock.pass(99);
    assert!(rig.take(rig.claim_of("w", 9)).await.is_empty());
    rig.clock.pass(1);
    assert_eq!(rig.take_ids(rig.claim_of("w", 9)).await, ["at"]);
    rig.clock.step(100, 0);
    rig.clock.step(-1, 0);
    assert!(rig.take(rig.claim_of("w", 9)).await.is_empty(), "the wall clock was set back");
    rig.clock.step(1, 0);
    assert_eq!(rig.take_ids(rig.claim_of("w", 9)).await, ["after"]);
}

pub(super) async fn a_job_past_its_expiry_date_is_not_handed_out(rig: Rig) {
    rig.add(vec![NewJob { expires_at: Some(START + 10), ..new_job("old") }]).await;
    rig.add_ids(&["good"]).await;
    rig.clock.pass(10);
    assert_eq!(rig.take_ids(rig.claim_of("w", 1)).await, ["good"]);
    assert_eq!(rig.status("old").await, Status::Failed);
}

fn repeatable(rig: &Rig, worker: &str, max: u32) -> Claim {
    Claim { claim_id: Some(ClaimId::new("c").unwrap()), ..rig.claim_of(worker, max) }
}

pub(super) async fn a_repeated_claim_answers_with_its_own_jobs(mut rig: Rig) {
    rig.add_ids(&["a", "b", "c", "d"]).await;
    let first = rig.take(repeatable(&rig, "w", 2)).await;
    rig.reopen().await;
    assert_eq!(rig.take(repeatable(&rig, "w", 2)).await, first);
    assert_eq!(rig.take_ids(repeatable(&rig, "another", 1)).await, ["c"], "the name is the worker's own");
    rig.report(&first[0], completed("1")).await.unwrap();
    assert_eq!(rig.take(repeatable(&rig, "w", 2)).await, first[1..]);
    rig.report(&first[1], failed("broke")).await.unwrap();
    assert_eq!(rig.take_ids(repeatable(&rig, "w", 2)).await, ["d"], "none of its jobs is live");
}

pub(super) async fn a_repeated_claim_leaves_no_job_behind_expired_ones(rig: Rig) {
    rig.add(vec![NewJob { expires_at: Some(START + 1), ..new_job("old") }]).await;
    rig.add_ids(&["a", "b", "c"]).await;
    rig.clock.pass(1);
    assert_eq!(rig.take_ids(repeatable(&rig, "w", 2)).await, ["a", "b"]);
    assert_eq!(rig.take_ids(rig.claim_of("w", 9)).await, ["c"]);
}

pub(super) async fn a_long_lane_is_handed_out_whole_and_in_order(mut rig: Rig) {
    const JOBS: usize = 2_500;
    let ids: Vec<String> = (0..JOBS).map(|n| format!("job-{n:05}")).collect();
    for some in ids.chunks(1_000) {
        rig.add_ids(&some.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    rig.reopen().await;
    let mut taken = rig.take_ids(rig.claim_of("w", 1_000)).await;
    // Meanwhile the lane changes at both ends.
    rig.act("job-01000", Action::Cancel { even_running: false }).await.unwrap();
    rig.add_ids(&["later"]).await;
    loop {
        let more = rig.take_ids(rig.claim_of("w", 700)).await;
        if more.is_empty() {
            break;
        }
        taken.extend(more);
    }
    let mut expected = ids;
    expected.retain(|id| id != "job-01000");
    expected.push("later".to_owned());
    assert_eq!(taken, expected);
}

pub(super) async fn patched_jobs_move_to_their_new_lane(mut rig: Rig) {
    rig.add_ids(&["a", "b", "c"]).await;
    let patch =
        |priority, run_at, name: Option<&str>| Action::Patch { priority, run_at, queue: name.map(queue) };
    rig.act("a", patch(None, Some(START + 100), None)).await.unwrap();
    rig.act("b", patch(None, None, Some("elsewhere"))).await.unwrap();
    rig.act("c", patch(Some(-1), None, None)).await.unwrap();
    rig.reopen().await;
    let here = |rig: &Rig| Claim { filter: filter(&[], &["default"]), ..rig.claim_of("w", 9) };
    rig.add_ids(&["d"]).await;
    assert_eq!(rig.take_ids(here(&rig)).await, ["d", "c"]);
    rig.clock.pass(1);
    rig.act("a", Action::RunNow).await.unwrap();
    assert_eq!(rig.take_ids(rig.claim_of("w", 9)).await, ["b", "a"]);
}

pub(super) async fn claimed_jobs_are_handed_over_whole(rig: Rig) {
    let shown = |jobs: Vec<forge_shared::Job>| serde_json::to_string(&jobs).unwrap();
    let with = |id: &str, params: String| {
        let tags = vec!["red".to_owned()];
        NewJob { spec: Spec { params: params.into(), tags, ..Spec::default() }, ..new_job(id) }
    };
    let check = async |max: u32| {
        let taken = rig.take(rig.claim_of("w", max)).await;
        assert_eq!(taken.len(), max as usize);
        let handed_over = rig.claimed_jobs(&taken).await.unwrap();
        let seqs = taken.iter().map(|job| job.seq).collect();
        assert_eq!(shown(handed_over), shown(rig.jobs_by_seq(seqs).await.unwrap()));
        taken
    };
    rig.add(vec![with("small", "{\"n\": 1.50}".to_owned())]).await;
    let small = check(1).await.remove(0);
    rig.report(&small, failed("broke")).await.unwrap();
    rig.clock.pass(1_000);
    check(1).await;
    rig.add(vec![with("large", format!("\"{}\"", "x".repeat(100_000)))]).await;
    check(1).await;
    rig.add((0..50).map(|n| with(&format!("one-of-many-{n}"), "[]".to_owned())).collect()).await;
    check(50).await;
    assert!(rig.claimed_jobs(&[]).await.unwrap().is_empty());
}

pub(super) async fn many_tasks_claim_every_job_once(rig: Rig) {
    const TASKS: usize = 64;
    const JOBS: usize = 20;
    let rig = Arc::new(rig);
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let rig = rig.clone();
        tasks.spawn(async move {
            let mut done: Vec<Arc<Job>> = Vec::new();
            for n in 0..JOBS {
                rig.add_ids(&[&format!("job-{task}-{n}")]).await;
                let job = rig.take_one(&format!("w{task}")).await;
                rig.report(&job, completed("1")).await.unwrap();
                done.push(job);
            }
            done
        });
    }
    let mut done = Vec::new();
    while let Some(some) = tasks.join_next().await {
        done.extend(some.unwrap());
    }
    let ids: HashSet<_> = done.iter().map(|job| job.id.clone()).collect();
    let leases: HashSet<_> = done.iter().map(|job| job.lease.as_ref().unwrap().id.clone()).collect();
    assert_eq!((ids.len(), leases.len()), (TASKS * JOBS, TASKS * JOBS));
    let counts = rig.counts().await.unwrap();
    assert_eq!(counts.len(), 1, "{counts:?}");
    assert_eq!((counts[0].status, counts[0].n), (Status::Completed, (TASKS * JOBS) as u64));
    let numbers: BTreeSet<u64> = rig.all_events().await.iter().map(|event| event.seq).collect();
    assert!(numbers.into_iter().eq(1..=(TASKS * JOBS * 3) as u64));
}
