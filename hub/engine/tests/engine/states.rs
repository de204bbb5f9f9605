//! Every state a job can be in, reached the way a real one gets there, and every input.

use forge_engine::{
    command::{Completion, FailureReport, Holder, Refusal},
    job::{Job, Lease, LeaseState},
    lifecycle::{self, Circumstances, Effect, GIVE_BACKS_MAX, Input, OnTimeout, Policy},
    plan::Now,
};
use forge_shared::{
    Backoff, BackoffKind, FailureKind, Jitter, JobId, JobType, LeaseId, Phase, QueueName, Status, WorkerId,
};

/// The moment at which inputs arrive; states were reached before it.
pub(crate) const WALL: i64 = 1_800_000_000_000;
const MONO: i64 = 10_000_000_000;
const HUB_STARTED: i64 = 0;
/// Far enough for anything that only time brings about.
const HOURS: i64 = 3 * 3_600_000;
pub(crate) const RETRY_IN_MS: i64 = 5_000;
pub(crate) const SNOOZE_MS: i64 = 7_000;

pub(crate) type Decided = Result<Effect, Refusal>;

pub(crate) fn plain_backoff() -> Backoff {
    Backoff { kind: BackoffKind::Fixed, first_ms: 4_000, factor: 2.0, max_ms: 60_000, jitter: Jitter::None }
}

/// Decides an input that arrives `after_ms` after the moment (before it when negative).
pub(crate) fn decide(job: &mut Job, input: Input<'_>, after_ms: i64) -> Decided {
    decide_under(&Policy { backoff: plain_backoff(), ..Policy::default() }, job, input, after_ms)
}

pub(crate) fn decide_under(policy: &Policy, job: &mut Job, input: Input<'_>, after_ms: i64) -> Decided {
    let now = Now { wall_ms: WALL + after_ms, mono_ms: MONO + after_ms };
    lifecycle::decide(job, input, &Circumstances { now, started_ms: HUB_STARTED, policy, random: 0 })
}

pub(crate) fn new_job(max_attempts: u32) -> Job {
    Job {
        seq: 1,
        id: JobId::trusted("job"),
        kind: JobType::trusted("render"),
        queue: QueueName::default_queue(),
        priority: 0,
        status: Status::Pending,
        created_at: WALL - 2 * HOURS,
        run_at: WALL - 2 * HOURS,
        expires_at: None,
        claimed_at: None,
        started_at: None,
        heartbeat_at: None,
        finished_at: None,
        attempt: 0,
        attempts: 0,
        max_attempts,
        max_runtime_ms: Some(300_000),
        backoff: None,
        given_back: 0,
        silent_expiries: 0,
        cancel_requested: false,
        fail_reason: None,
        history_len: 0,
        progress_at: None,
        lease: None,
    }
}

pub(crate) fn lease(attempt: u32, after_ms: i64) -> Lease {
    Lease {
        id: LeaseId::trusted(format!("1-{attempt:x}-aa")),
        worker: WorkerId::trusted("w1"),
        boot: None,
        claim_id: None,
        state: LeaseState::Live,
        granted_ms: MONO + after_ms,
        until_ms: MONO + after_ms + Policy::default().lease_ms,
        started_ms: None,
    }
}

/// Who the caller says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Holder,
    /// Names itself but no lease.
    WorkerOnly,
    OldLease,
    OtherWorker,
}

pub(crate) fn caller(job: &Job, who: Who) -> Holder {
    let last = job.lease.as_ref().map_or_else(|| LeaseId::trusted("1-1-aa"), |lease| lease.id.clone());
    let lease = match who {
        Who::Holder | Who::OtherWorker => Some(last),
        Who::WorkerOnly => None,
        Who::OldLease => Some(LeaseId::trusted("1-0-bb")),
    };
    let worker = WorkerId::trusted(if who == Who::OtherWorker { "w2" } else { "w1" });
    Holder { worker, lease }
}

