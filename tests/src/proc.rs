//! What the kernel knows about a running process.

use std::{fs, process::Command};

/// Asks a process to stop.
pub fn terminate(pid: u32) {
    let sent = Command::new("kill").args(["-TERM", &pid.to_string()]).status().expect("run kill");
    assert!(sent.success(), "process {pid} cannot be signalled");
}

/// How many files and sockets it has open.
pub fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// How many files and sockets this process may open.
pub fn open_files_max() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|soft| soft.parse().ok())
        .unwrap_or(1024)
}
