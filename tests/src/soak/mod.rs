//! A small fleet that works for as long as it is told while it is killed and cut off, and what is found out
//! about it.

pub mod customers;
pub mod memory;
pub mod trouble;
