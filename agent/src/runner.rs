//! The agent's side of a slot.
