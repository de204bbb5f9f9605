//! The SQLite store.

pub mod side;
