//! What a backup holds, with checksums.

use super::{DATABASE, SIDE};
use anyhow::{Context as _, bail, ensure};
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Component, Path, PathBuf},
};

const FILE: &str = "manifest.json";
/// The layout of a backup folder. A reader refuses one that it does not know.
const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u32,
    /// In ms since 1970.
    pub made_at: i64,
    pub hub_version: String,
    /// The database that was copied.
    pub source: PathBuf,
    pub jobs: u64,
    pub epoch: u64,
    pub last_event: u64,
    pub schema_version: i64,
    pub side_schema_version: Option<i64>,
    pub files: Vec<Entry>,
}

/// One file, by its path inside the backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub path: PathBuf,
    pub bytes: u64,
    pub sha256: String,
}

impl Manifest {
    pub(super) const FORMAT: u32 = FORMAT;

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|entry| entry.bytes).sum()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.files.iter().any(|entry| entry.path == Path::new(name))
    }

    /// Fails when this is not a whole backup. The files themselves are not looked at.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let (path, shown) = (folder.join(FILE), folder.display());
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!(
                    "{shown} is not a whole backup: it has no {FILE}; name a folder that forge-hub backup made"
                )
            }
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let manifest: Self = serde_json::from_slice(&text)
            .with_context(|| format!("{} is damaged; use another backup", path.display()))?;
        ensure!(
            manifest.format == FORMAT,
            "{shown} has the format {}, and this forge-hub knows {FORMAT}; use the version that made it",
            manifest.format
        );
        let harmless =
            |entry: &Entry| entry.path.components().all(|part| matches!(part, Component::Normal(_)));
        ensure!(
            manifest.files.iter().all(harmless),
            "{} names files outside of it; use another backup",
            path.display()
        );
        ensure!(manifest.has(DATABASE), "{} names no database; use another backup", path.display());
        ensure!(
            manifest.has(SIDE) == manifest.side_schema_version.is_some(),
            "{} contradicts itself; use another backup",
            path.display()
        );
        Ok(manifest)
    }

    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        let mut file = private_file(&folder.join(FILE))?;
        file.write_all(&text)?;
        file.sync_all()?;
        Ok(())
    }

    /// Takes away the name of being a backup, before the rest is removed.
    pub(super) fn remove(folder: &Path) -> io::Result<()> {
        fs::remove_file(folder.join(FILE))
    }
}

impl Entry {
    /// Of a file that is in the backup already.
    pub(super) fn of(folder: &Path, path: PathBuf) -> anyhow::Result<Self> {
        let (bytes, sha256) = transfer(&mut File::open(folder.join(&path))?, &mut io::sink())?;
        Ok(Self { path, bytes, sha256 })
    }

    /// Copies the file out of the backup, checking it on the way.
    pub(super) fn extract(&self, folder: &Path, to: &Path) -> anyhow::Result<()> {
        let mut target = private_file(to).with_context(|| format!("cannot make {}", to.display()))?;
        self.check(folder, &mut target)?;
        target.sync_all()?;
        Ok(())
    }

    pub(super) fn verify(&self, folder: &Path) -> anyhow::Result<()> {
        self.check(folder, &mut io::sink())
    }

    fn check(&self, folder: &Path, target: &mut impl io::Write) -> anyhow::Result<()> {
        let from = folder.join(&self.path);
        let shown = from.display();
        let mut source = File::open(&from)
            .with_context(|| format!("{shown} is missing from the backup; use another backup"))?;
        let (bytes, sha256) =
            transfer(&mut source, target).with_context(|| format!("cannot copy {shown}"))?;
        ensure!(
            bytes == self.bytes && sha256 == self.sha256,
            "{shown} is damaged: its checksum is not the one in the manifest; use another backup"
        );
        Ok(())
    }
}

/// Copies all bytes; their number and checksum.
pub(super) fn transfer(from: &mut impl Read, to: &mut impl io::Write) -> io::Result<(u64, String)> {
    let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 128 << 10]);
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok((bytes, HEXLOWER.encode(&hash.finalize()))),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        bytes += read as u64;
    }
}

pub(super) fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}
