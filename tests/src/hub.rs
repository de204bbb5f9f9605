//! The real hub as a child process, on a port of its own in a folder of its own.

use crate::{binary, proc, sse::Stream, turn};
use anyhow::{Context, bail};
use reqwest::{Client, Method, header::HeaderMap};
use serde_json::Value;
use std::{
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{
    process::{Child, Command},
    sync::RwLockReadGuard,
};

pub const SECRET: &str = "the-administrators-secret-of-this-test";
/// Debug builds on a busy machine are slow to start; a hub that needs longer is broken.
const READY_MAX: Duration = Duration::from_secs(30);
/// What an operator is promised.
const STOP_MAX: Duration = Duration::from_secs(10);

const LOG: &str = "hub.log";
const GREETING: &str = "hub.out";

/// How a hub is to be started.
#[derive(Clone, Default)]
pub struct Options {
    binary: Option<PathBuf>,
    env: Vec<(String, String)>,
    unset: Vec<String>,
    dir: Option<Arc<TempDir>>,
    wrapper: Vec<String>,
}

impl Options {
    pub fn binary(mut self, path: PathBuf) -> Self {
        self.binary = Some(path);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves out what every other hub is given.
    pub fn without(mut self, name: &str) -> Self {
        self.unset.push(name.to_owned());
        self
    }

    /// On a folder that another hub used, or that the test prepared.
    pub fn dir(mut self, dir: Arc<TempDir>) -> Self {
        self.dir = Some(dir);
        self
    }

    /// Run as `wrapper... forge-hub`. The wrapper must leave the hub as the direct child.
    pub fn wrapper(mut self, words: &[&str]) -> Self {
        self.wrapper = words.iter().map(|word| (*word).to_owned()).collect();
        self
    }
}

pub struct Hub {
    options: Options,
    dir: Arc<TempDir>,
    child: Option<Child>,
    address: SocketAddr,
    client: Client,
    turn: Option<RwLockReadGuard<'static, ()>>,
}

impl Hub {
    /// A hub for an ordinary test, which may run beside others.
    pub async fn new() -> Self {
        let turn = turn::shared().await;
        let mut hub = Self::start(Options::default()).await;
        hub.turn = Some(turn);
        hub
    }

    /// A hub that comes back on the same port.
    pub async fn on_a_fixed_port() -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = port.expect("a free port").port();
        Self::start(Options::default().env("PORT", &port.to_string())).await
    }

    pub async fn start(options: Options) -> Self {
        Self::try_start(options).await.expect("the hub starts")
    }

    /// Starts a hub that may refuse to; the error then carries what it printed.
    pub async fn try_start(options: Options) -> anyhow::Result<Self> {
        let dir = match &options.dir {
            Some(dir) => dir.clone(),
            None => Arc::new(TempDir::new()?),
        };
        let (child, address) = spawn(&options, dir.path()).await?;
        let client = client_with(Some(SECRET));
        Ok(Self { options, dir, child: Some(child), address, client, turn: None })
    }

    /// SIGKILL: no goodbye, nothing flushed.
    pub async fn kill9(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().await.expect("kill the hub");
        }
    }

    /// Starts again on the same files (and another port).
    pub async fn restart(&mut self) {
        self.kill9().await;
        let (child, address) = spawn(&self.options, self.dir.path()).await.expect("the hub starts again");
        self.child = Some(child);
        self.address = address;
    }

    /// SIGTERM, and how long the hub took to end, which is within the promised time.
    pub async fn stop(&mut self) -> Duration {
        let mut child = self.child.take().expect("the hub runs");
        let asked = Instant::now();
        proc::terminate(child.id().expect("a running child has an id"));
        match tokio::time::timeout(STOP_MAX, child.wait()).await {
            Ok(status) => {
                let status = status.expect("wait for the hub");
                assert!(status.success(), "a stopped hub ends with success, not {status}\n{}", self.log());
            }
            Err(_) => panic!("the hub did not stop within {STOP_MAX:?}\n{}", self.log()),
        }
        asked.elapsed()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().and_then(Child::id).expect("the hub runs")
    }

    /// Whether the process is still there.
    pub fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    pub fn dir(&self) -> Arc<TempDir> {
        self.dir.clone()
    }

    pub fn database(&self) -> PathBuf {
        database_in(self.dir.path())
    }

    /// What the hub has logged since its first start.
    pub fn log(&self) -> String {
        read(&self.dir.path().join(LOG))
    }

    /// What it has told the person who started it.
    pub fn greeting(&self) -> String {
        read(&self.dir.path().join(GREETING))
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A client with the administrator's token.
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.client.get(self.url(path))).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(self.client.delete(self.url(path))).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(self.client.post(self.url(path)).json(&body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(self.client.patch(self.url(path)).json(&body)).await
    }

    /// With another token, or none.
    pub async fn call_as(
        &self,
        token: Option<&str>,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        let mut request = client_with(None).request(method, self.url(path));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        self.send(request).await
    }

    pub async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response =
            request.send().await.unwrap_or_else(|error| panic!("no answer: {error:?}\n{}", self.log()));
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.expect("read the answer's body");
        Answer { status, headers, body: body.to_vec() }
    }

    /// Follows a stream from its start, or from what comes next.
    pub async fn stream(&self, path: &str) -> Stream {
        Stream::open(&self.client, &self.url(path), None).await.expect("open the stream")
    }

    /// The value of a metric without labels.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").await.text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.trim().parse().ok())
            .unwrap_or_else(|| panic!("no metric {name} in\n{text}"))
    }

    /// Returns once this many requests wait in the hub for something to happen.
    pub async fn until_long_polls(&self, n: u32) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.metric("forge_long_polls").await < f64::from(n) {
            assert!(Instant::now() < deadline, "{n} requests should wait");
        }
    }

    /// Returns once this many event streams are open.
    pub async fn until_watchers(&self, n: u64) {
        let deadline = Instant::now() + READY_MAX;
        while self.get("/api/health").await.json()["clients"] != n {
            assert!(Instant::now() < deadline, "{n} streams should be open");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Adds a job and answers its id.
    pub async fn enqueue(&self, body: Value) -> String {
        let answer = self.post("/api/jobs", body).await.expect(201);
        answer["id"].as_str().expect("an id").to_owned()
    }

    /// Takes the next job, which must be there.
    pub async fn claim(&self, worker: &str) -> Value {
        self.post("/api/jobs/claim", serde_json::json!({"worker_id": worker})).await.expect(200)
    }

    pub async fn job(&self, id: &str) -> Value {
        self.get(&format!("/api/jobs/{id}")).await.expect(200)
    }

    /// A scoped token: its id and its secret.
    pub async fn token(&self, scope: &str) -> (String, String) {
        let body = serde_json::json!({"name": format!("a {scope}"), "scope": scope});
        let made = self.post("/api/tokens", body).await.expect(201);
        let text =
            |field: &str| made[field].as_str().unwrap_or_else(|| panic!("{field} in {made}")).to_owned();
        (text("id"), text("secret"))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            if let (true, Ok(Some(status))) = (std::thread::panicking(), child.try_wait()) {
                eprintln!("the hub had ended by itself, with {status}");
            }
            let _ = child.start_kill();
            // The folder is removed next: the hub must be gone by then.
            let deadline = Instant::now() + Duration::from_secs(2);
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        if std::thread::panicking() {
            let log = self.log();
            let from = log.char_indices().rev().nth(4_000).map_or(0, |(at, _)| at);
            eprintln!("--- the end of the hub's log ---\n{}", &log[from..]);
        }
    }
}

/// What the hub answered, read to its end.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    /// The body, after checking the status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "body: {}", self.text());
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// An error's `code`, after checking the status and that the body is one of ours.
    #[track_caller]
    pub fn refused(self, status: u16) -> String {
        let body = self.expect(status);
        assert!(body["error"].as_str().is_some_and(|text| !text.is_empty()), "an error says why: {body}");
        body["code"].as_str().unwrap_or_else(|| panic!("an error has a code: {body}")).to_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

pub fn client_with(token: Option<&str>) -> Client {
    // The agent's clients speak TLS, and then every client of the build wants to know by what.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut headers = HeaderMap::new();
    if let Some(token) = token {
        let value = format!("Bearer {token}").parse().expect("a token fits into a header");
        headers.insert("authorization", value);
    }
    Client::builder().no_proxy().default_headers(headers).build().expect("build a client")
}

pub fn database_in(dir: &Path) -> PathBuf {
    dir.join("forge-fleet.sqlite")
}

fn read(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

async fn spawn(options: &Options, dir: &Path) -> anyhow::Result<(Child, SocketAddr)> {
    let ready = dir.join("ready");
    let _ = fs::remove_file(&ready);
    let append = |name: &str| File::options().create(true).append(true).open(dir.join(name));
    let log = append(LOG)?;
    let before = log.metadata()?.len() as usize;
    let binary = options.binary.clone().unwrap_or_else(binary::hub);
    let mut command = match options.wrapper.split_first() {
        Some((program, words)) => {
            let mut command = Command::new(program);
            command.args(words).arg(&binary);
            command
        }
        None => Command::new(&binary),
    };
    command
        .current_dir(dir)
        .env("HOST", "127.0.0.1")
        .env("PORT", "0")
        .env("SQLITE_PATH", database_in(dir))
        .env("FORGE_INGEST_SECRET", SECRET)
        .env("FORGE_READY_FILE", &ready)
        .env("LOG_LEVEL", "info")
        .envs(options.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(append(GREETING)?)
        .stderr(log)
        .kill_on_drop(true);
    for name in &options.unset {
        command.env_remove(name);
    }
    let mut child = command.spawn().with_context(|| format!("start {}", binary.display()))?;

    let deadline = Instant::now() + READY_MAX;
    loop {
        if let Some(address) = fs::read_to_string(&ready).ok().and_then(|text| text.trim().parse().ok()) {
            return Ok((child, address));
        }
        let said = || read(&dir.join(LOG)).get(before..).unwrap_or_default().to_owned();
        if let Some(status) = child.try_wait()? {
            bail!("the hub ended with {status}: {}", said());
        }
        if Instant::now() > deadline {
            child.kill().await?;
            bail!("the hub was not ready within {READY_MAX:?}: {}", said());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
