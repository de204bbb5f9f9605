//! What the end-to-end tests stand on: starting and killing the real hub, speaking HTTP to it,
//! following its events, and judging afterwards whether it kept its promises.
//!
//! The judges ([`history`], [`trace`]) are pure functions over what was recorded, with tests of
//! their own that feed them broken recordings: a checker that cannot fail proves nothing.

pub mod agent;
pub mod between;
pub mod binary;
pub mod cable;
pub mod disk;
pub mod dockerfile;
pub mod examples;
pub mod history;
pub mod hub;
pub mod load;
pub mod machine;
pub mod operate;
pub mod proc;
pub mod queuectl;
pub mod raw;
pub mod recording;
pub mod soak;
pub mod sse;
pub mod trace;
pub mod turn;
