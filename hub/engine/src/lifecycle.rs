//! THE state machine: what each input does to a job in each state.
//!
//! A job's state is its `status` and the state of its last lease. [`decide`] either changes the
//! job and says what follows from it ([`Effect`]), or refuses and leaves it as it was. Nothing
//! else in the program chooses a job's next state.

use crate::{
    command::{Completion, FailureReport, Holder, Refusal},
    job::{Entry, Job, Lease, LeaseState},
    retry,
};
use alloc::{borrow::ToOwned, string::String};
use forge_shared::{FailureKind, Phase, QueueName, Status, event::EventKind};

pub use crate::policy::{Circumstances, OnTimeout, Policy};

/// How often in its life a job's budget may be given back.
pub const GIVE_BACKS_MAX: u32 = 100;
/// What the hub waits at least beyond `max_runtime_ms` before it acts itself.
pub const RUNTIME_GRACE_MS: i64 = 30_000;
/// Progress is announced at most this often.
const PROGRESS_EVERY_MS: i64 = 1_000;

pub const CANCELLED: &str = "cancelled";
pub const EXPIRED: &str = "expired";
pub const KILLED: &str = "killed";
pub const LEASE_EXPIRED: &str = "lease_expired";
pub const CRASH_LIMIT: &str = "crash_limit";
pub const GIVE_BACK_LIMIT: &str = "give_back_limit";
pub const RUNTIME_EXCEEDED: &str = "max_runtime_exceeded";
pub const PREPARE_TIMEOUT: &str = "prepare_timeout";

#[derive(Debug, Clone)]
pub enum Input<'a> {
    Claim(Lease),
    Heartbeat {
        holder: &'a Holder,
        phase: Phase,
    },
    /// `stored` is the completion the job already has, if it has one.
    Complete {
        holder: &'a Holder,
        completion: &'a Completion,
        stored: Option<&'a Completion>,
    },
    Fail {
        holder: &'a Holder,
        failure: &'a FailureReport,
    },
    /// `holder` is `None` when the hub itself gives the lease back.
    Release {
        holder: Option<&'a Holder>,
    },
    Snooze {
        holder: &'a Holder,
        delay_ms: i64,
    },
    Progress {
        holder: &'a Holder,
    },
    /// `at_once`: the worker said that it no longer has it.
    LeaseOver {
        at_once: bool,
    },
    RuntimeOver,
    PrepareOver,
    Expire,
    Cancel {
        even_running: bool,
    },
    Retry,
    RunNow,
    Kill,
    Patch {
        priority: Option<i16>,
        run_at: Option<i64>,
        queue: Option<&'a QueueName>,
    },
    Delete,
    /// Another job is about to take its id.
    Replace,
    /// The hub has just started.
    Resume,
}

/// What follows from a decision, beside the changed job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effect {
    /// The job must be saved.
    pub changed: bool,
    pub events: [Option<EventKind>; 2],
    pub entry: Option<Entry>,
    /// The completion that came with the input is now the job's.
    pub completed: bool,
    /// The job is to be removed.
    pub deleted: bool,
}

impl Effect {
    const NOTHING: Self =
        Self { changed: false, events: [None, None], entry: None, completed: false, deleted: false };

    fn quietly() -> Self {
        Self { changed: true, ..Self::NOTHING }
    }

    fn event(kind: EventKind) -> Self {
        Self { changed: true, events: [Some(kind), None], ..Self::NOTHING }
    }

    fn with(mut self, entry: Entry) -> Self {
        self.entry = Some(entry);
        self
    }
}

