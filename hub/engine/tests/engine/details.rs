//! What a transition brings with it: counters, due times, reasons, history and events.

use crate::states::{
    RETRY_IN_MS, SNOOZE_MS, WALL, Who, ask, caller, decide, decide_under, lease, new_job, plain_backoff,
    state,
};
use forge_engine::{
    command::Completion,
    job::Job,
    lifecycle::{Input, Policy},
};
use forge_shared::{Phase, Status, event::EventKind, event::EventKind::*};

/// What followed: attempts spent, due time relative to the moment when it changed, the reason,
/// the outcome in the history, the events.
type Consequences = (u32, Option<i64>, Option<&'static str>, Option<&'static str>, Vec<EventKind>);

fn check(state_key: &str, ask_key: &str, expected: Consequences) {
    let before = state(state_key);
    let mut job = before.clone();
    let effect = (ask(ask_key).run)(&mut job, &caller(&before, Who::Holder)).unwrap();
    let due = (job.run_at != before.run_at).then(|| job.run_at - WALL);
    let outcome = effect.entry.as_ref().map(|entry| entry.outcome);
    let events: Vec<EventKind> = effect.events.into_iter().flatten().collect();
    let got = (job.attempts, due, job.fail_reason.as_deref(), outcome, events);
    assert_eq!(got, expected, "{ask_key} on {state_key}");
    assert_eq!(job.history_len - before.history_len, u32::from(outcome.is_some()));
    if let Some(entry) = effect.entry {
        assert_eq!((entry.n, entry.attempt), (before.history_len, before.attempt));
    }
}

#[rustfmt::skip]
#[test]
fn every_transition_brings_its_counters_due_time_reason_history_and_events() {
    let broke = Some("it broke");
    let lost = Some("lease_expired");
    let slow = Some("max_runtime_exceeded");
    check("due", "claim", (1, None, None, None, vec![JobAssigned]));
    check("lost", "claim", (2, None, lost, None, vec![JobAssigned]));
    check("asg", "beat_preparing", (1, None, None, None, vec![]));
    check("asg", "beat", (1, None, None, None, vec![JobRunning]));
    check("run", "beat", (1, None, None, None, vec![]));
    check("lost", "beat", (1, None, None, None, vec![JobRunning]));
    check("lost0", "beat_preparing", (1, None, None, None, vec![JobAssigned]));
    check("run", "result", (1, None, None, None, vec![JobCompleted]));
    check("lost", "result", (1, None, None, None, vec![JobCompleted]));
    check("qlost", "result", (1, None, None, None, vec![JobCompleted]));
    check("stop", "result", (1, None, None, None, vec![JobCompleted]));
    check("run", "fail", (1, Some(4_000), broke, Some("failed"), vec![JobFailed]));
    check("run", "fail_in", (1, Some(RETRY_IN_MS), broke, Some("failed"), vec![JobFailed]));
    check("runmax", "fail", (1, None, broke, Some("failed"), vec![JobFailed, JobQuarantined]));
    check("run", "fail_permanent", (1, None, broke, Some("failed"), vec![JobFailed, JobQuarantined]));
    check("run", "fail_timeout", (1, None, slow, Some("timeout"), vec![JobFailed, JobQuarantined]));
    check("run", "fail_timeout_retry", (1, Some(4_000), slow, Some("timeout"), vec![JobFailed]));
    check("stop", "fail", (1, None, Some("cancelled"), Some("cancelled"), vec![JobFailed]));
    check("lost", "fail", (1, None, lost, Some("failed"), vec![JobUpdated]));
    check("run", "release", (0, None, None, Some("released"), vec![JobReleased]));
    check("asg", "hub_release", (0, None, None, Some("released"), vec![JobReleased]));
    check("run", "snooze", (0, Some(SNOOZE_MS), None, Some("snoozed"), vec![JobReleased]));
    check("stop", "release", (1, None, Some("cancelled"), Some("released"), vec![JobFailed]));
    check("run", "lease_over_now", (1, None, lost, Some("expired"), vec![JobFailed]));
    check("runmax", "lease_over_now", (1, None, lost, Some("expired"), vec![JobFailed, JobQuarantined]));
    check("stop", "lease_over_now", (1, None, Some("cancelled"), Some("expired"), vec![JobFailed]));
    check("stop", "runtime_over", (1, None, Some("cancelled"), Some("timeout"), vec![JobFailed]));
    check("run", "runtime_over", (1, None, slow, Some("timeout"), vec![JobFailed, JobQuarantined]));
    check("asgmax", "prepare_over", (1, None, Some("prepare_timeout"), Some("timeout"), vec![JobFailed, JobQuarantined]));
    check("due", "cancel", (0, None, Some("cancelled"), None, vec![JobFailed]));
    check("asg", "cancel", (1, None, Some("cancelled"), Some("cancelled"), vec![JobFailed]));
    check("run", "cancel", (1, None, None, None, vec![JobCancelling]));
    check("qfail", "retry", (0, Some(0), None, None, vec![JobUpdated]));
    check("ahead", "run_now", (0, Some(0), None, None, vec![JobUpdated]));
    check("lost", "kill", (1, None, Some("killed"), None, vec![JobQuarantined]));
    check("lapsed", "expire", (0, None, Some("expired"), None, vec![JobFailed]));
    check("done", "replace", (1, None, None, None, vec![JobDeleted]));
    check("done", "remove", (1, None, None, None, vec![JobDeleted]));
    check("run", "progress", (1, None, None, None, vec![JobProgress]));
    check("run", "resume", (1, None, None, None, vec![]));
    assert_eq!(state("qcrash").fail_reason.as_deref(), Some("crash_limit"));
    assert_eq!(state("qback").fail_reason.as_deref(), Some("give_back_limit"));
}

