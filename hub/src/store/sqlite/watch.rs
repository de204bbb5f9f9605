//! Seeing from outside the writer that another program changed the file, for processes that share
//! one and have nobody to wake them.

use super::open;
use anyhow::Context as _;
use rusqlite::Connection;
use std::path::Path;

/// A connection that only looks. A look that finds nothing new reads a few bytes of shared memory.
pub struct Watch {
    connection: Connection,
    seen: Option<i64>,
}

impl Watch {
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let connection =
            open::reader(path).with_context(|| format!("cannot read the database {}", path.display()))?;
        Ok(Self { connection, seen: None })
    }

    /// Whether anything was committed since the last look. The first look says yes.
    pub fn changed(&mut self) -> rusqlite::Result<bool> {
        let version =
            self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        Ok(self.seen.replace(version) != Some(version))
    }

    /// When the first of the waiting jobs is due, in the past or ahead.
    pub fn next_due(&self) -> rusqlite::Result<Option<i64>> {
        self.connection
            .prepare_cached(
                "SELECT min((SELECT run_at FROM jobs INDEXED BY jobs_lane WHERE lane = lanes.id \
                 ORDER BY run_at LIMIT 1)) FROM lanes",
            )?
            .query_row([], |row| row.get(0))
    }
}
