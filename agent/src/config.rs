//! Settings: flags, environment, a file.
