//! The real agent as a child process, with folders of its own.

use crate::{
    binary,
    hub::{Hub, SECRET},
    proc,
};
use std::{
    fs::{self, File, OpenOptions},
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// How long anything that an agent does at once may take on a busy machine.
pub const SOON: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub struct AgentOptions {
    id: String,
    env: Vec<(String, String)>,
    token: String,
    dir: Option<Arc<TempDir>>,
    wrapper: Vec<String>,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            id: "machine".to_owned(),
            env: Vec::new(),
            token: SECRET.to_owned(),
            dir: None,
            wrapper: Vec::new(),
        }
    }
}

impl AgentOptions {
    pub fn id(mut self, id: &str) -> Self {
        self.id = id.to_owned();
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn token(mut self, token: &str) -> Self {
        self.token = token.to_owned();
        self
    }

    /// Run as `wrapper... forge-agent`. The wrapper must leave the agent as the direct child.
    pub fn wrapper(mut self, words: Vec<String>) -> Self {
        self.wrapper = words;
        self
    }

    /// With the outbox, cache and working folders of another agent.
    pub fn dir(mut self, dir: Arc<TempDir>) -> Self {
        self.dir = Some(dir);
        self
    }
}

pub struct Agent {
    pub options: AgentOptions,
    hub: String,
    dir: Arc<TempDir>,
    child: Option<Child>,
}

impl Agent {
    /// Starts an agent that works for this hub.
    pub fn start(hub: &Hub, options: AgentOptions) -> Self {
        Self::start_at(&hub.url(""), options)
    }

    pub fn start_at(hub: &str, options: AgentOptions) -> Self {
        let dir = options.dir.clone().unwrap_or_else(|| Arc::new(TempDir::new().expect("make a folder")));
        let mut agent = Self { options, hub: hub.to_owned(), dir, child: None };
        agent.start_again();
        agent
    }

    /// On the same folders, after it ended.
    pub fn start_again(&mut self) {
        let log = OpenOptions::new().create(true).append(true).open(self.log_path()).expect("open the log");
        let agent = binary::agent();
        let mut command = match self.options.wrapper.split_first() {
            None => Command::new(agent),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(agent);
                command
            }
        };
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("HUB_URL", &self.hub)
            .env("NODE_ID", &self.options.id)
            .env("FORGE_INGEST_SECRET", &self.options.token)
            .env("WORKER_ENABLED", "true")
            .env("PUSH_INTERVAL_MS", "1000")
            .envs(self.options.env.iter().map(|(name, value)| (name, value)))
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("share the log"))
            .stderr(log);
        self.child = Some(command.spawn().expect("start the agent"));
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().and_then(Child::id).expect("the agent runs")
    }

    /// SIGKILL: no goodbye.
    pub async fn kill9(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await.expect("kill the agent");
        }
    }

    pub fn terminate(&self) {
        proc::terminate(self.pid());
    }

    pub fn interrupt(&self) {
        proc::interrupt(self.pid());
    }

    pub async fn ended(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("the agent runs");
        match tokio::time::timeout(Duration::from_secs(60), child.wait()).await {
            Ok(status) => status.expect("wait for the agent"),
            Err(_) => {
                // Dropped with this, it is killed.
                self.child = Some(child);
                panic!("the agent did not end");
            }
        }
    }

    pub fn dir(&self) -> Arc<TempDir> {
        self.dir.clone()
    }

    pub fn log(&self) -> String {
        fs::read(self.log_path())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// Returns once the log says this.
    pub async fn until_log(&self, text: &str) {
        let deadline = Instant::now() + SOON;
        while !self.log().contains(text) {
            assert!(Instant::now() < deadline, "the agent's log should say '{text}'\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("agent.log")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.start_kill();
            let deadline = Instant::now() + Duration::from_secs(2);
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        if std::thread::panicking() {
            eprintln!("--- the agent's log ---\n{}", self.log());
        }
    }
}

/// A file that a solver makes tells that it got somewhere.
pub async fn until_exists(path: &std::path::Path) {
    until(&format!("{} should be there", path.display()), || File::open(path).is_ok()).await;
}

/// Returns once the process that wrote its number into this file is gone.
pub async fn until_process_gone(file: &std::path::Path) {
    let pid = fs::read_to_string(file).expect("a process's number");
    let process = PathBuf::from(format!("/proc/{}", pid.trim()));
    until(&format!("process {} should be gone", pid.trim()), || !process.exists()).await;
}

/// For what the machine tells only when asked.
pub async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns once no process runs with this command line and this home folder.
pub async fn until_gone(command_line: &str, home: &std::path::Path) {
    let deadline = Instant::now() + SOON;
    let wanted: Vec<u8> = command_line.split(' ').flat_map(|word| word.bytes().chain([0])).collect();
    let home = format!("HOME={}\0", home.display());
    let is_one = |pid: &std::path::Path| {
        fs::read(pid.join("cmdline")).is_ok_and(|line| line == wanted)
            && fs::read(pid.join("environ")).is_ok_and(|env| String::from_utf8_lossy(&env).contains(&home))
    };
    while fs::read_dir("/proc").expect("read /proc").flatten().any(|entry| is_one(&entry.path())) {
        assert!(Instant::now() < deadline, "'{command_line}' should not run any more");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
