//! The real programs, driven from outside.

mod agent;
mod api;
mod backup;
mod bad_input;
mod controls;
mod crash;
mod disk_full;
mod doctor;
mod hostile;
mod overview;
mod process;
mod queuectl;
mod secrets;
mod secure;
mod sync_order;
mod tokens;
