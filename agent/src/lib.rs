//! The agent: makes outbound requests only, runs solvers as subprocesses, and never loses a
//! result. It never listens.

pub mod backoff;
pub mod cache;
pub mod config;
pub mod doctor;
pub mod finishing;
pub mod holdings;
pub mod hub;
pub mod job;
pub mod logs;
pub mod metrics;
pub mod outbox;
pub mod reporter;
pub mod runner;
pub mod shipping;
pub mod supervise;
mod sys;
pub mod tls;
pub mod worker;
