//! One job, from its start until nothing of it is left.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::Signal;

use super::descendants::{self, Identity};
use super::wire::{Job, Kind, Report};
use super::{CHUNK, ToAgent, folder, is_momentary, never_block};
use crate::runner::{Ended, Usage};
use crate::sys::{self, Reap};

/// What a solver that ended by itself left running gets to end, too.
const LEFTOVERS_GRACE: Duration = Duration::from_secs(1);
/// Between rounds of killing, if no child's end comes earlier. It doubles, for what even SIGKILL does not end
/// at once: a process that waits for a disk.
const KILL_AGAIN_FIRST: Duration = Duration::from_millis(10);
const KILL_AGAIN_MAX: Duration = Duration::from_secs(1);
/// All that a pipe without writers can hold, unless an administrator raised the system's limit.
const LEFT_IN_PIPE_MAX: usize = 1 << 20;
/// The longest argument that Linux accepts, with the zero byte at its end.
const MAX_ARG_STRLEN: usize = 128 << 10;

pub(super) struct Attempt {
    job: Job,
    solver: i32,
    started: Instant,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
    stdout_bytes: u64,
    solver_exit: Option<(ExitStatus, Instant)>,
    no_children: bool,
    /// Why the solver was ended, if it did not end by itself.
    cause: Option<Ended>,
    ending: Option<Ending>,
    cpu: Duration,
    peak_kb: u64,
}

enum Ending {
    /// SIGTERM has been sent. Without a time to kill, the grace is longer than the clock can count.
    Asked {
        seen: HashSet<Identity>,
        kill_at: Option<Instant>,
    },
    Killing {
        again_at: Instant,
        pause: Duration,
    },
}

impl Attempt {
    /// `None` when there is nothing to wait for; the report is then already on its way.
    pub(super) fn start(job: Job, params: Option<&[u8]>, to_agent: &mut ToAgent) -> Option<Self> {
        match spawn(&job, params) {
            Ok((solver, stdout, stderr)) => Some(Self {
                job,
                solver,
                started: Instant::now(),
                stdout: Some(stdout),
                stderr: Some(stderr),
                stdout_bytes: 0,
                solver_exit: None,
                no_children: false,
                cause: None,
                ending: None,
                cpu: Duration::ZERO,
                peak_kb: 0,
            }),
            Err(why) => {
                remove_folder(&job, to_agent);
                report(to_agent, Ended::NotStarted(why), Usage::default());
                None
            }
        }
    }

    pub(super) fn stop(&mut self, now: Instant) {
        self.end_because(Ended::Stopped, now);
    }

    fn end_because(&mut self, cause: Ended, now: Instant) {
        if self.cause.is_none() && self.solver_exit.is_none() {
            self.cause = Some(cause);
            self.ask_to_end(self.job.grace, now);
        }
    }

    fn ask_to_end(&mut self, grace: Duration, now: Instant) {
        let mut seen = HashSet::new();
        descendants::each(own_pid(), |process| {
            seen.insert(process.identity);
            ask(process.identity);
        });
        self.ending = Some(Ending::Asked { seen, kill_at: now.checked_add(grace) });
    }

    pub(super) fn reap(&mut self) {
        if !self.collect_the_dead() {
            return;
        }
        if let Some(Ending::Asked { seen, .. }) = &mut self.ending {
            // What was forked while the others were asked, and lost its parent, has nobody else to ask it. A
            // child that a solver starts in order to clean up still has its parent, and is left to work.
            descendants::each(own_pid(), |process| {
                if process.parent == own_pid() && seen.insert(process.identity) {
                    ask(process.identity);
                }
            });
        }
        if let Some(Ending::Killing { again_at, .. }) = &mut self.ending {
            *again_at = Instant::now();
        }
    }

    /// Says whether a child is left.
    fn collect_the_dead(&mut self) -> bool {
        loop {
            match sys::reap() {
                Reap::Ended(child) => {
                    self.cpu += child.cpu;
                    self.peak_kb = self.peak_kb.max(child.peak_kb);
                    // As long as it was not waited for, its pid cannot have become somebody else's.
                    if child.pid == self.solver && self.solver_exit.is_none() {
                        self.solver_exit = Some((child.status, Instant::now()));
                    }
                }
                Reap::AllRunning => return true,
                Reap::NoChildren => {
                    self.no_children = true;
                    return false;
                }
            }
        }
    }

