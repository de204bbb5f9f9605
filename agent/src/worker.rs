//! Registration, heartbeats, claims, slots.
