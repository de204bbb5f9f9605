//! Solvers, kept by their checksum.