/// Decides one input on one job. On `Err` the job is untouched.
pub fn decide(job: &mut Job, input: Input<'_>, at: &Circumstances<'_>) -> Result<Effect, Refusal> {
    match input {
        Input::Claim(lease) => claim(job, lease, at),
        Input::Heartbeat { holder, phase } => heartbeat(job, holder, phase, at),
        Input::Complete { holder, completion, stored } => complete(job, holder, completion, stored, at),
        Input::Fail { holder, failure } => fail(job, holder, failure, at),
        Input::Release { holder } => give_back(job, holder, None, at),
        Input::Snooze { holder, delay_ms } => give_back(job, Some(holder), Some(delay_ms), at),
        Input::Progress { holder } => progress(job, holder, at),
        Input::LeaseOver { at_once } => Ok(lease_over(job, at_once, at)),
        Input::RuntimeOver => Ok(runtime_over(job, at)),
        Input::PrepareOver => Ok(prepare_over(job, at)),
        Input::Expire => Ok(expire(job, at)),
        Input::Cancel { even_running } => cancel(job, even_running, at),
        Input::Retry => retry(job, at),
        Input::RunNow => run_now(job, at),
        Input::Kill => kill(job, at),
        Input::Patch { priority, run_at, queue } => patch(job, priority, run_at, queue),
        Input::Delete => delete(job),
        Input::Replace => replace(job),
        Input::Resume => Ok(resume(job, at)),
    }
}

/// The lease a caller speaks for, if it is the job's last one.
fn held<'a>(job: &'a mut Job, holder: &Holder) -> Result<&'a mut Lease, Refusal> {
    let lease = job.lease.as_mut().ok_or(Refusal::LeaseLost)?;
    let same_lease = holder.lease.as_ref().is_none_or(|id| *id == lease.id);
    if cfg!(feature = "fault-no-fencing") || (same_lease && holder.worker == lease.worker) {
        Ok(lease)
    } else {
        Err(Refusal::LeaseLost)
    }
}

fn claim(job: &mut Job, lease: Lease, at: &Circumstances<'_>) -> Result<Effect, Refusal> {
    if !job.is_due(at.now.wall_ms) || job.is_expired(at.now.wall_ms) {
        return Err(Refusal::WrongState { status: job.status, action: "claimed" });
    }
    job.status = Status::Assigned;
    job.attempt += 1;
    job.attempts += 1;
    job.claimed_at = Some(at.now.wall_ms);
    job.heartbeat_at = Some(at.now.wall_ms);
    job.started_at = None;
    job.progress_at = None;
    job.lease = Some(lease);
    Ok(Effect::event(EventKind::JobAssigned))
}

fn heartbeat(
    job: &mut Job,
    holder: &Holder,
    phase: Phase,
    at: &Circumstances<'_>,
) -> Result<Effect, Refusal> {
    let status = job.status;
    let lease = held(job, holder)?;
    let revived = match (status, lease.state) {
        (Status::Assigned | Status::Running, LeaseState::Live) => false,
        (Status::Pending, LeaseState::Expired) => true,
        _ => return Err(Refusal::LeaseLost),
    };
    lease.state = LeaseState::Live;
    lease.until_ms = at.now.mono_ms + at.policy.lease_ms;
    let starts = status != Status::Running && (phase != Phase::Preparing || lease.started_ms.is_some());
    if starts && lease.started_ms.is_none() {
        lease.started_ms = Some(at.now.mono_ms);
        job.started_at = Some(at.now.wall_ms);
    }
    job.heartbeat_at = Some(at.now.wall_ms);
    if revived {
        // The machine was only out of reach, so this was no crash.
        job.silent_expiries = job.silent_expiries.saturating_sub(1);
        job.fail_reason = None;
        job.status = Status::Assigned;
    }
    if starts {
        job.status = Status::Running;
        return Ok(Effect::event(EventKind::JobRunning));
    }
    Ok(if revived { Effect::event(EventKind::JobAssigned) } else { Effect::quietly() })
}

