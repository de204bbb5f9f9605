//! The real agent against the real hub.

mod away;
mod disks;
mod doctor;
mod downloads;
mod floods;
mod leaving;
mod other_hubs;
mod secure;
mod solvers;
mod work;

use forge_tests::hub::Hub;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{fs, path::Path};

/// Puts a program into the hub's store and answers its checksum.
pub(crate) async fn upload(hub: &Hub, program: impl AsRef<[u8]>) -> String {
    let program = program.as_ref().to_vec();
    let checksum = data_encoding::HEXLOWER.encode(&Sha256::digest(&program));
    let put = hub.client().put(hub.url(&format!("/api/solvers/{checksum}"))).body(program);
    let answer = hub.send(put).await;
    assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
    checksum
}

/// A shell script in the hub's store, as a job that runs it.
async fn script(hub: &Hub, lines: &str) -> Value {
    let checksum = upload(hub, format!("#!/bin/sh\n{lines}\n")).await;
    json!({"type": "script", "solver_checksum": checksum})
}

/// The job when it has ended.
pub(crate) async fn end_of(hub: &Hub, id: &str) -> Value {
    let job = hub.get(&format!("/api/jobs/{id}?wait_ms=45000")).await.expect(200);
    let status = job["status"].as_str().expect("a status");
    assert!(["completed", "failed", "quarantined"].contains(&status), "the job should have ended: {job}");
    job
}

/// Runs a script as a job to its end.
async fn run_script(hub: &Hub, lines: &str) -> Value {
    let mut job = script(hub, lines).await;
    job["max_attempts"] = json!(1);
    let id = hub.enqueue(job).await;
    end_of(hub, &id).await
}

/// A solver that says when it runs, and ends when it is told to.
fn steered(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "echo run >> {dir}/runs; touch {dir}/started; while ! test -e {dir}/go; do sleep 0.05; done; echo 7"
    )
}

fn runs(dir: &Path) -> usize {
    fs::read_to_string(dir.join("runs")).unwrap_or_default().lines().count()
}

/// Every file below a folder, by its path in there.
fn files_in(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut found: Vec<String> = entries
        .flatten()
        .flat_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.path().is_dir() {
                true => files_in(&entry.path()).into_iter().map(|below| format!("{name}/{below}")).collect(),
                false => vec![name],
            }
        })
        .collect();
    found.sort();
    found
}
