//! One job, from its start until nothing of it is left.

use std::collections::HashSet;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::Signal;

use super::descendants::{self, Identity};
use super::wire::{Job, Kind, Report};
use super::{ToAgent, folder, is_momentary, never_block};
use crate::runner::{Ended, Usage};
use crate::sys::{self, Reap, Start};

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
    pub(super) stdout: Option<PipeReader>,
    pub(super) stderr: Option<PipeReader>,
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

    pub(super) fn read_stdout(&mut self, chunk: &mut [u8], to_agent: &mut ToAgent) -> usize {
        let length = read(&mut self.stdout, chunk);
        let room = self.job.stdout_max.saturating_sub(self.stdout_bytes);
        let kept = length.min(usize::try_from(room).unwrap_or(usize::MAX));
        self.stdout_bytes += length as u64;
        if kept > 0 {
            to_agent.put(Kind::Stdout, &chunk[..kept]);
        }
        length
    }

    pub(super) fn read_stderr(&mut self, chunk: &mut [u8], to_agent: &mut ToAgent) -> usize {
        let length = read(&mut self.stderr, chunk);
        if length > 0 {
            to_agent.put(Kind::Stderr, &chunk[..length]);
        }
        length
    }

    pub(super) fn finish(mut self, chunk: &mut [u8], to_agent: &mut ToAgent) {
        // The end of the pipes is not waited for: their other ends may have been passed to a stranger.
        drain(|| self.read_stdout(chunk, to_agent));
        drain(|| self.read_stderr(chunk, to_agent));
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

fn spawn(job: &Job, params: Option<&[u8]>) -> Result<(i32, PipeReader, PipeReader), String> {
    let program = job.argv.first().ok_or("there is no program to start")?;
    if let Some(path) = &job.folder {
        let path = Path::new(path);
        folder::create(path)
            .map_err(|error| format!("cannot make the folder {}: {error}", path.display()))?;
    }
    let stdin = match (params, &job.params_file) {
        (Some(params), Some(file)) => folder::write_params(Path::new(file), params),
        _ => File::open("/dev/null"),
    };
    let stdin = stdin.map_err(|error| format!("cannot hand over the parameters: {error}"))?;
    let work_dir = Path::new(&job.work_dir);
    if !work_dir.is_dir() {
        return Err(format!("the working folder {} is not a folder", work_dir.display()));
    }
    let cannot_start = |error: io::Error| format!("cannot start {}: {error}", Path::new(program).display());
    let start = layout(job, program, params).map_err(cannot_start)?;
    let (stdout, to_stdout) = io::pipe().map_err(cannot_start)?;
    let (stderr, to_stderr) = io::pipe().map_err(cannot_start)?;
    never_block(&stdout).and_then(|()| never_block(&stderr)).expect("a pipe that was just made has flags");
    let start = || start.spawn(&stdin, &to_stdout, &to_stderr);
    let pid = when_not_busy(start).map_err(|error| cannot_start(error.into()))?;
    Ok((pid, stdout, stderr))
}

fn layout(job: &Job, program: &OsStr, params: Option<&[u8]>) -> io::Result<Start> {
    let mut argv =
        job.argv.iter().map(|text| CString::new(text.as_bytes())).collect::<Result<Vec<_>, _>>()?;
    // The file and standard input always have them; a JSON text never holds a zero byte.
    if let Some(params) = params.filter(|params| params.len() < MAX_ARG_STRLEN)
        && let Ok(params) = CString::new(params)
    {
        argv.extend([c"--params".to_owned(), params]);
    }
    let assignment = |(name, value): &(OsString, OsString)| {
        CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())
    };
    Ok(Start {
        candidates: candidates(program, &job.env)?,
        argv,
        env: job.env.iter().map(assignment).collect::<Result<_, _>>()?,
        work_dir: CString::new(job.work_dir.as_bytes())?,
        limits: limits(job)?,
    })
}

/// A name without a slash is looked up where the job's own `PATH` says.
fn candidates(program: &OsStr, env: &[(OsString, OsString)]) -> io::Result<Vec<CString>> {
    const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";
    let named = |path: &OsStr| CString::new(path.as_bytes()).map_err(io::Error::from);
    if program.as_bytes().contains(&b'/') {
        return Ok(vec![named(program)?]);
    }
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let folders = std::env::split_paths(path.unwrap_or(OsStr::new(USUAL)));
    folders.map(|folder| named(folder.join(program).as_os_str())).collect()
}

/// A program that was just written counts as busy while a process that the agent is starting at that moment, and
/// that has not yet become another program, still shares the agent's files.
fn when_not_busy(start: impl Fn() -> nix::Result<i32>) -> nix::Result<i32> {
    const TRIES: usize = 20;
    const PAUSE: Duration = Duration::from_millis(5);
    for _ in 1..TRIES {
        match start() {
            Err(Errno::ETXTBSY) => std::thread::sleep(PAUSE),
            started => return started,
        }
    }
    start()
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
