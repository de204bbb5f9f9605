//! Producers, workers and a watcher that live through any number of hub deaths and note down
//! every call.

use crate::{
    history::{Granted, History, Kept, Outcome, Recorder, Request, Seen},
    hub::{Hub, SECRET, client_with},
    sse::Stream,
};
use anyhow::{Context, bail};
use reqwest::Client;
use serde_json::{Value, json};
use std::{collections::VecDeque, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinSet};

/// Numbered events are about jobs or workers: with both there are no gaps to explain.
const EVENTS: &str = "/api/events?topics=jobs,workers";
/// A dead hub's connection may hang; a living one answers long before.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// How many leases a worker remembers to misuse later.
const STALE_MAX: usize = 16;
/// Enough that neither failures nor crashes use a job up during a run.
const ATTEMPTS: u32 = 1_000;
/// The type of their jobs; others may be about.
const TYPE: &str = "load";

/// Where the hub is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    At(SocketAddr),
    Down,
    /// There is nothing more to do but to watch the rest.
    Over(SocketAddr),
}

/// Clients at work.
pub struct Load {
    place: watch::Sender<Place>,
    recorder: Arc<Recorder>,
    clients: JoinSet<()>,
    watcher: JoinSet<anyhow::Result<Vec<Seen>>>,
}

#[derive(Clone)]
struct ClientState {
    name: String,
    http: Client,
    place: watch::Receiver<Place>,
    recorder: Arc<Recorder>,
    counter: u64,
    dice: u64,
    pace: Duration,
}

impl Load {
    /// Starts with a watcher that has already seen an event, so that nothing comes before it.
    pub async fn start(hub: &Hub, producers: usize, workers: usize) -> Self {
        Self::start_paced(hub, producers, workers, Duration::ZERO).await
    }

    /// The same with clients that rest for so long after each round.
    pub async fn start_paced(hub: &Hub, producers: usize, workers: usize, pace: Duration) -> Self {
        let (place, receiver) = watch::channel(Place::At(hub.address()));
        let recorder = Arc::new(Recorder::default());
        let mut load = Self { place, recorder, clients: JoinSet::new(), watcher: JoinSet::new() };
        let stream = hub.stream(EVENTS).await;
        load.watcher.spawn(watch(receiver.clone(), stream));
        for n in 0..producers {
            let client = load.client(&receiver, format!("producer-{n}"), n as u64, pace);
            load.clients.spawn(Box::pin(client.produce()));
        }
        for n in 0..workers {
            let client = load.client(&receiver, format!("worker-{n}"), (100 + n) as u64, pace);
            load.clients.spawn(Box::pin(client.work()));
        }
        load
    }

    fn client(&self, place: &watch::Receiver<Place>, name: String, dice: u64, pace: Duration) -> ClientState {
        let http = client_with(Some(SECRET));
        ClientState {
            name,
            http,
            place: place.clone(),
            recorder: self.recorder.clone(),
            counter: 0,
            dice,
            pace,
        }
    }

    /// Tells the clients that the hub is about to die or is back.
    pub fn place(&self, place: Place) {
        self.place.send_replace(place);
    }

    /// How many calls have been made.
    pub fn calls_made(&self) -> usize {
        self.recorder.calls_made()
    }

    /// Ends the clients, lets the watcher catch up, and reads what the database has.
    pub async fn finish(mut self, hub: &Hub) -> anyhow::Result<History> {
        self.place(Place::Over(hub.address()));
        while let Some(ended) = self.clients.join_next().await {
            ended.context("a client failed")?;
        }
        let last = last_event(hub).await?;
        let watched = async {
            let watcher = self.watcher.join_next().await.context("there is a watcher")?;
            watcher.context("the watcher failed")?
        };
        // The watcher ends once it has seen the marker that `last_event` made.
        let seen = tokio::time::timeout(Duration::from_secs(60), watched)
            .await
            .with_context(|| format!("the watcher never saw the last event, {last}"))??;
        Ok(History { calls: self.recorder.calls(), seen: Some(seen), kept: kept(hub).await? })
    }
}

