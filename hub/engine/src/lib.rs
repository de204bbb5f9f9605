//! The job lifecycle: every decision of the hub, and nothing else.
//!
//! This crate is `no_std`: it has no clock, no threads, no files, no sockets and no source of
//! randomness to reach for. Time and entropy come in with each batch ([`Ctx`]); what should be
//! written comes out ([`plan::Changes`]). A store loads what the planner asks for and saves what
//! it answers, inside one transaction.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod claim;
pub mod command;
pub mod job;
pub mod lane;
pub mod lifecycle;
pub mod plan;
pub mod policy;
pub mod retry;
pub mod waiting;
pub mod worker;

pub use command::{Command, Refusal, Reply};
pub use job::{Job, Lease, LeaseState};
pub use plan::{Ctx, Now, Plan, Planner};
