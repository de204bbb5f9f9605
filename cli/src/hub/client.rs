//! Requests to the hub. What it refuses becomes a [`Problem`] that says what to do next.
//!
//! Only what changes nothing, or what the hub knows to be a repetition, is sent again by itself:
//! a request whose answer was lost may have been carried out.

use crate::problem::Problem;
use bytes::Bytes;
use forge_agent::{
    config::Token,
    hub::{client, explain},
    tls::Trust,
};
use forge_shared::response::ErrorBody;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, header};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    path::Path,
    time::{Duration, Instant},
};

const USER_AGENT: &str = concat!("queuectl/", env!("CARGO_PKG_VERSION"));
/// For every call that does not wait for something to happen.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Streams are never silent for longer: the hub sends a sign of life every 15 s.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(45);
/// How long a call that may be sent again is tried, unless it asks for more.
const PATIENCE: Duration = Duration::from_millis(1_500);
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
const NEXT_CURSOR: &str = "x-next-cursor";
/// Records asked for at a time.
const PAGE: u32 = 200;

#[derive(Clone)]
pub(crate) struct Hub {
    client: Client,
    url: String,
    token: Option<Token>,
}

impl Hub {
    pub(crate) fn new(url: &str, token: Option<Token>, ca_file: Option<&Path>) -> Result<Self, Problem> {
        let made = Trust::read(ca_file).and_then(|trust| client(&trust, url, USER_AGENT));
        let client = made.map_err(|error| Problem::Usage(format!("{error:#}")))?;
        Ok(Self { client, url: url.to_owned(), token })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn get(&self, path: impl Into<String>) -> Call<'_> {
        Call { patience: Some(PATIENCE), ..self.call(Method::GET, path) }
    }

    pub(crate) fn post(&self, path: impl Into<String>) -> Call<'_> {
        self.call(Method::POST, path)
    }

    pub(crate) fn patch(&self, path: impl Into<String>) -> Call<'_> {
        self.call(Method::PATCH, path)
    }

    pub(crate) fn delete(&self, path: impl Into<String>) -> Call<'_> {
        self.call(Method::DELETE, path)
    }

    fn call(&self, method: Method, path: impl Into<String>) -> Call<'_> {
        let (query, body) = (Vec::new(), None);
        Call {
            hub: self,
            method,
            path: path.into(),
            query,
            body,
            patience: None,
            within: ANSWER_MAX,
            last_id: None,
        }
    }

    /// Sends a body of any length, which is why it cannot be sent again.
    pub(crate) async fn upload<T: DeserializeOwned>(
        &self,
        path: &str,
        body: reqwest::Body,
        bytes: u64,
    ) -> Result<T, Problem> {
        let request = self.request(Method::PUT, path);
        let request = request.header(header::CONTENT_TYPE, "application/octet-stream");
        let sent = request.header(header::CONTENT_LENGTH, bytes).body(body).send().await;
        let answer = judged(sent).await.map_err(|failure| failure.problem(self))?;
        let body = answer.bytes().await.map_err(|error| Failure::away(explain(&error)).problem(self))?;
        parse(&body)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.url));
        match &self.token {
            Some(token) => request.bearer_auth(token.reveal()),
            None => request,
        }
    }
}

/// One request, to be finished and sent.
pub(crate) struct Call<'a> {
    hub: &'a Hub,
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    body: Option<Result<Bytes, String>>,
    /// How long it is tried; `None`: once.
    patience: Option<Duration>,
    within: Duration,
    last_id: Option<String>,
}

