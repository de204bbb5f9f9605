//! The process that starts a solver and leaves nothing of it behind.
