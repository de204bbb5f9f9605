//! The agent's side of a slot: hands jobs to the slot's supervisor, one at a time, and collects what they say.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::supervise::{
    folder,
    wire::{self, Job, Kind, Report},
};

const READ_AHEAD: usize = 128 << 10;

/// What all jobs of a slot have in common.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Each job gets a folder of its own in here.
    pub work_root: PathBuf,
    pub keep_work: bool,
    /// All that a job sees of the agent's environment.
    pub env: Vec<(OsString, OsString)>,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    pub stdout_max: usize,
    pub open_files: u64,
    /// After which trying again is pointless.
    pub permanent_exit_codes: Vec<i32>,
}

impl Settings {
    pub const GRACE: Duration = Duration::from_secs(10);
    pub const STDOUT_MAX: usize = 8 << 20;
    pub const OPEN_FILES: u64 = 4096;
    /// A solver that ends with it asks not to be tried again.
    pub const PERMANENT_EXIT_CODE: i32 = 100;

    pub fn new(work_root: PathBuf) -> Self {
        Self {
            work_root,
            keep_work: false,
            env: Self::scrubbed_env(),
            grace: Self::GRACE,
            stdout_max: Self::STDOUT_MAX,
            open_files: Self::OPEN_FILES,
            permanent_exit_codes: vec![Self::PERMANENT_EXIT_CODE],
        }
    }

    /// Removes working folders that were left behind when the machine lost power. Call it while no job runs in them.
    pub fn sweep(&self) {
        if self.keep_work {
            return;
        }
        let left = std::fs::read_dir(&self.work_root).into_iter().flatten().flatten();
        for entry in left.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            if let Err(error) = folder::remove(&entry.path()) {
                tracing::warn!(folder = %entry.path().display(), %error, "an old working folder cannot be removed");
            }
        }
    }

    /// The part of this process's environment that holds no secrets. An address of a proxy may hold a password.
    pub fn scrubbed_env() -> Vec<(OsString, OsString)> {
        std::env::vars_os().filter(|(name, _)| is_harmless(name)).collect()
    }
}

fn is_harmless(name: &OsStr) -> bool {
    const NAMES: [&str; 8] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL"];
    name.to_str().is_some_and(|name| NAMES.contains(&name) || name.starts_with("LC_"))
}

/// One job.
#[derive(Clone, Debug)]
pub struct Run {
    /// The program comes first. With a slash in it, it must be absolute; without, it is looked up in `PATH`.
    pub argv: Vec<OsString>,
    /// JSON, passed on standard input, in the file that `FORGE_PARAMS_FILE` names and, unless it is too long for
    /// an argument, after `--params`.
    pub params: Option<Bytes>,
    pub env: Vec<(OsString, OsString)>,
    /// Names the job's folder, so it must be unique among what runs and usable as a file name.
    pub name: String,
    /// In bytes, for each process of the job.
    pub memory_max: Option<u64>,
    pub max_runtime: Option<Duration>,
    /// To run in instead of a fresh folder; absolute, and never removed.
    pub work_dir: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    Exited(i32),
    Signaled(i32),
    TimedOut,
    Stopped,
    OutputTooLarge,
    NotStarted(String),
}

#[derive(Clone, Debug)]
pub struct Finished {
    pub ended: Ended,
    /// By its exit code, trying again is pointless.
    pub permanent: bool,
    pub stdout: Bytes,
    pub usage: Usage,
}

impl Finished {
    fn without_start(ended: Ended) -> Self {
        Self { ended, permanent: false, stdout: Bytes::new(), usage: Usage::default() }
    }
}

/// Of the solver and all that it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub cpu_ms: u64,
    /// The most that one process held at once.
    pub peak_kb: u64,
    pub wall_ms: u64,
}

/// A supervisor and the pipes to it. To drop it is to end what it runs: the supervisor sees its input end.
pub struct Slot {
    settings: Settings,
    supervisor: Child,
    commands: ChildStdin,
    reports: ChildStdout,
    received: BytesMut,
    /// Stays set when a run was dropped halfway: what the supervisor says next would belong to that run.
    in_use: bool,
}

