//! The solver cache against real sockets and real disks.
#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod disk;
mod network;
mod redirects;
mod server;
mod sharing;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use data_encoding::HEXLOWER;
use forge_agent::{
    cache::{Cache, Limits, Source},
    tls::Trust,
};
use sha2::{Digest, Sha256};

const TOKEN: &str = "the-worker-token";

/// Patient enough for a busy machine; a test that needs less says so.
fn limits() -> Limits {
    Limits {
        file_max: 1 << 20,
        total_max: 4 << 20,
        stall: Duration::from_secs(20),
        total: Duration::from_secs(40),
        tries: 3,
        retry_wait: Duration::from_millis(1),
    }
}

fn open(dir: &Path, limits: Limits, hub: &str) -> Cache {
    // The tests' servers all live on loopback: 127.0.0.2 plays the public internet.
    let is_public = Arc::new(|address: std::net::IpAddr| address.to_string() == "127.0.0.2");
    Cache::open(dir.to_owned(), limits, hub, TOKEN, Trust::default()).unwrap().with_public_check(is_public)
}

fn cache(dir: &tempfile::TempDir) -> Cache {
    open(dir.path(), limits(), "http://127.0.0.1:9")
}

fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Bytes that differ everywhere, so that a part in the wrong place shows.
fn solver(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(length)
    .collect()
}

fn from(url: String) -> Source {
    Source::Url(url)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