#[test]
fn a_claim_sets_its_times_and_forgets_those_of_the_attempt_before() {
    let mut job = state("lost");
    decide(&mut job, Input::Claim(lease(2, 0)), 0).unwrap();
    assert_eq!((job.claimed_at, job.heartbeat_at, job.started_at), (Some(WALL), Some(WALL), None));
    let holder = caller(&job, Who::Holder);
    decide(&mut job, Input::Heartbeat { holder: &holder, phase: Phase::Running }, 5).unwrap();
    decide(&mut job, Input::Heartbeat { holder: &holder, phase: Phase::Running }, 9).unwrap();
    assert_eq!((job.started_at, job.heartbeat_at), (Some(WALL + 5), Some(WALL + 9)));
}

#[test]
fn a_retry_clears_an_expiry_date_only_when_it_has_passed() {
    let mut job = Job { expires_at: Some(WALL + 1_000), ..state("qfail") };
    decide(&mut job, Input::Retry, 0).unwrap();
    assert_eq!(job.expires_at, Some(WALL + 1_000));
    let mut job = state("exp");
    decide(&mut job, Input::Retry, 0).unwrap();
    assert_eq!((job.expires_at, job.finished_at, job.history_len), (None, None, 0));
}

#[test]
fn each_heartbeat_gives_a_full_lease_time() {
    let mut job = state("run");
    let holder = caller(&job, Who::Holder);
    decide(&mut job, Input::Heartbeat { holder: &holder, phase: Phase::Running }, 50_000).unwrap();
    for (after_ms, over) in [(109_999, false), (110_000, true)] {
        let effect = decide(&mut job, Input::LeaseOver { at_once: false }, after_ms).unwrap();
        assert_eq!(effect.changed, over, "{after_ms} ms");
    }
}

#[test]
fn the_hub_allows_a_quarter_or_half_a_minute_more_than_the_runtime() {
    // Started a second before the moment.
    for (limit, allowed) in [(Some(10_000), 40_000), (Some(1_000_000), 1_250_000), (None, i64::MAX)] {
        let mut job = Job { max_runtime_ms: limit, ..state("run") };
        let quiet = decide(&mut job, Input::RuntimeOver, allowed.min(9_000_000_000) - 1_000).unwrap();
        assert!(!quiet.changed, "{limit:?}");
        if limit.is_some() {
            assert!(decide(&mut job, Input::RuntimeOver, allowed - 999).unwrap().changed, "{limit:?}");
        }
    }
}

