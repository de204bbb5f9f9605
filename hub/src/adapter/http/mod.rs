//! The native HTTP API. Handlers translate requests to commands and answers to JSON; scopes are
//! declared beside each route and enforced from that declaration.

mod connections;
pub mod error;
mod fault;
pub mod headers;
pub mod json;
pub mod query;
pub mod scopes;
pub mod server;
mod stall;
mod throttle;