pub(crate) fn failure(kind: FailureKind, permanent: bool) -> FailureReport {
    FailureReport {
        reason: "it broke".into(),
        kind,
        permanent,
        retry_in_ms: None,
        error_class: None,
        backtrace: None,
        usage: None,
    }
}

pub(crate) fn completion(result: &str) -> Completion {
    Completion { result: result.into(), hash: None, key: None, usage: None }
}

pub(crate) struct State {
    /// Its column in the table of expectations.
    pub(crate) key: &'static str,
    /// What a person calls it.
    pub(crate) words: &'static str,
    pub(crate) job: fn() -> Job,
}

#[rustfmt::skip]
pub(crate) const STATES: [State; 24] = [
    State { key: "due", words: "due", job: || new_job(3) },
    State { key: "ahead", words: "scheduled for later", job: || Job { run_at: WALL + HOURS, ..new_job(3) } },
    State { key: "lapsed", words: "past its `expires_at`", job: || Job { expires_at: Some(WALL - 1), ..new_job(3) } },
    State { key: "lost", words: "lease ran out while it ran", job: lost },
    State { key: "lost0", words: "lease ran out before it started", job: lost_before_start },
    State { key: "late", words: "lease ran out, failed late", job: || failed(lost(), failure(FailureKind::Error, false)) },
    State { key: "retry", words: "failed, waits for its retry", job: || failed(running(3), failure(FailureKind::Error, false)) },
    State { key: "back", words: "given back", job: || released(running(3)) },
    State { key: "asg", words: "assigned", job: || assigned(3) },
    State { key: "asgmax", words: "assigned, last attempt", job: || assigned(1) },
    State { key: "run", words: "running", job: || running(3) },
    State { key: "runmax", words: "running, last attempt", job: || running(1) },
    State { key: "stop", words: "running, asked to stop", job: stopping },
    State { key: "done", words: "completed", job: completed },
    State { key: "canc", words: "cancelled before it ran", job: || then(assigned(3), Input::Cancel { even_running: false }, -10) },
    State { key: "stopd", words: "cancelled while it ran", job: || failed(stopping(), failure(FailureKind::Cancelled, false)) },
    State { key: "exp", words: "expired", job: || then(Job { expires_at: Some(WALL - 20), ..new_job(3) }, Input::Expire, -10) },
    State { key: "qfail", words: "failed too often", job: || failed(running(1), failure(FailureKind::Error, false)) },
    State { key: "qperm", words: "failed for good", job: || failed(running(3), failure(FailureKind::Error, true)) },
    State { key: "qlost", words: "lost on its last attempt", job: || then(assigned(1), Input::LeaseOver { at_once: true }, -10) },
    State { key: "qcrash", words: "lost 3 times in a row", job: crashed },
    State { key: "qtime", words: "ran too long", job: || then(claimed(new_job(3), -HOURS, true), Input::RuntimeOver, -10) },
    State { key: "qback", words: "given back too often", job: given_back_too_often },
    State { key: "kill", words: "killed", job: || then(new_job(3), Input::Kill, -10) },
];

fn then(mut job: Job, input: Input<'_>, after_ms: i64) -> Job {
    decide(&mut job, input, after_ms).unwrap();
    job
}

fn claimed(job: Job, after_ms: i64, starts: bool) -> Job {
    let lease = lease(job.attempt + 1, after_ms);
    let job = then(job, Input::Claim(lease), after_ms);
    if !starts {
        return job;
    }
    let holder = caller(&job, Who::Holder);
    then(job, Input::Heartbeat { holder: &holder, phase: Phase::Running }, after_ms)
}

fn assigned(max_attempts: u32) -> Job {
    claimed(new_job(max_attempts), -1_000, false)
}

fn running(max_attempts: u32) -> Job {
    claimed(new_job(max_attempts), -1_000, true)
}

fn stopping() -> Job {
    then(running(3), Input::Cancel { even_running: true }, -500)
}

fn lost() -> Job {
    then(claimed(new_job(3), -100_000, true), Input::LeaseOver { at_once: false }, -30_000)
}

