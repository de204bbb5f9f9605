//! Programs for jobs: hashed here, uploaded when the hub does not have them.

use super::Hub;
use crate::problem::Problem;
use data_encoding::HEXLOWER;
use forge_shared::response::Solver;
use sha2::{Digest as _, Sha256};
use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};
use tokio_util::io::ReaderStream;

const READ_BYTES: usize = 256 << 10;

/// A solver that the hub has now.
#[derive(Debug)]
pub(crate) struct Pushed {
    pub(crate) solver: Solver,
    /// It was not there before.
    pub(crate) uploaded: bool,
}

impl Hub {
    pub(crate) async fn push_solver(&self, path: &Path) -> Result<Pushed, Problem> {
        let unreadable =
            |error: io::Error| Problem::storage(&format!("{} cannot be read", path.display()), error);
        let (sha256, bytes) = hash(path).map_err(unreadable)?;
        let known: Vec<Solver> = self.get("/api/solvers").read().await?;
        if let Some(solver) = known.into_iter().find(|solver| solver.sha256 == sha256) {
            return Ok(Pushed { solver, uploaded: false });
        }
        let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
        let body = reqwest::Body::wrap_stream(ReaderStream::with_capacity(file, READ_BYTES));
        let solver = self.upload(&format!("/api/solvers/{sha256}"), body, bytes).await?;
        Ok(Pushed { solver, uploaded: true })
    }
}

/// The sha256 of a file, 64 hex digits, and its length.
fn hash(path: &Path) -> io::Result<(String, u64)> {
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let (mut hasher, mut buffer, mut bytes) = (Sha256::new(), vec![0; READ_BYTES], 0);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((HEXLOWER.encode(&hasher.finalize()), bytes)),
            n => {
                hasher.update(&buffer[..n]);
                bytes += n as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_hashed_as_sha256sum_does() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("solver");
        std::fs::write(&path, "abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash(&path).unwrap(), (expected.to_owned(), 3));
        assert!(hash(dir.path()).is_err());
    }
}