/// A job whose creation tells the watcher that all is over.
const LAST_TYPE: &str = "the-last-of-all";

async fn last_event(hub: &Hub) -> anyhow::Result<String> {
    let answer = hub.post("/api/jobs", json!({"type": LAST_TYPE, "params": {"marker": LAST_TYPE}})).await;
    if answer.status != 201 {
        bail!("the last job was refused: {}", answer.text());
    }
    Ok(answer.text())
}

/// Every job, as the API lists it.
pub async fn kept(hub: &Hub) -> anyhow::Result<Vec<Kept>> {
    let mut jobs = Vec::new();
    let mut cursor = String::new();
    loop {
        let answer = hub.get(&format!("/api/jobs?limit=200{cursor}")).await;
        if answer.status != 200 {
            bail!("listing answered {}: {}", answer.status, answer.text());
        }
        let page = answer.json();
        let page = page.as_array().context("a listing is an array")?;
        jobs.extend(page.iter().map(|job| {
            Kept {
                id: text(job, "id"),
                marker: job["params"]["marker"].as_str().unwrap_or_default().to_owned(),
                status: text(job, "status"),
                attempt: job["attempt"].as_u64().unwrap_or(0),
                result: job["result"]["value"].as_str().map(str::to_owned),
                reasons: job["fail_history"]
                    .as_array()
                    .map(|history| history.iter().map(|failure| text(failure, "reason")).collect())
                    .unwrap_or_default(),
            }
        }));
        match answer.header("x-next-cursor") {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(jobs),
        }
    }
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}

/// Follows the events through every restart until the last job appears.
async fn watch(mut place: watch::Receiver<Place>, first: Stream) -> anyhow::Result<Vec<Seen>> {
    let http = client_with(Some(SECRET));
    let (mut seen, mut last_id, mut stream) = (Vec::new(), None::<String>, Some(first));
    let mut address = None;
    loop {
        if let Place::At(now) | Place::Over(now) = *place.borrow_and_update() {
            address = Some(now);
        }
        if stream.is_none()
            && let Some(address) = address
        {
            let url = format!("http://{address}{EVENTS}");
            stream = Stream::open(&http, &url, last_id.as_deref()).await.ok();
        }
        let Some(open) = &mut stream else {
            let _ = tokio::time::timeout(Duration::from_millis(5), place.changed()).await;
            continue;
        };
        let Ok(Some(message)) = open.next().await else {
            stream = None;
            continue;
        };
        let position = message.position();
        if let Some(id) = message.id.clone() {
            last_id = Some(id);
        }
        if message.event.as_deref() == Some("reset") {
            bail!("the hub said reset to a watcher that it should have resumed: {message:?}");
        }
        let (Some((epoch, seq)), false) = (position, message.data.is_empty()) else { continue };
        let data = message.json();
        seen.push(Seen {
            epoch,
            seq,
            name: message.event.clone().unwrap_or_default(),
            job: data["job_id"].as_str().map(str::to_owned),
            status: data["status"].as_str().map(str::to_owned),
        });
        if data["type"] == LAST_TYPE {
            return Ok(seen);
        }
    }
}

enum Reply {
    Broken,
    Answered(u16, Value),
}

impl ClientState {
    /// The hub's address, once there is one; `None` when all is over.
    async fn hub(&mut self) -> Option<SocketAddr> {
        loop {
            match *self.place.borrow_and_update() {
                Place::At(address) => return Some(address),
                Place::Over(_) => return None,
                Place::Down => {}
            }
            self.place.changed().await.ok()?;
        }
    }

