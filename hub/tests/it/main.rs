//! Tests of the hub's parts as other crates see them, in one binary.
#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod conformance;
mod kit;
mod model;
mod sqlite;
