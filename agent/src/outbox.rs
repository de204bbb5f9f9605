//! Outcomes on disk until the hub has them.
