//! Opening a database file: is it ours, is it whole, is it of a version we know?
//!
//! Opening is not starting a hub: several processes may open one file. Only a hub takes the
//! lock that keeps a second hub away.

use super::copy::{self, Kind};
use crate::disk::Space;
use anyhow::{Context, anyhow, bail};
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};
use std::{
    fs::{File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// "ForF": marks a file as one of ours.
pub(super) const APPLICATION_ID: i32 = 0x466f_7246;

const MIGRATIONS: [&str; 3] = [
    include_str!("migrations/0001_jobs.sql"),
    include_str!("migrations/0002_overview.sql"),
    include_str!("migrations/0003_retrying.sql"),
];

/// The version of the schema after all of them.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Statements kept prepared on each connection: more than there are in the code.
const STATEMENTS_MAX: usize = 128;
const WRITER_CACHE_KIB: i32 = 8 * 1024;
const READER_CACHE_KIB: i32 = 2 * 1024;
/// WAL pages after which the writer moves them into the database file.
const CHECKPOINT_PAGES: i32 = 4_000;
/// The same for those who come for one command: the next of them reads the whole log first.
const BRIEF_CHECKPOINT_PAGES: i32 = 250;
/// What a hub needs to start.
const ROOM_BYTES_MIN: u64 = 256 << 10;
/// How long to wait for another program that makes the same file, and between looks.
const BUSY_MAX: Duration = Duration::from_secs(5);
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// How closely a file is looked at before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// All of it is read: whoever serves it for long should know that it is whole.
    Through,
    /// Its version and schema: for the few milliseconds of one command.
    Brief,
}

/// Opens (or makes) the file for writing and brings its schema up to date.
pub(super) fn writer(path: &Path, look: Look) -> anyhow::Result<Connection> {
    let shown = path.display();
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {} for the database", folder.display()))?;
    }
    make_private(path)
        .with_context(|| format!("cannot make the database {shown}; check the path and its permissions"))?;
    let fresh = std::fs::metadata(path).map_or(true, |meta| meta.len() == 0);
    if !fresh {
        check_header(path)?;
    }
    if look == Look::Through {
        expect_room(path)?;
    }
    let mut connection = Connection::open(path)
        .with_context(|| format!("cannot open the database {shown}; check the path and its permissions"))?;
    if !is_ours(&connection).map_err(|error| explain(error.into(), path))? {
        bail!(
            "{shown} is a SQLite database of another program; it was left as it is. Set SQLITE_PATH to another file"
        );
    }
    prepare(&mut connection, path, fresh, look).map_err(|error| explain(error, path))?;
    Ok(connection)
}

/// SQLite maps the log's index into memory. Where the disk is full and its blocks are smaller than
/// a page of memory, that ends the process by a signal, without a word.
fn expect_room(path: &Path) -> anyhow::Result<()> {
    let space = Space::under(path.parent().unwrap_or(Path::new("")));
    match space {
        Ok(space) if space.total > 0 && space.free < ROOM_BYTES_MIN => bail!(
            "there is no room for the database {} ({} bytes are free); free disk space",
            path.display(),
            space.free
        ),
        _ => Ok(()),
    }
}

/// Makes a file that is not there yet, for its owner's eyes only: jobs may hold anything. SQLite
/// gives its log the same rights.
pub(super) fn make_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path).map(drop)
}

pub(super) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "busy_timeout", 5_000)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(connection)
}

/// Keeps a second hub away from this database for as long as the file lives.
pub fn lock_for_hub(path: &Path) -> anyhow::Result<File> {
    let lock_path = beside(path, "lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock_path)
        .with_context(|| format!("cannot make the lock file {}", lock_path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "the database {} is already served by another hub; stop that one first, or set SQLITE_PATH to another file",
            path.display()
        ),
        Err(TryLockError::Error(error)) => {
            Err(anyhow!(error).context("cannot lock the database for this hub"))
        }
    }
}

/// A file that belongs to the database, named after it.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

fn check_header(path: &Path) -> anyhow::Result<()> {
    use std::io::Read as _;
    let mut header = [0u8; 100];
    let shown = path.display();
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    if read.is_err() || &header[..16] != b"SQLite format 3\0" {
        bail!(
            "{shown} is not a SQLite database, or its header is damaged; restore it from a backup, or set SQLITE_PATH to another file"
        );
    }
    Ok(())
}

/// Nothing is changed in a file before it is known to be ours, or to be empty. SQLite is asked,
/// because what the file itself says is out of date while the newest pages are in the log: a hub
/// may have been killed before the first of them was moved over.
fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    connection.pragma_update(None, "busy_timeout", 5_000)?;
    // One look at all three: another program may be making the file right now.
    let look = connection.unchecked_transaction()?;
    let number = |sql: &str| look.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    let empty = application == 0
        && number("PRAGMA user_version")? == 0
        && number("SELECT count(*) FROM sqlite_schema")? == 0;
    Ok(empty || application == i64::from(APPLICATION_ID))
}