fn complete(
    job: &mut Job,
    holder: &Holder,
    completion: &Completion,
    stored: Option<&Completion>,
    at: &Circumstances<'_>,
) -> Result<Effect, Refusal> {
    let lease = held(job, holder)?;
    match lease.state {
        LeaseState::Live | LeaseState::Expired => {}
        LeaseState::Completed => {
            let same = stored.is_some_and(|stored| is_same(stored, completion));
            return if same { Ok(Effect::NOTHING) } else { Err(Refusal::DifferentResult) };
        }
        LeaseState::Failed | LeaseState::Released => return Err(Refusal::LeaseLost),
    }
    lease.state = LeaseState::Completed;
    job.fail_reason = None;
    end(job, Status::Completed, at);
    Ok(Effect { completed: true, ..Effect::event(EventKind::JobCompleted) })
}

/// Keys decide when both have one; then hashes; then the bytes themselves.
fn is_same(stored: &Completion, new: &Completion) -> bool {
    if let (Some(a), Some(b)) = (&stored.key, &new.key) {
        return a == b && (stored.hash.is_none() || new.hash.is_none() || stored.hash == new.hash);
    }
    match (&stored.hash, &new.hash) {
        (Some(a), Some(b)) => a == b,
        _ => stored.result == new.result,
    }
}

fn fail(
    job: &mut Job,
    holder: &Holder,
    failure: &FailureReport,
    at: &Circumstances<'_>,
) -> Result<Effect, Refusal> {
    let lease = held(job, holder)?;
    match lease.state {
        LeaseState::Live => {}
        LeaseState::Expired => {
            lease.state = LeaseState::Failed;
            job.silent_expiries = 0;
            let entry = failure_entry(job, failure, at);
            return Ok(Effect::event(EventKind::JobUpdated).with(entry));
        }
        LeaseState::Failed => return Ok(Effect::NOTHING),
        LeaseState::Completed | LeaseState::Released => return Err(Refusal::LeaseLost),
    }
    lease.state = LeaseState::Failed;
    job.silent_expiries = 0;
    let entry = failure_entry(job, failure, at);
    let effect = if job.cancel_requested {
        end_cancelled(job, at)
    } else if failure.kind == FailureKind::Timeout {
        timed_out(job, at)
    } else if failure.permanent {
        quarantine(job, &failure.reason, at)
    } else {
        let wait = failure.retry_in_ms.unwrap_or_else(|| backoff_ms(job, at));
        try_again(job, &failure.reason, wait, at)
    };
    Ok(effect.with(entry))
}

fn give_back(
    job: &mut Job,
    holder: Option<&Holder>,
    delay_ms: Option<i64>,
    at: &Circumstances<'_>,
) -> Result<Effect, Refusal> {
    let lease = match holder {
        Some(holder) => held(job, holder)?,
        None => job.lease.as_mut().ok_or(Refusal::LeaseLost)?,
    };
    match lease.state {
        LeaseState::Live => {}
        LeaseState::Released => return Ok(Effect::NOTHING),
        LeaseState::Expired => {
            lease.state = LeaseState::Released;
            return Ok(Effect::quietly());
        }
        LeaseState::Completed | LeaseState::Failed => return Err(Refusal::LeaseLost),
    }
    lease.state = LeaseState::Released;
    job.silent_expiries = 0;
    let outcome = if delay_ms.is_some() { "snoozed" } else { "released" };
    let entry = entry(job, outcome, None, at);
    if job.cancel_requested {
        return Ok(end_cancelled(job, at).with(entry));
    }
    if job.given_back < GIVE_BACKS_MAX {
        job.given_back += 1;
        job.attempts = job.attempts.saturating_sub(1);
    } else if job.attempts >= job.max_attempts {
        return Ok(quarantine(job, GIVE_BACK_LIMIT, at).with(entry));
    }
    job.status = Status::Pending;
    if let Some(delay_ms) = delay_ms {
        job.run_at = at.now.wall_ms.saturating_add(delay_ms.clamp(0, retry::DELAY_MS_MAX));
    }
    Ok(Effect::event(EventKind::JobReleased).with(entry))
}

