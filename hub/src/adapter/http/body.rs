//! Reading request bodies: within a size, and without waiting for ever.

use axum::{
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderMap, StatusCode, header},
};
use bytes::BytesMut;
use http_body::{Body as HttpBody, Frame};
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Sleep;

use super::{
    error::{ApiError, ApiResult},
    server::Connection,
};

/// Memory set aside on the word of a `Content-Length` alone.
const RESERVE_BYTES_MAX: usize = 64 << 10;

/// Used when a request did not come through the server's accept loop.
const BODY_IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads a whole body of at most `max` bytes whose sender does not pause for too long.
pub async fn read(request: Request, max: usize) -> ApiResult<Bytes> {
    let announced = announced_bytes(request.headers());
    if announced > max as u64 {
        return Err(too_large(max));
    }
    let mut chunks = Chunks::new(request);
    let Some(first) = chunks.next().await? else { return Ok(Bytes::new()) };
    if first.len() > max {
        return Err(too_large(max));
    }
    if chunks.body.is_end_stream() {
        return Ok(first);
    }
    let announced = usize::try_from(announced).unwrap_or(usize::MAX);
    let mut all = BytesMut::with_capacity(announced.min(RESERVE_BYTES_MAX).max(first.len()));
    all.extend_from_slice(&first);
    while let Some(data) = chunks.next().await? {
        if all.len() + data.len() > max {
            return Err(too_large(max));
        }
        all.extend_from_slice(&data);
    }
    Ok(all.freeze())
}

/// What the caller says the body has; 0 when it does not say.
pub fn announced_bytes(headers: &HeaderMap) -> u64 {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    length.and_then(|text| text.parse().ok()).unwrap_or(0)
}

pub fn too_large(max: usize) -> ApiError {
    ApiError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too_large",
        format!("the body may have at most {max} bytes"),
    )
}

/// A body as it comes, for routes that do not hold it in memory. A sender that pauses for too
/// long is given up with 408; how much is too much is for the caller to say ([`too_large`]).
pub struct Chunks {
    body: Body,
    idle: Duration,
    yielded: bool,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Chunks {
    pub fn new(request: Request) -> Self {
        let connection = request.extensions().get::<Connection>();
        let idle = connection.map_or(BODY_IDLE_TIMEOUT, |connection| connection.body_idle_timeout);
        Self { body: request.into_body(), idle, yielded: false, timer: None }
    }

    pub async fn next(&mut self) -> ApiResult<Option<Bytes>> {
        self.timer = None;
        loop {
            match poll_fn(|cx| self.poll_frame(cx)).await? {
                None => return Ok(None),
                // Trailers and empty chunks carry nothing for us.
                Some(frame) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => return Ok(Some(data)),
                    _ => {}
                },
            }
        }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<ApiResult<Option<Frame<Bytes>>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(None) => Poll::Ready(Ok(None)),
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Ok(Some(frame))),
            Poll::Ready(Some(Err(_))) => Poll::Ready(Err(ApiError::new(
                StatusCode::BAD_REQUEST,
                "body_broken",
                "the body ended before it was complete",
            ))),
            // hyper hands the first bytes over only after they were asked for, even when they
            // are already here. Looking once more spares nearly every request a timer.
            Poll::Pending if !self.yielded => {
                self.yielded = true;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Pending => {
                let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.idle)));
                timer.as_mut().poll(cx).map(|()| {
                    Err(ApiError::new(
                        StatusCode::REQUEST_TIMEOUT,
                        "body_stalled",
                        format!("no byte of the body came for {} ms", self.idle.as_millis()),
                    ))
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use futures_util::StreamExt;
    use std::convert::Infallible;

    fn streaming(chunks: Vec<&'static str>, then_stall: bool) -> Request {
        let chunks = futures_util::stream::iter(chunks.into_iter().map(Ok::<_, Infallible>));
        if then_stall {
            Request::new(Body::from_stream(chunks.chain(futures_util::stream::pending())))
        } else {
            Request::new(Body::from_stream(chunks))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn stalled_body_is_given_up() {
        let error = read(streaming(vec!["{\"a\""], true), 1_000).await.unwrap_err();
        assert_eq!((error.status, &*error.body.code), (StatusCode::REQUEST_TIMEOUT, "body_stalled"));
    }

    #[tokio::test]
    async fn size_is_limited_at_once_when_announced_and_else_as_it_comes() {
        let mut announced = streaming(vec![], true);
        announced.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(1_001));
        for request in [announced, streaming(vec!["123456"; 200], true)] {
            let error = read(request, 1_000).await.unwrap_err();
            assert_eq!((error.status, &*error.body.code), (StatusCode::PAYLOAD_TOO_LARGE, "too_large"));
        }
        assert_eq!(read(streaming(vec!["12", "", "34"], false), 4).await.unwrap(), "1234");
    }
}