/// Turns write-ahead logging on; answers the mode that the file has now. Several programs may make
/// a file at once, and SQLite does not wait for a lock here by itself.
pub(super) fn write_ahead(connection: &Connection) -> rusqlite::Result<String> {
    let started = Instant::now();
    loop {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        let code = mode.as_ref().err().and_then(rusqlite::Error::sqlite_error_code);
        let busy = matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked));
        if !busy || started.elapsed() > BUSY_MAX {
            return mode;
        }
        std::thread::sleep(BUSY_PAUSE);
    }
}

fn prepare(connection: &mut Connection, path: &Path, fresh: bool, look: Look) -> anyhow::Result<()> {
    connection.pragma_update(None, "foreign_keys", true)?;
    if write_ahead(connection)? != "wal" {
        bail!("this file system does not support write-ahead logging; put the database on a local disk");
    }
    let synchronous = if cfg!(feature = "fault-sync-normal") { "NORMAL" } else { "FULL" };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    let checkpoint_pages = match look {
        Look::Through => CHECKPOINT_PAGES,
        Look::Brief => {
            // Moving a few pages at the end of every command would cost more syncs than the command.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            BRIEF_CHECKPOINT_PAGES
        }
    };
    connection.pragma_update(None, "wal_autocheckpoint", checkpoint_pages)?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    if look == Look::Brief && is_current(connection)? {
        return Ok(());
    }
    if !fresh && look == Look::Through {
        let found: Vec<String> = connection
            .prepare("PRAGMA quick_check(1)")?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        if found != ["ok"] {
            bail!("the database is damaged ({}); restore it from a backup", found.join("; "));
        }
    }
    copy::keep_before_upgrade(connection, path, Kind::Jobs)?;
    migrate(connection)
}

/// Nothing to bring up to date, which would take the write lock that others may be waiting for.
fn is_current(connection: &Connection) -> anyhow::Result<bool> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != MIGRATIONS.len() as i64 {
        return Ok(false);
    }
    check_schema(connection).map(|()| true)
}

fn migrate(connection: &mut Connection) -> anyhow::Result<()> {
    let known = VERSION;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version > known {
        bail!(
            "the database is of a newer version ({version}) than this hub knows ({known}); start a newer hub, or restore an older backup"
        );
    }
    for (number, sql) in MIGRATIONS.iter().enumerate().skip(version.max(0) as usize) {
        transaction.execute_batch(sql).with_context(|| format!("migration {} failed", number + 1))?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", known)?;
    transaction.execute(
        "INSERT OR IGNORE INTO position (id, epoch, next_job, next_event) VALUES (1, ?1, 1, 1)",
        [random_epoch()?],
    )?;
    check_schema(&transaction)?;
    transaction.commit()?;
    Ok(())
}

/// Tells one event log from another.
pub(super) fn random_epoch() -> anyhow::Result<i64> {
    let mut epoch = [0u8; 8];
    getrandom::fill(&mut epoch).map_err(|error| anyhow!("no randomness from the system: {error}"))?;
    // 48 bits: exact in every JSON reader.
    Ok(i64::from_be_bytes(epoch) & 0xffff_ffff_ffff)
}

/// Puts a page into the log without changing anything.
pub(super) fn rewrite_version(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "user_version", VERSION)
}

/// Every table and index that the code relies on is there, with the columns it names.
fn check_schema(connection: &Connection) -> anyhow::Result<()> {
    let pristine = Connection::open_in_memory()?;
    for sql in MIGRATIONS {
        pristine.execute_batch(sql)?;
    }
    let shape = |connection: &Connection| -> rusqlite::Result<Vec<(String, String)>> {
        connection
            .prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect()
    };
    let (expected, found) = (shape(&pristine)?, shape(connection)?);
    if let Some((name, _)) = expected.iter().find(|item| !found.contains(item)) {
        bail!(
            "the database's schema is damaged: '{name}' is missing or was changed; restore it from a backup"
        );
    }
    Ok(())
}

