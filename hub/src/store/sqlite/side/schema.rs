//! Opening the side file: is it ours, is it whole, and is it of a version we know?

use super::super::{
    copy::{self, Kind},
    open,
};
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::path::{Path, PathBuf};

/// "FFsd" in the file's header tells our side file from any other SQLite database.
pub(in super::super) const APPLICATION_ID: i32 = 0x4646_7364;

/// In order; only ever added to. The file's `user_version` says how many it has.
const MIGRATIONS: &[&str] =
    &[include_str!("migrations/0001_logs_and_snapshots.sql"), include_str!("migrations/0002_history.sql")];

/// The version of the schema after all of them.
pub(in super::super) const VERSION: i64 = MIGRATIONS.len() as i64;

const TABLES: [&str; 5] = ["log", "log_chunk", "snapshot", "history_node", "history"];

/// The WAL is cut back to this after a checkpoint.
const WAL_BYTES_KEPT: i64 = 16 << 20;

/// Why the hub does not use this file.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} belongs to another program: move it away or set another database path", .0.display())]
    NotOurs(PathBuf),
    #[error("{} was written by a newer forge-hub (its version is {found}, this one knows {known}): run that version", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("{} is damaged: restore it from a backup, or move it away to start without logs ({why})", path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("{} is kept busy by another program", .0.display())]
    Busy(PathBuf),
    #[error("{} cannot be opened: {why}", path.display())]
    Unusable { path: PathBuf, why: String },
}

impl OpenError {
    fn from_sqlite(path: &Path, error: rusqlite::Error) -> Self {
        let (path, why) = (path.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Damaged { path, why },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(path),
            _ => Self::Unusable { path, why },
        }
    }
}

/// The connection that writes. Nothing in the file is touched before it is known to be ours.
pub(super) fn open_writer(path: &Path) -> Result<Connection, OpenError> {
    let sqlite = |error| OpenError::from_sqlite(path, error);
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    connection.pragma_update(None, "busy_timeout", 5000).map_err(sqlite)?;
    recognise(&connection, path)?;
    open::write_ahead(&connection).map_err(sqlite)?;
    // These bytes may lose their last seconds when the power fails, so that they never make a
    // job's commit wait for the disk.
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(sqlite)?;
    connection.pragma_update(None, "foreign_keys", "ON").map_err(sqlite)?;
    connection.pragma_update(None, "journal_size_limit", WAL_BYTES_KEPT).map_err(sqlite)?;
    connection.set_prepared_statement_cache_capacity(64);
    copy::keep_before_upgrade(&connection, path, Kind::Side)
        .map_err(|error| OpenError::Unusable { path: path.to_owned(), why: format!("{error:#}") })?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "busy_timeout", 5000)?;
    Ok(connection)
}

fn recognise(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let sqlite = |error| OpenError::from_sqlite(path, error);
    // One look at all three: another program may be making the file right now.
    let look = connection.unchecked_transaction().map_err(sqlite)?;
    let number = |sql: &str| look.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id").map_err(sqlite)?;
    let version = number("PRAGMA user_version").map_err(sqlite)?;
    let objects = number("SELECT count(*) FROM sqlite_schema").map_err(sqlite)?;
    if application == 0 && version == 0 && objects == 0 {
        return Ok(());
    }
    if application != i64::from(APPLICATION_ID) {
        return Err(OpenError::NotOurs(path.to_owned()));
    }
    let known = VERSION;
    if version > known {
        return Err(OpenError::Newer { path: path.to_owned(), found: version, known });
    }
    Ok(())
}

/// Puts a page into the log without changing anything.
pub(super) fn rewrite_version(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "user_version", VERSION)
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let sqlite = |error| OpenError::from_sqlite(path, error);
    // Two processes may open a new file at once: the version is read under the write lock.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(sqlite)?;
    let done = usize::try_from(version).map_err(|_| OpenError::Damaged {
        path: path.to_owned(),
        why: format!("its version is {version}"),
    })?;
    for migration in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(migration).map_err(sqlite)?;
    }
    if done < MIGRATIONS.len() {
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sqlite)?;
        transaction.pragma_update(None, "user_version", VERSION).map_err(sqlite)?;
    }
    for table in TABLES {
        transaction
            .prepare(&format!("SELECT * FROM {table} LIMIT 1"))
            .and_then(|mut statement| statement.exists([]))
            .map_err(|error| OpenError::Damaged { path: path.to_owned(), why: error.to_string() })?;
    }
    transaction.commit().map_err(sqlite)
}
