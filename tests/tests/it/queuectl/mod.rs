//! `queuectl` on a queue in a folder.

mod completions;
mod crashes;
mod errors;
mod sharing;
mod snapshots;
mod top;
mod walks;
