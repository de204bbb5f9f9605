//! Restoring: everything is checked before anything gets its place.

use super::{DATABASE, Manifest, SECRET, SIDE, SOLVERS, Unfinished, stamp, sync_folder};
use crate::{
    secret, solvers,
    store::sqlite::{
        self,
        copy::{self, Kind},
        inspect::{self, Depth},
        side,
    },
};
use anyhow::{Context as _, bail, ensure};
use std::{
    ffi::OsString,
    fs::{self, DirBuilder},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

#[derive(Debug)]
pub struct Restored {
    pub manifest: Manifest,
    /// Where the database went that was there before.
    pub replaced: Option<PathBuf>,
}

/// Puts a backup in place of `database`. What is there already is moved aside when `force` is set,
/// and a reason to refuse when it is not.
pub fn restore(backup: &Path, database: &Path, force: bool, now_ms: i64) -> anyhow::Result<Restored> {
    let manifest = Manifest::read(backup)?;
    let known = Kind::Jobs.version_known();
    ensure!(
        manifest.schema_version <= known,
        "the backup is of a newer version ({}) than this forge-hub knows ({known}); use a newer one",
        manifest.schema_version
    );
    let folder = match database.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let _lock = sqlite::lock_for_hub(database)?;
    let taken = taken_places(database);
    if let (Some(first), false) = (taken.first(), force) {
        bail!(
            "{} is there already; restore to another path, or add --force, which moves it aside",
            first.display()
        );
    }

    let unfinished =
        Unfinished::make(folder.join(format!(".forge-restore-{}.unfinished", std::process::id())))
            .with_context(|| format!("cannot write into {}", folder.display()))?;
    let staged = unfinished.path();
    extract(&manifest, backup, staged)?;
    copy::renew_epoch(&staged.join(DATABASE)).context("cannot give the database a new epoch")?;
    sync_folder(staged)?;

    let replaced = if taken.is_empty() { None } else { Some(move_aside(database, folder, &taken, now_ms)?) };
    settle(&manifest, staged, database)?;
    sync_folder(folder)?;
    Ok(Restored { manifest, replaced })
}

/// Copies everything out of the backup, and looks at every byte of it.
fn extract(manifest: &Manifest, backup: &Path, staged: &Path) -> anyhow::Result<()> {
    for entry in &manifest.files {
        let target = match entry.path.strip_prefix(SOLVERS) {
            Ok(name) => staged.join(SOLVERS).join(shelf(name)).join(name),
            Err(_) => staged.join(&entry.path),
        };
        if let Some(parent) = target.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        entry.extract(backup, &target)?;
    }
    check_databases(manifest, backup, staged)
}

fn check_databases(manifest: &Manifest, backup: &Path, folder: &Path) -> anyhow::Result<()> {
    for (name, kind) in [(DATABASE, Kind::Jobs), (SIDE, Kind::Side)] {
        if manifest.has(name) {
            inspect::check(&folder.join(name), kind, Depth::Full).with_context(|| {
                format!("{} is not sound; use another backup", backup.join(name).display())
            })?;
        }
    }
    Ok(())
}

/// Looks at every byte of a backup without restoring it.
pub fn verify(backup: &Path) -> anyhow::Result<Manifest> {
    let manifest = Manifest::read(backup)?;
    for entry in &manifest.files {
        entry.verify(backup)?;
    }
    check_databases(&manifest, backup, backup)?;
    Ok(manifest)
}

/// Solvers lie on shelves by the beginning of their names.
fn shelf(name: &Path) -> PathBuf {
    name.to_string_lossy().chars().take(2).collect::<String>().into()
}

/// The database last: until it has its place there is nothing that a hub could start on.
fn settle(manifest: &Manifest, staged: &Path, database: &Path) -> anyhow::Result<()> {
    if manifest.has(SIDE) {
        fs::rename(staged.join(SIDE), side::path_beside(database))?;
    }
    if staged.join(SOLVERS).exists() {
        let place = solvers::folder_beside(database);
        // One without a solver may be there; one with any was moved aside.
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        fs::rename(staged.join(SOLVERS), place)?;
    }
    let place = secret::admin_secret_path(database);
    if manifest.has(SECRET) && !place.exists() {
        fs::rename(staged.join(SECRET), place)?;
    }
    fs::rename(staged.join(DATABASE), database)?;
    Ok(())
}

/// All that makes up a database, as far as it exists.
fn taken_places(database: &Path) -> Vec<PathBuf> {
    let side = side::path_beside(database);
    let mut places = Vec::new();
    for file in [database, &side] {
        for ending in ["", "-wal", "-shm"] {
            let mut name = OsString::from(file);
            name.push(ending);
            places.push(PathBuf::from(name));
        }
    }
    places.retain(|place| place.exists());
    let solvers = solvers::folder_beside(database);
    if solvers::Solvers::list_folder(&solvers).is_ok_and(|solvers| !solvers.is_empty()) {
        places.push(solvers);
    }
    places
}

fn move_aside(database: &Path, folder: &Path, taken: &[PathBuf], now_ms: i64) -> anyhow::Result<PathBuf> {
    let stem = database.file_stem().unwrap_or_default().to_string_lossy();
    let aside = folder.join(format!("{stem}.replaced-{}", stamp(now_ms)));
    DirBuilder::new()
        .mode(0o700)
        .create(&aside)
        .with_context(|| format!("cannot make {} for the old database", aside.display()))?;
    for place in taken {
        let name = place.file_name().context("a file of the database has a name")?;
        fs::rename(place, aside.join(name))
            .with_context(|| format!("cannot move {} aside", place.display()))?;
    }
    sync_folder(&aside)?;
    Ok(aside)
}