    async fn post(&self, address: SocketAddr, path: &str, body: &Value) -> Reply {
        let request = self.http.post(format!("http://{address}{path}")).json(body).timeout(ANSWER_MAX);
        let Ok(response) = request.send().await else { return Reply::Broken };
        let status = response.status().as_u16();
        match response.bytes().await {
            Ok(body) => Reply::Answered(status, serde_json::from_slice(&body).unwrap_or(Value::Null)),
            Err(_) => Reply::Broken,
        }
    }

    /// A call about a lease, noted; true when it got an answer.
    async fn about(&mut self, address: SocketAddr, path: &str, body: &Value, request: Request) -> bool {
        let start = self.recorder.tick();
        let outcome = match self.post(address, path, body).await {
            Reply::Answered(200 | 202 | 204, _) => Outcome::Done,
            Reply::Answered(code, _) => Outcome::Refused(code),
            Reply::Broken => Outcome::Unknown,
        };
        let answered = outcome != Outcome::Unknown;
        self.recorder.note(start, request, outcome);
        answered
    }

    fn unique(&mut self, what: &str) -> String {
        self.counter += 1;
        format!("{}-{what}-{}", self.name, self.counter)
    }

    /// A cheap repeatable choice between 0 and 99.
    fn roll(&mut self) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % 100
    }

    async fn produce(mut self) {
        while let Some(address) = self.hub().await {
            match self.roll() {
                0..40 => self.enqueue_once(address).await,
                40..80 => self.enqueue_with_key().await,
                _ => self.enqueue_batch(address).await,
            }
            tokio::time::sleep(self.pace).await;
        }
    }

    async fn enqueue_once(&mut self, address: SocketAddr) {
        let marker = self.unique("job");
        let start = self.recorder.tick();
        let reply = self.post(address, "/api/jobs", &new_job(&marker, None)).await;
        let request = Request::Enqueue { marker, key: None };
        self.recorder.note(start, request, enqueued(&reply));
    }

    /// Sends the same body until it is answered: the key makes that safe.
    async fn enqueue_with_key(&mut self) {
        let (marker, key) = (self.unique("job"), self.unique("key"));
        let body = new_job(&marker, Some(&key));
        while let Some(address) = self.hub().await {
            let start = self.recorder.tick();
            let reply = self.post(address, "/api/jobs", &body).await;
            let request = Request::Enqueue { marker: marker.clone(), key: Some(key.clone()) };
            self.recorder.note(start, request, enqueued(&reply));
            if matches!(reply, Reply::Answered(..)) {
                return;
            }
            let _ = tokio::time::timeout(Duration::from_millis(2), self.place.changed()).await;
        }
    }

    async fn enqueue_batch(&mut self, address: SocketAddr) {
        let markers: Vec<String> = (0..5).map(|_| self.unique("job")).collect();
        let body = Value::Array(markers.iter().map(|marker| new_job(marker, None)).collect());
        let start = self.recorder.tick();
        let reply = self.post(address, "/api/jobs/batch", &body).await;
        for (n, marker) in markers.into_iter().enumerate() {
            let outcome = match &reply {
                Reply::Answered(201, answers) => Outcome::Enqueued { job: text(&answers[n], "id") },
                Reply::Answered(code, _) => Outcome::Refused(*code),
                Reply::Broken => Outcome::Unknown,
            };
            self.recorder.note(start, Request::Enqueue { marker, key: None }, outcome);
        }
    }

    async fn work(mut self) {
        let mut stale: VecDeque<Granted> = VecDeque::new();
        while let Some(address) = self.hub().await {
            let claim_id = self.unique("claim");
            let body = json!({"worker_id": self.name, "types": [TYPE], "max": 2, "claim_id": claim_id, "wait_ms": 50});
            for granted in self.claim(address, &body).await {
                self.handle(&granted, &mut stale).await;
            }
            if let Some(old) = stale.front().cloned()
                && self.roll() < 50
            {
                self.misuse(address, &old).await;
                stale.pop_front();
            }
            tokio::time::sleep(self.pace).await;
        }
    }

    async fn claim(&mut self, address: SocketAddr, body: &Value) -> Vec<Granted> {
        let start = self.recorder.tick();
        let outcome = match self.post(address, "/api/jobs/claim", body).await {
            Reply::Answered(200, jobs) => {
                let jobs = jobs.as_array().cloned().unwrap_or_default();
                let granted = |job: &Value| Granted {
                    job: text(job, "id"),
                    lease: text(job, "lease_id"),
                    attempt: job["attempt"].as_u64().unwrap_or(0),
                };
                Outcome::Claimed(jobs.iter().map(granted).collect())
            }
            Reply::Answered(204, _) => Outcome::Claimed(Vec::new()),
            Reply::Answered(code, _) => Outcome::Refused(code),
            Reply::Broken => Outcome::Unknown,
        };
        let granted = match &outcome {
            Outcome::Claimed(granted) => granted.clone(),
            _ => Vec::new(),
        };
        self.recorder.note(start, Request::Claim, outcome);
        granted
    }

    async fn handle(&mut self, granted: &Granted, stale: &mut VecDeque<Granted>) {
        let Granted { job, lease, .. } = granted;
        let Some(address) = self.hub().await else { return };
        let (request, path, body) = match self.roll() {
            0..70 => {
                if self.roll() < 60 {
                    let body = json!({"worker_id": self.name, "lease_id": lease});
                    let beat = Request::Heartbeat { job: job.clone(), lease: lease.clone() };
                    self.about(address, &format!("/api/jobs/{job}/heartbeat"), &body, beat).await;
                }
                let result = self.unique("result");
                let body = json!({"worker_id": self.name, "lease_id": lease, "result": {"value": result}});
                (Request::Result { job: job.clone(), lease: lease.clone(), result }, "result", body)
            }
            70..85 => {
                let reason = self.unique("reason");
                let body =
                    json!({"worker_id": self.name, "lease_id": lease, "reason": reason, "retry_in_ms": 0});
                (Request::Fail { job: job.clone(), lease: lease.clone(), reason }, "fail", body)
            }
            _ => {
                let body = json!({"worker_id": self.name, "lease_id": lease});
                (Request::Release { job: job.clone(), lease: lease.clone() }, "release", body)
            }
        };
        if !matches!(request, Request::Result { .. }) {
            stale.push_back(granted.clone());
            stale.truncate(STALE_MAX);
        }
        // A worker reports until somebody answers, through as many deaths as it takes.
        while let Some(address) = self.hub().await {
            if self.about(address, &format!("/api/jobs/{job}/{path}"), &body, request.clone()).await {
                return;
            }
            let _ = tokio::time::timeout(Duration::from_millis(2), self.place.changed()).await;
        }
    }

    /// What a worker that lost its job and does not know it would do.
    async fn misuse(&mut self, address: SocketAddr, old: &Granted) {
        let Granted { job, lease, .. } = old.clone();
        let mut body = json!({"worker_id": self.name, "lease_id": lease});
        if self.roll() < 50 {
            let request = Request::Heartbeat { job: job.clone(), lease };
            self.about(address, &format!("/api/jobs/{job}/heartbeat"), &body, request).await;
        } else {
            let result = self.unique("stale-result");
            body["result"] = json!({"value": result});
            let request = Request::Result { job: job.clone(), lease, result };
            self.about(address, &format!("/api/jobs/{job}/result"), &body, request).await;
        }
    }
}

fn new_job(marker: &str, key: Option<&str>) -> Value {
    let mut job = json!({"type": TYPE, "params": {"marker": marker}, "max_attempts": ATTEMPTS});
    if let Some(key) = key {
        job["idempotency_key"] = json!(key);
    }
    job
}

fn enqueued(reply: &Reply) -> Outcome {
    match reply {
        Reply::Answered(200 | 201, answer) => Outcome::Enqueued { job: text(answer, "id") },
        Reply::Answered(code, _) => Outcome::Refused(*code),
        Reply::Broken => Outcome::Unknown,
    }
}
