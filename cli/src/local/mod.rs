//! What local mode has that a hub would have instead: files in a folder, and workers that are
//! processes of this machine.

pub(crate) mod folder;
pub(crate) mod identity;
pub(crate) mod runtime;
pub(crate) mod settings;
pub(crate) mod worker;
