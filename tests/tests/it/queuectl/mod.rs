//! `queuectl` on a queue in a folder.

mod crashes;
mod errors;
mod sharing;
mod snapshots;
mod walks;
