//! Which job a claim gets.

use crate::fake::{Hub, START, act, completed, enqueue, filter, names, new_job};
use forge_engine::{
    Command, Refusal,
    command::{Action, Claim, Due, NewJob, Register},
};
use forge_shared::{BootId, ClaimId, JobType, Phase, QueueName, Status, WorkerId};

/// `name queue/type priority run_at`, with times relative to the start.
fn job((id, queue, kind, priority, run_at): (&str, &str, &str, i16, i64)) -> NewJob {
    NewJob {
        queue: QueueName::new(queue).unwrap(),
        kind: JobType::trusted(kind),
        priority,
        due: Due::At(START.wall_ms + run_at),
        ..new_job(id)
    }
}

/// Many lanes, all due after 100 ms but the last.
fn busy_hub() -> Hub {
    let mut hub = Hub::new();
    let jobs = [
        ("low", "default", "t", -5, 1),
        ("late", "default", "t", 0, 30),
        ("early", "default", "u", 0, 10),
        ("early2", "ns/a", "t", 0, 10),
        ("high", "ns/b", "u", 7, 90),
        ("deep", "ns/a/x", "v", 0, 5),
        ("ahead", "default", "t", 99, 1_000),
    ];
    hub.run(vec![Command::Enqueue(jobs.map(job).into())]);
    hub.wait(100);
    hub
}

fn check(types: &[&str], queues: &[&str], max: u32, expected: &[&str]) {
    let mut hub = busy_hub();
    for restart in [false, true] {
        if restart {
            hub = busy_hub();
            hub.restart_planner();
        }
        let claim = Claim { max, filter: filter(types, queues), ..hub.claim("w") };
        assert_eq!(names(&hub.one(Command::Claim(claim))), expected, "{types:?} {queues:?} {max} {restart}");
    }
}

#[test]
fn a_claim_takes_the_best_by_priority_due_time_and_age_among_what_it_accepts() {
    check(&[], &[], 1, &["high"]);
    check(&[], &[], 100, &["high", "deep", "early", "early2", "late", "low"]);
    check(&[], &[], 3, &["high", "deep", "early"]);
    check(&[], &[], 0, &[]);
    check(&["t"], &[], 100, &["early2", "late", "low"]);
    check(&["v", "u"], &[], 100, &["high", "deep", "early"]);
    check(&["none"], &[], 100, &[]);
    check(&[], &["default"], 100, &["early", "late", "low"]);
    check(&[], &["ns/*"], 100, &["high", "deep", "early2"]);
    check(&[], &["ns/a/*"], 100, &["deep"]);
    check(&[], &["ns/a"], 100, &["early2"]);
    check(&[], &["ns/a", "default"], 2, &["early", "early2"]);
    check(&["t"], &["ns/*", "default"], 100, &["early2", "late", "low"]);
    check(&["u"], &["ns/*"], 100, &["high"]);
    check(&[], &["ns"], 100, &[]);
}

#[test]
fn a_job_is_handed_out_once_however_many_ask_in_one_batch() {
    let mut hub = Hub::new();
    let claims: Vec<Command> = (0..5).map(|_| Command::Claim(hub.claim("w"))).collect();
    let mut batch = vec![enqueue(&["a", "b", "c"])];
    batch.extend(claims);
    let outcome = hub.run(batch);
    let got: Vec<Vec<String>> =
        outcome.replies[1..].iter().map(|reply| names(reply.as_ref().unwrap())).collect();
    assert_eq!(got, [vec!["a"], vec!["b"], vec!["c"], vec![], vec![]]);
}

#[test]
fn every_claim_makes_a_new_lease_that_nobody_had_before() {
    let mut hub = Hub::new();
    hub.hand_out("w", &["a", "b"]);
    let mut leases = vec![hub.lease("a"), hub.lease("b")];
    for _ in 0..3 {
        hub.one(Command::Release { job: hub.job("a").id.clone(), holder: hub.holder("a") }).unwrap();
        assert_eq!(hub.take("w", 1), ["a"]);
        leases.push(hub.lease("a"));
    }
    let all = leases.len();
    leases.sort();
    leases.dedup();
    assert_eq!(leases.len(), all);
}

fn repeatable(hub: &mut Hub, claim_id: &str, max: u32) -> Command {
    Command::Claim(Claim { claim_id: Some(ClaimId::trusted(claim_id)), max, ..hub.claim("w") })
}

#[test]
fn a_repeated_claim_gets_the_same_jobs_with_the_same_leases_while_they_are_live() {
    let mut hub = Hub::new();
    hub.run(vec![enqueue(&["a", "b", "c", "d"])]);
    let first = repeatable(&mut hub, "c1", 2);
    assert_eq!(names(&hub.one(first)), ["a", "b"]);
    let leases = [hub.lease("a"), hub.lease("b")];
    let again = repeatable(&mut hub, "c1", 2);
    assert_eq!(names(&hub.one(again)), ["a", "b"]);
    assert_eq!([hub.lease("a"), hub.lease("b")], leases);
    hub.one(Command::Report(vec![completed("a", hub.holder("a"), "1")])).unwrap();
    let again = repeatable(&mut hub, "c1", 2);
    assert_eq!(names(&hub.one(again)), ["b"], "only what is still its own");
    hub.one(Command::Report(vec![completed("b", hub.holder("b"), "1")])).unwrap();
    let again = repeatable(&mut hub, "c1", 1);
    assert_eq!(names(&hub.one(again)), ["c"], "nothing is left of it, so it claims afresh");
    let twice = vec![repeatable(&mut hub, "c2", 1), repeatable(&mut hub, "c2", 1)];
    let outcome = hub.run(twice);
    for reply in outcome.replies {
        assert_eq!(names(&reply.unwrap()), ["d"], "also within one batch");
    }
}

