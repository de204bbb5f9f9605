//! Requests to the hub. Every answer is one of three things: what was asked for, a definite no,
//! or "not now", which is tried again.

use crate::{
    config::{Token, is_this_machine},
    logs::Progress,
    tls::Trust,
};
use anyhow::Context;
use bytes::Bytes;
use forge_shared::{
    BootId, JobId, LeaseId, WorkerId,
    fleet::Snapshot,
    job::Phase,
    request::{self, Claim, Heartbeat, Register, Report, ReportProgress, WorkerHeartbeat},
    response::{
        ClaimedJob, ErrorBody, HeartbeatAnswer, LogOffset, Registered, ReportAnswer, WorkerHeartbeatAnswer,
    },
};
use reqwest::{Client, Method, RequestBuilder, StatusCode, Url, header};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const CONNECT_MAX: Duration = Duration::from_secs(10);
/// For every call that does not wait for something to happen.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Beyond the time that the hub was asked to wait.
const WAIT_SLACK: Duration = Duration::from_secs(15);
/// What a hub may say in a header at most.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(300);
/// A token that is refused may be put right by a person; asking more often does not help.
const TOKEN_REFUSED_PAUSE: Duration = Duration::from_secs(30);

/// Why a call brought nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Failed {
    /// The same call would be refused again.
    #[error("{message} ({code}, {status})")]
    Refused { status: u16, code: String, message: String },
    /// The hub is away, busy, or does not accept the token at the moment.
    #[error("{why}")]
    Later { why: String, wait: Option<Duration>, token: bool },
}

impl Failed {
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            Self::Later { .. } => None,
        }
    }

    pub fn is(&self, word: &str) -> bool {
        matches!(self, Self::Refused { code, .. } if code == word)
    }

    /// How long the hub asked to be left alone.
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Later { wait, .. } => *wait,
            Self::Refused { .. } => None,
        }
    }
}

/// What became of a piece of log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogAnswer {
    /// The hub has the log up to this byte; go on from there.
    Continue(u64),
    /// The attempt is over.
    Closed,
}

#[derive(Clone)]
pub struct Hub {
    client: Client,
    url: String,
    token: Token,
    id: WorkerId,
    name: Option<String>,
}

/// What the agent calls itself.
pub const USER_AGENT: &str = concat!("forge-agent/", env!("CARGO_PKG_VERSION"));

/// A client for the hub. Proxies come from the environment.
pub fn client(trust: &Trust, hub_url: &str, user_agent: &str) -> anyhow::Result<Client> {
    let is_here = Url::parse(hub_url).is_ok_and(|url| is_this_machine(&url));
    let builder = || {
        let builder = Client::builder()
            .connect_timeout(CONNECT_MAX)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .pool_idle_timeout(Duration::from_secs(60))
            .user_agent(user_agent);
        if is_here { builder.no_proxy() } else { builder }
    };
    trust.build(builder).context("cannot make a client for the hub")
}

impl Hub {
    pub fn new(client: Client, url: String, token: Token, id: WorkerId, name: Option<String>) -> Self {
        Self { client, url, token, id, name }
    }

    pub fn worker_id(&self) -> &WorkerId {
        &self.id
    }

    pub async fn register(&self, register: &Register) -> Result<Registered, Failed> {
        self.read(self.post("/api/workers/register", register)).await
    }

    pub async fn heartbeat(&self, heartbeat: &WorkerHeartbeat) -> Result<WorkerHeartbeatAnswer, Failed> {
        self.read(self.post(&format!("/api/workers/{}/heartbeat", self.id), heartbeat)).await
    }

    /// Says that a job began to run. `true`: somebody wants it stopped.
    pub async fn began(&self, job: &JobId, lease: &LeaseId) -> Result<bool, Failed> {
        let body =
            Heartbeat { worker_id: self.id.clone(), lease_id: Some(lease.clone()), phase: Phase::Running };
        let answer = self.call(self.post(&format!("/api/jobs/{job}/heartbeat"), &body)).await?;
        Ok(serde_json::from_slice::<HeartbeatAnswer>(&answer).is_ok_and(|answer| answer.cancel))
    }

    /// Jobs, or none within the time. A hub that does not know `wait_ms` answers at once, and one that does not
    /// know `max` with a single job.
    pub async fn claim(&self, claim: &Claim) -> Result<Vec<ClaimedJob>, Failed> {
        let wait = Duration::from_millis(claim.wait_ms.unwrap_or(0));
        let answer = self.call(self.post("/api/jobs/claim", claim).timeout(wait + WAIT_SLACK)).await?;
        match answer.first() {
            None => Ok(Vec::new()),
            Some(b'[') => parse(&answer),
            Some(_) => parse(&answer).map(|job| vec![job]),
        }
    }

    pub async fn report(&self, reports: &[&Report]) -> Result<Vec<ReportAnswer>, Failed> {
        self.read(self.post("/api/jobs/results", reports)).await
    }

    pub async fn release(&self, job: &JobId, lease: &LeaseId) -> Result<(), Failed> {
        let body = request::Release { worker_id: self.id.clone(), lease_id: Some(lease.clone()) };
        self.call(self.post(&format!("/api/jobs/{job}/release"), &body)).await.map(drop)
    }

    pub async fn progress(&self, job: &JobId, lease: &LeaseId, progress: &Progress) -> Result<(), Failed> {
        let body = ReportProgress {
            worker_id: self.id.clone(),
            lease_id: Some(lease.clone()),
            percent: progress.percent,
            message: progress.message.clone(),
        };
        self.call(self.post(&format!("/api/jobs/{job}/progress"), &body)).await.map(drop)
    }