fn lost_before_start() -> Job {
    then(claimed(new_job(3), -100_000, false), Input::LeaseOver { at_once: false }, -30_000)
}

fn failed(job: Job, failure: FailureReport) -> Job {
    let holder = caller(&job, Who::Holder);
    then(job, Input::Fail { holder: &holder, failure: &failure }, -10)
}

fn released(job: Job) -> Job {
    let holder = caller(&job, Who::Holder);
    then(job, Input::Release { holder: Some(&holder) }, -10)
}

fn completed() -> Job {
    let job = running(3);
    let holder = caller(&job, Who::Holder);
    then(job, Input::Complete { holder: &holder, completion: &completion("1"), stored: None }, -10)
}

fn crashed() -> Job {
    (0..3).fold(new_job(10), |job, n| {
        then(claimed(job, -900_000 + n * 100_000, false), Input::LeaseOver { at_once: true }, -10)
    })
}

fn given_back_too_often() -> Job {
    (0..=GIVE_BACKS_MAX).fold(new_job(1), |job, _| released(claimed(job, -1_000, false)))
}

pub(crate) struct Ask {
    /// Its row in the table of expectations.
    pub(crate) key: &'static str,
    pub(crate) words: &'static str,
    /// Whether the caller must hold the lease.
    pub(crate) held: bool,
    pub(crate) run: fn(&mut Job, &Holder) -> Decided,
}

fn retry_policy() -> Policy {
    Policy { on_timeout: OnTimeout::Retry, backoff: plain_backoff(), ..Policy::default() }
}

fn report(job: &mut Job, holder: &Holder, result: &str) -> Decided {
    let stored = (job.status == Status::Completed).then(|| completion("1"));
    decide(job, Input::Complete { holder, completion: &completion(result), stored: stored.as_ref() }, 0)
}

fn fail(job: &mut Job, holder: &Holder, failure: &FailureReport) -> Decided {
    decide(job, Input::Fail { holder, failure }, 0)
}

fn beat(job: &mut Job, holder: &Holder, phase: Phase) -> Decided {
    decide(job, Input::Heartbeat { holder, phase }, 0)
}

