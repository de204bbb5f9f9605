//! The doors into the hub. Each protocol is a folder that translates to commands and back; none
//! of them decides anything about a job.

pub mod http;
