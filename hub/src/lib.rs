pub mod adapter;
pub mod fleet;
pub mod solvers;
pub mod store;
