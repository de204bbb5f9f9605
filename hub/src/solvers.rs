//! Solver binaries, named by the sha256 of their bytes. A name exists only with bytes that hash
//! to it: an upload goes to `incoming/`, is hashed on the way, synced, and then renamed. What an
//! interrupted upload leaves there is removed by its own thread, or else at the next start.

use bytes::Bytes;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use forge_shared::{Invalid, response::Solver};
use sha2::{Digest, Sha256};
use std::{
    fmt,
    fs::{self, File, Metadata},
    io::{self, Write},
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::UNIX_EPOCH,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::{JoinHandle, spawn_blocking},
};

pub const BYTES_MAX: u64 = 512 << 20;
/// Each upload has a thread of its own while it lasts.
const UPLOADS_MAX: usize = 16;
/// Pieces between the network and the disk.
const PIECES_MAX: usize = 16;
const INCOMING: &str = "incoming";

/// 64 lower case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Checksum(String);

impl FromStr for Checksum {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match HEXLOWER_PERMISSIVE.decode(text.as_bytes()) {
            Ok(hash) if hash.len() == 32 => Ok(Self(HEXLOWER.encode(&hash))),
            _ => Err(Invalid("a solver's name is its sha256: 64 hex digits".to_owned())),
        }
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PutError {
    #[error("a solver may have at most {0} bytes")]
    TooLarge(u64),
    #[error("the body does not hash to its name; its sha256 is {0}")]
    Mismatch(String),
    #[error("the hub receives {UPLOADS_MAX} solvers already; try again in a moment")]
    Busy,
    #[error("the upload was given up")]
    Abandoned,
    #[error(transparent)]
    Disk(#[from] io::Error),
}

/// A finished upload.
#[derive(Debug)]
pub struct Put {
    pub solver: Solver,
    /// False when it was there already.
    pub created: bool,
}

pub struct Solvers {
    folder: Arc<Path>,
    bytes_max: u64,
    uploads: Arc<Semaphore>,
}

/// Where the solvers of a database are: `forge-fleet.sqlite` has `forge-fleet.solvers/`.
pub fn folder_beside(main: &Path) -> PathBuf {
    main.with_extension("solvers")
}

impl Solvers {
    /// Makes the folder and removes what a stopped hub left half received. Blocks.
    pub fn open(folder: &Path, bytes_max: u64) -> io::Result<Self> {
        let incoming = folder.join(INCOMING);
        fs::create_dir_all(&incoming)?;
        sync_folder_of(folder)?;
        for entry in fs::read_dir(&incoming)? {
            fs::remove_file(entry?.path())?;
        }
        Ok(Self { folder: folder.into(), bytes_max, uploads: Arc::new(Semaphore::new(UPLOADS_MAX)) })
    }

    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Begins to receive a solver.
    pub fn upload(&self, name: &Checksum) -> Result<Upload, PutError> {
        let permit = Arc::clone(&self.uploads).try_acquire_owned().map_err(|_| PutError::Busy)?;
        let (pieces, inbox) = mpsc::channel(PIECES_MAX);
        let (folder, name) = (Arc::clone(&self.folder), name.clone());
        let task = spawn_blocking(move || receive(&folder, &name, inbox, permit));
        Ok(Upload { pieces, task, received: 0, bytes_max: self.bytes_max })
    }

    /// What a folder holds. Blocks.
    pub fn list_folder(folder: &Path) -> io::Result<Vec<(PathBuf, Solver)>> {
        let solvers = none_if_missing(list(folder))?.unwrap_or_default();
        let placed = |solver: Solver| (place_of(folder, &solver.sha256), solver);
        Ok(solvers.into_iter().map(placed).collect())
    }

    pub async fn list(&self) -> io::Result<Vec<Solver>> {
        let folder = Arc::clone(&self.folder);
        blocking(move || list(&folder)).await
    }

    /// The file and what is known of it.
    pub async fn open_solver(&self, name: &Checksum) -> io::Result<Option<(File, Solver)>> {
        let (path, name) = (place(&self.folder, name), name.clone());
        blocking(move || {
            let Some(file) = none_if_missing(File::open(path))? else { return Ok(None) };
            let solver = describe(&name, &file.metadata()?);
            Ok(Some((file, solver)))
        })
        .await
    }

    /// False when there is none.
    pub async fn delete(&self, name: &Checksum) -> io::Result<bool> {
        let path = place(&self.folder, name);
        blocking(move || {
            let removed = none_if_missing(fs::remove_file(&path))?.is_some();
            if removed {
                sync_folder_of(&path)?;
            }
            Ok(removed)
        })
        .await
    }

    /// Waits until no upload is under way and whatever they left is gone.
    pub async fn settled(&self) {
        let all = u32::try_from(UPLOADS_MAX).unwrap_or(u32::MAX);
        let _ = self.uploads.acquire_many(all).await;
    }
}

enum Piece {
    Bytes(Bytes),
    End,
}

/// A solver that is being received. Dropping it gives it up.
pub struct Upload {
    pieces: mpsc::Sender<Piece>,
    task: JoinHandle<Result<Put, PutError>>,
    received: u64,
    bytes_max: u64,
}

impl Upload {
    /// False when it makes no sense to go on; [`finish`](Self::finish) says why.
    pub async fn write(&mut self, bytes: Bytes) -> bool {
        self.received = self.received.saturating_add(bytes.len() as u64);
        self.received <= self.bytes_max && self.pieces.send(Piece::Bytes(bytes)).await.is_ok()
    }

    /// Checks the bytes against the name, and makes them last.
    pub async fn finish(self) -> Result<Put, PutError> {
        if self.received > self.bytes_max {
            let max = self.bytes_max;
            self.abandon().await;
            return Err(PutError::TooLarge(max));
        }
        let _ = self.pieces.send(Piece::End).await;
        self.task.await.unwrap_or_else(|panic| Err(PutError::Disk(io::Error::other(panic))))
    }

    /// Gives up, and returns when nothing is left of it.
    pub async fn abandon(self) {
        drop(self.pieces);
        let _ = self.task.await;
    }
}

/// Runs in the upload's own thread, which outlives a caller that hangs up and cleans up after it.
fn receive(
    folder: &Path,
    name: &Checksum,
    mut inbox: mpsc::Receiver<Piece>,
    _permit: OwnedSemaphorePermit,
) -> Result<Put, PutError> {
    let target = place(folder, name);
    let mut temporary = if target.exists() { None } else { Some(Temporary::create(folder)?) };
    let mut hash = Sha256::new();
    loop {
        match inbox.blocking_recv() {
            Some(Piece::Bytes(bytes)) => {
                hash.update(&bytes);
                if let Some(temporary) = &mut temporary {
                    temporary.file.write_all(&bytes)?;
                }
            }
            Some(Piece::End) => break,
            None => return Err(PutError::Abandoned),
        }
    }
    let actual = HEXLOWER.encode(&hash.finalize());
    if actual != name.0 {
        return Err(PutError::Mismatch(actual));
    }
    let created = temporary.is_some();
    if let Some(temporary) = temporary {
        temporary.settle(&target)?;
    }
    Ok(Put { solver: describe(name, &fs::metadata(&target)?), created })
}

/// A file that is removed unless it gets its final name.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    fn create(folder: &Path) -> io::Result<Self> {
        let mut name = [0; 16];
        getrandom::fill(&mut name).map_err(io::Error::other)?;
        let path = folder.join(INCOMING).join(HEXLOWER.encode(&name));
        let file = File::options().write(true).create_new(true).open(&path)?;
        Ok(Self { path, file })
    }

