//! `queuectl top`: the hub on a whole screen, live.
//!
//! [`model`] knows what is shown and what keys do, [`view`] draws it; both are pure.

mod log;
mod model;
mod rows;
mod view;

#[cfg(test)]
mod tests;
