//! Making leases: ids that nobody can guess, derived from the batch's entropy.

use crate::{
    command::Claim,
    job::{Job, Lease, LeaseState},
    plan::Now,
};
use alloc::{format, string::String};
use core::fmt::Write as _;
use forge_shared::{JobId, LeaseId};
use sha2::{Digest, Sha256};

/// Jobs handed out by one claim at most.
pub const CLAIM_MAX: u32 = 1_000;

/// A stream of random numbers, stretched from the entropy that came with a batch.
#[derive(Debug, Clone)]
pub struct Entropy {
    seed: [u8; 32],
    drawn: u64,
}

impl Entropy {
    pub fn new(seed: [u8; 32]) -> Self {
        Self { seed, drawn: 0 }
    }

    /// One block of it: the next 16 bytes as two numbers.
    pub fn draw(&mut self) -> [u64; 2] {
        self.drawn += 1;
        let digest = Sha256::new().chain_update(self.seed).chain_update(self.drawn.to_le_bytes()).finalize();
        let number = |at: usize| u64::from_le_bytes(digest[at..at + 8].try_into().expect("8 bytes"));
        [number(0), number(8)]
    }
}

pub fn new_lease(claim: &Claim, job: &Job, now: Now, lease_ms: i64, entropy: &mut Entropy) -> Lease {
    let [a, b] = entropy.draw();
    Lease {
        id: LeaseId::trusted(format!("{:x}-{:x}-{a:016x}{b:016x}", job.seq, job.attempt + 1)),
        worker: claim.worker.clone(),
        boot: claim.boot.clone(),
        claim_id: claim.claim_id.clone(),
        state: LeaseState::Live,
        granted_ms: now.mono_ms,
        until_ms: now.mono_ms + lease_ms,
        started_ms: None,
    }
}

/// The number of the job that a lease was made for.
pub fn job_of(lease: &LeaseId) -> Option<i64> {
    let (seq, _) = lease.as_str().split_once('-')?;
    i64::from_str_radix(seq, 16).ok()
}

/// 32 hex digits in time order: milliseconds, the job's number, then chance.
pub fn new_job_id(wall_ms: i64, seq: i64, random: u64) -> JobId {
    let mut text = String::with_capacity(32);
    let _ = write!(text, "{:012x}{:08x}{:012x}", wall_ms & 0xffff_ffff_ffff, seq as u32, random >> 16);
    JobId::trusted(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_ids_are_32_hex_digits_in_time_order() {
        let first = new_job_id(1_800_000_000_000, 7, u64::MAX);
        let second = new_job_id(1_800_000_000_000, 8, 0);
        assert_eq!(first.as_str().len(), 32);
        assert!(first < second);
        assert!(JobId::new(first.as_str()).is_ok());
    }

    #[test]
    fn a_lease_names_its_job() {
        assert_eq!(job_of(&LeaseId::trusted("1f-2-00ff")), Some(31));
        assert_eq!(job_of(&LeaseId::trusted("nothing")), None);
    }
}
