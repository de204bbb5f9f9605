//! Why the machine could not do what was asked.

/// A failure of the store itself. What the caller did wrong is a `Refusal`, never this.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The inbox is full.
    #[error("the hub has more writes waiting than it can take; try again in a moment")]
    Busy,
    #[error("the hub is shutting down")]
    Closed,
    #[error("the database has no room left: free disk space, then try again ({0})")]
    Full(String),
    #[error("the database could not do this: {0}")]
    Database(String),
}
