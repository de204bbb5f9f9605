//! What watchers are told. Every event has a number; numbers have no gaps.

use crate::{JobId, JobType, QueueName, Status, WorkerId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What happened. The name on the wire is `topic:word`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
pub enum EventKind {
    #[serde(rename = "job:created")]
    JobCreated,
    #[serde(rename = "job:assigned")]
    JobAssigned,
    #[serde(rename = "job:running")]
    JobRunning,
    #[serde(rename = "job:completed")]
    JobCompleted,
    /// An attempt failed, or the job ended as failed; `status` tells which.
    #[serde(rename = "job:failed")]
    JobFailed,
    #[serde(rename = "job:quarantined")]
    JobQuarantined,
    #[serde(rename = "job:released")]
    JobReleased,
    #[serde(rename = "job:cancelling")]
    JobCancelling,
    #[serde(rename = "job:updated")]
    JobUpdated,
    #[serde(rename = "job:deleted")]
    JobDeleted,
    #[serde(rename = "job:progress")]
    JobProgress,
    #[serde(rename = "worker:registered")]
    WorkerRegistered,
    #[serde(rename = "worker:draining")]
    WorkerDraining,
    #[serde(rename = "worker:resumed")]
    WorkerResumed,
    #[serde(rename = "worker:lost")]
    WorkerLost,
    #[serde(rename = "worker:forgotten")]
    WorkerForgotten,
}

impl EventKind {
    pub const ALL: [Self; 16] = [
        Self::JobCreated,
        Self::JobAssigned,
        Self::JobRunning,
        Self::JobCompleted,
        Self::JobFailed,
        Self::JobQuarantined,
        Self::JobReleased,
        Self::JobCancelling,
        Self::JobUpdated,
        Self::JobDeleted,
        Self::JobProgress,
        Self::WorkerRegistered,
        Self::WorkerDraining,
        Self::WorkerResumed,
        Self::WorkerLost,
        Self::WorkerForgotten,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::JobCreated => "job:created",
            Self::JobAssigned => "job:assigned",
            Self::JobRunning => "job:running",
            Self::JobCompleted => "job:completed",
            Self::JobFailed => "job:failed",
            Self::JobQuarantined => "job:quarantined",
            Self::JobReleased => "job:released",
            Self::JobCancelling => "job:cancelling",
            Self::JobUpdated => "job:updated",
            Self::JobDeleted => "job:deleted",
            Self::JobProgress => "job:progress",
            Self::WorkerRegistered => "worker:registered",
            Self::WorkerDraining => "worker:draining",
            Self::WorkerResumed => "worker:resumed",
            Self::WorkerLost => "worker:lost",
            Self::WorkerForgotten => "worker:forgotten",
        }
    }

    pub fn is_job(self) -> bool {
        self.as_str().starts_with("job:")
    }
}

/// One numbered event. The stream without a token leaves out `worker_id`, `reason` and
/// `progress`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    #[serde(skip)]
    pub seq: u64,
    #[serde(rename = "event")]
    pub kind: EventKind,
    pub ts: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub job_id: Option<JobId>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub job_type: Option<JobType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub queue: Option<QueueName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub worker_id: Option<WorkerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// From due to claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<i64>,
    /// From started to ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<crate::job::Progress>,
}

impl Event {
    /// The same event for a watcher without a token: no machine names, reasons or progress texts.
    pub fn public(&self) -> Self {
        Self { worker_id: None, reason: None, progress: None, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_name_on_the_wire() {
        for kind in EventKind::ALL {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("{:?}", kind.as_str()));
        }
    }
}
