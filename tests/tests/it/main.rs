//! The real programs, driven from outside.

mod agent;
mod api;
mod backup;
mod bad_input;
mod controls;
mod crash;
mod deploy;
mod disk_full;
mod docs;
mod doctor;
mod hostile;
mod overview;
mod process;
mod queuectl;
mod secrets;
mod secure;
mod soak;
mod sync_order;
mod tokens;
mod versions;
