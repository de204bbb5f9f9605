//! Worker ids that tell whether the worker still lives.
//!
//! An id names the worker's process and the supervisor that runs its jobs, each by number and start
//! time, since numbers are used again, and the machine's boot, since both are. A worker is gone
//! when neither process is left: as long as the supervisor lives, it is still ending the job, which
//! must not begin a second time beside it.

use forge_shared::WorkerId;
use std::fs;

const PREFIX: &str = "queuectl";

/// The id of this process as a worker whose jobs this supervisor runs.
pub(crate) fn worker_id(supervisor: u32) -> Option<WorkerId> {
    let own = std::process::id();
    let text = format!("{PREFIX}-{own}.{}-{supervisor}.{}-{}", started(own)?, started(supervisor)?, boot()?);
    WorkerId::new(text).ok()
}

/// Only what is known is said: another program's workers are never gone.
pub(crate) fn is_gone(worker: &WorkerId) -> bool {
    let parts: Vec<&str> = worker.as_str().split('-').collect();
    let [PREFIX, own, supervisor, booted] = parts[..] else { return false };
    let lives = |process: &str| {
        let (pid, start) = process.split_once('.')?;
        Some(started(pid.parse().ok()?) == Some(start.parse().ok()?))
    };
    let same_boot = boot().is_none_or(|boot| boot == booted);
    !same_boot || !(lives(own).unwrap_or(true) || lives(supervisor).unwrap_or(true))
}

/// When a process began, in ticks since boot; `None` when it has ended.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything; the fields come after it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let ended = matches!(state, "Z" | "X");
    if ended { None } else { fields.nth(18)?.parse().ok() }
}

fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    id.get(..8).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_worker_is_gone_when_both_its_processes_are() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let with_child = worker_id(child.id()).unwrap();
        let own = worker_id(std::process::id()).unwrap();
        assert!(!is_gone(&with_child) && !is_gone(&own));
        let child_only =
            WorkerId::new(with_child.as_str().replacen(&format!("-{}.", std::process::id()), "-1.0", 1))
                .unwrap();
        assert!(!is_gone(&child_only), "its supervisor lives");
        child.kill().unwrap();
        // Ended, though nobody has asked for its exit code yet.
        while started(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert!(is_gone(&child_only));
        assert!(!is_gone(&with_child), "this process lives");
        child.wait().unwrap();
    }

    #[test]
    fn another_boot_is_gone_and_strangers_are_left_alone() {
        let own = worker_id(std::process::id()).unwrap();
        let (alive, _) = own.as_str().rsplit_once('-').unwrap();
        assert!(is_gone(&WorkerId::new(format!("{alive}-00000000")).unwrap()));
        for stranger in ["laptop", "queuectl-1", "queuectl-x-y-z"] {
            let boot = boot().unwrap();
            assert!(!is_gone(&WorkerId::new(stranger.replace('z', &boot)).unwrap()), "{stranger}");
        }
    }
}
