pub mod store;
pub mod adapter;
