//! The engine through its public interface: every state with every input, the page generated
//! from that, and the planner against a store that is a few maps.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod fake;
mod states;

mod batches;
mod claims;
mod details;
mod enqueue;
mod limits;
mod model;
mod page;
mod reports;
mod table;
mod waiting;
mod workers;
