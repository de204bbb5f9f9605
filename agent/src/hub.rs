//! Requests to the hub.
