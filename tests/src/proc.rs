//! What the kernel knows about a running process.

use std::{fs, net::SocketAddr, process::Command, time::Duration};

/// Asks a process to stop.
pub fn terminate(pid: u32) {
    signal(pid, "TERM");
}

/// What the interrupt key does.
pub fn interrupt(pid: u32) {
    signal(pid, "INT");
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &pid.to_string()]).status().expect("run kill");
    assert!(sent.success(), "process {pid} cannot be signalled");
}

/// The most memory that it ever had at once.
pub fn peak_rss_kib(pid: u32) -> u64 {
    status_kib(pid, "VmHWM:")
}

/// The memory that it has now.
pub fn rss_kib(pid: u32) -> u64 {
    status_kib(pid, "VmRSS:")
}

fn status_kib(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).expect("the process runs")
}

/// How many files and sockets it has open.
pub fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// Processor time used so far, by all threads.
pub fn cpu(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may contain anything; the numbers come after it.
    let numbers = stat.rsplit_once(')').map_or("", |(_, numbers)| numbers);
    let ticks: u64 = numbers.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    // Linux reports these in units of 1/100 s on every common architecture.
    Duration::from_millis(ticks * 10)
}

/// What a server has sent to its IPv4 clients on this machine that waits for them to make room.
pub fn unread_bytes(server: SocketAddr) -> u64 {
    const ESTABLISHED: &str = "01";
    let port = format!(":{:04X}", server.port());
    let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    table
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let (local, _remote, state) = (fields.next()?, fields.next()?, fields.next()?);
            let (unsent, _) = fields.next()?.split_once(':')?;
            let ours = local.ends_with(&port) && state == ESTABLISHED;
            ours.then(|| u64::from_str_radix(unsent, 16).ok()).flatten()
        })
        .sum()
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
