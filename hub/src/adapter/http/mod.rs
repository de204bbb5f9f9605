//! The native HTTP API. Handlers translate requests to commands and answers to JSON; scopes are
//! declared beside each route and enforced from that declaration.

pub mod error;
pub mod fleet;
pub mod logs;
mod range;
pub mod solvers;
pub mod sse;
mod stub;

#[cfg(test)]
mod fleet_tests;
#[cfg(test)]
mod logs_tests;
#[cfg(test)]
mod solvers_tests;
#[cfg(test)]
mod test_rig;
