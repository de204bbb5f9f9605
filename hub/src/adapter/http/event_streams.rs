//! The event streams. A watcher's place in the log is the id of its last message, so a
//! connection that breaks costs nothing: the next one goes on from there, or is told `reset`.

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::Response,
};
use bytes::Bytes;
use forge_shared::{
    JobId, JobType, QueueName, WorkerId,
    event::{Event, EventKind},
    response::ErrorBody,
};
use futures_util::{Stream, StreamExt as _, stream};
use serde::Deserialize;
use std::{pin::Pin, sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    app::App,
    caller::Caller,
    error::{ApiError, ApiResult},
    logs,
    query::Query,
    sse::{self, Ends},
};
use crate::events::{Batch, Cursor};
use crate::fleet::Shape;

/// A filtered stream moves its reader's cursor at least this often.
const CURSOR_EVERY: Duration = Duration::from_secs(15);

/// A stream is written to at most this often: what happens in between goes out together, so that
/// many watchers of a busy hub cost few system calls. The first event after a pause is sent at once.
const PACE: Duration = Duration::from_millis(50);

/// What is put together for one watcher at a time: those who fall behind by megabytes must not cost
/// a copy of them each.
const PIECE_BYTES_MAX: usize = 64 << 10;

type Messages = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

pub fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default().routes(routes!(public_events)).routes(routes!(events))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct PublicQuery {
    #[serde(rename = "type")]
    #[param(value_type = Option<String>)]
    kind: Option<JobType>,
    #[param(value_type = Option<String>)]
    queue: Option<QueueName>,
    #[param(value_type = Option<String>)]
    job_id: Option<JobId>,
    /// Where to go on, for readers that cannot send the header.
    last_event_id: Option<String>,
}

/// Watch jobs without a token
///
/// Server-sent events with ids, types, queues, statuses and times; never params, results, reasons
/// or machine names. `Last-Event-ID` goes on where a broken connection stopped.
#[utoipa::path(
    get, path = "/api/jobs/events", tag = "events", params(PublicQuery),
    responses(
        (status = 200, description = "A stream of events", content_type = "text/event-stream", body = Event),
        (status = 403, description = "This hub does not publish events without a token", body = ErrorBody),
        (status = 503, description = "Too many watchers", body = ErrorBody),
    ),
    security(()),
)]
async fn public_events(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Query(query): Query<PublicQuery>,
) -> ApiResult<Response> {
    if !app.public_events {
        let why = "this hub does not publish events without a token; use /api/events with one";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "public_events_closed", why));
    }
    let wanted = Wanted {
        jobs: true,
        workers: false,
        public: true,
        kind: query.kind,
        queue: query.queue,
        job_id: query.job_id,
        worker_id: None,
    };
    let from = last_seen(&headers, query.last_event_id)?;
    let watcher = app.watchers.enter()?;
    let ends = Ends { stop: app.stop.clone(), revoked: CancellationToken::new() };
    let messages = job_events(app.clone(), wanted, from).await?;
    Ok(sse::respond(watcher, ends, app.keep_alive, messages))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// A comma-separated list of `jobs`, `workers`, `nodes`, `queues`, `alerts` and
    /// `log:<job id>`; `jobs,workers` when left out.
    topics: Option<String>,
    #[serde(rename = "type")]
    #[param(value_type = Option<String>)]
    kind: Option<JobType>,
    #[param(value_type = Option<String>)]
    queue: Option<QueueName>,
    #[param(value_type = Option<String>)]
    job_id: Option<JobId>,
    #[param(value_type = Option<String>)]
    worker_id: Option<WorkerId>,
    /// Where to go on, for readers that cannot send the header.
    last_event_id: Option<String>,
}

