//! The folder of solvers on disk, shared by every slot and every agent that points at it.
//!
//! `<sha256>` is a solver, `<sha256>.part` one on its way, `<sha256>.from` what the server called the
//! version it comes from, `<sha256>.lock` whose turn it is to replace or remove it. Who runs a solver holds
//! it open under a shared `flock`; who evicts needs the exclusive one, so that agents in other processes are
//! safe too. A path is only ever unlinked or replaced under its `.lock`.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use super::checksum::{Checksum, hash_rest};

/// The use time on disk only orders evictions, and touching it makes every other agent hash the file again.
const TOUCH_EVERY: Duration = Duration::from_secs(3600);
/// File times move in ticks of up to 10 ms, and two changes within one tick look like one.
const SETTLED_AFTER: Duration = Duration::from_millis(50);
/// A server has most likely replaced the file by then.
const PART_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
pub(super) const EXECUTABLE: u32 = 0o500;

pub(super) struct Folder {
    path: PathBuf,
    total_max: u64,
    known: Mutex<HashMap<Checksum, Known>>,
}

/// What this process remembers of a solver.
#[derive(Default)]
struct Known {
    verified: Option<Stamp>,
    /// Shared with every pin, so that its count says whether the solver is in use.
    users: Arc<()>,
    last_used: Option<SystemTime>,
}

impl Known {
    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.users) > 1
    }
}

/// A verified solver that stays in place while this lives.
#[derive(Debug)]
pub(super) struct Pin {
    pub(super) path: PathBuf,
    /// Carries the shared lock.
    _file: File,
    _user: Arc<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    content: (u64, u64, i64, i64),
    changed: SystemTime,
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        Self {
            content: (meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()),
            changed: SystemTime::UNIX_EPOCH
                + Duration::from_secs(meta.ctime().max(0) as u64)
                + Duration::from_nanos(meta.ctime_nsec().max(0) as u64),
        }
    }

    /// Whether a write from `now` on must show as another stamp.
    fn is_settled(&self, now: SystemTime) -> bool {
        now.duration_since(self.changed).is_ok_and(|age| age > SETTLED_AFTER)
    }
}

/// The right to replace or remove one solver, among all processes.
pub(super) struct Turn {
    path: PathBuf,
    _file: File,
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Whoever waits on the unlinked file sees that it lost its name, and opens the next one.
        let _ = fs::remove_file(&self.path);
    }
}

struct Entry {
    checksum: Checksum,
    bytes: u64,
    last_used: SystemTime,
    is_part: bool,
}

impl Folder {
    pub(super) fn open(path: PathBuf, total_max: u64) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        if fs::metadata(&path)?.mode() & 0o777 != 0o700 {
            fs::set_permissions(&path, Permissions::from_mode(0o700))?;
        }
        let folder = Self { path, total_max, known: Mutex::default() };
        folder.sweep()?;
        folder.make_room(0, None)?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn solver(&self, checksum: &Checksum) -> PathBuf {
        self.path.join(checksum.as_str())
    }

    pub(super) fn part(&self, checksum: &Checksum) -> PathBuf {
        self.path.join(format!("{checksum}.part"))
    }

    pub(super) fn part_origin(&self, checksum: &Checksum) -> PathBuf {
        self.path.join(format!("{checksum}.from"))
    }