    /// On disk under its name, power loss or not, when this returns.
    fn settle(self, target: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        if let Some(shelf) = target.parent() {
            fs::create_dir_all(shelf)?;
            // Also when it was there: another upload may have made it this very moment.
            sync_folder_of(shelf)?;
        }
        fs::rename(&self.path, target)?;
        sync_folder_of(target)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Err(error) = none_if_missing(fs::remove_file(&self.path)) {
            tracing::warn!(%error, path = %self.path.display(), "a half received solver stays until the next start");
        }
    }
}

/// `ab/abcdef…`, so that no folder grows without bound.
fn place(folder: &Path, name: &Checksum) -> PathBuf {
    place_of(folder, &name.0)
}

fn place_of(folder: &Path, sha256: &str) -> PathBuf {
    folder.join(&sha256[..2]).join(sha256)
}

fn list(folder: &Path) -> io::Result<Vec<Solver>> {
    let mut solvers = Vec::new();
    for shelf in fs::read_dir(folder)? {
        let shelf = shelf?;
        if shelf.file_name() == INCOMING || !shelf.file_type()?.is_dir() {
            continue;
        }
        for entry in fs::read_dir(shelf.path())? {
            let entry = entry?;
            let Some(name) = entry.file_name().to_str().and_then(|name| name.parse::<Checksum>().ok()) else {
                continue;
            };
            // One that is deleted while we look is simply not there.
            if let Some(metadata) = none_if_missing(entry.metadata())? {
                solvers.push(describe(&name, &metadata));
            }
        }
    }
    solvers.sort_by(|a, b| a.sha256.cmp(&b.sha256));
    Ok(solvers)
}

fn describe(name: &Checksum, metadata: &Metadata) -> Solver {
    let written = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let created_at = written.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    Solver { sha256: name.to_string(), bytes: metadata.len(), created_at }
}

