//! Results and failures, and everything else a worker says about one job.

use crate::fake::{Hub, act, completed, enqueue, failed};
use forge_engine::{
    Command, Refusal, Reply,
    command::{Action, Completion, Holder, JobState, Outcome, Report},
};
use forge_shared::{JobId, LeaseId, Phase, Status, WorkerId, event::EventKind, job::Progress};

fn reported(answer: Result<Reply, Refusal>) -> Vec<Result<Status, Refusal>> {
    match answer {
        Ok(Reply::Reported(states)) => {
            states.into_iter().map(|state| state.map(|state| state.status)).collect()
        }
        other => panic!("not the answer to reports: {other:?}"),
    }
}

fn with_key(report: Report, key: &str, hash: Option<&str>) -> Report {
    let Outcome::Completed(completion) = report.outcome else { panic!("only results have keys") };
    let completion = Completion { key: Some(key.into()), hash: hash.map(Into::into), ..completion };
    Report { outcome: Outcome::Completed(completion), ..report }
}

#[test]
fn reports_in_one_call_are_decided_each_on_its_own() {
    let mut hub = Hub::new();
    hub.hand_out("w", &["a", "b", "c", "d"]);
    let stranger = Holder { worker: WorkerId::trusted("x"), lease: None };
    let reports = vec![
        completed("a", hub.holder("a"), "1"),
        completed("none", hub.holder("a"), "1"),
        failed("b", hub.holder("b"), false),
        completed("c", stranger, "1"),
        failed("d", hub.holder("d"), true),
        completed("a", hub.holder("a"), "1"),
        completed("a", hub.holder("a"), "2"),
    ];
    assert_eq!(
        reported(hub.one(Command::Report(reports))),
        [
            Ok(Status::Completed),
            Err(Refusal::UnknownJob),
            Ok(Status::Pending),
            Err(Refusal::LeaseLost),
            Ok(Status::Quarantined),
            Ok(Status::Completed),
            Err(Refusal::DifferentResult),
        ]
    );
    let ended = |kind| hub.events.iter().filter(|event| event.kind == kind).count();
    assert_eq!(ended(EventKind::JobCompleted), 1);
    assert_eq!(ended(EventKind::JobFailed), 2);
    assert_eq!(hub.entries.len(), 2);
}

#[test]
fn a_result_is_recorded_once_and_compared_also_after_a_restart() {
    let mut hub = Hub::new();
    hub.hand_out("w", &["a"]);
    let holder = hub.holder("a");
    let mut check = |result: &str, key: &str, hash: Option<&str>, expected: Result<Status, Refusal>| {
        let report = with_key(completed("a", holder.clone(), result), key, hash);
        assert_eq!(reported(hub.one(Command::Report(vec![report]))), [expected], "{result} {key} {hash:?}");
        hub.restart_planner();
    };
    check("1", "k", Some("h"), Ok(Status::Completed));
    check("1", "k", Some("h"), Ok(Status::Completed));
    check("2", "k", None, Ok(Status::Completed));
    check("1", "k", Some("g"), Err(Refusal::DifferentResult));
    check("1", "other", Some("h"), Err(Refusal::DifferentResult));
    let events = hub.events.iter().filter(|event| event.kind == EventKind::JobCompleted).count();
    assert_eq!(events, 1);
}

#[test]
fn a_superseded_lease_cannot_finish_what_another_worker_has_now() {
    let mut hub = Hub::new();
    hub.hand_out("w1", &["a"]);
    let old = hub.holder("a");
    hub.wait(60_000);
    hub.one(Command::Reap { jobs: vec![1], workers: vec![] }).unwrap();
    assert_eq!(hub.job("a").status, Status::Pending);
    assert_eq!(hub.take("w2", 1), ["a"]);
    let seeds_shape = Holder { lease: None, ..old.clone() };
    for holder in [old, seeds_shape] {
        let reports = vec![completed("a", holder.clone(), "1"), failed("a", holder.clone(), false)];
        assert_eq!(
            reported(hub.one(Command::Report(reports))),
            [Err(Refusal::LeaseLost), Err(Refusal::LeaseLost)]
        );
        let job = JobId::trusted("a");
        let beat = Command::Heartbeat { job: job.clone(), holder: holder.clone(), phase: Phase::Running };
        assert_eq!(hub.one(beat), Err(Refusal::LeaseLost));
        assert_eq!(hub.one(Command::CheckLease { job, holder }), Err(Refusal::LeaseLost));
    }
    assert_eq!(hub.job("a").worker(), Some(&WorkerId::trusted("w2")));
}