    /// `None` while somebody else has it.
    pub(super) fn try_turn(&self, checksum: &Checksum) -> io::Result<Option<Turn>> {
        let path = self.path.join(format!("{checksum}.lock"));
        loop {
            let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path)?;
            if !try_lock(&file)? {
                return Ok(None);
            }
            if is_at(&file, &path)? {
                return Ok(Some(Turn { path, _file: file }));
            }
        }
    }

    /// The solver if it is there and is what its name says. Hashes it unless nothing about the file has
    /// changed since this process did so last.
    pub(super) fn pin(&self, checksum: &Checksum) -> io::Result<Option<Pin>> {
        let path = self.solver(checksum);
        loop {
            // Neither led elsewhere by a link nor kept waiting by a pipe under the solver's name.
            let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
            let file = match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
                Ok(file) => file,
                Err(error)
                    if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ELOOP | libc::EACCES)) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            };
            lock_shared(&file)?;
            if !is_at(&file, &path)? {
                continue;
            }
            let meta = file.metadata()?;
            if !meta.is_file() {
                return Ok(None);
            }
            let now = SystemTime::now();
            let before = Stamp::of(&meta);
            let verified = self.known().get(checksum).and_then(|known| known.verified) == Some(before);
            // A file that cannot be read, as on a bad sector, is as damaged as one that reads wrong.
            let is_right = || hash_rest(&file).is_ok_and(|(hasher, _)| Checksum::of(hasher) == *checksum);
            if !verified && !is_right() {
                tracing::warn!(solver = %checksum, "a cached solver is damaged and is fetched again");
                return Ok(None);
            }
            if meta.mode() & 0o777 != EXECUTABLE {
                file.set_permissions(Permissions::from_mode(EXECUTABLE))?;
            }
            if !meta.accessed().is_ok_and(|used| used + TOUCH_EVERY > now) {
                file.set_times(fs::FileTimes::new().set_accessed(now))?;
            }
            // Touching moves only the change time, so anything else that moved is somebody writing.
            let after = Stamp::of(&file.metadata()?);
            if after.content != before.content {
                continue;
            }
            let mut known = self.known();
            let known = known.entry(checksum.clone()).or_default();
            known.verified = after.is_settled(now).then_some(after);
            known.last_used = Some(now);
            return Ok(Some(Pin { path, _file: file, _user: known.users.clone() }));
        }
    }

    /// Puts a finished, closed part in place. Its turn must be ours.
    pub(super) fn publish(&self, checksum: &Checksum) -> io::Result<()> {
        self.forget(checksum);
        fs::rename(self.part(checksum), self.solver(checksum))?;
        remove(&self.part_origin(checksum))?;
        File::open(&self.path)?.sync_all()
    }

    /// Its turn must be ours.
    pub(super) fn remove_solver(&self, checksum: &Checksum) -> io::Result<()> {
        self.forget(checksum);
        let path = self.solver(checksum);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(&path),
            _ => remove(&path),
        }
    }

    /// Its turn must be ours.
    pub(super) fn remove_part(&self, checksum: &Checksum) -> io::Result<()> {
        remove(&self.part_origin(checksum))?;
        remove(&self.part(checksum))
    }

    /// Evicts what was used longest ago until `bytes` more fit under the limit and on the disk, sparing
    /// `keep` and everything in use.
    pub(super) fn make_room(&self, bytes: u64, keep: Option<&Checksum>) -> io::Result<()> {
        let mut entries = self.entries()?;
        let mut total = entries.iter().map(|entry| entry.bytes).sum::<u64>().saturating_add(bytes);
        entries.retain(|entry| Some(&entry.checksum) != keep);
        entries.sort_by_key(|entry| entry.last_used);
        let mut free = self.free_bytes();
        if entries.iter().fold(free, |sum, entry| sum.saturating_add(entry.bytes)) < bytes {
            // What does not fit on the empty disk shall not empty it for nothing.
            free = u64::MAX;
        }
        for entry in entries {
            if total <= self.total_max && free >= bytes {
                return Ok(());
            }
            if self.evict(&entry)? {
                total -= entry.bytes;
                free = free.saturating_add(entry.bytes);
                tracing::info!(solver = %entry.checksum, bytes = entry.bytes, "evicted a solver");
            }
        }
        if total > self.total_max {
            tracing::warn!(total, limit = self.total_max, "the solvers in use exceed the cache's size limit");
        }
        Ok(())
    }

    /// As much as anyone could want where the file system does not say.
    fn free_bytes(&self) -> u64 {
        // The counts are 32 bits wide on some systems.
        fn wide(count: impl Into<u64>) -> u64 {
            count.into()
        }
        nix::sys::statvfs::statvfs(&self.path)
            .map_or(u64::MAX, |disk| wide(disk.blocks_available()).saturating_mul(wide(disk.fragment_size())))
    }

    fn evict(&self, entry: &Entry) -> io::Result<bool> {
        let Some(_turn) = self.try_turn(&entry.checksum)? else { return Ok(false) };
        if entry.is_part {
            return self.remove_part(&entry.checksum).map(|()| true);
        }
        let file = match File::open(self.solver(&entry.checksum)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(error),
        };
        let in_use = self.known().get(&entry.checksum).is_some_and(Known::is_in_use);
        if in_use || !try_lock(&file)? {
            return Ok(false);
        }
        self.remove_solver(&entry.checksum).map(|()| true)
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for (name, meta) in self.files()? {
            let (stem, is_part) = match name.strip_suffix(".part") {
                Some(stem) => (stem, true),
                None => (name.as_str(), false),
            };
            let Some(checksum) = Checksum::from_file_name(stem) else { continue };
            let on_disk = if is_part { meta.modified() } else { meta.accessed() };
            let remembered = self.known().get(&checksum).and_then(|known| known.last_used);
            let last_used = remembered.max(on_disk.ok()).unwrap_or(SystemTime::UNIX_EPOCH);
            entries.push(Entry { checksum, bytes: meta.len(), last_used, is_part });
        }
        Ok(entries)
    }

    /// Removes what no download can go on from. Leaves alone what another agent is busy with.
    fn sweep(&self) -> io::Result<()> {
        let now = SystemTime::now();
        for (name, meta) in self.files()? {
            let Some((stem, "part" | "from" | "lock")) = name.rsplit_once('.') else { continue };
            let Some(checksum) = Checksum::from_file_name(stem) else { continue };
            let Some(_turn) = self.try_turn(&checksum)? else { continue };
            let whole = self.part(&checksum).exists() && self.part_origin(&checksum).exists();
            let old = meta.modified().is_ok_and(|modified| modified + PART_KEPT < now);
            if !whole || (old && !name.ends_with(".lock")) {
                self.remove_part(&checksum)?;
            }
        }
        Ok(())
    }

    fn files(&self) -> io::Result<Vec<(String, Metadata)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            match entry.metadata() {
                Ok(meta) if meta.is_file() => files.push((name, meta)),
                Ok(_) => {}
                // Another agent removed it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(files)
    }

    fn forget(&self, checksum: &Checksum) {
        let mut all = self.known();
        if let Some(known) = all.get_mut(checksum) {
            known.verified = None;
            if !known.is_in_use() {
                all.remove(checksum);
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Checksum, Known>> {
        self.known.lock().expect("nothing panics while it holds this lock")
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(named) => {
            let opened = file.metadata()?;
            Ok((named.dev(), named.ino()) == (opened.dev(), opened.ino()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A file system without locks has to be used by one agent only, which its own memory then protects.
fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Waits at most for an eviction, which holds the other lock no longer than it takes to unlink.
fn lock_shared(file: &File) -> io::Result<()> {
    match file.lock_shared() {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn solver_counts_as_verified_once_its_times_are_settled() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path().to_owned(), 1000).unwrap();
        let checksum = Checksum::of(Sha256::new_with_prefix("solver"));
        let path = folder.solver(&checksum);
        fs::write(&path, "solver").unwrap();
        let long_ago = SystemTime::now() - 10 * TOUCH_EVERY;
        File::open(&path).unwrap().set_times(fs::FileTimes::new().set_accessed(long_ago)).unwrap();

        folder.pin(&checksum).unwrap().unwrap();
        assert!(fs::metadata(&path).unwrap().accessed().unwrap() > long_ago + TOUCH_EVERY);
        assert_eq!(folder.known()[&checksum].verified, None, "it has only just been touched");
        while folder.known()[&checksum].verified.is_none() {
            folder.pin(&checksum).unwrap().unwrap();
        }
        let stamp = Stamp::of(&fs::metadata(&path).unwrap());
        assert_eq!(folder.known()[&checksum].verified, Some(stamp));
        folder.pin(&checksum).unwrap().unwrap();
        assert_eq!(folder.known()[&checksum].verified, Some(stamp), "and is not touched each time");
    }

    #[test]
    fn turn_is_had_by_one_at_a_time_and_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let [one, other] = [(), ()].map(|()| Folder::open(dir.path().to_owned(), 1000).unwrap());
        let checksum = Checksum::of(Sha256::new());
        let turn = one.try_turn(&checksum).unwrap();
        assert!(turn.is_some());
        assert!(other.try_turn(&checksum).unwrap().is_none());
        drop(turn);
        assert!(other.try_turn(&checksum).unwrap().is_some());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
