//! The whole hub at a glance.

use crate::QueueName;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Everything is as of `ts`. Ages and times are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    pub ts: i64,
    pub machines: MachineStates,
    pub workers: WorkerStates,
    /// Jobs that the workers which are not lost can run at once.
    pub slots: u64,
    /// How many of these slots have a job.
    pub busy: u64,
    pub jobs: JobStates,
    pub views: JobViews,
    /// For how long the oldest due job has been due; null when none is.
    pub oldest_waiting_ms: Option<i64>,
    /// Every queue with jobs, or with jobs that ended in the last hour, by name.
    pub queues: Vec<QueueOverview>,
    /// Since midnight UTC.
    pub today: Ended,
    /// Since the database was made; removing jobs takes nothing back.
    pub total: Ended,
    /// The last 60 minutes, oldest first; the last one is the current minute.
    pub minutes: Vec<Throughput>,
    /// The last 30 UTC days, oldest first; the last one is today.
    pub days: Vec<Throughput>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MachineStates {
    pub online: u64,
    pub degraded: u64,
    pub offline: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerStates {
    pub online: u64,
    pub draining: u64,
    pub lost: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobStates {
    pub pending: u64,
    pub assigned: u64,
    pub running: u64,
    pub completed: u64,
    pub failed: u64,
    pub quarantined: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobViews {
    /// A worker could take them now.
    pub due: u64,
    pub scheduled: u64,
    pub retrying: u64,
    pub blocked: u64,
    pub dead: u64,
    pub cancelled: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueOverview {
    #[schema(value_type = String)]
    pub name: QueueName,
    pub due: u64,
    /// Pending and not due yet: scheduled and retrying.
    pub scheduled: u64,
    /// Assigned or running.
    pub running: u64,
    pub oldest_wait_ms: Option<i64>,
    pub completed_last_hour: u64,
    pub failed_last_hour: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ended {
    pub completed: u64,
    /// Ended as failed or quarantined.
    pub failed: u64,
}

/// What ended in one minute or day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Throughput {
    /// When it starts.
    pub ts: i64,
    pub completed: u64,
    /// Ended as failed or quarantined.
    pub failed: u64,
    /// Attempts that failed, ran too long or were lost, whether or not the job was tried again.
    pub failed_attempts: u64,
}