/// Watch everything
///
/// One stream for all topics. Job and worker events have ids and can be resumed; `node` messages
/// carry a machine as the fleet shows it, but without its history, first all and then those that change, and `log` messages a
/// piece of a job's log, both without ids.
#[utoipa::path(
    get, path = "/api/events", tag = "events", params(EventsQuery),
    responses(
        (status = 200, description = "A stream of events", content_type = "text/event-stream", body = Event),
        (status = 400, description = "A topic or filter is not valid", body = ErrorBody),
        (status = 503, description = "Too many watchers", body = ErrorBody),
    ),
    security(("token" = ["viewer"])),
)]
async fn events(
    State(app): State<Arc<App>>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> ApiResult<Response> {
    let topics = Topics::parse(query.topics.as_deref().unwrap_or("jobs,workers"))?;
    let wanted = Wanted {
        jobs: topics.jobs,
        workers: topics.workers,
        public: false,
        kind: query.kind,
        queue: query.queue,
        job_id: query.job_id,
        worker_id: query.worker_id,
    };
    let from = last_seen(&headers, query.last_event_id)?;
    let watcher = app.watchers.enter()?;
    let ends = Ends { stop: app.stop.clone(), revoked: caller.revoked().clone() };
    let mut parts: Vec<Messages> = vec![job_events(app.clone(), wanted, from).await?];
    if topics.nodes {
        parts.push(Box::pin(app.fleet.watch(Shape::Brief).map(|message| named("node", &message))));
    }
    for job in topics.logs {
        parts.push(Box::pin(logs::follow_messages(app.clone(), job)));
    }
    Ok(sse::respond(watcher, ends, app.keep_alive, stream::select_all(parts)))
}

/// Puts an `event:` line before a message that has none.
fn named(name: &str, message: &Bytes) -> Bytes {
    let mut text = format!("event: {name}\n").into_bytes();
    text.extend_from_slice(message);
    text.into()
}

#[derive(Default)]
struct Topics {
    jobs: bool,
    workers: bool,
    nodes: bool,
    logs: Vec<JobId>,
}

/// Logs followed on one stream.
const LOGS_MAX: usize = 16;

impl Topics {
    fn parse(text: &str) -> ApiResult<Self> {
        let mut topics = Self::default();
        for topic in text.split(',').map(str::trim) {
            match topic {
                "jobs" => topics.jobs = true,
                "workers" => topics.workers = true,
                "nodes" => topics.nodes = true,
                // Nothing is published on these yet, and nothing is wrong with listening.
                "queues" | "alerts" => {}
                _ => {
                    let job = topic.strip_prefix("log:").and_then(|id| JobId::new(id).ok());
                    let job = job.filter(|_| topics.logs.len() < LOGS_MAX).ok_or_else(|| {
                        let why = format!(
                            "topics must be a comma-separated list of jobs, workers, nodes, queues, alerts and up to {LOGS_MAX} log:<job id>"
                        );
                        ApiError::invalid("topics", why)
                    })?;
                    topics.logs.push(job);
                }
            }
        }
        Ok(topics)
    }
}

/// Which events a stream carries.
struct Wanted {
    jobs: bool,
    workers: bool,
    public: bool,
    kind: Option<JobType>,
    queue: Option<QueueName>,
    job_id: Option<JobId>,
    worker_id: Option<WorkerId>,
}

impl Wanted {
    fn takes(&self, event: &Event) -> bool {
        fn fits<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
            wanted.is_none() || wanted == found
        }
        let topic = if event.kind.is_job() { self.jobs } else { self.workers };
        topic
            && fits(self.kind.as_ref(), event.job_type.as_ref())
            && fits(self.queue.as_ref(), event.queue.as_ref())
            && fits(self.job_id.as_ref(), event.job_id.as_ref())
            && fits(self.worker_id.as_ref(), event.worker_id.as_ref())
    }

    fn takes_all(&self) -> bool {
        let unfiltered =
            self.kind.is_none() && self.queue.is_none() && self.job_id.is_none() && self.worker_id.is_none();
        unfiltered && self.jobs && (self.workers || self.public)
    }
}

/// `<epoch>-<number>` of the last message a reader saw.
fn last_seen(headers: &HeaderMap, query: Option<String>) -> ApiResult<Option<(u64, u64)>> {
    let header = headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?").to_owned());
    let Some(text) = header.or(query).filter(|text| !text.is_empty()) else { return Ok(None) };
    // An id that is not ours is as good as one of another epoch: the reader starts over.
    let parsed = text.split_once('-').and_then(|(epoch, seq)| Some((epoch.parse().ok()?, seq.parse().ok()?)));
    Ok(Some(parsed.unwrap_or((0, 0))))
}

struct Watching {
    app: Arc<App>,
    wanted: Wanted,
    newest: watch::Receiver<u64>,
    cursor: Cursor,
    /// The last number the reader was told.
    told: u64,
    tell_again: Instant,
    not_before: Instant,
}

