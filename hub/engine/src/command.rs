//! All that can be asked of the hub, and all that it can answer.

use crate::job::{Job, Spec};
use alloc::{boxed::Box, string::String, sync::Arc, vec::Vec};
use core::fmt;
use forge_shared::{
    Backoff, BootId, ClaimId, FailureKind, JobId, JobType, LeaseId, Phase, QueueName, QueuePattern, Status,
    WorkerId,
    job::Progress,
    request::Holding,
    response::{LeaseAnswer, WorkerOrder},
};

/// Names one waiting claim, so that it can be called off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// One request. Commands are decided in the order they arrive, each seeing the effects of those
/// before it.
#[derive(Debug, Clone)]
pub enum Command {
    /// Adds jobs: all of them or none.
    Enqueue(Vec<NewJob>),
    /// Adds a job in place of the one that has its id, unless somebody works on that one.
    Replace {
        job: Box<NewJob>,
        /// How much of `max_attempts` it begins without.
        spent: u32,
    },
    Claim(Claim),
    /// Answers a waiting claim with nothing.
    CallOff(Ticket),
    Heartbeat {
        job: JobId,
        holder: Holder,
        phase: Phase,
    },
    /// Results and failures, each decided on its own.
    Report(Vec<Report>),
    Release {
        job: JobId,
        holder: Holder,
    },
    Snooze {
        job: JobId,
        holder: Holder,
        delay_ms: i64,
    },
    Progress {
        job: JobId,
        holder: Holder,
        progress: Progress,
    },
    /// Is this the job's last lease, not given back, and which attempt is it? Logs may still
    /// come in after a report.
    CheckLease {
        job: JobId,
        holder: Holder,
    },
    /// A person's action on jobs, each decided on its own.
    Act {
        jobs: Vec<JobId>,
        action: Action,
    },
    Register(Register),
    WorkerHeartbeat(WorkerHeartbeat),
    Drain {
        worker: WorkerId,
        draining: bool,
    },
    Forget(WorkerId),
    /// These workers are known to have ended: whatever they held is over at once.
    Vanished(Vec<WorkerId>),
    /// What only time brings about; each is checked again before anything happens.
    Reap {
        jobs: Vec<i64>,
        workers: Vec<WorkerId>,
    },
    /// The hub has just started: every live lease in this list gets a full lease time.
    Resume {
        jobs: Vec<i64>,
    },
    /// Removes finished jobs by number.
    Prune {
        jobs: Vec<i64>,
    },
    /// Nothing to decide but whether waiting claims can be served now.
    Tick,
}

/// A job to add. The adapter has checked sizes and formats.
#[derive(Debug, Clone)]
pub struct NewJob {
    pub id: Option<JobId>,
    pub kind: JobType,
    pub queue: QueueName,
    pub priority: i16,
    pub max_attempts: u32,
    pub max_runtime_ms: Option<i64>,
    pub due: Due,
    pub expires_at: Option<i64>,
    pub backoff: Option<Backoff>,
    pub idempotency: Option<Idempotency>,
    pub spec: Spec,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    Now,
    At(i64),
    After(i64),
}

/// A caller's key and a digest of what it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    pub key: Arc<str>,
    pub body: [u8; 32],
}

#[derive(Debug, Clone)]
pub struct Claim {
    pub ticket: Ticket,
    pub worker: WorkerId,
    pub boot: Option<BootId>,
    pub claim_id: Option<ClaimId>,
    pub filter: Arc<Filter>,
    pub max: u32,
    /// Stay until there is a job or somebody calls it off.
    pub wait: bool,
}

/// Which jobs a worker takes. An empty list means all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Filter {
    pub types: Vec<JobType>,
    pub queues: Vec<QueuePattern>,
}

impl Filter {
    pub fn takes(&self, queue: &QueueName, kind: &JobType) -> bool {
        (self.types.is_empty() || self.types.contains(kind))
            && (self.queues.is_empty() || self.queues.iter().any(|pattern| pattern.matches(queue)))
    }
}

/// Who speaks for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub worker: WorkerId,
    pub lease: Option<LeaseId>,
}

#[derive(Debug, Clone)]
pub struct Report {
    pub job: JobId,
    pub holder: Holder,
    pub outcome: Outcome,
}

