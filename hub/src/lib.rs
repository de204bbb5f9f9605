pub mod adapter;
pub mod clock;
pub mod fleet;
pub mod solvers;
pub mod store;