async fn job_events(app: Arc<App>, wanted: Wanted, from: Option<(u64, u64)>) -> ApiResult<Messages> {
    let events = &app.hub.events;
    let mut newest = events.subscribe();
    let last = *newest.borrow_and_update();
    let range = app.store.event_range().await?;
    let (start, first) = match from {
        None => (last, sse::message(Some(&event_id(range.epoch, last)), None, None)),
        Some((epoch, seq))
            if epoch == range.epoch
                && seq.saturating_add(1) >= range.first
                && seq <= range.last.max(last) =>
        {
            (seq, Bytes::from_static(b": resumed\n\n"))
        }
        Some(_) => {
            let data = r#"{"reason":"the id is too old or of another database; read everything again"}"#;
            (last, sse::message(Some(&event_id(range.epoch, last)), Some("reset"), Some(data)))
        }
    };
    let cursor = events.cursor(start);
    let tell_again = Instant::now() + CURSOR_EVERY;
    let not_before = Instant::now();
    let watching = Watching { wanted, newest, cursor, told: start, tell_again, not_before, app: app.clone() };
    let later = stream::unfold(watching, |mut watching| async move {
        let message = watching.next().await?;
        Some((message, watching))
    });
    Ok(Box::pin(stream::once(async { first }).chain(later)))
}

fn event_id(epoch: u64, seq: u64) -> String {
    format!("{epoch}-{seq}")
}

impl Watching {
    /// The next piece of the stream; `None` ends it, and the reader comes back.
    async fn next(&mut self) -> Option<Bytes> {
        sleep_until(self.not_before).await;
        loop {
            let batches = match self.app.hub.events.after(&*self.app.store, self.cursor.get()).await {
                Ok(batches) => batches,
                Err(error) => {
                    tracing::warn!(%error, "a watcher is dropped: events could not be read");
                    return None;
                }
            };
            if !batches.is_empty() {
                let message = self.next_piece(&batches);
                if message.is_empty() {
                    continue;
                }
                self.told = self.cursor.get();
                let now = Instant::now();
                self.tell_again = now + CURSOR_EVERY;
                // One who is behind gets the rest without a pause.
                let caught_up = self.told >= self.app.hub.events.newest();
                self.not_before = if caught_up { now + PACE } else { now };
                return Some(message);
            }
            tokio::select! {
                changed = self.newest.changed() => if changed.is_err() { return None },
                () = sleep_until(self.tell_again) => {
                    self.tell_again = Instant::now() + CURSOR_EVERY;
                    let at = self.cursor.get();
                    if at > self.told {
                        self.told = at;
                        let id = event_id(self.app.hub.events.epoch(), at);
                        return Some(sse::message(Some(&id), None, None));
                    }
                }
            }
        }
    }

    /// As many of the batches as one piece holds, at least one; moves the cursor behind them.
    fn next_piece(&self, batches: &[Arc<Batch>]) -> Bytes {
        let epoch = self.app.hub.events.epoch();
        let (mut parts, mut bytes) = (Vec::new(), 0);
        for batch in batches {
            let text = if self.wanted.takes_all() {
                batch.text(self.wanted.public, |events| self.render(epoch, events))
            } else {
                self.render(epoch, &batch.events)
            };
            if bytes > 0 && bytes + text.len() > PIECE_BYTES_MAX {
                break;
            }
            bytes += text.len();
            parts.push(text);
            if let Some(last) = batch.events.last() {
                self.cursor.set(last.seq);
            }
        }
        join(parts)
    }

    fn render(&self, epoch: u64, events: &[Event]) -> Bytes {
        let mut out = Vec::with_capacity(events.len() * 256);
        for event in events.iter().filter(|event| self.wanted.takes(event)) {
            let data = if self.wanted.public {
                serde_json::to_string(&event.public())
            } else {
                serde_json::to_string(event)
            };
            let data = data.expect("an event is always JSON");
            let kind: EventKind = event.kind;
            out.extend_from_slice(&sse::message(
                Some(&event_id(epoch, event.seq)),
                Some(kind.as_str()),
                Some(&data),
            ));
        }
        out.into()
    }
}

fn join(mut parts: Vec<Bytes>) -> Bytes {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    parts.concat().into()
}
