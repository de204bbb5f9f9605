//! Where the files are: all in the folder that a command is started in.

use std::path::PathBuf;

#[derive(Debug, Clone)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn here() -> Self {
        Self(PathBuf::from("."))
    }

    pub(crate) fn queue(&self) -> PathBuf {
        self.0.join("queue.db")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.0.join("config.json")
    }

    pub(crate) fn runtime(&self) -> PathBuf {
        self.0.join("queuectl_runtime")
    }
}
