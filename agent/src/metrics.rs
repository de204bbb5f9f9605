//! What this machine is doing.
