//! The process that starts a solver and leaves nothing of it behind.
//!
//! One supervisor serves one slot for as long as the slot lives, so that a job costs one fork and one exec. It
//! has a single thread and one `poll`: commands from the agent on its standard input, the end of children, the
//! solver's output, and the pipe to the agent, which it never blocks on. When its input ends the agent is
//! gone; it then ends the job as if told to stop, and leaves.
//!
//! It is a session of its own and blocks every signal, so that nothing meant for the agent ends it before its
//! work is done. It is a subreaper, so that whatever the solver starts stays below it.

mod attempt;
mod descendants;
pub(crate) mod folder;
pub(crate) mod wire;

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::process::exit;
use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::{Bytes, BytesMut};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::sys;
use attempt::Attempt;
use wire::{Job, Kind};

/// Above this much waiting for the agent, the solver's output is left in its pipes.
const WAITING_MAX: usize = 256 << 10;
const CHUNK: usize = 64 << 10;

/// Runs the supervisor. To be called before the process has a second thread.
pub fn main() -> ! {
    match Supervisor::new().and_then(Supervisor::serve) {
        Ok(()) => exit(0),
        Err(error) => {
            eprintln!("forge-agent __supervise: {error:#}");
            exit(1)
        }
    }
}

struct Supervisor {
    commands: File,
    agent_gone: bool,
    received: BytesMut,
    to_agent: ToAgent,
    child_ended: SignalFd,
    params: Option<Bytes>,
    attempt: Option<Attempt>,
    /// Whatever is read passes through here.
    chunk: Vec<u8>,
}

/// What `poll` can say is ready.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Commands,
    ChildEnded,
    ToAgent,
    Stdout,
    Stderr,
}

