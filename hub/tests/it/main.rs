//! Tests of the hub's parts as other crates see them, in one binary.

mod conformance;
mod kit;
mod model;
mod sqlite;
