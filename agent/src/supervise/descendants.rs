//! Everything that lives below this process, found in `/proc`. As a subreaper, this process becomes the
//! parent of every orphan below it, so that neither setsid nor a double fork leads out of the tree.

use std::collections::HashSet;
use std::fs;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::sys::PidFd;

/// A pid is used again after its process has ended; with its start time it means one process only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pid: i32,
    start_ticks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) identity: Identity,
    pub(super) parent: i32,
}

impl Process {
    fn read(pid: i32) -> Option<Self> {
        Self::parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The program's name stands in parentheses and may hold anything, parentheses too.
    fn parse(pid: i32, stat: &[u8]) -> Option<Self> {
        let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
        let mut fields = str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        // The start time is field 22 of the manual's count, and the parent was field 4.
        let start_ticks = fields.nth(17)?.parse().ok()?;
        Some(Self { identity: Identity { pid, start_ticks }, parent })
    }
}

/// Calls `visit` for each descendant as soon as it is known to be one: a process that forks and ends all the time
/// would be gone by the end of the walk. Zombies are visited, too: one whose first thread alone has ended looks
/// the same, and its other threads still run.
pub(super) fn each(root: i32, mut visit: impl FnMut(&Process)) {
    let Ok(entries) = fs::read_dir("/proc") else { return };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut tree = HashSet::from([root]);
    let mut undecided = Vec::new();
    for process in pids.filter_map(Process::read) {
        if tree.contains(&process.parent) {
            tree.insert(process.identity.pid);
            visit(&process);
        } else {
            undecided.push(process);
        }
    }
    // Pids mostly rise from parent to child, so this is for the few that came after their count wrapped.
    loop {
        let known = undecided.len();
        undecided.retain(|process| {
            let below = tree.contains(&process.parent);
            if below {
                tree.insert(process.identity.pid);
                visit(process);
            }
            !below
        });
        if undecided.len() == known {
            return;
        }
    }
}

pub(super) fn send(to: Identity, signal: Signal) {
    let still_itself = || Process::read(to.pid).is_some_and(|process| process.identity == to);
    match PidFd::open(to.pid) {
        Ok(handle) if still_itself() => drop(handle.send(signal)),
        Ok(_) | Err(Errno::ESRCH) => {}
        // An old kernel or a strict sandbox: the check right before the signal is the best there is.
        Err(_) if still_itself() => drop(kill(Pid::from_raw(to.pid), signal)),
        Err(_) => {}
    }
}

/// Kills all descendants there are. They are stopped first, until none is found running, because whoever can
/// fork while others are being killed might never be caught.
pub(super) fn kill_all(root: i32) {
    const WALKS_MAX: usize = 50;
    let mut stopped = HashSet::new();
    for _ in 0..WALKS_MAX {
        let before = stopped.len();
        each(root, |process| {
            if stopped.insert(process.identity) {
                send(process.identity, Signal::SIGSTOP);
            }
        });
        if stopped.len() == before {
            break;
        }
    }
    for identity in stopped {
        send(identity, Signal::SIGKILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_full_of_parentheses_does_not_shift_the_fields() {
        let stat = b"42 (a) R 1 (\xff) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 1000 100\n";
        let expected = Process { identity: Identity { pid: 42, start_ticks: 9876 }, parent: 7 };
        assert_eq!(Process::parse(42, stat), Some(expected));
    }

    #[test]
    fn a_process_finds_itself_below_its_parent() {
        let own = i32::try_from(std::process::id()).expect("pids are positive");
        let mut found = false;
        each(nix::unistd::getppid().as_raw(), |process| found |= process.identity.pid == own);
        assert!(found);
    }
}