impl Supervisor {
    fn new() -> anyhow::Result<Self> {
        // It fails only for the leader of a process group, and such a one is already apart from the agent.
        let _ = nix::unistd::setsid();
        prctl::set_child_subreaper(true).context("become a subreaper")?;
        let _ = prctl::set_name(c"forge-supervise");
        sys::stop_ignoring_signals();
        sys::keep_inherited_files_from_children();
        SigSet::all().thread_block().context("block signals")?;
        let mut children = SigSet::empty();
        children.add(Signal::SIGCHLD);
        let child_ended = SignalFd::with_flags(&children, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
            .context("signalfd")?;

        let commands = File::from(io::stdin().as_fd().try_clone_to_owned().context("standard input")?);
        let out = File::from(io::stdout().as_fd().try_clone_to_owned().context("standard output")?);
        never_block(&commands)?;
        never_block(&out)?;
        let mut to_agent = ToAgent { out, waiting: Vec::new(), sent: 0, broken: false };
        to_agent.put(Kind::Ready, &[]);
        Ok(Self {
            commands,
            agent_gone: false,
            received: BytesMut::new(),
            to_agent,
            child_ended,
            params: None,
            attempt: None,
            chunk: vec![0; CHUNK],
        })
    }

    fn serve(mut self) -> anyhow::Result<()> {
        loop {
            self.to_agent.flush();
            if self.agent_gone && self.attempt.is_none() {
                return Ok(());
            }
            let ready = self.wait()?;
            let child_ended = ready.contains(&Source::ChildEnded);
            if child_ended {
                while let Ok(Some(_)) = self.child_ended.read_signal() {}
            }
            // Before the commands: a solver that has ended is not stopped any more.
            if let Some(attempt) = &mut self.attempt {
                if child_ended {
                    attempt.reap();
                }
                if ready.contains(&Source::Stdout) {
                    attempt.read_stdout(&mut self.chunk, &mut self.to_agent);
                }
                if ready.contains(&Source::Stderr) {
                    attempt.read_stderr(&mut self.chunk, &mut self.to_agent);
                }
            }
            if ready.contains(&Source::Commands)
                && let Err(error) = self.read_commands()
            {
                eprintln!("forge-agent __supervise: {error:#}");
                self.lose_agent();
            }
            let Some(attempt) = &mut self.attempt else { continue };
            attempt.advance(Instant::now());
            if attempt.is_over()
                && let Some(attempt) = self.attempt.take()
            {
                attempt.finish(&mut self.chunk, &mut self.to_agent);
            }
        }
    }

    fn wait(&self) -> anyhow::Result<Vec<Source>> {
        let mut sources = vec![Source::ChildEnded];
        let mut fds = vec![PollFd::new(self.child_ended.as_fd(), PollFlags::POLLIN)];
        // A descriptor that is listed reports its hang-up even when nothing is asked of it.
        if !self.agent_gone {
            sources.push(Source::Commands);
            fds.push(PollFd::new(self.commands.as_fd(), PollFlags::POLLIN));
        }
        if self.to_agent.waiting() > 0 {
            sources.push(Source::ToAgent);
            fds.push(PollFd::new(self.to_agent.out.as_fd(), PollFlags::POLLOUT));
        }
        if let Some(attempt) = &self.attempt
            && self.to_agent.waiting() < WAITING_MAX
        {
            if let Some(stdout) = &attempt.stdout {
                sources.push(Source::Stdout);
                fds.push(PollFd::new(stdout.as_fd(), PollFlags::POLLIN));
            }
            if let Some(stderr) = &attempt.stderr {
                sources.push(Source::Stderr);
                fds.push(PollFd::new(stderr.as_fd(), PollFlags::POLLIN));
            }
        }
        let wake_at = self.attempt.as_ref().and_then(Attempt::wake_at);
        match poll(&mut fds, wake_at.map_or(PollTimeout::NONE, timeout_until)) {
            Err(Errno::EINTR) => return Ok(Vec::new()),
            polled => polled.context("poll")?,
        };
        let ready = fds.iter().map(|fd| fd.any().unwrap_or(true));
        Ok(sources.into_iter().zip(ready).filter_map(|(source, ready)| ready.then_some(source)).collect())
    }

    fn read_commands(&mut self) -> anyhow::Result<()> {
        match self.commands.read(&mut self.chunk) {
            Ok(0) => self.lose_agent(),
            Ok(length) => self.received.extend_from_slice(&self.chunk[..length]),
            Err(error) if is_momentary(&error) => {}
            Err(_) => self.lose_agent(),
        }
        while let Some((kind, payload)) = wire::take(&mut self.received)? {
            match kind {
                Kind::Params => self.params = Some(payload),
                Kind::Run => self.start(&payload)?,
                // It may have crossed with the end of the job that it was meant for.
                Kind::Stop => self.stop(),
                kind => anyhow::bail!("{kind:?} is not a command"),
            }
        }
        Ok(())
    }

    fn start(&mut self, job: &[u8]) -> anyhow::Result<()> {
        anyhow::ensure!(self.attempt.is_none(), "told to run a job while another one runs");
        let job: Job = serde_json::from_slice(job).context("read a job")?;
        let params = self.params.take();
        self.attempt = Attempt::start(job, params.as_deref(), &mut self.to_agent);
        Ok(())
    }

    fn stop(&mut self) {
        if let Some(attempt) = &mut self.attempt {
            attempt.stop(Instant::now());
        }
    }

    fn lose_agent(&mut self) {
        self.agent_gone = true;
        self.to_agent.give_up();
        self.stop();
    }
}

/// Frames on their way to the agent.
struct ToAgent {
    out: File,
    waiting: Vec<u8>,
    sent: usize,
    broken: bool,
}

impl ToAgent {
    fn waiting(&self) -> usize {
        self.waiting.len() - self.sent
    }

    fn put(&mut self, kind: Kind, payload: &[u8]) {
        if !self.broken {
            wire::put(&mut self.waiting, kind, payload);
        }
    }

    fn flush(&mut self) {
        while self.waiting() > 0 {
            match self.out.write(&self.waiting[self.sent..]) {
                Ok(length) => self.sent += length,
                Err(error) if is_momentary(&error) => break,
                Err(_) => self.give_up(),
            }
        }
        if self.waiting() == 0 {
            self.waiting.clear();
            self.sent = 0;
        } else if self.sent > WAITING_MAX {
            self.waiting.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Nobody reads any more. The end of the commands, which follows, says what to do about it.
    fn give_up(&mut self) {
        self.broken = true;
        self.waiting = Vec::new();
        self.sent = 0;
    }
}

fn never_block(fd: &impl AsFd) -> anyhow::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

fn is_momentary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Rounded up, because a `poll` that returns just too early finds nothing to do and goes around again.
fn timeout_until(instant: Instant) -> PollTimeout {
    let left = instant.saturating_duration_since(Instant::now()) + Duration::from_micros(999);
    PollTimeout::try_from(left.as_millis()).unwrap_or(PollTimeout::MAX)
}
