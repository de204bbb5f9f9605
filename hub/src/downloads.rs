//! The agent and the command line for machines to fetch: what `make dist` built, and nothing
//! else. `SHA256SUMS` in the folder lists it; a file that it does not name is not there.

use forge_shared::response::Download;
use std::{
    fs::{self, File},
    io,
    path::PathBuf,
};

/// Lines of a checksum, two spaces and a name, as `sha256sum` writes them.
pub const LIST: &str = "SHA256SUMS";
/// A longer list is not one of ours.
const LIST_BYTES_MAX: u64 = 64 << 10;
/// Where packages and the image put it.
const INSTALLED: &str = "/usr/share/forge-fleet/downloads";

#[derive(Debug, Clone)]
pub struct Downloads(PathBuf);

impl Downloads {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// `downloads` beside this program or one folder up, as `make dist` lays them out; else where
    /// an installed hub has it.
    pub fn found() -> Self {
        let program = std::env::current_exe().unwrap_or_default();
        let folders = program.ancestors().skip(1).take(2).map(|folder| folder.join("downloads"));
        Self(
            folders
                .into_iter()
                .find(|folder| folder.join(LIST).is_file())
                .unwrap_or_else(|| INSTALLED.into()),
        )
    }

    /// Every file that is listed and there. Read anew each time: a new build is served without a
    /// restart. Blocks.
    pub fn all(&self) -> io::Result<Vec<Download>> {
        let listed = self.listed()?;
        Ok(listed
            .into_iter()
            .filter_map(|(name, sha256)| self.look(&name, sha256).ok())
            .map(|(_, it)| it)
            .collect())
    }

    /// The file of this name, when it is listed. Blocks.
    pub fn open(&self, name: &str) -> io::Result<Option<(File, Download)>> {
        let Some((name, sha256)) = self.listed()?.into_iter().find(|(listed, _)| listed == name) else {
            return Ok(None);
        };
        match self.look(&name, sha256) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    /// The list as it is, when there is one. Blocks.
    pub fn list(&self) -> io::Result<Option<Vec<u8>>> {
        let path = self.0.join(LIST);
        match fs::metadata(&path) {
            Ok(about) if about.is_file() && about.len() <= LIST_BYTES_MAX => fs::read(&path).map(Some),
            Ok(_) => Err(io::Error::other(format!("{} is not a list of checksums", path.display()))),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn look(&self, name: &str, sha256: String) -> io::Result<(File, Download)> {
        let file = File::open(self.0.join(name))?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        Ok((file, Download { name: name.to_owned(), bytes: about.len(), sha256 }))
    }

    fn listed(&self) -> io::Result<Vec<(String, String)>> {
        let list = self.list()?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&list).lines().filter_map(entry).collect())
    }
}

/// Name and checksum of a line. Names that could lead elsewhere are no names.
fn entry(line: &str) -> Option<(String, String)> {
    let (sha256, name) = line.split_once(' ')?;
    let name = name.strip_prefix([' ', '*']).unwrap_or(name);
    let is_hash = sha256.len() == 64 && sha256.bytes().all(|digit| digit.is_ascii_hexdigit());
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter);
    let is_name = !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_plain);
    (is_hash && is_name).then(|| (name.to_owned(), sha256.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_names_anything_but_a_file_beside_it_counts_for_nothing() {
        let sum = "0123456789ABCDEFabcdef".repeat(3)[..64].to_owned();
        let of = |name: &str| entry(&format!("{sum}  {name}"));
        assert_eq!(of("forge-agent-linux-x86_64").unwrap().1, sum.to_lowercase());
        assert_eq!(entry(&format!("{sum} *binary")).unwrap().0, "binary");
        for name in ["", "../secret", "/etc/passwd", ".hidden", "a b", "..", "a/b", "ä"] {
            assert_eq!(of(name), None, "{name}");
        }
        for line in ["", "no sum", "0123  short", &sum] {
            assert_eq!(entry(line), None, "{line}");
        }
    }
}
