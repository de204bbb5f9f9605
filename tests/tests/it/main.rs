//! The real programs, driven from outside.

mod agent;
mod api;
mod bad_input;
mod controls;
mod crash;
mod docs;
mod hostile;
mod overview;
mod process;
mod queuectl;
mod secrets;
mod soak;
mod sync_order;
mod tokens;
mod versions;