    pub async fn log(
        &self,
        job: &JobId,
        lease: &LeaseId,
        offset: u64,
        bytes: Bytes,
    ) -> Result<LogAnswer, Failed> {
        let request = self
            .request(Method::POST, &format!("/api/jobs/{job}/logs"))
            .query(&[
                ("offset", offset.to_string().as_str()),
                ("worker_id", self.id.as_str()),
                ("lease_id", lease.as_str()),
            ])
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .body(bytes);
        let (status, body) = exchange(request).await?;
        match status {
            StatusCode::OK | StatusCode::RANGE_NOT_SATISFIABLE => {
                parse::<LogOffset>(&body).map(|LogOffset { offset }| LogAnswer::Continue(offset))
            }
            StatusCode::CONFLICT | StatusCode::NOT_FOUND => Ok(LogAnswer::Closed),
            _ => Err(refusal(status, &body)),
        }
    }

    pub async fn push(&self, snapshots: &[Snapshot]) -> Result<(), Failed> {
        let path = format!("/api/ingest/{}", self.id);
        let request = match snapshots {
            [one] => self.post(&path, one),
            many => self.post(&format!("{path}/batch"), many),
        };
        let named = match self.name.as_deref().and_then(|name| header::HeaderValue::from_str(name).ok()) {
            Some(name) => request.header("x-node-name", name),
            None => request,
        };
        self.call(named).await.map(drop)
    }

    /// Whether this token may work under this id: asks for a job, with no room for one.
    pub async fn may_work(&self) -> Result<(), Failed> {
        let nothing = serde_json::json!({ "worker_id": self.id, "free": { "slots": 0 } });
        self.call(self.post("/api/jobs/claim", &nothing)).await.map(drop)
    }

    /// For the doctor: any path, whatever comes back.
    pub async fn look(&self, path: &str) -> Result<reqwest::Response, reqwest::Error> {
        self.request(Method::GET, path).send().await
    }

    pub fn boot_id() -> anyhow::Result<BootId> {
        Ok(BootId::trusted(random_hex()?))
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.url)).timeout(ANSWER_MAX);
        if self.token.is_empty() { request } else { request.bearer_auth(self.token.reveal()) }
    }

    fn post<T: Serialize + ?Sized>(&self, path: &str, body: &T) -> RequestBuilder {
        self.request(Method::POST, path).json(body)
    }

    async fn call(&self, request: RequestBuilder) -> Result<Bytes, Failed> {
        let (status, body) = exchange(request).await?;
        if status.is_success() { Ok(body) } else { Err(refusal(status, &body)) }
    }

    async fn read<T: for<'de> Deserialize<'de>>(&self, request: RequestBuilder) -> Result<T, Failed> {
        parse(&self.call(request).await?)
    }
}

/// A name that nobody else has.
pub fn random_hex() -> anyhow::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no randomness from the system: {error}"))?;
    Ok(data_encoding::HEXLOWER.encode(&bytes))
}

/// What the hub said, unless that was to come back later.
async fn exchange(request: RequestBuilder) -> Result<(StatusCode, Bytes), Failed> {
    let later = |error: &reqwest::Error| Failed::Later { why: explain(error), wait: None, token: false };
    let response = request.send().await.map_err(|error| later(&error))?;
    let status = response.status();
    let asked = response
        .headers()
        .get(header::RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok())
        .map(|seconds| Duration::from_secs(seconds).min(RETRY_AFTER_MAX));
    let body = response.bytes().await.map_err(|error| later(&error))?;
    let said =
        || serde_json::from_slice::<ErrorBody>(&body).map_or_else(|_| status.to_string(), |body| body.error);
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(Failed::Later {
            why: format!("the hub does not accept this token: {}", said()),
            wait: Some(asked.unwrap_or(TOKEN_REFUSED_PAUSE)),
            token: true,
        }),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
            Err(Failed::Later { why: format!("the hub says: {}", said()), wait: asked, token: false })
        }
        // A page of a proxy, not of the hub.
        _ if status.is_server_error() || status.is_redirection() => Err(Failed::Later {
            why: format!("the hub answered {status}: {}", said()),
            wait: asked,
            token: false,
        }),
        _ => Ok((status, body)),
    }
}

fn refusal(status: StatusCode, body: &[u8]) -> Failed {
    let (code, message) = match serde_json::from_slice::<ErrorBody>(body) {
        Ok(body) => (body.code, body.error),
        Err(_) => ("unknown".to_owned(), format!("the hub answered {status}")),
    };
    Failed::Refused { status: status.as_u16(), code, message }
}

fn parse<T: for<'de> Deserialize<'de>>(body: &[u8]) -> Result<T, Failed> {
    serde_json::from_slice(body).map_err(|error| Failed::Later {
        why: format!("the hub's answer is not what it should be: {error}"),
        wait: None,
        token: false,
    })
}

/// The innermost cause says more than "error sending request".
pub fn explain(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "the hub did not answer in time".to_owned();
    }
    let mut cause: &(dyn std::error::Error + 'static) = error;
    while let Some(deeper) = inside(cause) {
        cause = deeper;
    }
    if let Some(rustls::Error::InvalidCertificate(_)) = cause.downcast_ref() {
        return format!(
            "the hub's certificate is not trusted ({cause}); HUB_CA_FILE can name a file with its issuer's"
        );
    }
    format!("the hub cannot be reached: {cause}")
}

fn inside<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a (dyn std::error::Error + 'static)> {
    // What an I/O error wraps is not its source, but skipped by it.
    match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}
