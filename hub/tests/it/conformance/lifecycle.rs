//! Commands about single jobs, through the store and back.

use crate::kit::*;
use forge_engine::{
    Command, Job, Refusal, Reply,
    command::{Action, Completion, Idempotency, NewJob, Outcome},
    job::Spec,
    lifecycle::GIVE_BACKS_MAX,
};
use forge_shared::{
    FailureKind, Phase,
    Status::{self, *},
    event::EventKind,
    job::Progress,
    response::AuditEntry,
};
use std::sync::Arc;

/// One thing that happens to a job. Whoever reports speaks for the first lease it was given.
#[derive(Debug, Clone, Copy)]
enum Step {
    Take,
    Prepare,
    Beat,
    Complete,
    Fail,
    FailForGood,
    TimeOut,
    Release,
    Snooze,
    Pass(i64),
    Reap,
    Cancel,
    Stop,
    Retry,
    RunNow,
    Kill,
}
use Step::*;

async fn step(rig: &Rig, id: &str, leased: &mut Option<Arc<Job>>, step: Step) -> bool {
    let act = |action| rig.act(id, action);
    let held = || leased.as_ref().expect("it was taken");
    let beat = |phase| Command::Heartbeat { job: held().id.clone(), holder: holder(held()), phase };
    match step {
        Take => {
            let taken = rig.take_one("w").await;
            leased.get_or_insert(taken);
            true
        }
        Prepare => rig.decide(beat(Phase::Preparing)).await.is_ok(),
        Beat => rig.decide(beat(Phase::Running)).await.is_ok(),
        Complete => rig.report(held(), completed("1")).await.is_ok(),
        Fail => rig.report(held(), failed("it broke")).await.is_ok(),
        FailForGood => {
            let failure = forge_engine::command::FailureReport { permanent: true, ..failure("no use") };
            rig.report(held(), Outcome::Failed(failure)).await.is_ok()
        }
        TimeOut => {
            let failure =
                forge_engine::command::FailureReport { kind: FailureKind::Timeout, ..failure("too long") };
            rig.report(held(), Outcome::Failed(failure)).await.is_ok()
        }
        Release => {
            rig.decide(Command::Release { job: held().id.clone(), holder: holder(held()) }).await.is_ok()
        }
        Snooze => {
            let (job, holder) = (held().id.clone(), holder(held()));
            rig.decide(Command::Snooze { job, holder, delay_ms: 5_000 }).await.is_ok()
        }
        Pass(ms) => {
            rig.clock.pass(ms);
            true
        }
        Reap => rig.reap().await > 0,
        Cancel => act(Action::Cancel { even_running: false }).await.is_ok(),
        Stop => act(Action::Cancel { even_running: true }).await.is_ok(),
        Retry => act(Action::Retry).await.is_ok(),
        RunNow => act(Action::RunNow).await.is_ok(),
        Kill => act(Action::Kill).await.is_ok(),
    }
}

/// Every step must be accepted; then the job must be in this state, for this reason, with so much
/// of its budget spent, and stay so when the store is opened again.
async fn check(rig: &mut Rig, n: usize, steps: &[Step], status: Status, reason: &str, attempts: u32) {
    let id = format!("row-{n}");
    let job = NewJob { expires_at: Some(rig.now() + 4_000_000), ..new_job(&id) };
    rig.add(vec![job]).await;
    let mut leased = None;
    for now in steps {
        assert!(step(rig, &id, &mut leased, *now).await, "{now:?} in {steps:?} was refused or did nothing");
    }
    let job = rig.see(&id).await;
    let found = (job.status, job.fail_reason.as_deref().unwrap_or(""), job.attempts);
    assert_eq!(found, (status, reason, attempts), "{steps:?}");
    assert_eq!(job.finished_at.is_some(), status.is_terminal(), "{steps:?}");
    let shown = |job: &forge_shared::Job| serde_json::to_string(job).unwrap();
    rig.reopen().await;
    assert_eq!(shown(&rig.see(&id).await), shown(&job), "{steps:?}");
    // Out of the way of the next row.
    let _ = rig.act(&id, Action::Cancel { even_running: true }).await;
    rig.clock.pass(LEASE_MS);
    rig.reap().await;
    assert!(rig.status(&id).await.is_terminal(), "{steps:?}");
}