impl Slot {
    pub async fn start(settings: Settings) -> anyhow::Result<Self> {
        // Unlike the path of the program, this still works after the file was replaced by a newer one.
        Self::start_with(Path::new("/proc/self/exe"), settings).await
    }

    pub async fn start_with(program: &Path, mut settings: Settings) -> anyhow::Result<Self> {
        settings.work_root = std::path::absolute(&settings.work_root).context("find the working folders")?;
        let mut supervisor = Command::new(program)
            .arg0("forge-agent")
            .arg("__supervise")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("start a supervisor from {}", program.display()))?;
        let commands = supervisor.stdin.take().expect("it was asked for");
        let reports = supervisor.stdout.take().expect("it was asked for");
        let mut slot =
            Self { settings, supervisor, commands, reports, received: BytesMut::new(), in_use: false };
        let (kind, _) = slot.next_frame().await?;
        ensure!(kind == Kind::Ready, "the supervisor began with {kind:?}");
        Ok(slot)
    }

    /// `None` once it is known to have ended.
    pub fn supervisor_pid(&self) -> Option<u32> {
        self.supervisor.id()
    }

    /// Runs a job to its end, and until nothing that it started is left. What it writes to standard error goes to
    /// `log` as it comes; what does not fit there is dropped, and a line says how much that was.
    ///
    /// An error means that the supervisor is lost, and this slot with it. So is a slot whose run was dropped
    /// halfway: drop it, too, to end what it runs.
    pub async fn run(
        &mut self,
        run: Run,
        log: mpsc::Sender<Bytes>,
        stop: &CancellationToken,
    ) -> anyhow::Result<Finished> {
        ensure!(!self.in_use, "an earlier run of this slot was abandoned");
        if stop.is_cancelled() {
            return Ok(Finished::without_start(Ended::Stopped));
        }
        if !is_file_name(&run.name) {
            let why = format!("{:?} cannot be the name of a folder", run.name);
            return Ok(Finished::without_start(Ended::NotStarted(why)));
        }
        self.in_use = true;
        let finished = self.run_to_the_end(run, Log::new(log), stop).await?;
        self.in_use = false;
        Ok(finished)
    }

    async fn run_to_the_end(
        &mut self,
        run: Run,
        mut log: Log,
        stop: &CancellationToken,
    ) -> anyhow::Result<Finished> {
        let mut stdout = Vec::new();
        let mut stop_sent = false;
        self.send(&self.request(run)).await?;
        loop {
            let (kind, payload) = tokio::select! {
                () = stop.cancelled(), if !stop_sent => {
                    let mut request = Vec::new();
                    wire::put(&mut request, Kind::Stop, &[]);
                    self.send(&request).await?;
                    stop_sent = true;
                    continue;
                }
                frame = self.next_frame() => frame?,
            };
            match kind {
                Kind::Stdout => stdout.extend_from_slice(&payload),
                Kind::Stderr => log.pass_on(&payload),
                Kind::Finished => {
                    log.finish();
                    let report: Report = serde_json::from_slice(&payload).context("read a report")?;
                    return Ok(self.finished(report, stdout.into()));
                }
                kind => bail!("the supervisor said {kind:?} during a run"),
            }
        }
    }

    fn finished(&self, Report { ended, usage }: Report, stdout: Bytes) -> Finished {
        let pointless = &self.settings.permanent_exit_codes;
        let permanent = matches!(&ended, Ended::Exited(code) if pointless.contains(code));
        Finished { ended, permanent, stdout, usage }
    }

    fn request(&self, run: Run) -> Vec<u8> {
        let settings = &self.settings;
        let own_folder = settings.work_root.join(&run.name);
        let work_dir = run.work_dir.as_deref().unwrap_or(&own_folder);
        let params_file = run.params.is_some().then(|| own_folder.join("params.json"));
        let needs_folder = run.work_dir.is_none() || run.params.is_some();

        let mut env = settings.env.clone();
        env.extend(run.env);
        env.push(("FORGE_WORK_DIR".into(), work_dir.into()));
        env.extend(params_file.as_ref().map(|file| ("FORGE_PARAMS_FILE".into(), file.into())));
        let job = Job {
            argv: run.argv,
            env,
            work_dir: work_dir.into(),
            folder: needs_folder.then(|| own_folder.into()),
            keep_folder: settings.keep_work,
            params_file: params_file.map(PathBuf::into_os_string),
            memory_max: run.memory_max,
            open_files: settings.open_files,
            stdout_max: settings.stdout_max as u64,
            max_runtime: run.max_runtime,
            grace: settings.grace,
        };

        let mut request = Vec::new();
        if let Some(params) = &run.params {
            wire::put(&mut request, Kind::Params, params);
        }
        wire::put(&mut request, Kind::Run, &serde_json::to_vec(&job).expect("a job is plain data"));
        request
    }

    async fn send(&mut self, request: &[u8]) -> anyhow::Result<()> {
        self.commands.write_all(request).await.context("the supervisor does not take commands any more")
    }

    /// Loses nothing when it is dropped while it waits.
    async fn next_frame(&mut self) -> anyhow::Result<(Kind, Bytes)> {
        loop {
            if let Some(frame) = wire::take(&mut self.received)? {
                return Ok(frame);
            }
            self.received.reserve(READ_AHEAD);
            let length =
                self.reports.read_buf(&mut self.received).await.context("read from the supervisor")?;
            ensure!(length > 0, "the supervisor is gone");
        }
    }

    /// Ends the supervisor and waits for it.
    pub async fn close(self) {
        let Self { mut supervisor, commands, reports, .. } = self;
        drop((commands, reports));
        if let Err(error) = supervisor.wait().await {
            tracing::warn!(%error, "cannot wait for a supervisor");
        }
    }
}

