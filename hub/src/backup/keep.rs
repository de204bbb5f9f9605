//! Which backups there are, and which may go.

use super::{Manifest, NAME};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// What was left unfinished this long ago is nobody's work any more.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 3_600);

/// The whole backups of this database in a folder, oldest first.
fn backups(folder: &Path, database: &Path) -> io::Result<Vec<(PathBuf, Manifest)>> {
    let source = std::path::absolute(database)?;
    let mut found = Vec::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(NAME.as_bytes()) {
            continue;
        }
        match Manifest::read(&entry.path()) {
            Ok(manifest) if manifest.source == source => found.push((entry.path(), manifest)),
            _ => {}
        }
    }
    found.sort_by(|(a, one), (b, other)| (one.made_at, a).cmp(&(other.made_at, b)));
    Ok(found)
}

/// When the newest backup of this database was made, in ms since 1970.
pub fn newest(folder: &Path, database: &Path) -> io::Result<Option<i64>> {
    Ok(backups(folder, database)?.last().map(|(_, manifest)| manifest.made_at))
}

/// Removes all but the newest `keep` backups of this database, and what was abandoned. Call it
/// after a backup that worked, so that the last good one is never among those that go. Backups of
/// other databases, and folders that are no whole backups, are left alone.
pub fn rotate(folder: &Path, database: &Path, keep: usize) -> io::Result<Vec<PathBuf>> {
    let all = backups(folder, database)?;
    let mut removed = Vec::new();
    for (path, _) in all.iter().take(all.len().saturating_sub(keep.max(1))) {
        // First its manifest: half a backup must not look like one.
        Manifest::remove(path)?;
        fs::remove_dir_all(path)?;
        removed.push(path.clone());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ours = name.starts_with(&format!(".{NAME}")) && name.ends_with(".unfinished");
        let age = entry.metadata()?.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        if ours && age.is_some_and(|age| age > ABANDONED_AFTER) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(removed)
}
