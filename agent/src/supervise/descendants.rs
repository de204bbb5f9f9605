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
    dead: bool,
}

impl Process {
    fn read(pid: i32) -> Option<Self> {
        Self::parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The program's name stands in parentheses and may hold anything, parentheses too.
    fn parse(pid: i32, stat: &[u8]) -> Option<Self> {
        let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
        let mut fields = str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace();
        // In the manual's count these are the fields 3, 4, 20 and 22.
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let threads: u32 = fields.nth(15)?.parse().ok()?;
        let start_ticks = fields.nth(1)?.parse().ok()?;
        // A process also shows as a zombie when its first thread has ended and others still run.
        let dead = matches!(state, "Z" | "X") && threads <= 1;
        Some(Self { identity: Identity { pid, start_ticks }, parent, dead })
    }
}

/// Calls `visit` for each living descendant as soon as it is known to be one: a process that forks and ends all the time
/// would be gone by the end of the walk.
pub(super) fn each(root: i32, mut visit: impl FnMut(&Process)) {
    let Ok(entries) = fs::read_dir("/proc") else { return };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut tree = HashSet::from([root]);
    let mut undecided = Vec::new();
    for process in pids.filter_map(Process::read) {
        if tree.contains(&process.parent) {
            tree.insert(process.identity.pid);
            if !process.dead {
                visit(&process);
            }
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
                if !process.dead {
                    visit(process);
                }
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

/// Kills descendants until none is found that is not already dying. `reap` collects the dead, so that they are not
/// met again, and says whether any child is left.
pub(super) fn kill_all(root: i32, mut reap: impl FnMut() -> bool) {
    const ROUNDS_MAX: usize = 50;
    let mut killed = HashSet::new();
    for _ in 0..ROUNDS_MAX {
        kill_children(root, &mut reap);
        if !reap() {
            return;
        }
        let before = killed.len();
        each(root, |process| {
            killed.insert(process.identity);
            send(process.identity, Signal::SIGKILL);
        });
        if killed.len() == before {
            return;
        }
    }
}

/// The quick way to those that fork and end faster than a walk through all processes takes: each becomes a child
/// of the root when its parent ends, and the kernel lists children at once. (If it was built without that list,
/// the walks have to do.)
fn kill_children(root: i32, reap: &mut impl FnMut() -> bool) {
    const ROUNDS_MAX: usize = 500;
    let mut before = String::new();
    for _ in 0..ROUNDS_MAX {
        if !reap() {
            return;
        }
        let Ok(children) = fs::read_to_string(format!("/proc/{root}/task/{root}/children")) else { return };
        for pid in children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()) {
            // This needs no start time: the pid of a child stays its own until it is reaped, and that happens
            // nowhere between the reading of the list and this line.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        if children == before {
            return;
        }
        before = children;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_full_of_parentheses_does_not_shift_the_fields() {
        let stat = b"42 (a) R 1 (\xff) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876 1000 100\n";
        let expected = Process { identity: Identity { pid: 42, start_ticks: 9876 }, parent: 7, dead: false };
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