#[test]
fn a_hub_that_has_just_started_extends_leases_and_stops_nothing_that_ran_while_it_was_away() {
    let away_ms = 86_400_000;
    let mut job = state("run");
    decide(&mut job, Input::Resume, away_ms).unwrap();
    for input in [Input::LeaseOver { at_once: false }, Input::RuntimeOver, Input::PrepareOver] {
        assert!(!decide(&mut job, input, away_ms + 59_000).unwrap().changed);
    }
    assert!(decide(&mut job, Input::LeaseOver { at_once: false }, away_ms + 60_000).unwrap().changed);
}

#[test]
fn progress_is_announced_at_most_once_a_second() {
    let mut job = state("run");
    let holder = caller(&job, Who::Holder);
    let announced: Vec<bool> = [0, 1, 999, 1_000, 1_500, 2_000]
        .map(|at| decide(&mut job, Input::Progress { holder: &holder }, at).unwrap().changed)
        .into();
    assert_eq!(announced, [true, false, false, true, false, true]);
}

#[test]
fn a_jobs_own_backoff_goes_before_its_queues() {
    let own = forge_shared::Backoff { first_ms: 77, ..plain_backoff() };
    let mut job = Job { backoff: Some(own), ..state("run") };
    (ask("fail").run)(&mut job, &caller(&state("run"), Who::Holder)).unwrap();
    assert_eq!(job.run_at, WALL + 77);
    assert_eq!(job.next_retry_at(), Some(WALL + 77));
}

/// Reports `first`, then `second`, and tells whether the second counts as the same.
fn check_same(first: [Option<&str>; 3], second: [Option<&str>; 3], same: bool) {
    let completion = |[result, hash, key]: [Option<&str>; 3]| Completion {
        result: result.unwrap_or("null").into(),
        hash: hash.map(Into::into),
        key: key.map(Into::into),
        usage: None,
    };
    let mut job = state("run");
    let holder = caller(&job, Who::Holder);
    let (first, second) = (completion(first), completion(second));
    let input = Input::Complete { holder: &holder, completion: &first, stored: None };
    assert!(decide(&mut job, input, 0).unwrap().completed);
    let input = Input::Complete { holder: &holder, completion: &second, stored: Some(&first) };
    let again = decide(&mut job, input, 1);
    assert_eq!(again.is_ok_and(|effect| !effect.changed), same, "{first:?} then {second:?}");
}

#[test]
fn the_same_result_is_told_by_key_then_hash_then_bytes() {
    let (a, b) = (Some("a"), Some("b"));
    // [bytes, hash, key]
    check_same([a, None, None], [a, None, None], true);
    check_same([a, None, None], [b, None, None], false);
    check_same([a, a, None], [b, a, None], true);
    check_same([a, a, None], [a, b, None], false);
    check_same([a, a, None], [a, None, None], true);
    check_same([a, a, None], [b, None, None], false);
    check_same([a, None, a], [b, None, a], true);
    check_same([a, None, a], [a, None, b], false);
    check_same([a, a, a], [a, a, b], false);
    check_same([a, a, a], [a, b, a], false);
    check_same([a, a, a], [b, None, a], true);
    check_same([a, a, a], [a, a, None], true);
    check_same([a, None, None], [a, None, b], true);
}

#[test]
fn a_hub_judges_no_runtime_within_a_lease_time_of_its_start() {
    let policy = Policy { lease_ms: i64::MAX / 4, ..Policy::default() };
    let mut job = state("run");
    assert!(!decide_under(&policy, &mut job, Input::RuntimeOver, 9_000_000).unwrap().changed);
    assert!(decide(&mut job, Input::RuntimeOver, 9_000_000).unwrap().changed);
}

#[test]
fn a_lease_that_ran_out_names_no_worker() {
    for key in ["lost", "lost0", "qlost", "qcrash", "back", "retry", "canc"] {
        assert_eq!(state(key).worker(), None, "{key}");
    }
    for key in ["asg", "run", "done", "qfail"] {
        assert_eq!(state(key).worker().map(|worker| worker.as_str()), Some("w1"), "{key}");
    }
    assert_eq!(new_job(1).status, Status::Pending);
}
