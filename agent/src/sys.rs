//! The few system calls that no safe wrapper offers. Nothing here decides anything.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};

/// A child that has ended, with what it and the children it had waited for used.
pub(crate) struct Reaped {
    pub(crate) pid: i32,
    pub(crate) status: ExitStatus,
    pub(crate) cpu: Duration,
    pub(crate) peak_kb: u64,
}

pub(crate) enum Reap {
    Ended(Reaped),
    AllRunning,
    NoChildren,
}

/// Collects one ended child without waiting for it.
pub(crate) fn reap() -> Reap {
    loop {
        let mut status = 0;
        // SAFETY: `rusage` is plain integers, for which all zeroes is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to live locals that the call only writes to.
        let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage) };
        return match pid {
            0 => Reap::AllRunning,
            -1 if Errno::last() == Errno::EINTR => continue,
            -1 => Reap::NoChildren,
            pid => Reap::Ended(Reaped {
                pid,
                status: ExitStatus::from_raw(status),
                cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
                peak_kb: u64::try_from(usage.ru_maxrss).unwrap_or(0),
            }),
        };
    }
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

/// Whoever started the agent may have had signals ignored, which is inherited. An ignored SIGCHLD would lose
/// every exit status, and a solver that ignores SIGTERM unknowingly could never stop in order.
pub(crate) fn stop_ignoring_signals() {
    for which in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
        // SAFETY: the default action runs no code of ours, so nothing can be re-entered.
        let _ = unsafe { signal(which, SigHandler::SigDfl) };
    }
}

/// Whatever files the agent got from whoever started it are not for solvers. A kernel too old for this call
/// leaves them as they are.
pub(crate) fn keep_inherited_files_from_children() {
    const FIRST_AFTER_STANDARD_ERROR: libc::c_uint = 3;
    // SAFETY: the call takes integers and closes nothing here; it only sets what happens at the next exec.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST_AFTER_STANDARD_ERROR,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        );
    }
}

/// Makes the program start in a session of its own, with no signal blocked, within `limits`, and die with the
/// process that starts it. That process must have a single thread: the kernel counts the end of the starting
/// thread as the end of the parent.
pub(crate) fn confine(command: &mut Command, limits: Vec<(Resource, u64)>) {
    let prepare = move || -> io::Result<()> {
        nix::unistd::setsid()?;
        SigSet::empty().thread_set_mask()?;
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        for (resource, limit) in &limits {
            setrlimit(*resource, *limit, *limit)?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made; nothing allocates or takes a lock.
    unsafe { command.pre_exec(prepare) };
}

/// A process that cannot turn into another one, as a number can.
pub(crate) struct PidFd(OwnedFd);

impl PidFd {
    pub(crate) fn open(pid: i32) -> nix::Result<Self> {
        // SAFETY: the call takes two integers and no pointer.
        let fd = Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
        let fd = i32::try_from(fd).map_err(|_| Errno::EBADF)?;
        // SAFETY: the kernel has just made this descriptor, and nobody else knows of it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub(crate) fn send(&self, signal: Signal) -> nix::Result<()> {
        let none = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: the descriptor is open as long as `self`, and a null siginfo is allowed.
        let sent = unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), signal as libc::c_int, none, 0)
        };
        Errno::result(sent).map(drop)
    }
}
