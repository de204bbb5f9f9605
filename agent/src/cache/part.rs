//! A solver on its way: hashed as it is written, and kept for the next attempt if its version has a name.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::checksum::{Checksum, hash_rest};
use super::folder::{EXECUTABLE, Folder, Turn};

/// How many chunks of a body may wait for the disk.
const CHUNKS_WAITING_MAX: usize = 16;
/// Longer than any header a server sends; a longer file is not ours.
const VERSION_BYTES_MAX: usize = 1024;

/// Owns the turn, so that no thread still writes to the file when the next one gets it.
pub(super) struct Part {
    file: File,
    hasher: Sha256,
    length: u64,
    version: Option<String>,
    version_path: PathBuf,
    turn: Turn,
}

impl Part {
    /// Takes up what an earlier download left, or begins anew.
    pub(super) fn open(folder: &Folder, checksum: &Checksum, turn: Turn) -> io::Result<Self> {
        let mut file = match open(&folder.part(checksum)) {
            // Complete and about to get its name when its writer died.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                folder.remove_part(checksum)?;
                open(&folder.part(checksum))?
            }
            opened => opened?,
        };
        let version_path = folder.part_origin(checksum);
        let version = read_version(&version_path)?;
        let (hasher, length) = if version.is_some() {
            hash_rest(&mut file)?
        } else {
            file.set_len(0)?;
            (Sha256::new(), 0)
        };
        Ok(Self { file, hasher, length, version, version_path, turn })
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// What to name in `If-Range`, when there is something to go on from.
    pub(super) fn resumable(&self) -> Option<&str> {
        self.version.as_deref().filter(|_| self.length > 0)
    }

    pub(super) fn checksum(&self) -> Checksum {
        Checksum::of(self.hasher.clone())
    }

    pub(super) fn start_over(&mut self, version: Option<String>) -> io::Result<()> {
        // In this order a crash in between leaves no bytes under a version they are not from.
        self.version = None;
        match fs::remove_file(&self.version_path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.hasher = Sha256::new();
        self.length = 0;
        if let Some(version) = &version {
            fs::write(&self.version_path, version)?;
        }
        self.version = version;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// The data is on the disk and the file closed, so that it can be executed.
    pub(super) fn close(self) -> io::Result<Turn> {
        self.file.set_permissions(Permissions::from_mode(EXECUTABLE))?;
        self.file.sync_all()?;
        Ok(self.turn)
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    options.mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

fn read_version(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok().filter(|text| {
            (1..=VERSION_BYTES_MAX).contains(&text.len()) && !text.contains(char::is_control)
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A thread that hashes and writes, so that a slow disk does not hold up the network's.
pub(super) struct Writer {
    chunks: mpsc::Sender<Bytes>,
    thread: JoinHandle<(Part, io::Result<()>)>,
}

impl Writer {
    pub(super) fn start(mut part: Part) -> Self {
        let (chunks, mut incoming) = mpsc::channel::<Bytes>(CHUNKS_WAITING_MAX);
        let thread = tokio::task::spawn_blocking(move || {
            while let Some(chunk) = incoming.blocking_recv() {
                if let Err(error) = part.write(&chunk) {
                    return (part, Err(error));
                }
            }
            (part, Ok(()))
        });
        Self { chunks, thread }
    }

    /// False once the disk has failed; `finish` then says how.
    pub(super) async fn write(&self, chunk: Bytes) -> bool {
        self.chunks.send(chunk).await.is_ok()
    }

    pub(super) async fn finish(self) -> io::Result<(Part, io::Result<()>)> {
        drop(self.chunks);
        self.thread.await.map_err(io::Error::other)
    }
}
