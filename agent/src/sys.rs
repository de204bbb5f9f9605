//! The few system calls that no safe wrapper offers. Nothing here decides anything.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use nix::errno::Errno;
use nix::sched::CloneFlags;
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::unistd;

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

/// A program about to start. Everything is laid out for the system beforehand, because the new process may do
/// nothing but system calls until it has become the program.
pub(crate) struct Start {
    /// Where the program may be, best first.
    pub(crate) candidates: Vec<CString>,
    pub(crate) argv: Vec<CString>,
    /// Each as `NAME=value`.
    pub(crate) env: Vec<CString>,
    pub(crate) work_dir: CString,
    pub(crate) limits: Vec<(Resource, u64)>,
}

impl Start {
    /// Starts the program in a session of its own, with no signal blocked, within the limits, to die with this
    /// process. This process must have a single thread, because the kernel counts the end of the starting
    /// thread as the end of the parent, and must block all signals.
    ///
    /// The new process borrows this one's memory until it has become the program, and this one sleeps that
    /// long: to copy the memory, or even its page tables alone, would cost more than all the rest.
    pub(crate) fn spawn(
        &self,
        stdin: &impl AsFd,
        stdout: &impl AsFd,
        stderr: &impl AsFd,
    ) -> nix::Result<i32> {
        const STACK: usize = 32 << 10;
        let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
            texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
        };
        let (argv, env) = (pointers(&self.argv), pointers(&self.env));
        let failure = Cell::new(None);
        let become_the_program = || -> isize {
            let prepared = self.prepare(stdin, stdout, stderr);
            let error = prepared.err().unwrap_or_else(|| execute(&self.candidates, &argv, &env));
            failure.set(Some(error));
            0
        };
        let mut stack = vec![0; STACK];
        let flags = CloneFlags::CLONE_VM | CloneFlags::CLONE_VFORK;
        // SAFETY: this process sleeps until the new one has left the shared memory, and the new one only makes
        // system calls and writes to its own stack and to `failure`. All signals are blocked, so no handler runs.
        let pid = unsafe {
            nix::sched::clone(Box::new(become_the_program), &mut stack, flags, Some(libc::SIGCHLD))
        }?;
        match failure.get() {
            None => Ok(pid.as_raw()),
            Some(error) => {
                let _ = nix::sys::wait::waitpid(pid, None);
                Err(error)
            }
        }
    }

    fn prepare(&self, stdin: &impl AsFd, stdout: &impl AsFd, stderr: &impl AsFd) -> nix::Result<()> {
        unistd::setsid()?;
        SigSet::empty().thread_set_mask()?;
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        for (resource, limit) in &self.limits {
            setrlimit(*resource, *limit, *limit)?;
        }
        unistd::chdir(self.work_dir.as_c_str())?;
        unistd::dup2_stdin(stdin)?;
        unistd::dup2_stdout(stdout)?;
        unistd::dup2_stderr(stderr)
    }
}

/// Becomes the first candidate that can be started, as a shell goes through `PATH`. Returns only if there is none.
fn execute(candidates: &[CString], argv: &[*const libc::c_char], env: &[*const libc::c_char]) -> Errno {
    let mut failure = Errno::ENOENT;
    for candidate in candidates {
        // SAFETY: the pointers are to texts that end with a zero, in lists that end with a null, and all of them
        // outlive the call.
        unsafe { libc::execve(candidate.as_ptr(), argv.as_ptr(), env.as_ptr()) };
        match Errno::last() {
            // Somewhere further on it may be there, but if it is not, this says more.
            Errno::EACCES => failure = Errno::EACCES,
            Errno::ENOENT | Errno::ENOTDIR => {}
            other => return other,
        }
    }
    failure
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
