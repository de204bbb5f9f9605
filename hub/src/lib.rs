//! The hub of a compute fleet: keeps jobs and workers durably, serves the API, tells watchers.
//! `docs/architecture.md` has the map.

pub mod adapter;
pub mod background;
pub mod backup;
pub mod cli;
pub mod clock;
pub mod command;
pub mod config;
pub mod disk;
pub mod downloads;
pub mod events;
pub mod fleet;
pub mod hub;
pub mod metrics;
pub mod probe;
pub mod problems;
pub mod secret;
pub mod service;
pub mod solvers;
pub mod store;

#[cfg(test)]
mod test_rig;
