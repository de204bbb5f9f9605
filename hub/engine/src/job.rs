//! A job as the engine decides about it: the small hot row. Params, results and history are
//! elsewhere; a decision never reads them.

use crate::lifecycle::CANCELLED;
use alloc::{string::String, sync::Arc, vec::Vec};
use forge_shared::{Backoff, BootId, ClaimId, JobId, JobType, LeaseId, QueueName, Status, View, WorkerId};

#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Position in the store; grows with every enqueue.
    pub seq: i64,
    pub id: JobId,
    pub kind: JobType,
    pub queue: QueueName,
    pub priority: i16,
    pub status: Status,
    pub created_at: i64,
    pub run_at: i64,
    pub expires_at: Option<i64>,
    pub claimed_at: Option<i64>,
    pub started_at: Option<i64>,
    pub heartbeat_at: Option<i64>,
    pub finished_at: Option<i64>,
    /// How many times it was ever claimed; only grows.
    pub attempt: u32,
    /// The budget spent.
    pub attempts: u32,
    pub max_attempts: u32,
    pub max_runtime_ms: Option<i64>,
    pub backoff: Option<Backoff>,
    /// How often its budget was given back.
    pub given_back: u32,
    /// Lease expiries in a row without any report.
    pub silent_expiries: u32,
    pub cancel_requested: bool,
    pub fail_reason: Option<String>,
    /// How many history entries it has.
    pub history_len: u32,
    /// When progress was last announced.
    pub progress_at: Option<i64>,
    /// The last lease, kept until the next claim, cancel or retry.
    pub lease: Option<Lease>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Lease {
    pub id: LeaseId,
    pub worker: WorkerId,
    pub boot: Option<BootId>,
    pub claim_id: Option<ClaimId>,
    pub state: LeaseState,
    /// Monotonic times.
    pub granted_ms: i64,
    pub until_ms: i64,
    pub started_ms: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// The job is assigned or running under it.
    Live,
    /// It ran out, but nobody else has the job: a late result is still good.
    Expired,
    /// It ended with a result.
    Completed,
    /// It ended with a failure.
    Failed,
    /// It was given back.
    Released,
}

impl Job {
    /// Whether a worker can take it now.
    pub fn is_due(&self, wall_ms: i64) -> bool {
        self.status == Status::Pending && self.run_at <= wall_ms
    }

    pub fn is_expired(&self, wall_ms: i64) -> bool {
        self.expires_at.is_some_and(|at| at <= wall_ms)
    }

    pub fn has_live_lease(&self) -> bool {
        self.status.is_live()
    }

    /// The worker that has it now; nobody after the lease ran out.
    pub fn worker(&self) -> Option<&WorkerId> {
        match &self.lease {
            Some(lease) if !matches!(lease.state, LeaseState::Expired | LeaseState::Released) => {
                (self.status != Status::Pending).then_some(&lease.worker)
            }
            _ => None,
        }
    }

    pub fn next_retry_at(&self) -> Option<i64> {
        (self.status == Status::Pending && self.attempt > 0).then_some(self.run_at)
    }

    /// The view that the job is counted in while due times up to `settled_ms` are in the past;
    /// the views that are a status are counted as that. A job that was due from the start is
    /// never counted as scheduled, so that ordinary jobs cost nothing here.
    pub fn counted_view(&self, settled_ms: i64) -> Option<View> {
        match self.status {
            Status::Pending if self.run_at > settled_ms && self.run_at > self.created_at => {
                Some(if self.attempt == 0 { View::Scheduled } else { View::Retrying })
            }
            Status::Failed if self.fail_reason.as_deref() == Some(CANCELLED) => Some(View::Cancelled),
            _ => None,
        }
    }
}

/// The cold part of a job: written once, read by whoever runs it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spec {
    /// JSON text, as sent.
    pub params: Arc<str>,
    pub tags: Vec<String>,
    pub command: Option<String>,
    pub solver_url: Option<String>,
    pub solver_checksum: Option<String>,
}

/// How an attempt ended, for the job's history.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub job: i64,
    pub n: u32,
    pub attempt: u32,
    pub worker: Option<WorkerId>,
    /// Since when it waited for this attempt.
    pub due_at: i64,
    pub claimed_at: Option<i64>,
    pub started_at: Option<i64>,
    pub ended_at: i64,
    /// `failed`, `timeout`, `expired`, `released`, `snoozed` or `cancelled`.
    pub outcome: &'static str,
    pub reason: Option<String>,
    pub error_class: Option<String>,
    pub backtrace: Option<String>,
    pub usage: Option<String>,
}

impl Entry {
    /// Whether the attempt failed, rather than being given back or stopped.
    pub fn is_failure(&self) -> bool {
        matches!(self.outcome, "failed" | "timeout" | "expired")
    }
}