#[test]
fn a_late_result_takes_the_job_out_of_its_lane() {
    let mut hub = Hub::new();
    hub.hand_out("w1", &["a"]);
    hub.wait(60_000);
    hub.one(Command::Reap { jobs: vec![1], workers: vec![] }).unwrap();
    let late = Command::Report(vec![completed("a", hub.holder("a"), "1")]);
    let claim = Command::Claim(hub.claim("w2"));
    let replies = hub.run(vec![late, claim]).replies;
    assert_eq!(reported(replies[0].clone().unwrap()), [Ok(Status::Completed)]);
    assert_eq!(replies[1], Some(Ok(Reply::Claimed(vec![]))));
}

#[test]
fn a_heartbeat_says_when_the_hub_wants_the_job_stopped() {
    let mut hub = Hub::new();
    hub.hand_out("w", &["a"]);
    let beat = |hub: &Hub| Command::Heartbeat {
        job: JobId::trusted("a"),
        holder: hub.holder("a"),
        phase: Phase::Running,
    };
    let command = beat(&hub);
    assert_eq!(hub.one(command), Ok(Reply::Alive { cancel: false, attempt: 1 }));
    let cancelled = hub.one(act("a", Action::Cancel { even_running: true }));
    let state =
        JobState { id: JobId::trusted("a"), status: Status::Running, next_retry_at: None, cancelling: true };
    assert_eq!(cancelled, Ok(Reply::Acted(vec![Ok(state)])));
    let command = beat(&hub);
    assert_eq!(hub.one(command), Ok(Reply::Alive { cancel: true, attempt: 1 }));
}

#[test]
fn actions_on_several_jobs_are_decided_each_on_its_own() {
    let mut hub = Hub::new();
    hub.run(vec![enqueue(&["a", "b"])]);
    let jobs = ["a", "none", "b", "a"].map(JobId::trusted).into();
    let Ok(Reply::Acted(states)) = hub.one(Command::Act { jobs, action: Action::Kill }) else { panic!() };
    let statuses: Vec<_> = states.iter().map(|state| state.as_ref().map(|state| state.status).ok()).collect();
    assert_eq!(statuses, [Some(Status::Quarantined), None, Some(Status::Quarantined), None]);
}

#[test]
fn a_snoozed_job_comes_back_at_its_time_and_a_released_one_in_its_place() {
    let mut hub = Hub::new();
    hub.run(vec![enqueue(&["a", "b", "c"])]);
    assert_eq!(hub.take("w", 2), ["a", "b"]);
    let snooze = Command::Snooze { job: JobId::trusted("a"), holder: hub.holder("a"), delay_ms: 500 };
    let release = Command::Release { job: JobId::trusted("b"), holder: hub.holder("b") };
    hub.run(vec![snooze, release]);
    assert_eq!(hub.take("w", 5), ["b", "c"]);
    hub.wait(500);
    assert_eq!(hub.take("w", 5), ["a"]);
    assert_eq!((hub.job("a").attempt, hub.job("a").attempts), (2, 1));
}

#[test]
fn progress_is_kept_every_time_and_announced_at_most_once_a_second() {
    let mut hub = Hub::new();
    hub.hand_out("w", &["a"]);
    for percent in [1.0, 2.0] {
        let progress = Progress { percent: Some(percent), message: None, at: 0 };
        hub.one(Command::Progress { job: JobId::trusted("a"), holder: hub.holder("a"), progress }).unwrap();
        hub.wait(10);
    }
    let told: Vec<_> = hub.events.iter().filter_map(|event| event.progress.as_ref()?.percent).collect();
    assert_eq!(told, [1.0]);
    let holder = Holder { lease: Some(LeaseId::trusted("1-9-ff")), ..hub.holder("a") };
    let progress = Progress { percent: None, message: None, at: 0 };
    let wrong = Command::Progress { job: JobId::trusted("a"), holder, progress };
    assert_eq!(hub.one(wrong), Err(Refusal::LeaseLost));
}
