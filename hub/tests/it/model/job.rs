//! One job as the lifecycle table describes it, written as plainly as possible and on purpose not
//! like the engine: it is what the engine is compared with.

use crate::kit::LEASE_MS;
use forge_engine::{
    Now, Refusal,
    command::{Completion, FailureReport, Holder, JobState},
};
use forge_shared::event::EventKind::{self, *};
use forge_shared::{
    BootId, ClaimId, FailureKind, JobId, JobType, LeaseId, Phase, QueueName, Status, WorkerId,
};

const PREPARE_MS: i64 = 30 * 60_000;
const CRASH_LIMIT: u32 = 3;
const GIVE_BACKS: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Held {
    Live,
    /// It ran out and nobody else has the job.
    Late,
    Completed,
    Failed,
    GivenBack,
}

#[derive(Debug, Clone)]
pub(super) struct Lease {
    /// Known once the claim is answered.
    pub(super) id: Option<LeaseId>,
    pub(super) worker: WorkerId,
    pub(super) boot: Option<BootId>,
    pub(super) claim_id: Option<ClaimId>,
    pub(super) held: Held,
    pub(super) granted: i64,
    pub(super) until: i64,
    pub(super) started: Option<i64>,
}

#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) seq: i64,
    pub(super) id: JobId,
    pub(super) queue: QueueName,
    pub(super) kind: JobType,
    pub(super) priority: i16,
    pub(super) status: Status,
    pub(super) run_at: i64,
    pub(super) expires_at: Option<i64>,
    pub(super) attempt: u32,
    pub(super) attempts: u32,
    pub(super) max_attempts: u32,
    pub(super) max_runtime_ms: Option<i64>,
    pub(super) wait_ms: i64,
    pub(super) given_back: u32,
    pub(super) silent: u32,
    pub(super) cancelling: bool,
    pub(super) reason: Option<String>,
    pub(super) result: Option<Completion>,
    /// How its attempts ended, and which attempt each was.
    pub(super) history: Vec<(&'static str, u32)>,
    pub(super) told_at: Option<i64>,
    pub(super) lease: Option<Lease>,
    /// Every lease it ever had.
    pub(super) leases: Vec<(LeaseId, WorkerId)>,
}

/// An event with the state that it must carry.
pub(super) type Told = (EventKind, JobId, Status, u32, u32);

type Changed = Result<Vec<Told>, Refusal>;