fn progress(job: &mut Job, holder: &Holder, at: &Circumstances<'_>) -> Result<Effect, Refusal> {
    if held(job, holder)?.state != LeaseState::Live {
        return Err(Refusal::LeaseLost);
    }
    let since = job.progress_at.map(|last| at.now.mono_ms.saturating_sub(last));
    if since.is_some_and(|since| (0..PROGRESS_EVERY_MS).contains(&since)) {
        return Ok(Effect::NOTHING);
    }
    job.progress_at = Some(at.now.mono_ms);
    Ok(Effect::event(EventKind::JobProgress))
}

fn lease_over(job: &mut Job, at_once: bool, at: &Circumstances<'_>) -> Effect {
    let Some(lease) = job.lease.as_mut().filter(|lease| lease.state == LeaseState::Live) else {
        return Effect::NOTHING;
    };
    if !at_once && lease.until_ms > at.now.mono_ms {
        return Effect::NOTHING;
    }
    lease.state = LeaseState::Expired;
    let entry = entry(job, "expired", Some(LEASE_EXPIRED), at);
    job.silent_expiries += 1;
    let effect = if job.cancel_requested {
        end_cancelled(job, at)
    } else if job.attempts >= job.max_attempts {
        quarantine(job, LEASE_EXPIRED, at)
    } else if job.silent_expiries >= at.policy.crash_limit {
        quarantine(job, CRASH_LIMIT, at)
    } else {
        // It keeps its place: whoever waited longest is still first.
        job.status = Status::Pending;
        job.fail_reason = Some(LEASE_EXPIRED.to_owned());
        Effect::event(EventKind::JobFailed)
    };
    effect.with(entry)
}

fn runtime_over(job: &mut Job, at: &Circumstances<'_>) -> Effect {
    let just_started = at.now.mono_ms < at.started_ms + at.policy.lease_ms;
    let over = job.status == Status::Running
        && job.lease.as_ref().and_then(|lease| lease.started_ms).zip(job.max_runtime_ms).is_some_and(
            |(started, limit)| {
                let allowed = limit.saturating_add((limit / 4).max(RUNTIME_GRACE_MS));
                at.now.mono_ms.saturating_sub(started) > allowed
            },
        );
    if !over || just_started {
        return Effect::NOTHING;
    }
    end_lease(job, LeaseState::Failed);
    let entry = entry(job, "timeout", Some(RUNTIME_EXCEEDED), at);
    let effect = if job.cancel_requested { end_cancelled(job, at) } else { timed_out(job, at) };
    effect.with(entry)
}

fn prepare_over(job: &mut Job, at: &Circumstances<'_>) -> Effect {
    let over = job.status == Status::Assigned
        && job
            .lease
            .as_ref()
            .is_some_and(|l| at.now.mono_ms.saturating_sub(l.granted_ms) > at.policy.prepare_ms);
    if !over {
        return Effect::NOTHING;
    }
    end_lease(job, LeaseState::Failed);
    let entry = entry(job, "timeout", Some(PREPARE_TIMEOUT), at);
    let wait = backoff_ms(job, at);
    try_again(job, PREPARE_TIMEOUT, wait, at).with(entry)
}

fn expire(job: &mut Job, at: &Circumstances<'_>) -> Effect {
    if job.status != Status::Pending || !job.is_expired(at.now.wall_ms) {
        return Effect::NOTHING;
    }
    job.lease = None;
    job.fail_reason = Some(EXPIRED.to_owned());
    end(job, Status::Failed, at);
    Effect::event(EventKind::JobFailed)
}

