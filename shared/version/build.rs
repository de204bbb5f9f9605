//! Finds the commit: `FORGE_COMMIT` where the sources come without their repository (an image's
//! build), else what git says. A debug build asks neither: after every commit it would compile
//! the hub, the agent and queuectl again, to name a commit that the working copy rarely equals.

use std::{env, path::Path, process::Command};

const DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=FORGE_COMMIT");
    println!("cargo::rustc-env=FORGE_BUILT_FROM={}", commit());
}

fn commit() -> String {
    if let Some(given) = env::var("FORGE_COMMIT").ok().filter(|given| !given.trim().is_empty()) {
        return shortened(given.trim());
    }
    if env::var("PROFILE").as_deref() == Ok("debug") {
        return "development".to_owned();
    }
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return "unknown".to_owned() };
    // The log of HEAD grows with every commit and checkout; the others are for repositories
    // that keep none. What is not there must not be watched: it would always count as changed.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    shortened(&commit)
}

/// A commit's digits, and what follows them in words such as `0123abcd-changed`.
fn shortened(commit: &str) -> String {
    let (digits, note) = commit.split_once('-').map_or((commit, None), |(digits, note)| (digits, Some(note)));
    let digits: String = digits.chars().filter(char::is_ascii_alphanumeric).take(DIGITS).collect();
    match note {
        Some(note) => {
            format!("{digits}-{}", note.chars().filter(char::is_ascii_alphanumeric).collect::<String>())
        }
        None => digits,
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}
