pub mod adapter;
pub mod secret;
pub mod store;
