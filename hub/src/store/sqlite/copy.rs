//! Copies of database files that are in use, and looks at files that are not: for backups, for
//! restoring, and before a migration.
//!
//! A live database is only ever opened through SQLite here. To open and close such a file in any
//! other way would take SQLite's locks away from the whole process.

use super::{open, side};
use anyhow::{Context as _, bail};
use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// Pages copied between two looks at whether to stop.
const STEP_PAGES: i32 = 1_024;
/// Copies of a file from before its upgrades that are kept.
const UPGRADE_COPIES_KEPT: usize = 2;
const BEFORE: &str = "before-v";
const BUSY_MAX: Duration = Duration::from_secs(10);
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// The two files of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Jobs,
    Side,
}

impl Kind {
    fn application_id(self) -> i32 {
        match self {
            Self::Jobs => open::APPLICATION_ID,
            Self::Side => side::APPLICATION_ID,
        }
    }

    /// The newest version of its schema that this program knows.
    pub fn version_known(self) -> i64 {
        match self {
            Self::Jobs => open::VERSION,
            Self::Side => side::VERSION,
        }
    }
}

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    pub jobs: u64,
    pub epoch: u64,
    pub last_event: u64,
    pub version: i64,
    /// `None` when there is no side file yet.
    pub side_version: Option<i64>,
}

/// Copies both files as they are at one moment, while others go on writing.
pub fn copy(main: &Path, to_main: &Path, to_side: &Path, stop: &CancellationToken) -> anyhow::Result<Copied> {
    let shown = main.display();
    if !main.exists() {
        bail!("there is no database at {shown}; set SQLITE_PATH to the one to copy");
    }
    let jobs = reader(main, Kind::Jobs)?;
    let side_path = side::path_beside(main);
    let side = side_path.exists().then(|| reader(&side_path, Kind::Side)).transpose()?;
    // The first read of a transaction fixes what all of it sees. One after the other: what the side
    // file says of jobs is then about jobs that are in the copy, or came that very moment.
    jobs.execute_batch("BEGIN")?;
    let (epoch, next_event): (i64, i64) =
        jobs.query_row("SELECT epoch, next_event FROM position", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut side_version = None;
    if let Some(side) = &side {
        side.execute_batch("BEGIN")?;
        side_version = Some(version(side)?);
    }
    let count: i64 = jobs.query_row("SELECT coalesce(sum(n), 0) FROM counts", [], |row| row.get(0))?;
    let copied = Copied {
        jobs: count.unsigned_abs(),
        epoch: epoch.unsigned_abs(),
        last_event: (next_event - 1).unsigned_abs(),
        version: version(&jobs)?,
        side_version,
    };
    pages(&jobs, to_main, stop).with_context(|| format!("cannot copy {shown}"))?;
    if let Some(side) = &side {
        pages(side, to_side, stop).with_context(|| format!("cannot copy {}", side_path.display()))?;
    }
    Ok(copied)
}

/// A migration cannot be taken back: the file is copied beside itself first, as
/// `<file>.before-v<new version>`. The newest few of these copies are kept.
pub(super) fn keep_before_upgrade(from: &Connection, path: &Path, kind: Kind) -> anyhow::Result<()> {
    let (found, known) = (version(from)?, kind.version_known());
    // A new file has no version, and one that is too new is refused by the migration itself.
    if found <= 0 || found >= known {
        return Ok(());
    }
    let target = open::beside(path, &format!("{BEFORE}{known}"));
    let unfinished = open::beside(path, &format!("{BEFORE}{known}.unfinished"));
    let copied = pages(from, &unfinished, &CancellationToken::new())
        .and_then(|()| std::fs::rename(&unfinished, &target).map_err(Into::into));
    if let Err(error) = copied {
        let _ = std::fs::remove_file(&unfinished);
        return Err(error.context(format!(
            "cannot copy {} before its upgrade; free disk space for a copy beside it",
            path.display()
        )));
    }
    tracing::info!(copy = %target.display(), from = found, to = known, "upgrading the database; a copy of it is kept");
    for old in (1..known).rev().skip(UPGRADE_COPIES_KEPT - 1) {
        let _ = std::fs::remove_file(open::beside(path, &format!("{BEFORE}{old}")));
    }
    Ok(())
}

fn pages(from: &Connection, to: &Path, stop: &CancellationToken) -> anyhow::Result<()> {
    open::make_private(to)?;
    let mut target = Connection::open(to)?;
    // Synced once, by whoever finishes the copy; until then it has no name that anybody trusts.
    target.pragma_update(None, "synchronous", "OFF")?;
    let started = Instant::now();
    {
        let backup = Backup::new(from, &mut target)?;
        loop {
            match backup.step(STEP_PAGES)? {
                StepResult::Done => break,
                StepResult::More => {}
                _ if started.elapsed() > BUSY_MAX => bail!("it is kept busy by another program"),
                _ => std::thread::sleep(BUSY_PAUSE),
            }
            if stop.is_cancelled() {
                bail!("stopped before it was finished");
            }
        }
    }
    // One file without a log beside it.
    target.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    quick_check(&target)?;
    target.close().map_err(|(_, error)| error)?;
    std::fs::File::open(to)?.sync_all()?;
    Ok(())
}

pub(super) fn reader(path: &Path, kind: Kind) -> anyhow::Result<Connection> {
    let shown = path.display();
    let connection = open::reader(path).with_context(|| format!("cannot open {shown}"))?;
    recognise(&connection, path, kind)?;
    Ok(connection)
}

/// Is it ours, and of a version that we know?
fn recognise(connection: &Connection, path: &Path, kind: Kind) -> anyhow::Result<()> {
    let shown = path.display();
    let application: i32 = connection
        .query_row("PRAGMA application_id", [], |row| row.get(0))
        .with_context(|| format!("{shown} cannot be read as a database"))?;
    if application != kind.application_id() {
        bail!("{shown} is not a database of this program");
    }
    let (found, known) = (version(connection)?, kind.version_known());
    if found > known {
        bail!("{shown} is of a newer version ({found}) than this program knows ({known}); use a newer one");
    }
    Ok(())
}

pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

pub(super) fn quick_check(connection: &Connection) -> anyhow::Result<()> {
    expect_ok(connection, "PRAGMA quick_check(5)")
}

pub(super) fn expect_ok(connection: &Connection, pragma: &str) -> anyhow::Result<()> {
    let found: Vec<String> =
        connection.prepare(pragma)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    if found != ["ok"] {
        bail!("it is damaged: {}", found.join("; "));
    }
    Ok(())
}

/// Gives a restored database an epoch of its own: positions in the old event log, which went on
/// after the backup, mean nothing in this one.
pub fn renew_epoch(path: &Path) -> anyhow::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute("UPDATE position SET epoch = ?1", [open::random_epoch()?])?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}
