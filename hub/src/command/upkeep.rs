//! `forge-hub check` and `forge-hub vacuum`.

use super::size;
use crate::{
    backup, cli,
    config::Config,
    disk::Space,
    store::sqlite::{
        self,
        copy::Kind,
        inspect::{self, Depth},
        side,
    },
};
use anyhow::{bail, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// True when nothing is wrong.
pub(super) fn check(config: &Config, options: &cli::Check) -> anyhow::Result<bool> {
    match &options.backup {
        Some(folder) => check_backup(folder),
        None => check_database(&config.sqlite_path),
    }
}

fn check_backup(folder: &Path) -> anyhow::Result<bool> {
    let manifest = backup::verify(folder)?;
    println!("ok    {}: {} files are as their checksums say", folder.display(), manifest.files.len());
    println!("ok    its databases are whole; {} jobs", manifest.jobs);
    Ok(true)
}

fn check_database(database: &Path) -> anyhow::Result<bool> {
    let mut sound = true;
    for (path, kind) in existing(database)? {
        match inspect::check(&path, kind, Depth::Full) {
            Ok(()) => println!("ok    {} is whole", path.display()),
            Err(error) => {
                sound = false;
                println!("FAIL  {error:#}\n      Restore it from a backup with forge-hub restore.");
            }
        }
    }
    if sound && side::path_beside(database).exists() {
        match inspect::belong_together(database)? {
            true => println!("ok    both files belong together"),
            false => {
                sound = false;
                println!(
                    "FAIL  the logs are about other jobs and machines than the database\n      Restore both from one backup."
                );
            }
        }
    }
    Ok(sound)
}

pub(super) fn vacuum(config: &Config) -> anyhow::Result<()> {
    let files = existing(&config.sqlite_path)?;
    // A hub would wait for as long as this takes, and answer nothing that writes.
    let _lock = sqlite::lock_for_hub(&config.sqlite_path)?;
    for (path, kind) in files {
        let before = bytes(&path);
        let folder = path.parent().unwrap_or(Path::new(""));
        let space = Space::under(folder)?;
        ensure!(
            space.total == 0 || space.free > before * 2,
            "{} needs about {} of free space to be written anew, and there are {}; free some first",
            path.display(),
            size(before * 2),
            size(space.free)
        );
        inspect::vacuum(&path, kind)?;
        println!("{}: {} before, {} now", path.display(), size(before), size(bytes(&path)));
    }
    Ok(())
}

/// The file with what is not folded in yet.
fn bytes(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let of = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
    of(path) + of(Path::new(&log))
}

fn existing(database: &Path) -> anyhow::Result<Vec<(PathBuf, Kind)>> {
    if !database.exists() {
        bail!("there is no database at {}; set SQLITE_PATH to the one that is meant", database.display());
    }
    let both = [(database.to_owned(), Kind::Jobs), (side::path_beside(database), Kind::Side)];
    Ok(both.into_iter().filter(|(path, _)| path.exists()).collect())
}
