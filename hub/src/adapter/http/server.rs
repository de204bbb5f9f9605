//! The accept loop. It exists because `axum::serve` has no timeouts and no caps: here a slow or
//! hostile client costs one socket and a little memory, for a short time, and nobody else waits.

use axum::{
    Router,
    body::{Body, Bytes},
    http::{Method, Request, Response, StatusCode},
    routing::future::RouteFuture,
};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::{body::Incoming, server::conn::http1, service::Service};
use hyper_util::rt::TokioIo;
use pin_project_lite::pin_project;
use std::{
    convert::Infallible,
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{
    connections::{Connections, Slot},
    headers::{self, Origins, Visit},
    proxies::Proxies,
    stall::{Patience, Turn, Turns, Watched},
    tls::Tls,
};

/// What one client, and all of them together, may cost.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// From a request's first byte, or a connection's start, to the end of its head.
    pub header_timeout: Duration,
    /// How long a connection may rest between two requests.
    pub idle_timeout: Duration,
    /// The longest pause inside a request's body.
    pub body_idle_timeout: Duration,
    /// A peer that takes no bytes for this long is dropped; this is how stalled watchers end.
    pub write_stall_timeout: Duration,
    /// On stopping, how long requests in flight may take to finish.
    pub drain_timeout: Duration,
    /// Headers of one request. hyper's own cap of 100 applies before this one; lowering it there
    /// would cost an allocation per request.
    pub headers_max: usize,
    /// Bytes of one request's head, its first line included.
    pub header_bytes_max: usize,
    /// What one connection may buffer in each direction.
    pub buffer_bytes_max: usize,
    pub connections_max: usize,
    /// Loopback is exempt: a reverse proxy on the same machine stands for many clients.
    pub connections_per_address_max: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(75),
            body_idle_timeout: Duration::from_secs(10),
            write_stall_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(8),
            headers_max: 64,
            header_bytes_max: 16 << 10,
            buffer_bytes_max: 64 << 10,
            connections_max: 4_096,
            connections_per_address_max: 1_024,
        }
    }
}

/// How long accepting rests when the system has no file descriptors or memory left. Closing
/// connections frees both, so the loop goes on.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// What the kernel holds for one peer beyond what is on its way.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 128 << 10;

/// What a request knows about its connection; found in its extensions.
#[derive(Debug, Clone, Copy)]
pub struct Connection {
    /// Who is at the other end: the client, or a proxy.
    pub peer: SocketAddr,
    /// Who sent the request, as far as a trusted proxy tells.
    pub client: IpAddr,
    pub(super) body_idle_timeout: Duration,
}

/// How connections are met.
#[derive(Default)]
pub struct Front {
    pub origins: Origins,
    pub proxies: Proxies,
    /// `None`: plain HTTP.
    pub tls: Option<Arc<Tls>>,
}

/// Serves until `stop` is cancelled, then lets requests in flight finish.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    front: Front,
    limits: ServerLimits,
    stop: CancellationToken,
) {
    let connections = Connections::new(limits.connections_max, limits.connections_per_address_max);
    let mut http = http1::Builder::new();
    http.header_read_timeout(None)
        .max_header_size(limits.header_bytes_max)
        .max_buf_size(limits.buffer_bytes_max);
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(ended) = tasks.join_next() => {
                report_panic(ended);
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                rest_after(&error).await;
                continue;
            }
        };
        let Some(slot) = connections.enter(peer.ip(), front.proxies.contains(peer.ip())) else {
            refuse(&stream, peer);
            continue;
        };
        let exchange = Exchange {
            router: router.clone(),
            origins: front.origins.clone(),
            proxies: front.proxies.clone(),
            connection: Connection {
                peer,
                client: peer.ip().to_canonical(),
                body_idle_timeout: limits.body_idle_timeout,
            },
            headers_max: limits.headers_max,
            turns: Turns::default(),
        };
        // A token of its own, so that connections share no lock while they work.
        tasks.spawn(meet(
            http.clone(),
            stream,
            front.tls.clone(),
            exchange,
            limits,
            stop.child_token(),
            slot,
        ));
    }
    drop(listener);
    let drained = async {
        while let Some(ended) = tasks.join_next().await {
            report_panic(ended);
        }
    };
    if tokio::time::timeout(limits.drain_timeout, drained).await.is_err() {
        tracing::warn!(connections = tasks.len(), "requests did not finish in time and were dropped");
        tasks.shutdown().await;
    }
}

fn report_panic(ended: Result<(), tokio::task::JoinError>) {
    if ended.is_err_and(|error| error.is_panic()) {
        tracing::error!("a request handler panicked; its connection was dropped");
    }
}

async fn rest_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted) {
        return;
    }
    tracing::warn!(%error, "cannot accept connections at the moment");
    tokio::time::sleep(EXHAUSTED_PAUSE).await;
}

/// Says why before closing, as far as the socket takes it at once.
fn refuse(stream: &TcpStream, peer: SocketAddr) {
    const ANSWER: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let _ = stream.try_write(ANSWER);
    tracing::debug!(%peer, "refused: too many connections");
}