#[rustfmt::skip]
pub(crate) const ASKS: [Ask; 34] = [
    Ask { key: "claim", words: "claim", held: false, run: |j, _| { let l = lease(j.attempt + 1, 0); decide(j, Input::Claim(l), 0) } },
    Ask { key: "beat", words: "heartbeat", held: true, run: |j, h| beat(j, h, Phase::Running) },
    Ask { key: "beat_preparing", words: "heartbeat, `phase: preparing`", held: true, run: |j, h| beat(j, h, Phase::Preparing) },
    Ask { key: "beat_reporting", words: "heartbeat, `phase: reporting`", held: true, run: |j, h| beat(j, h, Phase::Reporting) },
    Ask { key: "result", words: "result", held: true, run: |j, h| report(j, h, "1") },
    Ask { key: "other_result", words: "a different result", held: true, run: |j, h| report(j, h, "2") },
    Ask { key: "fail", words: "fail", held: true, run: |j, h| fail(j, h, &failure(FailureKind::Error, false)) },
    Ask { key: "fail_in", words: "fail with `retry_in_ms`", held: true, run: |j, h| fail(j, h, &FailureReport { retry_in_ms: Some(RETRY_IN_MS), ..failure(FailureKind::Error, false) }) },
    Ask { key: "fail_permanent", words: "fail, `permanent`", held: true, run: |j, h| fail(j, h, &failure(FailureKind::Error, true)) },
    Ask { key: "fail_timeout", words: "fail, `kind: timeout`", held: true, run: |j, h| fail(j, h, &failure(FailureKind::Timeout, false)) },
    Ask { key: "fail_timeout_retry", words: "fail, `kind: timeout`, on a queue with `on_timeout: retry`", held: true, run: |j, holder| decide_under(&retry_policy(), j, Input::Fail { holder, failure: &failure(FailureKind::Timeout, false) }, 0) },
    Ask { key: "release", words: "release", held: true, run: |j, h| decide(j, Input::Release { holder: Some(h) }, 0) },
    Ask { key: "snooze", words: "snooze", held: true, run: |j, holder| decide(j, Input::Snooze { holder, delay_ms: SNOOZE_MS }, 0) },
    Ask { key: "hub_release", words: "given back by the hub: its worker no longer lists it", held: false, run: |j, _| decide(j, Input::Release { holder: None }, 0) },
    Ask { key: "progress", words: "progress", held: true, run: |j, holder| decide(j, Input::Progress { holder }, 0) },
    Ask { key: "lease_not_over", words: "lease checked before it is over", held: false, run: |j, _| decide(j, Input::LeaseOver { at_once: false }, 0) },
    Ask { key: "lease_over", words: "lease over: a lease time without a heartbeat", held: false, run: |j, _| decide(j, Input::LeaseOver { at_once: false }, HOURS) },
    Ask { key: "lease_over_now", words: "lease over: its worker restarted without it", held: false, run: |j, _| decide(j, Input::LeaseOver { at_once: true }, 0) },
    Ask { key: "runtime_not_over", words: "runtime checked before it is over", held: false, run: |j, _| decide(j, Input::RuntimeOver, 0) },
    Ask { key: "runtime_over", words: "runtime over", held: false, run: |j, _| decide(j, Input::RuntimeOver, HOURS) },
    Ask { key: "runtime_over_retry", words: "runtime over, on a queue with `on_timeout: retry`", held: false, run: |j, _| decide_under(&retry_policy(), j, Input::RuntimeOver, HOURS) },
    Ask { key: "prepare_not_over", words: "preparation checked before it is over", held: false, run: |j, _| decide(j, Input::PrepareOver, 0) },
    Ask { key: "prepare_over", words: "preparation over: 30 minutes without a start", held: false, run: |j, _| decide(j, Input::PrepareOver, HOURS) },
    Ask { key: "expire", words: "expire", held: false, run: |j, _| decide(j, Input::Expire, 0) },
    Ask { key: "delete_call", words: "cancel with `DELETE`", held: false, run: |j, _| decide(j, Input::Cancel { even_running: false }, 0) },
    Ask { key: "cancel", words: "cancel with `POST`", held: false, run: |j, _| decide(j, Input::Cancel { even_running: true }, 0) },
    Ask { key: "retry", words: "retry (a person)", held: false, run: |j, _| decide(j, Input::Retry, 0) },
    Ask { key: "run_now", words: "run now (a person)", held: false, run: |j, _| decide(j, Input::RunNow, 0) },
    Ask { key: "kill", words: "kill (a person)", held: false, run: |j, _| decide(j, Input::Kill, 0) },
    Ask { key: "patch", words: "change priority, time or queue", held: false, run: |j, _| decide(j, Input::Patch { priority: Some(9), run_at: None, queue: None }, 0) },
    Ask { key: "patch_queue", words: "move to another queue", held: false, run: |j, _| decide(j, Input::Patch { priority: None, run_at: Some(WALL + 1), queue: Some(&QueueName::trusted("other")) }, 0) },
    Ask { key: "replace", words: "replace: another job takes its id", held: false, run: |j, _| decide(j, Input::Replace, 0) },
    Ask { key: "remove", words: "remove", held: false, run: |j, _| decide(j, Input::Delete, 0) },
    Ask { key: "resume", words: "the hub has just started", held: false, run: |j, _| decide(j, Input::Resume, 0) },
];

pub(crate) fn state(key: &str) -> Job {
    (STATES.iter().find(|state| state.key == key).unwrap_or_else(|| panic!("no state '{key}'")).job)()
}

pub(crate) fn ask(key: &str) -> &'static Ask {
    static ALL: &[Ask] = &ASKS;
    ALL.iter().find(|ask| ask.key == key).unwrap_or_else(|| panic!("no input '{key}'"))
}