fn none_if_missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A rename or a removal lasts only once its folder is synced.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => {
            let here = Path::new(".");
            File::open(if folder.as_os_str().is_empty() { here } else { folder })?.sync_all()
        }
        _ => Ok(()),
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    spawn_blocking(work).await.unwrap_or_else(|panic| Err(io::Error::other(panic)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn sha256(bytes: &[u8]) -> Checksum {
        Checksum(HEXLOWER.encode(&Sha256::digest(bytes)))
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                found.extend(files(&entry.path()));
            } else {
                found.push(entry.path());
            }
        }
        found
    }

    async fn put(solvers: &Solvers, name: &Checksum, bytes: &'static [u8]) -> Result<Put, PutError> {
        let mut upload = solvers.upload(name).unwrap();
        for piece in bytes.chunks(7) {
            if !upload.write(Bytes::from_static(piece)).await {
                break;
            }
        }
        upload.finish().await
    }

    #[test]
    fn names_are_64_hex_digits() {
        let upper = "AB".repeat(32);
        assert_eq!(upper.parse::<Checksum>().unwrap().to_string(), upper.to_lowercase());
        for bad in ["", "ab", &"g".repeat(64), &"a".repeat(63), &"a".repeat(65), "../../etc/passwd"] {
            assert!(bad.parse::<Checksum>().is_err(), "{bad}");
        }
        assert_eq!(folder_beside(Path::new("/d/fleet.sqlite")), Path::new("/d/fleet.solvers"));
    }

    #[tokio::test]
    async fn a_solver_is_stored_once_and_survives_reopening() {
        let folder = TempDir::new().unwrap();
        let solvers = Solvers::open(folder.path(), BYTES_MAX).unwrap();
        let body = b"#!/bin/sh\necho solved\n";
        let name = sha256(body);
        assert!(put(&solvers, &name, body).await.unwrap().created);
        let again = put(&solvers, &name, body).await.unwrap();
        assert!(!again.created);
        assert_eq!(files(folder.path()), [place(folder.path(), &name)]);

        let solvers = Solvers::open(folder.path(), BYTES_MAX).unwrap();
        assert_eq!(solvers.list().await.unwrap(), [again.solver]);
        assert!(solvers.open_solver(&name).await.unwrap().is_some());
        assert!(solvers.delete(&name).await.unwrap());
        assert!(!solvers.delete(&name).await.unwrap());
        assert!(solvers.open_solver(&name).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_wrong_or_too_long_body_leaves_nothing() {
        let folder = TempDir::new().unwrap();
        let solvers = Solvers::open(folder.path(), 20).unwrap();
        let refused = put(&solvers, &sha256(b"x"), b"y").await.unwrap_err();
        assert!(matches!(refused, PutError::Mismatch(actual) if actual == sha256(b"y").0));
        let long = b"twenty-one bytes long";
        let refused = put(&solvers, &sha256(long), long).await.unwrap_err();
        assert!(matches!(refused, PutError::TooLarge(20)));
        assert!(files(folder.path()).is_empty());
    }

    #[tokio::test]
    async fn a_stored_solver_is_not_replaced_by_a_wrong_body() {
        let folder = TempDir::new().unwrap();
        let solvers = Solvers::open(folder.path(), BYTES_MAX).unwrap();
        let name = sha256(b"right");
        put(&solvers, &name, b"right").await.unwrap();
        assert!(matches!(put(&solvers, &name, b"wrong").await, Err(PutError::Mismatch(_))));
        assert_eq!(fs::read(place(folder.path(), &name)).unwrap(), b"right");
    }

    #[tokio::test]
    async fn an_upload_that_is_dropped_leaves_nothing() {
        let folder = TempDir::new().unwrap();
        let solvers = Solvers::open(folder.path(), BYTES_MAX).unwrap();
        let mut upload = solvers.upload(&sha256(b"abc")).unwrap();
        assert!(upload.write(Bytes::from_static(b"ab")).await);
        drop(upload);
        solvers.settled().await;
        assert!(files(folder.path()).is_empty());
    }

    #[tokio::test]
    async fn what_a_killed_hub_left_is_removed_at_start() {
        let folder = TempDir::new().unwrap();
        drop(Solvers::open(folder.path(), BYTES_MAX).unwrap());
        fs::write(folder.path().join(INCOMING).join("left"), "half").unwrap();
        Solvers::open(folder.path(), BYTES_MAX).unwrap();
        assert!(files(folder.path()).is_empty());
    }

    #[tokio::test]
    async fn only_so_many_uploads_at_once() {
        let folder = TempDir::new().unwrap();
        let solvers = Solvers::open(folder.path(), BYTES_MAX).unwrap();
        let uploads: Vec<_> = (0..UPLOADS_MAX).map(|_| solvers.upload(&sha256(b"abc")).unwrap()).collect();
        assert!(matches!(solvers.upload(&sha256(b"abc")), Err(PutError::Busy)));
        drop(uploads);
        solvers.settled().await;
        assert!(solvers.upload(&sha256(b"abc")).is_ok());
    }
}