async fn meet(
    http: http1::Builder,
    stream: TcpStream,
    tls: Option<Arc<Tls>>,
    exchange: Exchange,
    limits: ServerLimits,
    stop: CancellationToken,
    _slot: Slot,
) {
    // Answers are small and whole; waiting to fill packets would only delay them.
    let _ = stream.set_nodelay(true);
    drop_when_vanished(&stream, limits.write_stall_timeout);
    keep_unsent_small(&stream);
    let Some(tls) = tls else { return converse(http, stream, exchange, limits, stop).await };
    let peer = exchange.connection.peer;
    let secured = tokio::select! {
        secured = tokio::time::timeout(limits.header_timeout, tls.accept(stream)) => secured,
        () = stop.cancelled() => return,
    };
    match secured {
        Ok(Ok(Some(stream))) => Box::pin(converse(http, stream, exchange, limits, stop)).await,
        Ok(Ok(None)) => tracing::debug!(%peer, "plain HTTP came where TLS is spoken"),
        Ok(Err(error)) => tracing::debug!(%peer, %error, "a TLS handshake failed"),
        Err(_) => tracing::debug!(%peer, "a TLS handshake took too long"),
    }
}

async fn converse<T: AsyncRead + AsyncWrite + Unpin>(
    http: http1::Builder,
    stream: T,
    exchange: Exchange,
    limits: ServerLimits,
    stop: CancellationToken,
) {
    let patience = Patience {
        header: limits.header_timeout,
        idle: limits.idle_timeout,
        write_stall: limits.write_stall_timeout,
    };
    let peer = exchange.connection.peer;
    let watched = Watched::new(stream, patience, exchange.turns.clone());
    let mut connection = pin!(http.serve_connection(TokioIo::new(watched), exchange));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "a connection ended early");
    }
}

/// A machine that lost its network sends no goodbye, and a stream's small writes to it fit into
/// the socket's buffer for a long time. The kernel knows that nobody acknowledges them.
#[cfg(target_os = "linux")]
fn drop_when_vanished(stream: &TcpStream, after: Duration) {
    let _ = socket2::SockRef::from(stream).set_tcp_user_timeout(Some(after));
}

#[cfg(not(target_os = "linux"))]
fn drop_when_vanished(_: &TcpStream, _: Duration) {}

/// The kernel would take megabytes for a peer that does not read, and copying them to hundreds of
/// such peers delays everybody else. It is refilled in time for those who do read.
#[cfg(target_os = "linux")]
fn keep_unsent_small(stream: &TcpStream) {
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT_BYTES_MAX);
}

#[cfg(not(target_os = "linux"))]
fn keep_unsent_small(_: &TcpStream) {}

/// One connection's way into the router.
struct Exchange {
    router: Router,
    origins: Origins,
    proxies: Proxies,
    connection: Connection,
    headers_max: usize,
    turns: Turns,
}

impl Service<Request<Incoming>> for Exchange {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, mut request: Request<Incoming>) -> Answering {
        let turn = Some(self.turns.begin());
        let mut connection = self.connection;
        connection.client = self.proxies.client(connection.client, request.headers());
        let noted = tracing::enabled!(tracing::Level::DEBUG).then(|| Noted::new(&request, connection.client));
        let (visit, refused) = headers::arrive(&request, &self.origins, self.headers_max);
        let routed = refused.is_none().then(|| {
            request.extensions_mut().insert(connection);
            tower::Service::call(&mut self.router.clone(), request)
        });
        Answering { routed, refused, visit: Some(visit), turn, noted }
    }
}

pin_project! {
    struct Answering {
        #[pin]
        routed: Option<RouteFuture<Infallible>>,
        refused: Option<Response<Body>>,
        visit: Option<Visit>,
        turn: Option<Turn>,
        noted: Option<Box<Noted>>,
    }
}

/// A request as the log shows it: without its query, which is the caller's business.
struct Noted {
    client: IpAddr,
    method: Method,
    path: String,
    start: Instant,
}

impl Noted {
    fn new(request: &Request<Incoming>, client: IpAddr) -> Box<Self> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        Box::new(Self { client, method, path, start: Instant::now() })
    }

    fn answered(&self, status: StatusCode) {
        let duration_ms = self.start.elapsed().as_secs_f64() * 1_000.0;
        tracing::debug!(client = %self.client, method = %self.method, path = self.path, status = status.as_u16(), duration_ms, "request");
    }
}

impl Future for Answering {
    type Output = Result<Response<Answer>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.project();
        let mut response = match me.routed.as_pin_mut() {
            Some(routed) => match ready!(routed.poll(cx)) {
                Ok(response) => response,
                Err(never) => match never {},
            },
            None => me.refused.take().expect("a refused request has its answer"),
        };
        if let Some(visit) = me.visit.take() {
            headers::leave(visit, &mut response);
        }
        if let Some(noted) = me.noted {
            noted.answered(response.status());
        }
        let turn = me.turn.take();
        Poll::Ready(Ok(response.map(|body| Answer { body, turn })))
    }
}

pin_project! {
    /// An answer's body; the connection's turn ends with it.
    struct Answer {
        #[pin]
        body: Body,
        turn: Option<Turn>,
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
