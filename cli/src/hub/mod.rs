//! Talking to a hub: one client for all commands, and what its refusals mean for a person.

mod client;
mod events;
mod solver;
mod sse;

pub(crate) use client::{Failure, Hub, Listing};
pub(crate) use events::{Events, Happened};
pub(crate) use solver::Pushed;
