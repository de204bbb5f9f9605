pub mod adapter;
pub mod store;
