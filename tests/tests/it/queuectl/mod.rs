//! `queuectl` on a queue in a folder, and with a hub.

mod completions;
mod crashes;
mod errors;
mod fleet;
mod hub_basics;
mod hub_events;
mod hub_jobs;
mod hub_snapshots;
mod hub_submit;
mod sharing;
mod snapshots;
mod tables;
mod top;
mod walks;
