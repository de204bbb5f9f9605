//! Which version this is, and which commit it was built from. A crate of its own, so that a new
//! commit rebuilds as little as possible.

/// As in `Cargo.toml`, such as `0.1.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The first twelve digits of the commit, `development` for a debug build, which follows no
/// commits, or `unknown` where there was no repository and `FORGE_COMMIT` was not set.
pub const COMMIT: &str = env!("FORGE_BUILT_FROM");
/// What `--version` prints behind a program's name.
pub const LONG: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("FORGE_BUILT_FROM"), ")");
