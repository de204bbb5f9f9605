//! A folder with a queue, and the real `queuectl` in it.

use crate::{
    binary,
    hub::{Hub, SECRET},
    proc,
};
use serde_json::Value;
use std::{
    ffi::OsStr,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How long anything that must happen may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(90);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Runs a program on a terminal of its own. What it is to be told is typed when it asks, and again while it
/// stays silent: a program that hides what is typed throws away what came before that.
const TERMINAL: &str = "
import os, pty, select, sys
typed = os.read(0, 65536)
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
asked = False
while True:
    if not select.select([terminal], [], [], 0.5)[0]:
        if asked:
            os.write(terminal, typed)
        continue
    try:
        shown = os.read(terminal, 65536)
    except OSError:
        break
    if not shown:
        break
    sys.stdout.buffer.write(shown)
    asked = asked or typed and shown.endswith((b'] ', b': '))
    if asked and shown.endswith((b'] ', b': ')):
        os.write(terminal, typed)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

pub struct Queue {
    folder: TempDir,
    env: Vec<(String, String)>,
}

/// What a command said.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Queue {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder for the queue"), env: Vec::new() }
    }

    /// `queuectl` with a hub in its environment, and the administrator's token.
    pub fn of(hub: &Hub) -> Self {
        Self::new().env("HUB_URL", &hub.url("")).env("FORGE_TOKEN", SECRET)
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// In memory when the machine has such a file system: SQLite does all it does on a disk.
    pub fn in_memory() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self { folder: folder.expect("a folder for the queue"), env: Vec::new() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        self.program(binary::queuectl(), arguments)
    }

    fn program(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        // What somebody's login shell does first is not measured here.
        command.env("HOME", self.folder.path());
        // Nor is there a hub, unless a test names one.
        for name in [
            "HUB_URL",
            "HUB_CA_FILE",
            "FORGE_TOKEN",
            "FORGE_INGEST_SECRET",
            "QUEUECTL_CONTEXT",
            "XDG_CONFIG_HOME",
        ] {
            command.env_remove(name);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().expect("run queuectl"))
    }

    pub fn run_with(&self, arguments: &[&str], input: &str) -> Said {
        self.run_program_with(binary::queuectl(), arguments, input)
    }

    /// Another program, in the same place.
    fn run_program_with(&self, program: impl AsRef<OsStr>, arguments: &[&str], input: &str) -> Said {
        let piped = |command: &mut Command| {
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
        };
        let mut child = piped(&mut self.program(program, arguments)).expect("run the program");
        let mut stdin = child.stdin.take().expect("it was asked for");
        stdin.write_all(input.as_bytes()).expect("it reads its input");
        drop(stdin);
        Said::of(child.wait_with_output().expect("it ends"))
    }

    /// A command on a terminal, where somebody types this. All that is shown is its standard output.
    pub fn run_on_terminal(&self, arguments: &[&str], typed: &str) -> Said {
        let queuectl = binary::queuectl();
        let queuectl = queuectl.to_str().expect("a path");
        let words: Vec<&str> = ["-c", TERMINAL, queuectl].iter().chain(arguments).copied().collect();
        self.run_program_with("python3", &words, typed)
    }

    /// A command that goes on, whose lines are read as they come.
    pub fn follow(&self, arguments: &[&str]) -> Following {
        let mut child = self
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("run queuectl");
        let (sender, lines) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().expect("it was asked for"));
        std::thread::spawn(move || {
            out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)).is_ok()
        });
        Following { child: Some(child), lines }
    }

    /// A command that must succeed; its answer as JSON.
    pub fn ask(&self, arguments: &[&str]) -> Value {
        let said = self.run(arguments);
        assert_eq!(said.code, 0, "queuectl {arguments:?}: {}", said.stderr);
        serde_json::from_str(&said.stdout)
            .unwrap_or_else(|error| panic!("queuectl {arguments:?}: {error}: {}", said.stdout))
    }

    pub fn enqueue(&self, job: &Value) {
        self.ask(&["enqueue", &job.to_string()]);
    }

    pub fn start(&self, workers: usize) {
        self.ask(&["worker", "start", "--count", &workers.to_string()]);
    }

    /// One of the numbers of `status`.
    pub fn count(&self, name: &str) -> u64 {
        self.ask(&["status"])[name].as_u64().expect("a number")
    }

    pub fn until_count(&self, name: &str, n: u64) {
        until(&format!("{name} is {n}"), || self.count(name) == n);
    }

    /// However long it takes, as long as it goes on.
    pub fn until_all_completed(&self, n: u64) {
        let mut before = 0;
        while before < n {
            until("more jobs are completed", || self.count("completed") > before);
            before = self.count("completed");
        }
    }

    pub fn job(&self, id: &str) -> Value {
        let all = ["list", "dlq list"].map(|words| self.ask(&words.split(' ').collect::<Vec<_>>()));
        let mut jobs = all.iter().flat_map(|list| list.as_array().into_iter().flatten());
        jobs.find(|job| job["id"] == id).unwrap_or_else(|| panic!("no job {id}")).clone()
    }

    /// Lines of a file that jobs write to.
    pub fn lines(&self, name: &str) -> Vec<String> {
        fs::read_to_string(self.path(name)).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    pub fn touch(&self, name: &str) {
        fs::write(self.path(name), "").expect("write a file");
    }

    pub fn worker_pids(&self) -> Vec<u32> {
        let files = fs::read_dir(self.path("queuectl_runtime")).into_iter().flatten().flatten();
        let pid = |name: &str| name.strip_prefix("worker-")?.strip_suffix(".pid")?.parse().ok();
        files.filter_map(|file| pid(file.file_name().to_str()?)).collect()
    }
}

/// A command that is under way.
pub struct Following {
    child: Option<Child>,
    lines: mpsc::Receiver<String>,
}

impl Following {
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// The next line of its output.
    #[track_caller]
    pub fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line")
    }

    /// What it says until it ends by itself.
    pub fn end(mut self) -> Said {
        let child = self.child.take().expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        let stdout = self.lines.iter().map(|line| format!("{line}\n")).collect();
        Said { stdout, ..Said::of(output) }
    }

    /// Ctrl-C, and what it says then.
    pub fn interrupt(self) -> Said {
        proc::interrupt(self.pid());
        self.end()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Queue {
    /// Nothing of a test outlives it, however it ends.
    fn drop(&mut self) {
        for pid in self.worker_pids() {
            if Path::new(&format!("/proc/{pid}/cwd")).read_link().is_ok_and(|cwd| cwd == self.folder.path()) {
                kill_hard(pid);
            }
        }
    }
}

/// What no process can refuse.
pub fn kill_hard(pid: u32) {
    let _ = Command::new("kill").args(["-s", "KILL", &pid.to_string()]).stderr(Stdio::null()).status();
}

/// Waits for what must come true.
pub fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_true() {
        assert!(started.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(BETWEEN_LOOKS);
    }
}