#[derive(Debug, Clone)]
pub enum Outcome {
    Completed(Completion),
    Failed(FailureReport),
}

/// A result, and what tells it from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    pub result: Arc<str>,
    pub hash: Option<String>,
    pub key: Option<String>,
    pub usage: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureReport {
    pub reason: String,
    pub kind: FailureKind,
    pub permanent: bool,
    pub retry_in_ms: Option<i64>,
    pub error_class: Option<String>,
    pub backtrace: Option<String>,
    pub usage: Option<String>,
}

/// What a person can do to a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// `even_running`: ask a running job to stop; otherwise a running job is refused.
    Cancel {
        even_running: bool,
    },
    Retry,
    RunNow,
    Kill,
    Patch {
        priority: Option<i16>,
        run_at: Option<i64>,
        queue: Option<QueueName>,
    },
    Delete,
}

#[derive(Debug, Clone)]
pub struct Register {
    pub worker: WorkerId,
    pub boot: Option<BootId>,
    pub holding: Option<Vec<Holding>>,
    /// The worker's description, opaque to the engine.
    pub about: Arc<str>,
}

#[derive(Debug, Clone)]
pub struct WorkerHeartbeat {
    pub worker: WorkerId,
    pub boot: Option<BootId>,
    pub holding: Vec<Holding>,
    pub busy: Option<u32>,
    pub rss_kb: Option<u64>,
    pub outbox: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Enqueued(Vec<Enqueued>),
    /// Jobs with fresh (or, for a repeated claim, the same) leases; may be empty.
    Claimed(Vec<Arc<Job>>),
    /// The lease goes on; `cancel` asks the worker to stop.
    Alive {
        cancel: bool,
        attempt: u32,
    },
    Reported(Vec<Result<JobState, Refusal>>),
    Acted(Vec<Result<JobState, Refusal>>),
    Released(JobState),
    Leases {
        leases: Vec<LeaseAnswer>,
        order: WorkerOrder,
    },
    /// How many jobs were changed.
    Count(u64),
    Done,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Enqueued {
    pub id: JobId,
    pub status: Status,
    /// False when the idempotency key was known.
    pub created: bool,
}

/// What a job is after a command.
#[derive(Debug, Clone, PartialEq)]
pub struct JobState {
    pub id: JobId,
    pub status: Status,
    pub next_retry_at: Option<i64>,
    /// A running job was asked to stop.
    pub cancelling: bool,
}

/// Why a command may not happen. A value, decided before anything is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    UnknownJob,
    UnknownWorker,
    /// Another job has this id.
    IdTaken {
        id: JobId,
    },
    /// The idempotency key was used with a different body.
    KeyReused {
        id: Option<JobId>,
    },
    /// The lease is not the job's last one, or it has ended.
    LeaseLost,
    /// The job is finished with a different result.
    DifferentResult,
    /// The action does not fit the job's state.
    WrongState {
        status: Status,
        action: &'static str,
    },
    /// A newer process registered under this name.
    SupersededBoot,
    /// One of several jobs was refused, and with it all of them.
    InBatch {
        index: usize,
        refusal: Box<Refusal>,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownJob => f.write_str("there is no job with this id"),
            Self::UnknownWorker => f.write_str("there is no worker with this id; register it first"),
            Self::IdTaken { id } => write!(f, "another job already has the id '{id}'; choose a different one"),
            Self::KeyReused { id } => {
                f.write_str("this idempotency key was used ")?;
                match id {
                    Some(id) => write!(f, "for job '{id}'")?,
                    None => f.write_str("earlier in this call")?,
                }
                f.write_str(" with a different body; use a new key for a new job")
            }
            Self::LeaseLost => f.write_str(
                "this lease is not the job's current one: the job was handed on, given back, stopped or reported already; drop it",
            ),
            Self::DifferentResult => {
                f.write_str("the job is already completed with a different result; the first one stands")
            }
            Self::WrongState { status, action } => {
                write!(f, "a job that is {} cannot be {action}", status.as_str())
            }
            Self::SupersededBoot => f.write_str(
                "a newer process registered under this worker id; stop this one or give it a name of its own",
            ),
            Self::InBatch { index, refusal } => write!(f, "item {index}: {refusal}; none was added"),
        }
    }
}