fn explain(error: anyhow::Error, path: &Path) -> anyhow::Error {
    let shown = path.display();
    let code = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    match code {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            anyhow!("the database {shown} is damaged ({error}); restore it from a backup")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            anyhow!("the database {shown} is locked by another program; stop it, then start the hub again")
        }
        Some(ErrorCode::DiskFull) => anyhow!("there is no room for the database {shown}; free disk space"),
        Some(ErrorCode::ReadOnly) => anyhow!("the database {shown} cannot be written; check its permissions"),
        _ => error.context(format!("cannot use the database {shown}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn jobs(connection: &Connection) -> i64 {
        connection.query_row("SELECT next_job FROM position", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_new_database_is_ours_after_a_stop_and_after_a_crash() {
        let folder = TempDir::new().unwrap();
        let (path, crashed) = (folder.path().join("a.sqlite"), folder.path().join("b.sqlite"));
        let connection = writer(&path, Look::Through).unwrap();
        let reading = reader(&path).unwrap();
        connection.execute("UPDATE position SET next_job = 7", []).unwrap();
        for ending in ["", "-wal"] {
            let name = |path: &Path| PathBuf::from(format!("{}{ending}", path.display()));
            std::fs::copy(name(&path), name(&crashed)).unwrap();
        }
        // A reader that is still open keeps the log from being moved into the file.
        drop(connection);
        drop(reading);
        for path in [path, crashed] {
            assert_eq!(jobs(&writer(&path, Look::Through).unwrap()), 7);
            assert_eq!(jobs(&writer(&path, Look::Brief).unwrap()), 7);
        }
    }

    #[test]
    fn a_database_of_another_program_and_a_file_that_is_none_are_left_alone() {
        let folder = TempDir::new().unwrap();
        let (theirs, text) = (folder.path().join("theirs.sqlite"), folder.path().join("text.sqlite"));
        Connection::open(&theirs).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
        std::fs::write(&text, "a letter, and a long one, but no database".repeat(9)).unwrap();
        for (path, why) in [(theirs, "of another program"), (text, "not a SQLite database")] {
            let before = std::fs::read(&path).unwrap();
            let error = format!("{:#}", writer(&path, Look::Brief).unwrap_err());
            assert!(error.contains(why), "{error}");
            assert_eq!(std::fs::read(&path).unwrap(), before);
        }
    }

    #[test]
    fn older_database_is_copied_then_upgraded_and_a_newer_one_is_refused() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.sqlite");
        let old = Connection::open(&path).unwrap();
        old.execute_batch(MIGRATIONS[0]).unwrap();
        old.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        old.execute("INSERT INTO position (id, epoch, next_job, next_event) VALUES (1, 5, 7, 9)", [])
            .unwrap();
        drop(old);
        for earlier in 0..VERSION - 1 {
            std::fs::write(beside(&path, &format!("before-v{earlier}")), "long ago").unwrap();
        }

        let upgraded = writer(&path, Look::Through).unwrap();
        assert_eq!(jobs(&upgraded), 7);
        let settled: i64 = upgraded.query_row("SELECT settled FROM position", [], |row| row.get(0)).unwrap();
        assert_eq!(settled, 0);
        let copy = beside(&path, &format!("before-v{VERSION}"));
        let kept = Connection::open(&copy).unwrap();
        let version: i64 = kept.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!((version, jobs(&kept)), (1, 7));
        assert!(kept.prepare("SELECT settled FROM position").is_err());
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&copy).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);

        // The next start has nothing to upgrade, and makes no copy.
        drop((upgraded, kept));
        std::fs::remove_file(&copy).unwrap();
        let current = writer(&path, Look::Through).unwrap();
        assert!(!copy.exists());
        current.pragma_update(None, "user_version", VERSION + 1).unwrap();
        drop(current);
        let refused = format!("{:#}", writer(&path, Look::Through).unwrap_err());
        assert!(refused.contains("newer version") && refused.contains("start a newer hub"), "{refused}");
    }

    #[test]
    fn only_one_hub_may_serve_a_database() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.sqlite");
        let first = lock_for_hub(&path).unwrap();
        let error = lock_for_hub(&path).unwrap_err().to_string();
        assert!(error.contains("already served by another hub"), "{error}");
        drop(first);
        lock_for_hub(&path).unwrap();
    }
}