    /// Does what the time demands.
    pub(super) fn advance(&mut self, now: Instant) {
        if self.no_children {
            return;
        }
        if self.solver_exit.is_some() && self.ending.is_none() {
            self.ask_to_end(LEFTOVERS_GRACE.min(self.job.grace), now);
        }
        if self.stdout_bytes > self.job.stdout_max {
            self.end_because(Ended::OutputTooLarge, now);
        }
        if self.times_out_at().is_some_and(|at| at <= now) {
            self.end_because(Ended::TimedOut, now);
        }
        let pause = match &self.ending {
            Some(Ending::Asked { kill_at: Some(at), .. }) if *at <= now => KILL_AGAIN_FIRST,
            Some(Ending::Killing { again_at, pause }) if *again_at <= now => (*pause * 2).min(KILL_AGAIN_MAX),
            _ => return,
        };
        descendants::kill_all(own_pid(), || self.collect_the_dead());
        self.ending = Some(Ending::Killing { again_at: Instant::now() + pause, pause });
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        match &self.ending {
            Some(Ending::Asked { kill_at, .. }) => *kill_at,
            Some(Ending::Killing { again_at, .. }) => Some(*again_at),
            None => self.times_out_at(),
        }
    }

    fn times_out_at(&self) -> Option<Instant> {
        // A limit beyond what the clock can count is none.
        self.job.max_runtime.and_then(|limit| self.started.checked_add(limit))
    }

    /// Without a child there is no descendant: an orphan would have become a child.
    pub(super) fn is_over(&self) -> bool {
        self.no_children
    }

    pub(super) fn read_stdout(&mut self, to_agent: &mut ToAgent) -> usize {
        let mut chunk = [0; CHUNK];
        let length = read(&mut self.stdout, &mut chunk);
        let room = self.job.stdout_max.saturating_sub(self.stdout_bytes);
        let kept = length.min(usize::try_from(room).unwrap_or(usize::MAX));
        self.stdout_bytes += length as u64;
        if kept > 0 {
            to_agent.put(Kind::Stdout, &chunk[..kept]);
        }
        length
    }

    pub(super) fn read_stderr(&mut self, to_agent: &mut ToAgent) -> usize {
        let mut chunk = [0; CHUNK];
        let length = read(&mut self.stderr, &mut chunk);
        if length > 0 {
            to_agent.put(Kind::Stderr, &chunk[..length]);
        }
        length
    }

    pub(super) fn finish(mut self, to_agent: &mut ToAgent) {
        // The end of the pipes is not waited for: their other ends may have been passed to a stranger.
        drain(|| self.read_stdout(to_agent));
        drain(|| self.read_stderr(to_agent));
        remove_folder(&self.job, to_agent);
        let ended_at = self.solver_exit.map_or_else(Instant::now, |(_, at)| at);
        let usage = Usage {
            cpu_ms: millis(self.cpu),
            peak_kb: self.peak_kb,
            wall_ms: millis(ended_at.duration_since(self.started)),
        };
        report(to_agent, self.ended(), usage);
    }

    fn ended(self) -> Ended {
        if let Some(cause) = self.cause {
            return cause;
        }
        if self.stdout_bytes > self.job.stdout_max {
            return Ended::OutputTooLarge;
        }
        let status = self.solver_exit.map(|(status, _)| status).unwrap_or_default();
        match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Exited(code),
            (None, signal) => Ended::Signaled(signal.unwrap_or(0)),
        }
    }
}

