//! A job's own folder, from nothing to nothing.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Makes an empty folder that only this user may enter. What an earlier attempt of the same name left behind
/// when the machine lost power goes away.
pub(super) fn create(folder: &Path) -> io::Result<()> {
    let create = || DirBuilder::new().mode(0o700).create(folder);
    match (create(), folder.parent()) {
        (Err(error), _) if error.kind() == io::ErrorKind::AlreadyExists => {
            remove(folder).and_then(|()| create())
        }
        (Err(error), Some(root)) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(root).and_then(|()| create())
        }
        (created, _) => created,
    }
}

/// Removes the folder even if the solver took its own right to write to parts of it.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(folder)?;
            fs::remove_dir_all(folder)
        }
        removed => removed,
    }
}

fn make_writable(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // The entry's own type: a link must not lead this out of the folder.
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

/// Writes the parameters and opens them for reading, which is how they become the solver's standard input:
/// there is no pipe to fill, and none to break when the solver does not read.
pub(super) fn write_params(file: &Path, params: &[u8]) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?.write_all(params)?;
    File::open(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_folders_are_removed_and_links_are_not_followed() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let outside = root.path().join("outside");
        fs::create_dir(&outside).expect("create");
        fs::write(outside.join("precious"), "x").expect("write");
        fs::set_permissions(&outside, Permissions::from_mode(0o500)).expect("chmod");

        let folder = root.path().join("job");
        create(&folder).expect("create");
        let deep = folder.join("a/b");
        fs::create_dir_all(&deep).expect("create");
        fs::write(deep.join("file"), "x").expect("write");
        std::os::unix::fs::symlink(&outside, deep.join("link")).expect("link");
        for path in [&deep, &folder.join("a"), &folder] {
            fs::set_permissions(path, Permissions::from_mode(0o500)).expect("chmod");
        }

        // Nothing is denied to root, so the way around a refusal is taken by hand.
        make_writable(&folder).expect("make writable");
        assert_eq!(fs::metadata(&deep).expect("still there").permissions().mode() & 0o777, 0o700);
        remove(&folder).expect("remove");

        assert!(!folder.exists());
        assert!(outside.join("precious").exists());
        assert_eq!(fs::metadata(&outside).expect("still there").permissions().mode() & 0o777, 0o500);
    }
}