impl<'a> Call<'a> {
    pub(crate) fn query(mut self, name: &str, value: impl ToString) -> Self {
        self.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// The fields of a filter, as the hub names them.
    pub(crate) fn filter(mut self, filter: &impl Serialize) -> Self {
        let fields = serde_json::to_value(filter).ok();
        for (name, value) in fields.as_ref().and_then(|fields| fields.as_object()).into_iter().flatten() {
            match value {
                serde_json::Value::Null => {}
                serde_json::Value::String(text) => self.query.push((name.clone(), text.clone())),
                other => self.query.push((name.clone(), other.to_string())),
            }
        }
        self
    }

    pub(crate) fn json(mut self, body: &(impl Serialize + ?Sized)) -> Self {
        self.body = Some(serde_json::to_vec(body).map(Bytes::from).map_err(|error| error.to_string()));
        self
    }

    /// The hub knows a repetition when it sees one: the call may be sent again for so long.
    pub(crate) fn repeatable_for(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// The hub was asked to wait so long before it answers.
    pub(crate) fn waiting(mut self, wait: Duration) -> Self {
        self.within = ANSWER_MAX + wait;
        self
    }

    pub(crate) fn last_event_id(mut self, id: Option<&str>) -> Self {
        self.last_id = id.map(str::to_owned);
        self
    }

    pub(crate) async fn read<T: DeserializeOwned>(self) -> Result<T, Problem> {
        let hub = self.hub;
        let (_, body) = self.exchange().await.map_err(|failure| failure.problem(hub))?;
        parse(&body)
    }

    /// `None` when the hub does not know what was asked for.
    pub(crate) async fn find<T: DeserializeOwned>(self) -> Result<Option<T>, Problem> {
        let hub = self.hub;
        match self.exchange().await {
            Ok((_, body)) => parse(&body).map(Some),
            Err(failure) if failure.status == Some(StatusCode::NOT_FOUND) => Ok(None),
            Err(failure) => Err(failure.problem(hub)),
        }
    }

    /// For answers without a body.
    pub(crate) async fn done(self) -> Result<(), Problem> {
        let hub = self.hub;
        self.exchange().await.map(drop).map_err(|failure| failure.problem(hub))
    }

    pub(crate) async fn try_done(self) -> Result<(), Failure> {
        self.exchange().await.map(drop)
    }

    pub(crate) async fn bytes(self) -> Result<Bytes, Problem> {
        let hub = self.hub;
        self.exchange().await.map(|(_, body)| body).map_err(|failure| failure.problem(hub))
    }

    /// What the hub said, to be judged by the caller.
    pub(crate) async fn try_read<T: DeserializeOwned>(self) -> Result<Result<T, Failure>, Problem> {
        match self.exchange().await {
            Ok((_, body)) => parse(&body).map(Ok),
            Err(failure) => Ok(Err(failure)),
        }
    }

    /// The answer as it comes in, however long that takes.
    pub(crate) async fn stream(self) -> Result<Response, Failure> {
        match tokio::time::timeout(SILENCE_MAX, self.request()?.send()).await {
            Ok(sent) => judged(sent).await,
            Err(_) => Err(Failure::away("the hub did not answer in time".to_owned())),
        }
    }

    /// Record after record, page after page.
    pub(crate) fn listing<T: DeserializeOwned>(self) -> Listing<'a, T> {
        Listing { call: self, cursor: None, ended: false, what: std::marker::PhantomData }
    }

    fn request(&self) -> Result<RequestBuilder, Failure> {
        let mut request = self.hub.request(self.method.clone(), &self.path).query(&self.query);
        if let Some(body) = &self.body {
            let body = body.clone().map_err(Failure::away)?;
            request = request.header(header::CONTENT_TYPE, "application/json").body(body);
        }
        if let Some(id) = &self.last_id {
            request = request.header("last-event-id", id);
        }
        Ok(request)
    }

    /// The head and the body of a good answer.
    async fn exchange(&self) -> Result<(header::HeaderMap, Bytes), Failure> {
        let (began, mut pause) = (Instant::now(), PAUSE_FIRST);
        loop {
            let failure = match self.once().await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let patience = self.patience.unwrap_or_default();
            let wait = failure.retry_after.unwrap_or(pause).min(PAUSE_MAX);
            if !failure.may_pass || began.elapsed() + wait > patience {
                return Err(failure);
            }
            tokio::time::sleep(wait).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    async fn once(&self) -> Result<(header::HeaderMap, Bytes), Failure> {
        let response = judged(self.request()?.timeout(self.within).send().await).await?;
        let headers = response.headers().clone();
        let body = response.bytes().await.map_err(|error| Failure::away(explain(&error)))?;
        Ok((headers, body))
    }
}

/// A long list of which one page is in memory.
pub(crate) struct Listing<'a, T> {
    call: Call<'a>,
    cursor: Option<String>,
    ended: bool,
    what: std::marker::PhantomData<T>,
}

impl<T: DeserializeOwned> Listing<'_, T> {
    /// The next page of at most so many; `None` after the last.
    pub(crate) async fn next(&mut self, most: u64) -> Result<Option<Vec<T>>, Problem> {
        if self.ended || most == 0 {
            return Ok(None);
        }
        let query = self.call.query.clone();
        self.call.query.push(("limit".to_owned(), most.min(PAGE.into()).to_string()));
        if let Some(cursor) = &self.cursor {
            self.call.query.push(("cursor".to_owned(), cursor.clone()));
        }
        let answer = self.call.exchange().await;
        self.call.query = query;
        let (headers, body) = answer.map_err(|failure| failure.problem(self.call.hub))?;
        let next = headers.get(NEXT_CURSOR).and_then(|cursor| cursor.to_str().ok()).map(str::to_owned);
        self.ended = next.is_none();
        self.cursor = next;
        parse(&body).map(Some)
    }
}

/// Why a call brought nothing.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Option<StatusCode>,
    pub(crate) body: ErrorBody,
    /// The same call may succeed later.
    pub(crate) may_pass: bool,
    retry_after: Option<Duration>,
}