pub(super) async fn every_row_of_the_lifecycle_holds(mut rig: Rig) {
    const OVER: Step = Pass(LEASE_MS);
    let rows: &[(&[Step], Status, &str, u32)] = &[
        (&[], Pending, "", 0),
        (&[Take], Assigned, "", 1),
        (&[Take, Prepare], Assigned, "", 1),
        (&[Take, Beat], Running, "", 1),
        (&[Take, Prepare, Beat, Beat], Running, "", 1),
        (&[Take, Beat, OVER, Reap, Beat], Running, "", 1),
        (&[Take, Complete], Completed, "", 1),
        (&[Take, Beat, Complete], Completed, "", 1),
        (&[Take, Beat, OVER, Reap, Complete], Completed, "", 1),
        (&[Take, Fail], Pending, "it broke", 1),
        (&[Take, Beat, Fail], Pending, "it broke", 1),
        (&[Take, FailForGood], Quarantined, "no use", 1),
        (&[Take, Beat, TimeOut], Quarantined, "max_runtime_exceeded", 1),
        (&[Take, OVER, Reap, Fail], Pending, "lease_expired", 1),
        (&[Take, OVER, Reap], Pending, "lease_expired", 1),
        (&[Take, OVER, Reap, Take, OVER, Reap, Take, OVER, Reap], Quarantined, "lease_expired", 3),
        (&[Take, Release], Pending, "", 0),
        (&[Take, Beat, Release], Pending, "", 0),
        (&[Take, Snooze], Pending, "", 0),
        (
            &[Take, Beat, Pass(40_000), Beat, Pass(300_000), Beat, Pass(50_000), Beat, Reap],
            Quarantined,
            "max_runtime_exceeded",
            1,
        ),
        (&[Take, Prepare, Pass(1_800_001), Prepare, Reap], Pending, "prepare_timeout", 1),
        (&[Cancel], Failed, "cancelled", 0),
        (&[Take, Cancel], Failed, "cancelled", 1),
        (&[Take, Beat, Stop], Running, "", 1),
        (&[Take, Beat, Stop, Complete], Completed, "", 1),
        (&[Take, Beat, Stop, Fail], Failed, "cancelled", 1),
        (&[Take, Beat, Stop, Release], Failed, "cancelled", 1),
        (&[Take, Beat, Stop, OVER, Reap], Failed, "cancelled", 1),
        (&[Cancel, Retry], Pending, "", 0),
        (&[Take, FailForGood, Retry], Pending, "", 0),
        (&[Take, Fail, RunNow], Pending, "it broke", 1),
        (&[Kill], Quarantined, "killed", 0),
        (&[Kill, Retry, Take, Complete], Completed, "", 1),
        (&[Pass(4_000_000), Reap], Failed, "expired", 0),
    ];
    for (n, (steps, status, reason, attempts)) in rows.iter().enumerate() {
        check(&mut rig, n, steps, *status, reason, *attempts).await;
    }
}