#[test]
fn a_repeated_claim_knows_a_job_that_its_worker_took_up_again_in_the_same_batch() {
    let mut hub = Hub::new();
    hub.run(vec![enqueue(&["a", "b"])]);
    let first = repeatable(&mut hub, "c1", 1);
    assert_eq!(names(&hub.one(first)), ["a"]);
    hub.wait(60_000);
    hub.one(Command::Reap { jobs: vec![1], workers: vec![] }).unwrap();
    let beat =
        Command::Heartbeat { job: hub.job("a").id.clone(), holder: hub.holder("a"), phase: Phase::Running };
    let again = repeatable(&mut hub, "c1", 1);
    let outcome = hub.run(vec![beat, again]);
    assert_eq!(names(outcome.replies[1].as_ref().unwrap()), ["a"]);
}

#[test]
fn a_repeatable_claim_that_meets_an_expired_job_still_gets_its_fill_and_no_more() {
    let mut hub = Hub::new();
    let lapsed = NewJob { expires_at: Some(START.wall_ms + 10), ..new_job("lapsed") };
    hub.run(vec![Command::Enqueue(vec![lapsed, new_job("a"), new_job("b"), new_job("c")])]);
    hub.wait(10);
    let batch = vec![repeatable(&mut hub, "c1", 2), Command::Claim(Claim { max: 5, ..hub.claim("w2") })];
    let outcome = hub.run(batch);
    let got: Vec<Vec<String>> = outcome.replies.into_iter().map(|reply| names(&reply.unwrap())).collect();
    assert_eq!(got, [vec!["a", "b"], vec!["c"]]);
}

#[test]
fn an_expired_job_met_by_a_claim_is_ended_and_the_next_one_handed_out() {
    let mut hub = Hub::new();
    let lapsed = |id| NewJob { expires_at: Some(START.wall_ms + 10), priority: 5, ..new_job(id) };
    hub.run(vec![Command::Enqueue(vec![lapsed("x"), lapsed("y"), new_job("a")])]);
    hub.wait(10);
    assert_eq!(hub.take("w", 1), ["a"]);
    for id in ["x", "y"] {
        assert_eq!(
            (hub.job(id).status, hub.job(id).fail_reason.as_deref()),
            (Status::Failed, Some("expired"))
        );
        assert_eq!(hub.job(id).attempt, 0);
    }
    assert!(hub.take("w", 1).is_empty());
}

#[test]
fn the_older_process_of_a_name_gets_no_more_work() {
    let mut hub = Hub::new();
    let boot = |name: &str| Some(BootId::trusted(name));
    for name in ["b1", "b2"] {
        let worker = WorkerId::trusted("w");
        hub.one(Command::Register(Register { worker, boot: boot(name), holding: None, about: "{}".into() }))
            .unwrap();
    }
    hub.run(vec![enqueue(&["a", "b"])]);
    let old = Claim { boot: boot("b1"), ..hub.claim("w") };
    assert_eq!(hub.one(Command::Claim(old)), Err(Refusal::SupersededBoot));
    let new = Claim { boot: boot("b2"), ..hub.claim("w") };
    assert_eq!(names(&hub.one(Command::Claim(new))), ["a"]);
    let silent = hub.claim("w");
    assert_eq!(names(&hub.one(Command::Claim(silent))), ["b"], "a worker that sends no boot id");
}

#[test]
fn a_lane_longer_than_memory_is_refilled_in_the_middle_of_a_batch() {
    for restart in [false, true] {
        let mut hub = Hub::new();
        let ids: Vec<String> = (0..2_600).map(|n| format!("j{n}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        hub.run(vec![enqueue(&ids)]);
        if restart {
            hub.restart_planner();
        }
        // The batch also takes jobs out of the part that is not in memory, adds one that goes
        // first and gives one back while the lane is being used up.
        let first = NewJob { due: Due::Now, ..new_job("last") };
        let mut batch =
            vec![act("j2500", Action::Cancel { even_running: false }), Command::Enqueue(vec![first])];
        batch.extend((0..4).map(|_| Command::Claim(Claim { max: 800, ..hub.claim("w") })));
        let outcome = hub.run(batch);
        let got: Vec<String> =
            outcome.replies[2..].iter().flat_map(|reply| names(reply.as_ref().unwrap())).collect();
        let mut expected = ids.clone();
        expected.remove(2_500);
        expected.push("last");
        assert_eq!(got, expected, "{restart}");
        assert!(hub.rounds < 40, "{} rounds", hub.rounds);
    }
}