fn spawn(job: &Job, params: Option<&[u8]>) -> Result<(i32, ChildStdout, ChildStderr), String> {
    let (program, arguments) = job.argv.split_first().ok_or("there is no program to start")?;
    if let Some(path) = &job.folder {
        let path = Path::new(path);
        folder::create(path)
            .map_err(|error| format!("cannot make the folder {}: {error}", path.display()))?;
    }
    let stdin = match (params, &job.params_file) {
        (Some(params), Some(file)) => folder::write_params(Path::new(file), params).map(Stdio::from),
        _ => File::open("/dev/null").map(Stdio::from),
    };
    let stdin = stdin.map_err(|error| format!("cannot hand over the parameters: {error}"))?;
    let work_dir = Path::new(&job.work_dir);
    if !work_dir.is_dir() {
        return Err(format!("the working folder {} is not a folder", work_dir.display()));
    }

    let mut command = Command::new(program);
    command.args(arguments);
    // The file and standard input always have them; a JSON text never holds a zero byte.
    if let Some(params) = params.filter(|params| params.len() < MAX_ARG_STRLEN && !params.contains(&0)) {
        command.arg("--params").arg(OsStr::from_bytes(params));
    }
    command.env_clear().envs(job.env.iter().map(|(name, value)| (name, value)));
    command.current_dir(work_dir).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    sys::confine(&mut command, limits(job).map_err(|error| format!("cannot read the limits: {error}"))?);
    let cannot_start = |error| format!("cannot start {}: {error}", Path::new(program).display());
    let mut child = spawn_when_not_busy(&mut command).map_err(cannot_start)?;
    let stdout = child.stdout.take().expect("it was asked for");
    let stderr = child.stderr.take().expect("it was asked for");
    never_block(&stdout).and_then(|()| never_block(&stderr)).expect("a pipe that was just made has flags");
    let pid = i32::try_from(child.id()).expect("pids are positive");
    Ok((pid, stdout, stderr))
}

/// A program that was just written counts as busy while a process that the agent is starting at that moment, and
/// that has not yet become another program, still shares the agent's files.
fn spawn_when_not_busy(command: &mut Command) -> io::Result<Child> {
    const TRIES: usize = 20;
    const PAUSE: Duration = Duration::from_millis(5);
    for _ in 1..TRIES {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::sleep(PAUSE),
            spawned => return spawned,
        }
    }
    command.spawn()
}

/// Memory is limited as private writable memory, not as address space: runtimes such as those of Go, Java and
/// JavaScript reserve far more addresses than they use.
fn limits(job: &Job) -> nix::Result<Vec<(Resource, u64)>> {
    let wanted = [
        Some((Resource::RLIMIT_CORE, 0)),
        Some((Resource::RLIMIT_NOFILE, job.open_files)),
        job.memory_max.map(|bytes| (Resource::RLIMIT_DATA, bytes)),
    ];
    // To raise a hard limit takes privileges; what this process has is the most that it can give.
    let within = |(resource, limit): (Resource, u64)| Ok((resource, limit.min(getrlimit(resource)?.1)));
    wanted.into_iter().flatten().map(within).collect()
}

/// A stopped process would not see the request before it continues.
fn ask(process: Identity) {
    descendants::send(process, Signal::SIGTERM);
    descendants::send(process, Signal::SIGCONT);
}

/// Reads what there is, and forgets the pipe at its end.
fn read<P: Read>(pipe: &mut Option<P>, chunk: &mut [u8]) -> usize {
    let Some(open) = pipe else { return 0 };
    loop {
        match open.read(chunk) {
            Ok(length @ 1..) => return length,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if is_momentary(&error) => return 0,
            Ok(_) | Err(_) => {
                *pipe = None;
                return 0;
            }
        }
    }
}

fn drain(mut read: impl FnMut() -> usize) {
    let mut drained = 0;
    while drained < LEFT_IN_PIPE_MAX
        && let length @ 1.. = read()
    {
        drained += length;
    }
}

fn remove_folder(job: &Job, to_agent: &mut ToAgent) {
    let Some(path) = job.folder.as_ref().filter(|_| !job.keep_folder) else { return };
    let path = Path::new(path);
    if let Err(error) = folder::remove(path) {
        let line = format!("forge: the working folder {} could not be removed: {error}\n", path.display());
        to_agent.put(Kind::Stderr, line.as_bytes());
    }
}

fn report(to_agent: &mut ToAgent, ended: Ended, usage: Usage) {
    let json = serde_json::to_vec(&Report { ended, usage }).expect("a report is plain data");
    to_agent.put(Kind::Finished, &json);
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn own_pid() -> i32 {
    nix::unistd::getpid().as_raw()
}
