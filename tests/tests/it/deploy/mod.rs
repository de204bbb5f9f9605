//! Getting it onto machines: the installer, the image, and the files that describe them.

mod files;
mod image;
mod install;

use forge_tests::{
    binary,
    hub::{Hub, Options},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{fs, path::Path};
use tempfile::TempDir;

/// What the hub calls a program for this machine.
fn download_name(program: &str) -> String {
    format!("{program}-linux-{}", std::env::consts::ARCH)
}

/// A folder such as `make dist` makes, with the programs under test.
fn downloads() -> TempDir {
    let folder = TempDir::new().expect("make a folder");
    for (program, path) in [("forge-agent", binary::agent()), ("queuectl", binary::queuectl())] {
        fs::copy(path, folder.path().join(download_name(program))).expect("copy a program");
    }
    write_sums(folder.path());
    folder
}

fn write_sums(folder: &Path) {
    let mut lines = String::new();
    for program in ["forge-agent", "queuectl"] {
        let name = download_name(program);
        let bytes = fs::read(folder.join(&name)).expect("read a program");
        lines += &format!("{}  {name}\n", data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes)));
    }
    fs::write(folder.join("SHA256SUMS"), lines).expect("write the sums");
}

async fn hub_with(downloads: &Path) -> Hub {
    Hub::start(Options::default().env("DOWNLOADS_DIR", &downloads.display().to_string())).await
}

/// Runs a solver as a job to its end, which must be a good one.
async fn run_a_job(hub: &Hub) -> Value {
    let program =
        b"#!/bin/sh\nread -r params\nprintf '{\"saw\":%s,\"user\":\"%s\"}' \"$params\" \"$(id -un)\"\n"
            .to_vec();
    let checksum = data_encoding::HEXLOWER.encode(&Sha256::digest(&program));
    let put = hub.client().put(hub.url(&format!("/api/solvers/{checksum}"))).body(program);
    assert!(matches!(hub.send(put).await.status, 200 | 201));
    let job = json!({"type": "script", "solver_checksum": checksum, "params": {"n": 7}, "max_attempts": 1});
    let id = hub.enqueue(job).await;
    let job = hub.get(&format!("/api/jobs/{id}?wait_ms=45000")).await.expect(200);
    assert_eq!(job["status"], "completed", "{job}");
    assert_eq!(job["result"]["saw"], json!({"n": 7}), "{job}");
    job
}