pub(super) async fn a_new_job_comes_back_as_it_was_sent(rig: Rig) {
    let spec = Spec {
        params: Arc::from(r#"{"big": 12345678901234567890.123456789, "e": 1.0e5}"#),
        tags: vec!["one".to_owned(), "two \"quoted\"".to_owned()],
        command: Some("echo 1".to_owned()),
        solver_url: Some("https://example.org/solver".to_owned()),
        solver_checksum: Some("ab".repeat(32)),
    };
    let job = NewJob {
        queue: queue("ns/größe"),
        priority: -7,
        max_attempts: 9,
        max_runtime_ms: None,
        expires_at: Some(START + 500_000),
        spec: spec.clone(),
        ..new_job("whole")
    };
    rig.add(vec![job]).await;
    let seen = rig.see("whole").await;
    assert_eq!(seen.params.get(), &*spec.params);
    assert_eq!((seen.queue, seen.priority, seen.max_attempts), (queue("ns/größe"), -7, 9));
    assert_eq!((seen.max_runtime_ms, seen.expires_at), (None, Some(START + 500_000)));
    assert_eq!((seen.tags, seen.command), (spec.tags, spec.command));
    assert_eq!((seen.solver_url, seen.solver_checksum), (spec.solver_url, spec.solver_checksum));
    assert_eq!((seen.created_at, seen.run_at, seen.backoff), (START, START, Some(fixed(1_000))));
}

pub(super) async fn jobs_without_an_id_get_one_in_time_order(rig: Rig) {
    let nameless = NewJob { id: None, ..new_job("unused") };
    let added = rig.add(vec![nameless.clone(), nameless]).await;
    assert!(added[0].id < added[1].id);
    assert!(added.iter().all(|job| job.id.as_str().len() == 32 && job.created));
    rig.see(added[1].id.as_str()).await;
}

pub(super) async fn a_batch_is_added_whole_or_not_at_all(rig: Rig) {
    rig.add_ids(&["taken"]).await;
    let batch = vec![new_job("fine"), new_job("taken")];
    let refusal = Refusal::InBatch { index: 1, refusal: Box::new(Refusal::IdTaken { id: job_id("taken") }) };
    assert_eq!(rig.refused(Command::Enqueue(batch)).await, refusal);
    let twice = vec![new_job("same"), new_job("same")];
    assert!(matches!(rig.refused(Command::Enqueue(twice)).await, Refusal::InBatch { index: 1, .. }));
    for id in ["fine", "same"] {
        assert!(rig.job(&job_id(id)).await.unwrap().is_none(), "{id} was added");
    }
    assert_eq!(rig.last_job().await.unwrap(), 1);
}

pub(super) async fn an_idempotency_key_lives_as_long_as_its_job(mut rig: Rig) {
    let keyed = |id: &str, body: u8| {
        let idempotency = Some(Idempotency { key: Arc::from("key"), body: [body; 32] });
        vec![NewJob { idempotency, ..new_job(id) }]
    };
    rig.add(keyed("first", 1)).await;
    rig.act("first", Action::Cancel { even_running: false }).await.unwrap();
    rig.reopen().await;
    let again = rig.add(keyed("second", 1)).await.remove(0);
    assert_eq!((again.id.as_str(), again.status, again.created), ("first", Failed, false));
    let refusal = Refusal::KeyReused { id: Some(job_id("first")) };
    let refusal = Refusal::InBatch { index: 0, refusal: Box::new(refusal) };
    assert_eq!(rig.refused(Command::Enqueue(keyed("third", 2))).await, refusal);
    rig.act("first", Action::Delete).await.unwrap();
    assert!(rig.add(keyed("fourth", 2)).await[0].created);
}

pub(super) async fn a_superseded_lease_changes_nothing(rig: Rig) {
    let old = rig.add_and_run(new_job("a"), "slow").await;
    rig.clock.pass(LEASE_MS);
    rig.reap().await;
    let new = rig.take_one("fast").await;
    let events = rig.all_events().await.len();
    let (job, by) = (old.id.clone(), holder(&old));
    let commands = [
        beat(&old),
        Command::Release { job: job.clone(), holder: by.clone() },
        Command::Snooze { job: job.clone(), holder: by.clone(), delay_ms: 1 },
        Command::Progress {
            job: job.clone(),
            holder: by.clone(),
            progress: Progress { percent: None, message: None, at: 0 },
        },
        Command::CheckLease { job, holder: by },
    ];
    for command in commands {
        assert_eq!(rig.refused(command).await, Refusal::LeaseLost);
    }
    for outcome in [completed("1"), failed("late")] {
        assert_eq!(rig.report(&old, outcome).await, Err(Refusal::LeaseLost));
    }
    assert_eq!(rig.status("a").await, Assigned);
    assert_eq!(rig.all_events().await.len(), events);
    assert_eq!(rig.report(&new, completed("2")).await.unwrap().status, Completed);
}

pub(super) async fn the_first_result_stands(mut rig: Rig) {
    let job = rig.add_and_take(new_job("a"), "w").await;
    let with = |result: &str, hash: Option<&str>, key: Option<&str>| {
        let (hash, key) = (hash.map(str::to_owned), key.map(str::to_owned));
        Outcome::Completed(Completion { result: Arc::from(result), hash, key, usage: Some("{}".to_owned()) })
    };
    rig.report(&job, with("{\"n\": 1}", Some("h"), Some("k"))).await.unwrap();
    rig.reopen().await;
    let cases = [
        (with("{\"n\": 1}", None, None), true),
        (with("other bytes", Some("h"), None), true),
        (with("other bytes", None, Some("k")), true),
        (with("{\"n\": 1}", Some("h2"), None), false),
        (with("{\"n\": 1}", None, Some("k2")), false),
        (with("other bytes", None, None), false),
    ];
    for (outcome, same) in cases {
        let answer = rig.report(&job, outcome.clone()).await;
        assert_eq!(answer.is_ok(), same, "{outcome:?} was answered with {answer:?}");
        assert!(same || answer == Err(Refusal::DifferentResult));
    }
    assert_eq!(rig.report(&job, failed("after all")).await, Err(Refusal::LeaseLost));
    let seen = rig.see("a").await;
    assert_eq!((seen.result.unwrap().get(), seen.result_hash.as_deref()), ("{\"n\": 1}", Some("h")));
    let completions =
        rig.all_events().await.into_iter().filter(|event| event.kind == EventKind::JobCompleted);
    assert_eq!(completions.count(), 1);
}

pub(super) async fn a_late_result_is_good_while_its_lease_is_the_last(rig: Rig) {
    let job = rig.add_and_run(NewJob { max_attempts: 1, ..new_job("a") }, "w").await;
    rig.clock.pass(LEASE_MS);
    rig.reap().await;
    assert_eq!(rig.status("a").await, Quarantined);
    assert_eq!(rig.see("a").await.worker_id, None);
    assert_eq!(rig.report(&job, completed("1")).await.unwrap().status, Completed);
    assert_eq!(rig.see("a").await.fail_reason, None);
}

pub(super) async fn a_lease_is_checked_without_changing_it(rig: Rig) {
    let job = rig.add_and_take(new_job("a"), "w").await;
    let check = || Command::CheckLease { job: job.id.clone(), holder: holder(&job) };
    assert_eq!(rig.done(check()).await, Reply::Alive { cancel: false, attempt: 1 });
    assert_eq!(rig.status("a").await, Assigned);
    rig.done(Command::Release { job: job.id.clone(), holder: holder(&job) }).await;
    assert_eq!(rig.refused(check()).await, Refusal::LeaseLost);
}

pub(super) async fn progress_is_kept_and_told_once_a_second(rig: Rig) {
    let job = rig.add_and_run(new_job("a"), "w").await;
    for (percent, pass_ms) in [(10.0, 0), (20.0, 999), (30.5, 1)] {
        rig.clock.pass(pass_ms);
        let progress = Progress { percent: Some(percent), message: Some(format!("{percent}")), at: 0 };
        rig.done(Command::Progress { job: job.id.clone(), holder: holder(&job), progress }).await;
    }
    let kept = Progress { percent: Some(30.5), message: Some("30.5".to_owned()), at: rig.now() };
    assert_eq!(rig.see("a").await.progress, Some(kept));
    let told = rig.all_events().await.into_iter().filter(|event| event.kind == EventKind::JobProgress);
    let told: Vec<_> = told.map(|event| event.progress.unwrap().percent.unwrap()).collect();
    assert_eq!(told, [10.0, 30.5]);
}

pub(super) async fn give_backs_come_to_an_end(rig: Rig) {
    rig.add(vec![NewJob { max_attempts: 2, ..new_job("a") }]).await;
    for _ in 0..GIVE_BACKS_MAX + 2 {
        let job = rig.take_one("w").await;
        rig.done(Command::Release { job: job.id.clone(), holder: holder(&job) }).await;
    }
    let job = rig.see("a").await;
    assert_eq!((job.status, job.fail_reason.as_deref()), (Quarantined, Some("give_back_limit")));
    assert_eq!(job.attempt, GIVE_BACKS_MAX + 2);
}

pub(super) async fn attempts_tell_how_each_one_ended(rig: Rig) {
    rig.add(vec![NewJob { max_attempts: 9, backoff: Some(fixed(0)), ..new_job("a") }]).await;
    rig.clock.pass(70);
    let first = rig.take_one("w1").await;
    rig.clock.pass(20);
    rig.done(beat(&first)).await;
    rig.clock.pass(10);
    let failure = forge_engine::command::FailureReport {
        error_class: Some("Boom".to_owned()),
        backtrace: Some("at line 1".to_owned()),
        usage: Some("{\"cpu_ms\":5}".to_owned()),
        ..failure("broke")
    };
    rig.report(&first, Outcome::Failed(failure)).await.unwrap();
    let second = rig.take_one("w2").await;
    rig.done(Command::Release { job: second.id.clone(), holder: holder(&second) }).await;
    rig.take_one("w3").await;
    rig.clock.pass(LEASE_MS);
    rig.reap().await;
    let last = rig.take_one("w4").await;
    let outcomes = |attempts: Vec<forge_shared::job::Attempt>| -> Vec<(u32, String, String)> {
        let row = |attempt: forge_shared::job::Attempt| {
            (attempt.attempt, attempt.worker_id.unwrap().to_string(), attempt.outcome)
        };
        attempts.into_iter().map(row).collect()
    };
    let row = |n: u32, worker: &str, outcome: &str| (n, worker.to_owned(), outcome.to_owned());
    let ended = [row(1, "w1", "failed"), row(2, "w2", "released"), row(3, "w3", "expired")];
    let attempts = rig.attempts(&job_id("a")).await.unwrap().unwrap();
    assert_eq!(attempts[0].usage.as_ref().unwrap().get(), "{\"cpu_ms\":5}");
    assert_eq!(attempts[0].backtrace.as_deref(), Some("at line 1"));
    let times = |n: usize| {
        let attempt = &attempts[n];
        [attempt.due_at, attempt.claimed_at, attempt.started_at, attempt.ended_at]
            .map(|at| at.map(|at| at - START))
    };
    assert_eq!(times(0), [Some(0), Some(70), Some(90), Some(100)]);
    assert_eq!(times(1), [Some(100), Some(100), None, Some(100)]);
    assert_eq!(times(3), [Some(100), Some(100 + LEASE_MS), None, None]);
    assert_eq!(outcomes(attempts), [&ended[..], &[row(4, "w4", "assigned")]].concat());
    rig.report(&last, completed("1")).await.unwrap();
    let attempts = rig.attempts(&job_id("a")).await.unwrap().unwrap();
    assert_eq!(outcomes(attempts), [&ended[..], &[row(4, "w4", "completed")]].concat());
    // A release is no failure.
    let failures = rig.see("a").await.fail_history;
    assert_eq!(failures.iter().map(|failure| failure.attempt).collect::<Vec<_>>(), [1, 3]);
    assert_eq!((failures[0].reason.as_str(), failures[1].kind), ("broke", FailureKind::Expired));
}

pub(super) async fn an_audit_note_is_kept_unless_the_command_is_refused(rig: Rig) {
    rig.add_ids(&["a"]).await;
    let note = |action: &str| {
        let (action, target) = (action.to_owned(), "a".to_owned());
        Some(AuditEntry { ts: START, actor: "admin".to_owned(), action, target, detail: None })
    };
    let act = |action| Command::Act { jobs: vec![job_id("a")], action };
    rig.submit(act(Action::Retry), note("refused")).await.unwrap().unwrap();
    rig.submit(Command::Forget(worker_id("nobody")), note("refused too")).await.unwrap().unwrap_err();
    rig.submit(act(Action::Kill), note("kill")).await.unwrap().unwrap();
    let log = rig.audit_log(None, 10).await.unwrap();
    assert_eq!(log.iter().map(|(_, entry)| entry.action.as_str()).collect::<Vec<_>>(), ["kill"]);
}
