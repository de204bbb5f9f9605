//! What a hub says to a file that it cannot or must not use.

use super::Folder;
use crate::kit::StepClock;
use forge_engine::Command;
use forge_hub::store::{Store as _, sqlite::lock_for_hub};
use rusqlite::Connection;
use std::fs;

/// A database that was made by a hub, has a few jobs and is closed.
async fn made() -> Folder {
    let folder = Folder::new();
    let store = folder.try_open(StepClock::new()).unwrap();
    for n in 0..50 {
        let job = crate::kit::new_job(&format!("job-{n}"));
        store.submit(Command::Enqueue(vec![job]), None).await.unwrap().unwrap();
    }
    store.close().await;
    folder
}

/// Opening must fail and say this, and must leave the file as it was.
fn check_refused(folder: &Folder, says: &[&str]) {
    let before = fs::read(folder.file()).unwrap();
    let error = match folder.try_open(StepClock::new()) {
        Ok(_) => panic!("a store was opened on it; expected {says:?}"),
        Err(error) => format!("{error:#}"),
    };
    for words in says {
        assert!(error.contains(words), "'{words}' is not in: {error}");
    }
    assert!(error.contains("forge-fleet.sqlite"), "the file is not named in: {error}");
    assert!(fs::read(folder.file()).unwrap() == before, "the file was changed");
}

fn damage(folder: &Folder, sql: &str) {
    let connection = Connection::open(folder.file()).unwrap();
    connection.execute_batch(sql).unwrap();
    connection.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
}

fn overwrite(folder: &Folder, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(folder.file()).unwrap();
    change(&mut bytes);
    fs::write(folder.file(), bytes).unwrap();
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let folder = made().await;
    damage(&folder, "PRAGMA user_version = 99");
    check_refused(&folder, &["newer version (99)", "start a newer hub"]);
}

#[tokio::test]
async fn a_database_of_another_program_is_refused_and_left_alone() {
    let folder = Folder::new();
    let other = Connection::open(folder.file()).unwrap();
    other.execute_batch("CREATE TABLE notes (text)").unwrap();
    drop(other);
    check_refused(&folder, &["another program", "SQLITE_PATH"]);
    damage(&folder, "PRAGMA application_id = 7");
    check_refused(&folder, &["another program", "SQLITE_PATH"]);
}

#[test]
fn a_file_that_is_not_sqlite_is_refused() {
    for content in ["not a database", &"x".repeat(10_000)] {
        let folder = Folder::new();
        fs::write(folder.file(), content).unwrap();
        check_refused(&folder, &["not a SQLite database"]);
    }
}

#[tokio::test]
async fn a_damaged_header_is_refused() {
    let folder = made().await;
    overwrite(&folder, |bytes| bytes[..16].fill(0));
    check_refused(&folder, &["header is damaged", "backup"]);
    let folder = made().await;
    // The page size.
    overwrite(&folder, |bytes| bytes[16..18].fill(0xff));
    check_refused(&folder, &["damaged", "backup"]);
}

#[tokio::test]
async fn a_damaged_schema_is_refused() {
    for (sql, name) in [
        ("DROP INDEX jobs_lane", "jobs_lane"),
        ("DROP TABLE history", "history"),
        ("ALTER TABLE jobs RENAME COLUMN run_at TO due_at", "jobs"),
        ("ALTER TABLE results ADD COLUMN more TEXT", "results"),
    ] {
        let folder = made().await;
        damage(&folder, sql);
        check_refused(&folder, &["schema is damaged", &format!("'{name}'"), "backup"]);
    }
}

#[tokio::test]
async fn a_truncated_file_is_refused() {
    for kept in [50, 4_096, 20_000] {
        let folder = made().await;
        overwrite(&folder, |bytes| bytes.truncate(kept));
        check_refused(&folder, &["damaged", "backup"]);
    }
}

#[tokio::test]
async fn an_overwritten_page_is_refused() {
    let folder = made().await;
    overwrite(&folder, |bytes| bytes[8_192..12_288].fill(0xaa));
    check_refused(&folder, &["damaged", "backup"]);
}

#[tokio::test]
async fn a_hub_that_was_killed_before_its_first_checkpoint_starts_again() {
    let folder = Folder::new();
    let store = folder.try_open(StepClock::new()).unwrap();
    store.submit(Command::Enqueue(vec![crate::kit::new_job("kept")]), None).await.unwrap().unwrap();
    // What a kill leaves: the files as they are now.
    let after = Folder::new();
    for name in ["forge-fleet.sqlite", "forge-fleet.sqlite-wal"] {
        fs::copy(folder.file().with_file_name(name), after.file().with_file_name(name)).unwrap();
    }
    let again = after.try_open(StepClock::new()).unwrap();
    assert!(again.job(&crate::kit::job_id("kept")).await.unwrap().is_some());
    again.close().await;
    store.close().await;
}

#[test]
fn a_file_left_empty_by_a_killed_first_start_is_used() {
    let folder = Folder::new();
    let connection = Connection::open(folder.file()).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    drop(connection);
    assert!(fs::metadata(folder.file()).unwrap().len() > 0);
    assert!(folder.try_open(StepClock::new()).is_ok());
}

#[tokio::test]
async fn closing_leaves_everything_in_one_file() {
    let folder = made().await;
    for name in ["forge-fleet.sqlite-wal", "forge-fleet.side.sqlite-wal"] {
        let log = fs::metadata(folder.file().with_file_name(name));
        assert_eq!(log.map_or(0, |file| file.len()), 0, "{name}");
    }
}

#[test]
fn only_one_hub_serves_a_database() {
    let folder = Folder::new();
    let first = lock_for_hub(&folder.file()).unwrap();
    let error = lock_for_hub(&folder.file()).unwrap_err().to_string();
    assert!(error.contains("already served by another hub") && error.contains("SQLITE_PATH"), "{error}");
    // Opening is not serving: other programs may look.
    assert!(folder.try_open(StepClock::new()).is_ok());
    drop(first);
    assert!(lock_for_hub(&folder.file()).is_ok());
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = Folder::new();
    fs::write(folder.file(), "").unwrap();
    let below = folder.file().join("below/forge-fleet.sqlite");
    let opened = forge_hub::store::sqlite::open(
        &below,
        StepClock::new(),
        forge_engine::lifecycle::Policy::default(),
        std::sync::Arc::new(super::Quiet),
    );
    let error = format!("{:#}", opened.err().unwrap());
    assert!(error.contains("cannot make the folder"), "{error}");
}
