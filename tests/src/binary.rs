//! Finds the executables, and builds one when it is missing or older than its sources.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::SystemTime,
};

/// The hub built with the same profile as these tests.
pub fn hub() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built("forge-hub", &["hub", "shared"])).clone()
}

/// The agent, likewise.
pub fn agent() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built("forge-agent", &["agent", "shared"])).clone()
}

/// The command line, likewise.
pub fn queuectl() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built("queuectl", &["cli", "hub", "agent", "shared"])).clone()
}

fn built(name: &str, sources: &[&str]) -> PathBuf {
    let profile_dir = profile_dir();
    let binary = profile_dir.join(name);
    if is_stale(&binary, sources) {
        let target_dir = profile_dir.parent().expect("a profile's folder is inside the target folder");
        build(name, target_dir, profile_dir.ends_with("release"), None);
    }
    binary
}

/// A hub that breaks one promise on purpose. `make faults` has built it already; otherwise it is
/// built here, in a target folder of its own, so that the sound hub is never overwritten.
pub fn faulty_hub(fault: &str) -> PathBuf {
    let target_dir = workspace().join("target").join("faults");
    let kept = target_dir.join(format!("forge-hub-{fault}"));
    if is_stale(&kept, &["hub", "shared"]) {
        build("forge-hub", &target_dir, false, Some(fault));
        // The next fault's build replaces the file, so each keeps a copy.
        std::fs::copy(target_dir.join("debug").join("forge-hub"), &kept).expect("copy the faulty hub");
    }
    kept
}

pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are a member of the workspace")
        .to_owned()
}

/// `target/<profile>`: two levels above a test executable in `deps`.
fn profile_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("the path of this executable");
    let dir = exe.parent().expect("an executable is in a folder");
    if dir.ends_with("deps") {
        dir.parent().expect("deps is in a profile's folder").to_owned()
    } else {
        dir.to_owned()
    }
}

fn build(name: &str, target_dir: &Path, release: bool, fault: Option<&str>) {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace()).args(["build", "-p", package_of(name), "--bin", name]);
    cargo.arg("--target-dir").arg(target_dir);
    if release {
        cargo.arg("--release");
    }
    if let Some(fault) = fault {
        cargo.args(["--features", fault]);
        // Counting the lines that a deliberately broken hub runs would only slow its build.
        cargo.env_remove("RUSTFLAGS").env_remove("RUSTC_WRAPPER").env_remove("RUSTC_WORKSPACE_WRAPPER");
    }
    let status = cargo.status().expect("run cargo");
    assert!(status.success(), "building {name} failed ({fault:?})");
}

/// Binaries are named after their packages, but for the one that people type.
fn package_of(binary: &str) -> &str {
    if binary == "queuectl" { "forge-cli" } else { binary }
}

fn is_stale(binary: &Path, sources: &[&str]) -> bool {
    let Ok(built) = binary.metadata().and_then(|meta| meta.modified()) else { return true };
    sources.iter().any(|dir| newest(&workspace().join(dir)).is_some_and(|changed| changed > built))
}

fn newest(dir: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(dir).ok()?;
    entries
        .flatten()
        .filter_map(|entry| {
            let meta = entry.metadata().ok()?;
            if meta.is_dir() { newest(&entry.path()) } else { meta.modified().ok() }
        })
        .max()
}
