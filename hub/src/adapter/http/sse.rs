//! Responses that stay open: event streams and followed logs. Every one of them ends when the
//! hub stops or its caller's token is revoked, and is counted while it is open.

use super::error::{ApiError, ApiResult};
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use bytes::Bytes;
use futures_util::{Stream, ready};
use pin_project_lite::pin_project;
use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Proxies close connections that are silent for longer than about half a minute.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);
pub const WATCHERS_MAX: u64 = 4096;

const COMMENT: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// How many responses are open, and how many may be.
#[derive(Debug)]
pub struct Watchers {
    open: AtomicU64,
    max: u64,
}

impl Default for Watchers {
    fn default() -> Self {
        Self::new(WATCHERS_MAX)
    }
}

impl Watchers {
    pub fn new(max: u64) -> Self {
        Self { open: AtomicU64::new(0), max }
    }

    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Counts one more until the guard is dropped.
    pub fn enter(self: &Arc<Self>) -> ApiResult<Watcher> {
        let guard = Watcher(Arc::clone(self));
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.max {
            let why = format!("the hub serves {} open streams already; try again later", self.max);
            return Err(
                ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_watchers", why).retry_after(5)
            );
        }
        Ok(guard)
    }
}

#[derive(Debug)]
pub struct Watcher(Arc<Watchers>);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What ends a response from outside.
#[derive(Debug, Clone)]
pub struct Ends {
    /// The hub stops.
    pub stop: CancellationToken,
    /// The caller's token was revoked.
    pub revoked: CancellationToken,
}

/// Answers with a stream of messages made by [`message`], with a comment after each
/// `keep_alive` in which nothing was sent.
pub fn respond<S>(watcher: Watcher, ends: Ends, keep_alive: Duration, messages: S) -> Response
where
    S: Stream<Item = Bytes> + Send + 'static,
{
    let messages = futures_util::StreamExt::map(messages, Ok::<_, Infallible>);
    let body = Open::new(watcher, ends, Some(keep_alive), messages);
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// One message of an event stream. Line breaks in `data` become several data lines, which the
/// receiver joins again; in an id or a name they would end the line, so they are left out.
pub fn message(id: Option<&str>, event: Option<&str>, data: Option<&str>) -> Bytes {
    let mut out = String::with_capacity(32 + data.map_or(0, str::len));
    let mut line = |field: &str, value: &str| {
        out.push_str(field);
        out.push_str(": ");
        out.push_str(value);
        out.push('\n');
    };
    for (field, value) in [("id", id), ("event", event)] {
        if let Some(value) = value {
            line(field, &value.replace(['\r', '\n', '\0'], ""));
        }
    }
    if let Some(data) = data {
        data.replace("\r\n", "\n").split(['\n', '\r']).for_each(|part| line("data", part));
    }
    out.push('\n');
    out.into()
}

pin_project! {
    /// A stream that is counted while it lives and ends when it is told to.
    pub struct Open<S> {
        #[pin]
        inner: S,
        #[pin]
        stopped: WaitForCancellationFutureOwned,
        #[pin]
        revoked: WaitForCancellationFutureOwned,
        #[pin]
        silence: Option<Sleep>,
        keep_alive: Duration,
        ended: bool,
        _watcher: Watcher,
    }
}

impl<S> Open<S> {
    pub fn new(watcher: Watcher, ends: Ends, keep_alive: Option<Duration>, inner: S) -> Self {
        Self {
            inner,
            stopped: ends.stop.cancelled_owned(),
            revoked: ends.revoked.cancelled_owned(),
            silence: keep_alive.map(sleep),
            keep_alive: keep_alive.unwrap_or_default(),
            ended: false,
            _watcher: watcher,
        }
    }
}

impl<S, E> Stream for Open<S>
where
    S: Stream<Item = Result<Bytes, E>>,
{
    type Item = Result<Bytes, E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        if *this.ended
            || this.stopped.as_mut().poll(cx).is_ready()
            || this.revoked.as_mut().poll(cx).is_ready()
        {
            *this.ended = true;
            return Poll::Ready(None);
        }
        let item = match this.inner.poll_next(cx) {
            Poll::Ready(item) => item,
            Poll::Pending => {
                let Some(silence) = this.silence.as_mut().as_pin_mut() else { return Poll::Pending };
                ready!(silence.poll(cx));
                Some(Ok(COMMENT))
            }
        };
        if let Some(silence) = this.silence.as_mut().as_pin_mut() {
            silence.reset(Instant::now() + *this.keep_alive);
        }
        *this.ended = item.is_none();
        Poll::Ready(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{StreamExt, stream};

    fn ends() -> Ends {
        Ends { stop: CancellationToken::new(), revoked: CancellationToken::new() }
    }

    fn text(bytes: &Bytes) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn messages_have_their_fields_on_lines_of_their_own() {
        assert_eq!(text(&message(None, None, Some("{}"))), "data: {}\n\n");
        assert_eq!(
            text(&message(Some("1-2"), Some("job:created"), Some("a\nb\r\nc"))),
            "id: 1-2\nevent: job:created\ndata: a\ndata: b\ndata: c\n\n"
        );
        assert_eq!(text(&message(Some("1-2"), None, None)), "id: 1-2\n\n");
        assert_eq!(text(&message(Some("1\n2"), None, Some(""))), "id: 12\ndata: \n\n");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_filled_with_comments() {
        let watchers = Arc::new(Watchers::new(1));
        let start = Instant::now();
        let later = stream::once(async {
            sleep(Duration::from_secs(40)).await;
            message(None, None, Some("late"))
        });
        let response = respond(watchers.enter().unwrap(), ends(), KEEP_ALIVE, later);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut body = response.into_body().into_data_stream();
        for seconds in [15, 30] {
            assert_eq!(body.next().await.unwrap().unwrap(), COMMENT);
            assert_eq!(start.elapsed().as_secs(), seconds);
        }
        assert_eq!(text(&body.next().await.unwrap().unwrap()), "data: late\n\n");
        assert!(body.next().await.is_none());
    }

    #[tokio::test]
    async fn a_stream_ends_with_the_hub_or_its_token() {
        for pick in [|ends: &Ends| ends.stop.clone(), |ends: &Ends| ends.revoked.clone()] {
            let (watchers, ends) = (Arc::new(Watchers::new(1)), ends());
            let token = pick(&ends);
            let response = respond(watchers.enter().unwrap(), ends, KEEP_ALIVE, stream::pending());
            let mut body = response.into_body().into_data_stream();
            assert!(futures_util::FutureExt::now_or_never(body.next()).is_none());
            token.cancel();
            assert!(body.next().await.is_none());
        }
    }

    #[test]
    fn only_so_many_may_watch() {
        let watchers = Arc::new(Watchers::new(2));
        let first = watchers.enter().unwrap();
        let _second = watchers.enter().unwrap();
        let refused = watchers.enter().unwrap_err();
        assert_eq!((refused.status.as_u16(), refused.retry_after_s), (503, Some(5)));
        assert_eq!(watchers.open(), 2);
        drop(first);
        assert!(watchers.enter().is_ok());
    }
}
