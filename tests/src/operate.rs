//! `forge-hub` with a word after it: what operators type.

use crate::binary;
use std::{path::Path, process::Stdio};
use tokio::process::Command;

/// Whether it ended well, and all that it printed.
pub async fn forge_hub(database: &Path, words: &[&str]) -> (bool, String) {
    forge_hub_with(database, words, &[]).await
}

pub async fn forge_hub_with(database: &Path, words: &[&str], env: &[(&str, &str)]) -> (bool, String) {
    let output = Command::new(binary::hub())
        .args(words)
        .env("SQLITE_PATH", database)
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .output()
        .await
        .expect("run forge-hub");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout) + &text(&output.stderr))
}
