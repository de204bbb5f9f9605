//! Making a backup, whole or not at all, while the hub goes on.

use super::{DATABASE, Entry, Manifest, NAME, SECRET, SIDE, SOLVERS, Unfinished, stamp, sync_folder};
use crate::{
    disk::Space,
    secret,
    solvers::{self, Solvers},
    store::sqlite::{copy, side},
};
use anyhow::{Context as _, bail};
use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};
use tokio_util::sync::CancellationToken;

/// What is to be backed up, and where to.
#[derive(Debug, Clone)]
pub struct Order {
    pub database: PathBuf,
    /// The folder that gets a new folder with the backup.
    pub into: PathBuf,
    /// Also the administrator's secret, when it is kept beside the database.
    pub with_secret: bool,
}

#[derive(Debug, Clone)]
pub struct Made {
    pub folder: PathBuf,
    pub manifest: Manifest,
    /// Solvers whose bytes no longer hash to their names. They are left out.
    pub damaged_solvers: Vec<String>,
}

/// Blocks until it is on disk under its final name.
pub fn make(order: &Order, now_ms: i64, stop: &CancellationToken) -> anyhow::Result<Made> {
    let Order { database, into, .. } = order;
    if !database.exists() {
        bail!("there is no database at {}; set SQLITE_PATH to the one to back up", database.display());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(into)
        .with_context(|| format!("cannot make the folder {} for backups", into.display()))?;
    expect_room(order)?;
    let name = format!("{NAME}{}", stamp(now_ms));
    let unfinished = Unfinished::make(into.join(format!(".{name}-{}.unfinished", std::process::id())))
        .with_context(|| format!("cannot write into {}", into.display()))?;
    let folder = unfinished.path();

    let copied = copy::copy(database, &folder.join(DATABASE), &folder.join(SIDE), stop)?;
    let mut files = vec![Entry::of(folder, DATABASE.into())?];
    if copied.side_version.is_some() {
        files.push(Entry::of(folder, SIDE.into())?);
    }
    // After the jobs: every solver that one of them names was there before it.
    let damaged_solvers = copy_solvers(&solvers::folder_beside(database), folder, &mut files, stop)?;
    let kept_secret = secret::admin_secret_path(database);
    if order.with_secret && kept_secret.exists() {
        copy_into(&kept_secret, &folder.join(SECRET))?;
        files.push(Entry::of(folder, SECRET.into())?);
    }
    let manifest = Manifest {
        format: Manifest::FORMAT,
        made_at: now_ms,
        hub_version: forge_version::LONG.to_owned(),
        source: std::path::absolute(database)?,
        jobs: copied.jobs,
        epoch: copied.epoch,
        last_event: copied.last_event,
        schema_version: copied.version,
        side_schema_version: copied.side_version,
        files,
    };
    manifest.write(folder)?;
    sync_folder(folder)?;
    let folder = settle(&unfinished, into, &name)?;
    Ok(Made { folder, manifest, damaged_solvers })
}

/// The final name; with a number when two backups were made in one second.
fn settle(unfinished: &Unfinished, into: &Path, name: &str) -> anyhow::Result<PathBuf> {
    for number in 1.. {
        let name = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
        let folder = into.join(name);
        // A rename would replace an empty folder, and only that; ours never are.
        if folder.exists() {
            continue;
        }
        fs::rename(unfinished.path(), &folder)?;
        sync_folder(into)?;
        return Ok(folder);
    }
    unreachable!("there is always a next number")
}

/// Better now than when the disk is full, which may be the hub's own.
fn expect_room(order: &Order) -> anyhow::Result<()> {
    let size = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
    let log = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push("-wal");
        size(Path::new(&name))
    };
    let side = side::path_beside(&order.database);
    let needed = size(&order.database) + log(&order.database) + size(&side) + log(&side);
    let space = Space::under(&order.into)?;
    if space.total > 0 && space.free < needed {
        bail!(
            "there is no room for a backup in {}: it takes about {needed} bytes and {} are free; free some space, or set BACKUP_DIR to another disk",
            order.into.display(),
            space.free
        );
    }
    Ok(())
}

/// Solvers never change, so on the same disk a second name for the same file is a copy.
fn copy_solvers(
    from: &Path,
    folder: &Path,
    files: &mut Vec<Entry>,
    stop: &CancellationToken,
) -> anyhow::Result<Vec<String>> {
    let mut damaged = Vec::new();
    for (path, solver) in Solvers::list_folder(from).context("cannot list the solvers")? {
        if stop.is_cancelled() {
            bail!("stopped before it was finished");
        }
        let place = Path::new(SOLVERS).join(&solver.sha256);
        let target = folder.join(&place);
        DirBuilder::new().recursive(true).mode(0o700).create(folder.join(SOLVERS))?;
        let copied = fs::hard_link(&path, &target).or_else(|_| copy_into(&path, &target));
        match copied {
            Ok(()) => {}
            // Deleted while we looked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot copy the solver {}", solver.sha256));
            }
        }
        let entry = Entry::of(folder, place)?;
        if entry.sha256 == solver.sha256 {
            files.push(entry);
        } else {
            fs::remove_file(&target)?;
            damaged.push(solver.sha256);
        }
    }
    if folder.join(SOLVERS).exists() {
        sync_folder(&folder.join(SOLVERS))?;
    }
    Ok(damaged)
}

fn copy_into(from: &Path, to: &Path) -> io::Result<()> {
    let mut target = super::manifest::private_file(to)?;
    io::copy(&mut File::open(from)?, &mut target)?;
    target.sync_all()
}