impl Job {
    pub(super) fn is_due(&self, now: Now) -> bool {
        self.status == Status::Pending && self.run_at <= now.wall_ms
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self.status, Status::Assigned | Status::Running)
    }

    pub(super) fn is_terminal(&self) -> bool {
        !self.is_live() && self.status != Status::Pending
    }

    pub(super) fn is_expired(&self, now: Now) -> bool {
        self.status == Status::Pending && self.expires_at.is_some_and(|at| at <= now.wall_ms)
    }

    pub(super) fn state(&self) -> JobState {
        let waits = self.status == Status::Pending && self.attempt > 0;
        JobState {
            id: self.id.clone(),
            status: self.status,
            next_retry_at: waits.then_some(self.run_at),
            cancelling: self.cancelling,
        }
    }

    /// Whose it is, as the API shows it.
    pub(super) fn worker(&self) -> Option<&WorkerId> {
        let lease = self.lease.as_ref()?;
        let shown = self.status != Status::Pending && !matches!(lease.held, Held::Late | Held::GivenBack);
        shown.then_some(&lease.worker)
    }

    fn tell(&self, kinds: &[EventKind]) -> Vec<Told> {
        let told = |kind: &EventKind| (*kind, self.id.clone(), self.status, self.attempt, self.attempts);
        kinds.iter().map(told).collect()
    }

    pub(super) fn created(&self) -> Vec<Told> {
        self.tell(&[JobCreated])
    }

    /// The last lease, if the caller speaks for it.
    pub(super) fn last(&mut self, holder: &Holder) -> Result<&mut Lease, Refusal> {
        let lease = self.lease.as_mut().ok_or(Refusal::LeaseLost)?;
        let same = holder.lease.is_none() || holder.lease == lease.id;
        if same && lease.worker == holder.worker { Ok(lease) } else { Err(Refusal::LeaseLost) }
    }

    pub(super) fn claim(&mut self, lease: Lease) -> Vec<Told> {
        self.status = Status::Assigned;
        self.attempt += 1;
        self.attempts += 1;
        self.told_at = None;
        self.lease = Some(lease);
        self.tell(&[JobAssigned])
    }

    pub(super) fn heartbeat(&mut self, holder: &Holder, phase: Phase, now: Now) -> Changed {
        let status = self.status;
        let lease = self.last(holder)?;
        let revived = status == Status::Pending && lease.held == Held::Late;
        if !revived && lease.held != Held::Live {
            return Err(Refusal::LeaseLost);
        }
        lease.held = Held::Live;
        lease.until = now.mono_ms + LEASE_MS;
        let runs = phase != Phase::Preparing || lease.started.is_some();
        if runs {
            lease.started = lease.started.or(Some(now.mono_ms));
        }
        if revived {
            self.silent = self.silent.saturating_sub(1);
            self.reason = None;
            self.status = Status::Assigned;
        }
        if runs && status != Status::Running {
            self.status = Status::Running;
            return Ok(self.tell(&[JobRunning]));
        }
        Ok(if revived { self.tell(&[JobAssigned]) } else { vec![] })
    }

    pub(super) fn complete(&mut self, holder: &Holder, completion: &Completion) -> Changed {
        let stored = self.result.clone();
        let lease = self.last(holder)?;
        match lease.held {
            Held::Live | Held::Late => lease.held = Held::Completed,
            Held::Failed | Held::GivenBack => return Err(Refusal::LeaseLost),
            Held::Completed => {
                let stored = stored.expect("a completed lease brought a result");
                let same = match (&stored.hash, &completion.hash) {
                    (Some(a), Some(b)) => a == b,
                    _ => stored.result == completion.result,
                };
                return if same { Ok(vec![]) } else { Err(Refusal::DifferentResult) };
            }
        }
        self.result = Some(completion.clone());
        self.reason = None;
        self.cancelling = false;
        self.status = Status::Completed;
        Ok(self.tell(&[JobCompleted]))
    }

    pub(super) fn fail(&mut self, holder: &Holder, failure: &FailureReport, now: Now) -> Changed {
        let lease = self.last(holder)?;
        let late = match lease.held {
            Held::Live => false,
            Held::Late => true,
            Held::Failed => return Ok(vec![]),
            Held::Completed | Held::GivenBack => return Err(Refusal::LeaseLost),
        };
        lease.held = Held::Failed;
        self.silent = 0;
        let outcome = match failure.kind {
            _ if self.cancelling => "cancelled",
            FailureKind::Timeout => "timeout",
            _ => "failed",
        };
        self.history.push((outcome, self.attempt));
        if late {
            return Ok(self.tell(&[JobUpdated]));
        }
        Ok(if self.cancelling {
            self.end_cancelled()
        } else if failure.kind == FailureKind::Timeout {
            self.quarantine("max_runtime_exceeded")
        } else if failure.permanent {
            self.quarantine(&failure.reason)
        } else {
            self.try_again(&failure.reason, failure.retry_in_ms.unwrap_or(self.wait_ms), now)
        })
    }

    /// Without a holder it is the hub itself that gives the lease back.
    pub(super) fn give_back(&mut self, holder: Option<&Holder>, snooze: Option<i64>, now: Now) -> Changed {
        let lease = match holder {
            Some(holder) => self.last(holder)?,
            None => self.lease.as_mut().ok_or(Refusal::LeaseLost)?,
        };
        match lease.held {
            Held::Live => lease.held = Held::GivenBack,
            Held::GivenBack => return Ok(vec![]),
            Held::Late => {
                lease.held = Held::GivenBack;
                return Ok(vec![]);
            }
            Held::Completed | Held::Failed => return Err(Refusal::LeaseLost),
        }
        self.silent = 0;
        self.history.push((if snooze.is_some() { "snoozed" } else { "released" }, self.attempt));
        if self.cancelling {
            return Ok(self.end_cancelled());
        }
        if self.given_back < GIVE_BACKS {
            self.given_back += 1;
            self.attempts -= 1;
        } else if self.attempts >= self.max_attempts {
            return Ok(self.quarantine("give_back_limit"));
        }
        self.status = Status::Pending;
        if let Some(delay) = snooze {
            self.run_at = now.wall_ms + delay;
        }
        Ok(self.tell(&[JobReleased]))
    }

    pub(super) fn progress(&mut self, holder: &Holder, now: Now) -> Changed {
        if self.last(holder)?.held != Held::Live {
            return Err(Refusal::LeaseLost);
        }
        if self.told_at.is_some_and(|at| (0..1_000).contains(&(now.mono_ms - at))) {
            return Ok(vec![]);
        }
        self.told_at = Some(now.mono_ms);
        Ok(self.tell(&[JobProgress]))
    }

    /// What the reaper may do to it, given when the hub started.
    pub(super) fn reap(&mut self, now: Now, hub_started: i64) -> Option<Vec<Told>> {
        if self.is_expired(now) {
            return Some(self.expire());
        }
        let lease = self.lease.as_mut().filter(|lease| lease.held == Held::Live)?;
        let ran = lease.started.map(|at| now.mono_ms - at);
        let limit = self.max_runtime_ms.map(|ms| ms + (ms / 4).max(30_000));
        let too_long = ran.zip(limit).is_some_and(|(ran, limit)| ran > limit);
        if self.status == Status::Running && too_long && now.mono_ms >= hub_started + LEASE_MS {
            lease.held = Held::Failed;
            self.history.push(("timeout", self.attempt));
            return Some(if self.cancelling {
                self.end_cancelled()
            } else {
                self.quarantine("max_runtime_exceeded")
            });
        }
        if self.status == Status::Assigned && now.mono_ms - lease.granted > PREPARE_MS {
            lease.held = Held::Failed;
            self.history.push(("timeout", self.attempt));
            return Some(self.try_again("prepare_timeout", self.wait_ms, now));
        }
        (lease.until <= now.mono_ms).then(|| self.lease_over())
    }

    pub(super) fn lease_over(&mut self) -> Vec<Told> {
        self.lease.as_mut().expect("only a leased job has a lease that ends").held = Held::Late;
        self.history.push(("expired", self.attempt));
        self.silent += 1;
        if self.cancelling {
            self.end_cancelled()
        } else if self.attempts >= self.max_attempts {
            self.quarantine("lease_expired")
        } else if self.silent >= CRASH_LIMIT {
            self.quarantine("crash_limit")
        } else {
            self.status = Status::Pending;
            self.reason = Some("lease_expired".to_owned());
            self.tell(&[JobFailed])
        }
    }

    pub(super) fn expire(&mut self) -> Vec<Told> {
        self.lease = None;
        self.reason = Some("expired".to_owned());
        self.status = Status::Failed;
        self.tell(&[JobFailed])
    }

    /// The hub starts again: what happened while it was away is nobody's fault.
    pub(super) fn resume(&mut self, now: Now) {
        if let Some(lease) = self.lease.as_mut().filter(|lease| lease.held == Held::Live) {
            let away = now.mono_ms + LEASE_MS - lease.until;
            lease.until += away;
            lease.granted += away;
            lease.started = lease.started.map(|at| at + away);
        }
    }

    pub(super) fn cancel(&mut self, even_running: bool) -> Changed {
        match self.status {
            Status::Pending | Status::Assigned => {
                if self.status == Status::Assigned {
                    self.history.push(("cancelled", self.attempt));
                }
                self.lease = None;
                Ok(self.end_cancelled())
            }
            Status::Running if even_running && self.cancelling => Ok(vec![]),
            Status::Running if even_running => {
                self.cancelling = true;
                Ok(self.tell(&[JobCancelling]))
            }
            Status::Failed if self.reason.as_deref() == Some("cancelled") => Ok(vec![]),
            status => Err(Refusal::WrongState { status, action: "" }),
        }
    }

    pub(super) fn retry(&mut self, now: Now) -> Changed {
        if !matches!(self.status, Status::Failed | Status::Quarantined) {
            return Err(Refusal::WrongState { status: self.status, action: "" });
        }
        self.status = Status::Pending;
        (self.attempts, self.silent) = (0, 0);
        self.run_at = now.wall_ms;
        self.lease = None;
        self.reason = None;
        self.expires_at = self.expires_at.filter(|at| *at > now.wall_ms);
        Ok(self.tell(&[JobUpdated]))
    }

    /// Changes that only a pending job takes.
    pub(super) fn while_pending(&mut self, change: impl FnOnce(&mut Self) -> Vec<EventKind>) -> Changed {
        if self.status != Status::Pending {
            return Err(Refusal::WrongState { status: self.status, action: "" });
        }
        let kinds = change(self);
        Ok(self.tell(&kinds))
    }

    pub(super) fn delete(&self) -> Changed {
        if self.is_terminal() {
            Ok(self.tell(&[JobDeleted]))
        } else {
            Err(Refusal::WrongState { status: self.status, action: "" })
        }
    }

    fn try_again(&mut self, reason: &str, wait_ms: i64, now: Now) -> Vec<Told> {
        if self.attempts >= self.max_attempts {
            return self.quarantine(reason);
        }
        self.status = Status::Pending;
        self.reason = Some(reason.to_owned());
        self.run_at = now.wall_ms + wait_ms;
        self.tell(&[JobFailed])
    }

    fn quarantine(&mut self, reason: &str) -> Vec<Told> {
        self.status = Status::Quarantined;
        self.reason = Some(reason.to_owned());
        self.tell(&[JobFailed, JobQuarantined])
    }

    fn end_cancelled(&mut self) -> Vec<Told> {
        if self.lease.as_ref().is_some_and(|lease| lease.held == Held::Late) {
            self.lease = None;
        }
        self.cancelling = false;
        self.reason = Some("cancelled".to_owned());
        self.status = Status::Failed;
        self.tell(&[JobFailed])
    }
}
