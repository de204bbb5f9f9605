//! Secrets: made at random, kept as hashes, compared in constant time, and impossible to print
//! by accident.

use sha2::{Digest as _, Sha256};
use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};
use subtle::ConstantTimeEq;

/// sha256 of a secret: all that is ever stored of one.
pub type Digest = [u8; 32];

const RANDOM_BYTES: usize = 32;
const FILE_BYTES_MAX: u64 = 4_096;

/// Text that must not be seen. It has no `Serialize`, and its `Debug` and `Display` say nothing.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// 32 random bytes in URL-safe letters, after a prefix that tells what it is.
    pub fn random(prefix: &str) -> Self {
        let mut bytes = [0; RANDOM_BYTES];
        getrandom::fill(&mut bytes).expect("the system has randomness to give");
        Self(format!("{prefix}{}", data_encoding::BASE64URL_NOPAD.encode(&bytes)))
    }

    /// The one way to the text: for the answer that shows it once, and for the file that keeps it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn digest(&self) -> Digest {
        digest(self.0.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// For command line and environment values. Never fails, so that no error message can quote one.
impl std::str::FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(text))
    }
}

pub fn digest(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

/// Takes the same time wherever the two differ.
pub fn same(a: &Digest, b: &Digest) -> bool {
    a.ct_eq(b).into()
}

/// A random name that is not secret: 16 hex digits after a prefix.
pub fn random_id(prefix: &str) -> String {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the system has randomness to give");
    format!("{prefix}{}", data_encoding::HEXLOWER.encode(&bytes))
}

/// The administrator's secret: the one given, else the one kept beside the database, else a new
/// one, which is then kept there. The flag says whether it was just made, and so was never shown.
pub fn load_or_create_admin_secret(given: Option<Secret>, database: &Path) -> io::Result<(Secret, bool)> {
    if let Some(given) = given.filter(|secret| !secret.0.is_empty()) {
        return usable(given).map(|secret| (secret, false)).map_err(|why| named("FORGE_INGEST_SECRET", why));
    }
    let path = admin_secret_path(database);
    let in_file = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if let Some(kept) = read(&path).map_err(in_file)? {
        return usable(kept)
            .map(|secret| (secret, false))
            .map_err(|why| named(&path.display().to_string(), why));
    }
    let made = Secret::random("fq_");
    write(&path, &made).map_err(in_file)?;
    Ok((made, true))
}

/// Where the administrator's secret is kept when none is given: `forge-fleet.secret` beside
/// `forge-fleet.sqlite`.
pub fn admin_secret_path(database: &Path) -> PathBuf {
    database.with_extension("secret")
}

/// A secret that a header cannot carry would lock everybody out.
fn usable(secret: Secret) -> Result<Secret, &'static str> {
    if secret.0.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(secret)
    } else {
        Err("the administrator's secret may have only visible ASCII characters, without spaces")
    }
}

fn named(place: &str, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{place}: {why}"))
}

/// `None` when there is no file, or an empty one: a start that was cut short before anybody saw
/// its secret.
fn read(path: &Path) -> io::Result<Option<Secret>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    close_to_others(&file, path)?;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    let text = text.trim();
    if text.is_empty() {
        std::fs::remove_file(path)?;
        return Ok(None);
    }
    Ok(Some(Secret::new(text)))
}

fn write(path: &Path, secret: &Secret) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(secret.0.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    #[cfg(unix)]
    {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(unix)]
fn close_to_others(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = file.metadata()?.permissions();
    if permissions.mode() & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "others could read the administrator's secret; now only its owner can");
        permissions.set_mode(0o600);
        file.set_permissions(permissions)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn close_to_others(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_print_nothing() {
        let secret = Secret::new("canary");
        assert_eq!(format!("{secret:?} {secret:#?} {secret}"), "*** *** ***");
        assert_eq!(format!("{:?}", Some(&secret)), "Some(***)");
    }

    #[test]
    fn random_secrets_differ_and_carry_32_bytes() {
        let (a, b) = (Secret::random("fq_"), Secret::random("fq_"));
        assert_ne!(a.expose(), b.expose());
        assert_eq!(a.expose().len(), 3 + 43);
        assert!(same(&a.digest(), &digest(a.expose().as_bytes())));
        assert!(!same(&a.digest(), &b.digest()));
    }

    #[test]
    fn made_once_then_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("forge-fleet.sqlite");
        let (made, created) = load_or_create_admin_secret(None, &database).unwrap();
        assert!(created);
        let (found, created) = load_or_create_admin_secret(Some(Secret::new("")), &database).unwrap();
        assert!(!created);
        assert_eq!(made.expose(), found.expose());
        let (given, created) = load_or_create_admin_secret(Some(Secret::new("mine")), &database).unwrap();
        assert_eq!((given.expose(), created), ("mine", false));
    }

    #[test]
    fn unusable_secrets_are_refused_without_being_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("forge-fleet.sqlite");
        let error = load_or_create_admin_secret(Some(Secret::new("my canary")), &database).unwrap_err();
        assert!(!error.to_string().contains("canary"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn file_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("forge-fleet.sqlite");
        let path = folder.path().join("forge-fleet.secret");
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        load_or_create_admin_secret(None, &database).unwrap();
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        load_or_create_admin_secret(None, &database).unwrap();
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn start_that_was_cut_short_is_made_good() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("forge-fleet.sqlite");
        File::create(admin_secret_path(&database)).unwrap();
        assert!(load_or_create_admin_secret(None, &database).unwrap().1);
    }
}