impl Failure {
    pub(crate) fn away(why: String) -> Self {
        let body = ErrorBody { error: why, code: "unreachable".to_owned(), field: None };
        Self { status: None, body, may_pass: true, retry_after: None }
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.status == Some(StatusCode::NOT_FOUND)
    }

    pub(crate) fn problem(&self, hub: &Hub) -> Problem {
        let ErrorBody { error, code: _, field } = &self.body;
        let said = match field {
            Some(field) if !error.contains(field.as_str()) => format!("{error} ({field})"),
            _ => error.clone(),
        };
        let url = &hub.url;
        match self.status {
            None => Problem::unreachable(
                "The hub cannot be reached",
                format!(
                    "{}\n  {url}: is this the right address, and does the hub run? `--hub URL` or `queuectl context list` names another",
                    without_prefix(&said)
                ),
            ),
            Some(StatusCode::UNAUTHORIZED) if hub.token.is_none() => Problem::denied(
                "The hub wants a token",
                format!(
                    "put one into a file of mode 0600 and say --token-file FILE, or into FORGE_TOKEN, or save it: `queuectl context add NAME {url} --token-file FILE`"
                ),
            ),
            Some(StatusCode::UNAUTHORIZED) => Problem::denied(
                "The hub does not accept the token",
                format!("it may have been revoked, or be of another hub than {url}"),
            ),
            Some(StatusCode::FORBIDDEN) => Problem::denied(
                "The token may not do this",
                format!("{said}; use a token of a scope that may"),
            ),
            Some(
                StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY,
            ) => Problem::usage("The hub does not understand this", said),
            Some(StatusCode::NOT_FOUND) => Problem::refused("Not found", said),
            Some(StatusCode::CONFLICT) => Problem::refused("Not possible now", said),
            Some(status) if status.is_client_error() && !self.may_pass => {
                Problem::refused("The hub refuses this", format!("{said} ({status})"))
            }
            Some(status) => Problem::unreachable(
                "The hub cannot answer at the moment",
                format!("{said} ({status}); try again in a while, and look at the log of the hub at {url}"),
            ),
        }
    }
}

/// The first line says this already.
fn without_prefix(said: &str) -> &str {
    said.strip_prefix("the hub cannot be reached: ").unwrap_or(said)
}

async fn judged(sent: reqwest::Result<Response>) -> Result<Response, Failure> {
    let response = sent.map_err(|error| Failure::away(explain(&error)))?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let retry_after = response.headers().get(header::RETRY_AFTER);
    let retry_after =
        retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok()).map(Duration::from_secs);
    let text = response.bytes().await.unwrap_or_default();
    let body = serde_json::from_slice(&text).unwrap_or_else(|_| ErrorBody {
        error: match status.is_redirection() {
            true => "this address leads elsewhere: name the hub's own".to_owned(),
            false => {
                "the answer is not one of a hub: is something between it and you, or is this another server?"
                    .to_owned()
            }
        },
        code: "unknown".to_owned(),
        field: None,
    });
    let may_pass = status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
        || status.is_server_error() && status != StatusCode::INSUFFICIENT_STORAGE;
    Err(Failure { status: Some(status), body, may_pass, retry_after })
}

pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| {
        Problem::unreachable(
            "The hub's answer is not what it should be",
            format!("{error}; is this a hub, and of about the same version ({})?", env!("CARGO_PKG_VERSION")),
        )
    })
}
