//! What the benchmarks are made of. Every scenario prints `name: value unit`, one figure a line,
//! and where a limit bounds it, measures that limit in the same run, in turns, because machines
//! have moods.

pub mod bare;
pub mod figures;
pub mod hub;
pub mod load;
pub mod scenario;
pub mod wire;
