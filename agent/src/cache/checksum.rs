//! A sha256, the only thing that cache paths are made of.

use std::fmt;
use std::io::{self, Read};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::CacheError;

const READ_BYTES: usize = 256 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Checksum(String);

impl Checksum {
    pub(super) fn parse(text: &str) -> Result<Self, CacheError> {
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(CacheError::BadChecksum(text.chars().take(80).collect()))
        }
    }

    /// Of a file name in the cache folder, where capitals would be a second name for one solver.
    pub(super) fn from_file_name(name: &str) -> Option<Self> {
        Self::parse(name).ok().filter(|checksum| checksum.0 == name)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn of(hasher: Sha256) -> Self {
        Self(HEXLOWER.encode(&hasher.finalize()))
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Feeds everything that is left in `reader` to a new hasher, and says how much that was.
pub(super) fn hash_rest(mut reader: impl Read) -> io::Result<(Sha256, u64)> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut length = 0;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok((hasher, length)),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                length += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_64_hex_digits_become_a_path() {
        let good = "ab".repeat(32);
        assert_eq!(Checksum::parse(&good.to_uppercase()).unwrap().as_str(), good);
        for bad in ["", "../../etc/passwd", &good[1..], &format!("{good}0"), &format!("{}/", &good[1..])] {
            assert!(matches!(Checksum::parse(bad), Err(CacheError::BadChecksum(_))), "{bad}");
        }
    }
}
