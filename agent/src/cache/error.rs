//! Why a solver could not be had, in words that say what a person can do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Cloned to everyone who waited for the same download.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CacheError {
    #[error(
        "the solver that {origin} sent has the sha256 {found}, not {expected}: \
         correct the job's solver_checksum or the file behind it"
    )]
    Mismatch { expected: String, found: String, origin: String },
    #[error("{0:?} is no sha256: a solver_checksum is 64 hexadecimal digits")]
    BadChecksum(String),
    #[error("the solver is larger than the {limit} bytes this agent accepts: publish a smaller file")]
    TooLarge { limit: u64 },
    #[error(
        "{origin} answered {status}: check that the solver is still there and that this agent may read it"
    )]
    Refused { status: u16, origin: String },
    #[error("the solver could not be fetched from {origin}: {why}")]
    Unreachable { origin: String, why: String },
    #[error("{origin} sent nothing for {waited:?}: check its health and the network in between")]
    Stalled { origin: String, waited: Duration },
    #[error(
        "the solver did not arrive within {allowed:?}: \
         the next attempt goes on from there if the server lets it"
    )]
    TooSlow { allowed: Duration },
    #[error("{}", disk_advice(.dir, .source))]
    Disk { dir: PathBuf, source: Arc<io::Error> },
    #[error("refused to fetch the solver: {0}")]
    Forbidden(String),
}

impl CacheError {
    /// The stable word that a failed job carries.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Mismatch { .. } => "solver_checksum_mismatch",
            Self::BadChecksum(_) => "solver_checksum_invalid",
            Self::TooLarge { .. } => "solver_too_large",
            Self::Refused { .. } | Self::Unreachable { .. } | Self::Stalled { .. } | Self::TooSlow { .. } => {
                "solver_unavailable"
            }
            Self::Disk { source, .. } if is_full(source) => "solver_disk_full",
            Self::Disk { .. } => "solver_cache_broken",
            Self::Forbidden(_) => "solver_url_forbidden",
        }
    }

    pub(super) fn disk(dir: &Path, source: io::Error) -> Self {
        Self::Disk { dir: dir.to_owned(), source: Arc::new(source) }
    }

    /// Whether asking the same server again a moment later may end differently.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Stalled { .. } => true,
            Self::Refused { status, .. } => matches!(status, 408 | 416 | 425 | 429 | 500..),
            _ => false,
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn disk_advice(dir: &Path, error: &io::Error) -> String {
    let dir = dir.display();
    if is_full(error) {
        format!(
            "no room for the solver in {dir} ({error}): free space on that disk, delete solvers there \
             that nothing runs, or point SOLVER_CACHE_DIR at a larger disk"
        )
    } else {
        format!(
            "the solver cache {dir} does not work ({error}): check that the agent owns it and can write there"
        )
    }
}
