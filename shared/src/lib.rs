//! What crosses the wire between the hub and everything that talks to it: identifiers, jobs,
//! events, requests and responses. Nothing here decides anything.

pub mod event;
pub mod fleet;
pub mod id;
pub mod job;
pub mod overview;
pub mod request;
pub mod response;

pub use id::{BootId, ClaimId, Invalid, JobId, JobType, LeaseId, NodeId, QueueName, QueuePattern, WorkerId};
pub use job::{Backoff, BackoffKind, FailureKind, Jitter, Job, Phase, Status, View};