fn cancel(job: &mut Job, even_running: bool, at: &Circumstances<'_>) -> Result<Effect, Refusal> {
    match job.status {
        Status::Pending => {
            job.lease = None;
            Ok(end_cancelled(job, at))
        }
        Status::Assigned => {
            let entry = entry(job, CANCELLED, None, at);
            job.lease = None;
            Ok(end_cancelled(job, at).with(entry))
        }
        Status::Running if !even_running => Err(Refusal::WrongState {
            status: job.status,
            action: "deleted; ask it to stop with POST .../cancel",
        }),
        Status::Running if job.cancel_requested => Ok(Effect::NOTHING),
        Status::Running => {
            job.cancel_requested = true;
            Ok(Effect::event(EventKind::JobCancelling))
        }
        Status::Failed if job.fail_reason.as_deref() == Some(CANCELLED) => Ok(Effect::NOTHING),
        Status::Completed | Status::Failed | Status::Quarantined => {
            Err(Refusal::WrongState { status: job.status, action: CANCELLED })
        }
    }
}

fn retry(job: &mut Job, at: &Circumstances<'_>) -> Result<Effect, Refusal> {
    if !matches!(job.status, Status::Failed | Status::Quarantined) {
        return Err(Refusal::WrongState { status: job.status, action: "retried" });
    }
    job.status = Status::Pending;
    job.attempts = 0;
    job.silent_expiries = 0;
    job.run_at = at.now.wall_ms;
    job.lease = None;
    job.finished_at = None;
    job.fail_reason = None;
    job.cancel_requested = false;
    if job.is_expired(at.now.wall_ms) {
        job.expires_at = None;
    }
    Ok(Effect::event(EventKind::JobUpdated))
}

fn run_now(job: &mut Job, at: &Circumstances<'_>) -> Result<Effect, Refusal> {
    if job.status != Status::Pending {
        return Err(Refusal::WrongState { status: job.status, action: "run now" });
    }
    if job.run_at <= at.now.wall_ms {
        return Ok(Effect::NOTHING);
    }
    job.run_at = at.now.wall_ms;
    Ok(Effect::event(EventKind::JobUpdated))
}

fn kill(job: &mut Job, at: &Circumstances<'_>) -> Result<Effect, Refusal> {
    if job.status != Status::Pending {
        return Err(Refusal::WrongState { status: job.status, action: "killed; only a pending job can be" });
    }
    job.lease = None;
    job.fail_reason = Some(KILLED.to_owned());
    end(job, Status::Quarantined, at);
    Ok(Effect::event(EventKind::JobQuarantined))
}

fn patch(
    job: &mut Job,
    priority: Option<i16>,
    run_at: Option<i64>,
    queue: Option<&QueueName>,
) -> Result<Effect, Refusal> {
    if job.status != Status::Pending {
        return Err(Refusal::WrongState { status: job.status, action: "changed; only a pending job can be" });
    }
    job.priority = priority.unwrap_or(job.priority);
    job.run_at = run_at.unwrap_or(job.run_at);
    if let Some(queue) = queue {
        job.queue = queue.clone();
    }
    Ok(Effect::event(EventKind::JobUpdated))
}

fn delete(job: &mut Job) -> Result<Effect, Refusal> {
    if !job.status.is_terminal() {
        return Err(Refusal::WrongState { status: job.status, action: "removed; cancel it first" });
    }
    Ok(Effect { deleted: true, ..Effect::event(EventKind::JobDeleted) })
}

fn replace(job: &mut Job) -> Result<Effect, Refusal> {
    if job.status.is_live() {
        return Err(Refusal::WrongState { status: job.status, action: "replaced; wait until it has ended" });
    }
    Ok(Effect { deleted: true, ..Effect::event(EventKind::JobDeleted) })
}

