//! Looks at database files for people: are they whole, do they belong together, how new are they?
//! All of it works beside a hub that uses them, but for [`vacuum`].

use super::{
    copy::{self, Kind},
    side,
};
use anyhow::{Context as _, ensure};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use std::path::Path;

/// How closely a file is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Every page, in the order of the file.
    Quick,
    /// Also whether indexes and tables agree, whether what is referred to is there, and whether the
    /// counters equal a recount.
    Full,
}

/// Whether a database file is ours and whole.
pub fn check(path: &Path, kind: Kind, depth: Depth) -> anyhow::Result<()> {
    let connection = copy::reader(path, kind)?;
    // One state of the file for all questions.
    connection.execute_batch("BEGIN")?;
    let checked = match depth {
        Depth::Quick => copy::quick_check(&connection),
        Depth::Full => thorough(&connection, kind),
    };
    checked.with_context(|| path.display().to_string())
}

fn thorough(connection: &Connection, kind: Kind) -> anyhow::Result<()> {
    copy::expect_ok(connection, "PRAGMA integrity_check(20)")?;
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let orphans = number("SELECT count(*) FROM pragma_foreign_key_check")?;
    ensure!(orphans == 0, "{orphans} rows refer to rows that are not there");
    if kind == Kind::Jobs {
        let wrong = number(include_str!("sql/wrong_counts.sql"))?;
        ensure!(wrong == 0, "{wrong} counters do not equal a recount of the jobs");
    }
    Ok(())
}

/// The version of a file's schema, which may be older than the newest.
pub fn version(path: &Path, kind: Kind) -> anyhow::Result<i64> {
    Ok(copy::version(&copy::reader(path, kind)?)?)
}

/// Whether the side file tells of anything that the database knows, as far as both have something
/// to tell.
pub fn belong_together(main: &Path) -> anyhow::Result<bool> {
    let connection = copy::reader(main, Kind::Jobs)?;
    let side = side::path_beside(main);
    let side = side.to_str().context("the path of the database is not UTF-8")?;
    connection.execute("ATTACH ?1 AS side", [side])?;
    let (known, told): (i64, i64) =
        connection
            .query_row(include_str!("sql/known_to_both.sql"), [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(told == 0 || known > 0)
}

/// When the newest event happened, in ms since 1970.
pub fn newest_event(main: &Path) -> anyhow::Result<Option<i64>> {
    let connection = copy::reader(main, Kind::Jobs)?;
    let newest =
        connection.query_row("SELECT ts FROM events ORDER BY first DESC LIMIT 1", [], |row| row.get(0));
    Ok(newest.optional()?)
}

/// Writes a file anew without the room that removed rows left. Only for files that nobody uses.
pub fn vacuum(path: &Path, kind: Kind) -> anyhow::Result<()> {
    copy::reader(path, kind)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "busy_timeout", 5_000)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch("VACUUM")?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}
