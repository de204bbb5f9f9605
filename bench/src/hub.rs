//! The release hub as a child process, and what the kernel says about it.

use crate::wire::{self, Connection};
use anyhow::{Context, bail};
use std::{
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

pub const TOKEN: &str = "a-secret-for-the-benchmark-only";
const READY_MAX: Duration = Duration::from_secs(60);

/// A child process; killed when dropped.
pub struct Process {
    child: Child,
}

/// One that listens.
pub struct Server {
    process: Process,
    pub address: SocketAddr,
    dir: TempDir,
}

pub struct Agent {
    process: Process,
    _dir: TempDir,
}

impl std::ops::Deref for Server {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

impl std::ops::Deref for Agent {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

/// The hub, with a database of its own.
pub fn hub() -> anyhow::Result<Server> {
    let dir = TempDir::new()?;
    let binary = beside_us("forge-hub")?;
    let mut command = Command::new(&binary);
    command
        .env("SQLITE_PATH", dir.path().join("forge-fleet.sqlite"))
        .env("FORGE_INGEST_SECRET", TOKEN)
        .env("LOG_LEVEL", std::env::var("LOG_LEVEL").unwrap_or_else(|_| "warn".to_owned()));
    Server::start(command, dir)
}

/// An agent that works for this hub, with folders of its own.
pub fn agent(hub: &Server, env: &[(&str, &str)]) -> anyhow::Result<Agent> {
    let dir = TempDir::new()?;
    let log = File::create(dir.path().join("log"))?;
    let child = Command::new(beside_us("forge-agent")?)
        .env("HUB_URL", format!("http://{}", hub.address))
        .env("FORGE_INGEST_SECRET", TOKEN)
        .env("NODE_ID", "bench-agent")
        .env("WORKER_ENABLED", "true")
        .env("LOG_LEVEL", "warn")
        .env("SOLVER_CACHE_DIR", dir.path().join("solvers"))
        .env("AGENT_STATE_DIR", dir.path().join("state"))
        .envs(env.iter().copied())
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("start the agent")?;
    Ok(Agent { process: Process { child }, _dir: dir })
}

/// The limit: a handler that only parses and answers, in a process of its own like the hub.
pub fn bare() -> anyhow::Result<Server> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--bare-server");
    Server::start(command, TempDir::new()?)
}

pub(crate) fn beside_us(name: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.exists() {
        bail!("{} is missing: build it first, `make bench` does", path.display());
    }
    Ok(path)
}

impl Process {
    /// Resident memory, in bytes.
    pub fn rss(&self) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
        let kb: f64 = line.split_whitespace().next().context("a number")?.parse()?;
        Ok(kb * 1024.0)
    }

    /// Processor time used so far, by all threads.
    pub fn cpu(&self) -> anyhow::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name in parentheses may contain anything; the numbers come after it.
        let (_, numbers) = stat.rsplit_once(')').context("a process name")?;
        let fields: Vec<&str> = numbers.split_whitespace().collect();
        let ticks = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
        // Linux reports these in units of 1/100 s on every common architecture.
        Ok(Duration::from_millis(ticks * 10))
    }
}

impl Server {
    fn start(mut command: Command, dir: TempDir) -> anyhow::Result<Self> {
        let ready = dir.path().join("ready");
        let log = File::create(dir.path().join("log"))?;
        command
            .env("HOST", "127.0.0.1")
            .env("PORT", "0")
            .env("FORGE_READY_FILE", &ready)
            .current_dir(dir.path());
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut child = command.spawn().context("start the server")?;
        let deadline = Instant::now() + READY_MAX;
        loop {
            if let Some(address) = fs::read_to_string(&ready).ok().and_then(|text| text.trim().parse().ok()) {
                return Ok(Self { process: Process { child }, address, dir });
            }
            if child.try_wait()?.is_some() || Instant::now() > deadline {
                let _ = child.kill();
                bail!("the server did not start: {}", fs::read_to_string(dir.path().join("log"))?);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Stops it in good order, which also brings the write-ahead log into the database, and
    /// answers how many bytes the database then has.
    pub fn stop(mut self) -> anyhow::Result<u64> {
        Command::new("kill").args(["-TERM", &self.process.child.id().to_string()]).status()?;
        self.process.child.wait()?;
        database_bytes(self.dir.path())
    }

    /// The value of a metric without labels.
    pub async fn metric(&self, name: &str) -> anyhow::Result<f64> {
        let mut request = Vec::new();
        wire::get(&mut request, TOKEN, "/metrics");
        let mut connection = Connection::open(self.address).await?;
        let answer = connection.call(&request).await?;
        let text = String::from_utf8_lossy(answer.body);
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.with_context(|| format!("there is no metric {name}"))?.trim().parse().context("a number")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn database_bytes(dir: &Path) -> anyhow::Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().contains(".sqlite") {
            total += entry.metadata()?.len();
        }
    }
    Ok(total)
}