/// While the hub was down nobody could be heard, so the time since the last heartbeat counts
/// neither against the lease nor against the runtime.
fn resume(job: &mut Job, at: &Circumstances<'_>) -> Effect {
    if !job.status.is_live() {
        return Effect::NOTHING;
    }
    let Some(lease) = job.lease.as_mut() else { return Effect::NOTHING };
    let last_heard = lease.until_ms.saturating_sub(at.policy.lease_ms);
    let away = at.now.mono_ms.saturating_sub(last_heard);
    lease.granted_ms = lease.granted_ms.saturating_add(away);
    lease.started_ms = lease.started_ms.map(|started| started.saturating_add(away));
    lease.until_ms = at.now.mono_ms + at.policy.lease_ms;
    Effect::quietly()
}

fn timed_out(job: &mut Job, at: &Circumstances<'_>) -> Effect {
    match at.policy.on_timeout {
        OnTimeout::Quarantine => quarantine(job, RUNTIME_EXCEEDED, at),
        OnTimeout::Retry => {
            let wait = backoff_ms(job, at);
            try_again(job, RUNTIME_EXCEEDED, wait, at)
        }
    }
}

fn try_again(job: &mut Job, reason: &str, wait_ms: i64, at: &Circumstances<'_>) -> Effect {
    if job.attempts >= job.max_attempts {
        return quarantine(job, reason, at);
    }
    job.status = Status::Pending;
    job.fail_reason = Some(reason.to_owned());
    job.run_at = at.now.wall_ms.saturating_add(wait_ms.clamp(0, retry::DELAY_MS_MAX));
    Effect::event(EventKind::JobFailed)
}

fn quarantine(job: &mut Job, reason: &str, at: &Circumstances<'_>) -> Effect {
    job.fail_reason = Some(reason.to_owned());
    end(job, Status::Quarantined, at);
    Effect { events: [Some(EventKind::JobFailed), Some(EventKind::JobQuarantined)], ..Effect::quietly() }
}

fn end_cancelled(job: &mut Job, at: &Circumstances<'_>) -> Effect {
    // A lease that only ran out could still bring a result; a cancelled job takes none.
    if job.lease.as_ref().is_some_and(|lease| lease.state == LeaseState::Expired) {
        job.lease = None;
    }
    job.fail_reason = Some(CANCELLED.to_owned());
    end(job, Status::Failed, at);
    Effect::event(EventKind::JobFailed)
}

fn end(job: &mut Job, status: Status, at: &Circumstances<'_>) {
    job.status = status;
    job.finished_at = Some(at.now.wall_ms);
    job.cancel_requested = false;
}

fn end_lease(job: &mut Job, state: LeaseState) {
    if let Some(lease) = job.lease.as_mut() {
        lease.state = state;
    }
}

fn backoff_ms(job: &Job, at: &Circumstances<'_>) -> i64 {
    let backoff = job.backoff.as_ref().unwrap_or(&at.policy.backoff);
    retry::delay_ms(backoff, job.attempts, at.random)
}

fn entry(job: &mut Job, outcome: &'static str, reason: Option<&str>, at: &Circumstances<'_>) -> Entry {
    let n = job.history_len;
    job.history_len += 1;
    Entry {
        job: job.seq,
        n,
        attempt: job.attempt,
        worker: job.lease.as_ref().map(|lease| lease.worker.clone()),
        due_at: job.run_at,
        claimed_at: job.claimed_at,
        started_at: job.started_at,
        ended_at: at.now.wall_ms,
        outcome,
        reason: reason.map(str::to_owned),
        error_class: None,
        backtrace: None,
        usage: None,
    }
}

fn failure_entry(job: &mut Job, failure: &FailureReport, at: &Circumstances<'_>) -> Entry {
    let outcome = match failure.kind {
        _ if job.cancel_requested => CANCELLED,
        FailureKind::Timeout => "timeout",
        FailureKind::Error | FailureKind::Expired | FailureKind::Cancelled => "failed",
    };
    Entry {
        reason: Some(String::clone(&failure.reason)),
        error_class: failure.error_class.clone(),
        backtrace: failure.backtrace.clone(),
        usage: failure.usage.clone(),
        ..entry(job, outcome, None, at)
    }
}