fn is_file_name(name: &str) -> bool {
    const LENGTH_MAX: usize = 200;
    !matches!(name, "" | "." | "..") && name.len() <= LENGTH_MAX && !name.contains(['/', '\0'])
}

/// A job's log on its way to whoever sends it on, who may be slower than the job.
struct Log {
    to: mpsc::Sender<Bytes>,
    dropped: usize,
}

impl Log {
    fn new(to: mpsc::Sender<Bytes>) -> Self {
        Self { to, dropped: 0 }
    }

    fn pass_on(&mut self, text: &[u8]) {
        if self.dropped > 0 && self.to.try_send(self.notice()).is_ok() {
            self.dropped = 0;
        }
        match self.to.try_reserve() {
            // A copy, because a slice would keep alive all that was read together with it.
            Ok(place) => place.send(Bytes::copy_from_slice(text)),
            Err(_) => self.dropped += text.len(),
        }
    }

    fn notice(&self) -> Bytes {
        format!("\nforge: {} bytes of the log were dropped here\n", self.dropped).into()
    }

    /// The last notice may wait for its place, but the job does not wait with it.
    fn finish(self) {
        if self.dropped > 0 && !self.to.is_closed() {
            tokio::spawn(async move { self.to.send(self.notice()).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_full_log_drops_and_says_how_much() {
        let (to, mut from) = mpsc::channel(2);
        let mut log = Log::new(to);
        for text in ["one", "two", "three", "four"] {
            log.pass_on(text.as_bytes());
        }
        assert_eq!(from.recv().await.as_deref(), Some(&b"one"[..]));
        assert_eq!(from.recv().await.as_deref(), Some(&b"two"[..]));
        log.pass_on(b"five");
        log.pass_on(b"six");
        log.finish();
        let mut rest = Vec::new();
        while let Some(text) = from.recv().await {
            rest.extend_from_slice(&text);
        }
        let expected = "\nforge: 9 bytes of the log were dropped here\nfive\nforge: 3 bytes of the log were dropped here\n";
        assert_eq!(String::from_utf8_lossy(&rest), expected);
    }

    #[test]
    fn only_plain_names_become_folders() {
        assert!(is_file_name("job-1.2"));
        for bad in ["", ".", "..", "a/b", "a\0b"] {
            assert!(!is_file_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn neither_tokens_nor_proxies_are_harmless() {
        for (name, harmless) in
            [("PATH", true), ("LC_ALL", true), ("FORGE_INGEST_SECRET", false), ("HTTPS_PROXY", false)]
        {
            assert_eq!(is_harmless(OsStr::new(name)), harmless, "{name}");
        }
    }
}
