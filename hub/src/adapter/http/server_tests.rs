use super::*;
use crate::adapter::http::json;
use axum::routing::{get, post};
use futures_util::StreamExt as _;
#[cfg(target_os = "linux")]
use std::io::{BufRead as _, BufReader};
use std::{sync::Arc, time::Instant};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::Notify,
};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: hub\r\n\r\n";

struct Running {
    address: SocketAddr,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    async fn new(router: Router, limits: ServerLimits) -> Self {
        Self::listening_on("127.0.0.1", router, limits).await
    }

    async fn listening_on(host: &str, router: Router, limits: ServerLimits) -> Self {
        let listener = TcpListener::bind((host, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let task = tokio::spawn(serve(listener, router, Front::default(), limits, stop.clone()));
        Self { address, stop, task }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

/// Timeouts far enough apart that the one under test is the one that fires.
fn limits() -> ServerLimits {
    ServerLimits {
        header_timeout: Duration::from_secs(60),
        idle_timeout: Duration::from_secs(60),
        body_idle_timeout: Duration::from_secs(60),
        write_stall_timeout: Duration::from_secs(60),
        ..ServerLimits::default()
    }
}

fn hello() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

async fn answer(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"hello") {
        assert_ne!(stream.read_buf(&mut text).await.unwrap(), 0, "{}", String::from_utf8_lossy(&text));
    }
    String::from_utf8(text).unwrap()
}

/// Everything until the hub closes the connection.
async fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    bytes
}

#[tokio::test]
async fn silent_and_half_open_connections_die_by_the_header_timeout() {
    let limits = ServerLimits { header_timeout: Duration::from_millis(50), ..limits() };
    let hub = Running::new(hello(), limits).await;
    let mut silent = hub.connect().await;
    let mut half = hub.connect().await;
    half.write_all(b"GET / HTTP/1.1\r\nhost: h").await.unwrap();
    assert!(rest(&mut silent).await.is_empty());
    assert!(rest(&mut half).await.is_empty());
}

#[tokio::test]
async fn idle_connection_outlives_the_header_timeout_and_dies_by_its_own() {
    let limits = ServerLimits {
        header_timeout: Duration::from_millis(500),
        idle_timeout: Duration::from_millis(1_500),
        ..limits()
    };
    let hub = Running::new(hello(), limits).await;
    let mut stream = hub.connect().await;
    for _ in 0..2 {
        stream.write_all(REQUEST).await.unwrap();
        answer(&mut stream).await;
    }
    let start = Instant::now();
    assert!(rest(&mut stream).await.is_empty());
    assert!(start.elapsed() >= Duration::from_millis(1_000), "{:?}", start.elapsed());
}

#[tokio::test]
async fn late_second_head_dies_by_the_header_timeout() {
    let limits = ServerLimits { header_timeout: Duration::from_millis(500), ..limits() };
    let hub = Running::new(hello(), limits).await;
    let mut stream = hub.connect().await;
    stream.write_all(REQUEST).await.unwrap();
    answer(&mut stream).await;
    stream.write_all(b"GET / HT").await.unwrap();
    assert!(rest(&mut stream).await.is_empty());
}

/// Tells when the response that it lives in is dropped.
struct Ended(Arc<Notify>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// A route that never stops sending, and what tells when a response of it has ended.
fn endless<S>(chunks: fn() -> S) -> (Router, Arc<Notify>)
where
    S: futures_util::Stream<Item = Bytes> + Send + 'static,
{
    let ended = Arc::new(Notify::new());
    let dropped = ended.clone();
    let watch = move || {
        let guard = Ended(dropped.clone());
        async move {
            Body::from_stream(chunks().map(move |chunk| {
                let _held = &guard;
                Ok::<_, Infallible>(chunk)
            }))
        }
    };
    (Router::new().route("/", get(watch)), ended)
}

#[tokio::test]
async fn watcher_that_does_not_read_is_dropped() {
    let (router, ended) = endless(|| futures_util::stream::repeat_with(|| Bytes::from_static(&[b'x'; 4096])));
    let limits = ServerLimits { write_stall_timeout: Duration::from_millis(50), ..limits() };
    let hub = Running::new(router, limits).await;
    let mut stream = hub.connect().await;
    stream.write_all(REQUEST).await.unwrap();
    ended.notified().await;
}

/// A machine of its own on a cable of its own, which can be pulled.
#[cfg(target_os = "linux")]
struct Cable {
    namespace: String,
    near: String,
    watcher: Option<std::process::Child>,
}

#[cfg(target_os = "linux")]
impl Cable {
    fn lay() -> Result<Self, String> {
        let id = std::process::id();
        let name = format!("forge{id}");
        let net = format!("198.18.{}", id % 256);
        let cable = Self { namespace: name.clone(), near: format!("{net}.1"), watcher: None };
        ip(&format!("netns add {name}"))?;
        ip(&format!("link add {name} type veth peer name far netns {name}"))?;
        ip(&format!("addr add {net}.1/30 dev {name}"))?;
        ip(&format!("link set {name} up"))?;
        ip(&format!("-n {name} addr add {net}.2/30 dev far"))?;
        ip(&format!("-n {name} link set far up"))?;
        Ok(cable)
    }

    /// Sends a request from the far end and returns once `wanted` came back.
    async fn watch(&mut self, port: u16, wanted: &'static str) {
        let ask = format!(
            "exec 3<>/dev/tcp/{}/{port}; printf 'GET / HTTP/1.1\\r\\nhost: hub\\r\\n\\r\\n' >&3; exec cat <&3",
            self.near
        );
        let mut watcher = std::process::Command::new("ip")
            .args(["netns", "exec", &self.namespace, "bash", "-c", &ask])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(watcher.stdout.take().unwrap()).lines();
        self.watcher = Some(watcher);
        let (tell, mut seen) = tokio::sync::mpsc::channel(1);
        // Reads on for as long as the watcher lives: a closed pipe would end it.
        std::thread::spawn(move || {
            for _ in lines.map_while(Result::ok).filter(|line| line == wanted) {
                let _ = tell.try_send(());
            }
        });
        seen.recv().await.expect("the far end is answered");
    }

    fn pull(&self) {
        ip(&format!("-n {} link set far down", self.namespace)).unwrap();
    }
}

#[cfg(target_os = "linux")]
impl Drop for Cable {
    fn drop(&mut self) {
        if let Some(mut watcher) = self.watcher.take() {
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
        let _ = ip(&format!("link del {}", self.namespace));
        let _ = ip(&format!("netns del {}", self.namespace));
    }
}

#[cfg(target_os = "linux")]
fn ip(words: &str) -> Result<(), String> {
    let output = std::process::Command::new("ip").args(words.split(' ')).output();
    let output = output.map_err(|error| format!("ip cannot be run: {error}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("ip {words}: {complaint}")) }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn watcher_whose_network_vanished_is_dropped_though_its_messages_fit_into_buffers() {
    let mut cable = match Cable::lay() {
        Ok(cable) => cable,
        Err(why) => {
            eprintln!("SKIPPED: a network of its own takes root and iproute2: {why}");
            return;
        }
    };
    let (router, ended) = endless(|| {
        futures_util::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Some((Bytes::from_static(b"tick\n"), ()))
        })
    });
    let limits = ServerLimits { write_stall_timeout: Duration::from_millis(500), ..limits() };
    let hub = Running::listening_on(&cable.near, router, limits).await;
    cable.watch(hub.address.port(), "tick").await;
    // A peer that acknowledges is kept, however long it watches.
    let still_there = tokio::time::timeout(2 * limits.write_stall_timeout, ended.notified()).await;
    assert!(still_there.is_err(), "a healthy watcher was dropped");
    cable.pull();
    tokio::time::timeout(Duration::from_secs(20), ended.notified()).await.expect("the watcher is dropped");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn stalled_watcher_costs_little_of_the_kernels_memory() {
    let (router, ended) = endless(|| futures_util::stream::repeat_with(|| Bytes::from_static(&[b'x'; 4096])));
    let limits = ServerLimits { write_stall_timeout: Duration::from_millis(500), ..limits() };
    let hub = Running::new(router, limits).await;
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(hub.address).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    ended.notified().await;
    // What was accepted for it is still delivered.
    let sent = rest(&mut stream).await.len();
    assert!(sent < 1 << 20, "{sent} bytes were kept for one who reads nothing");
}

#[tokio::test]
async fn connection_over_the_cap_is_told_so_and_a_freed_place_is_usable() {
    let hub = Running::new(hello(), ServerLimits { connections_max: 1, ..limits() }).await;
    let mut first = hub.connect().await;
    first.write_all(REQUEST).await.unwrap();
    answer(&mut first).await;
    let refused = rest(&mut hub.connect().await).await;
    assert!(refused.starts_with(b"HTTP/1.1 503 "), "{}", String::from_utf8_lossy(&refused));
    drop(first);
    loop {
        let mut next = hub.connect().await;
        let _ = next.write_all(REQUEST).await;
        if rest_or_hello(&mut next).await {
            break;
        }
    }
}

async fn rest_or_hello(stream: &mut TcpStream) -> bool {
    let mut text = Vec::new();
    loop {
        match stream.read_buf(&mut text).await {
            Ok(n) if n > 0 && text.ends_with(b"hello") => return true,
            Ok(n) if n > 0 => {}
            _ => return false,
        }
    }
}

#[tokio::test]
async fn stopping_finishes_what_is_in_flight_and_closes_what_is_idle() {
    let (entered, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, wait) = (entered.clone(), leave.clone());
    let slow = move || {
        let (tell, wait) = (tell.clone(), wait.clone());
        async move {
            tell.notify_one();
            wait.notified().await;
            "hello"
        }
    };
    let hub = Running::new(hello().route("/slow", get(slow)), limits()).await;
    let mut idle = hub.connect().await;
    idle.write_all(REQUEST).await.unwrap();
    answer(&mut idle).await;
    let mut busy = hub.connect().await;
    busy.write_all(b"GET /slow HTTP/1.1\r\nhost: hub\r\n\r\n").await.unwrap();
    entered.notified().await;
    hub.stop.cancel();
    assert!(rest(&mut idle).await.is_empty());
    leave.notify_one();
    let last = rest(&mut busy).await;
    assert!(last.ends_with(b"hello"));
    hub.task.await.unwrap();
    assert!(TcpStream::connect(hub.address).await.is_err());
}

#[tokio::test]
async fn stopping_drops_what_does_not_finish_in_time() {
    let entered = Arc::new(Notify::new());
    let tell = entered.clone();
    let never = move || {
        tell.notify_one();
        std::future::pending::<&'static str>()
    };
    let limits = ServerLimits { drain_timeout: Duration::from_millis(50), ..limits() };
    let hub = Running::new(Router::new().route("/", get(never)), limits).await;
    let mut stream = hub.connect().await;
    stream.write_all(REQUEST).await.unwrap();
    entered.notified().await;
    hub.stop.cancel();
    hub.task.await.unwrap();
    assert!(rest(&mut stream).await.is_empty());
}

#[tokio::test]
async fn too_many_and_too_long_headers_are_refused() {
    let hub = Running::new(hello(), limits()).await;
    let many: String = (0..70).map(|n| format!("x-{n}: 1\r\n")).collect();
    let long = format!("x-long: {}\r\n", "v".repeat(17 << 10));
    for headers in [many, long] {
        let mut stream = hub.connect().await;
        let request = format!("GET / HTTP/1.1\r\nhost: hub\r\nconnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with(b"HTTP/1.1 431 "), "{}", String::from_utf8_lossy(&answer));
    }
}

#[tokio::test]
async fn answers_carry_the_common_headers_and_requests_know_their_peer() {
    let whoami = |connection: axum::Extension<Connection>| async move {
        assert!(connection.peer.ip().is_loopback());
        "hello"
    };
    let hub = Running::new(Router::new().route("/", get(whoami)), limits()).await;
    let mut stream = hub.connect().await;
    stream.write_all(REQUEST).await.unwrap();
    let answer = answer(&mut stream).await;
    assert!(answer.contains("content-security-policy: default-src 'self'"), "{answer}");
}

async fn echo(json::Body(value): json::Body<serde_json::Value>) -> json::Json<serde_json::Value> {
    json::Json(value)
}

#[tokio::test]
async fn bodies_are_read_whole_in_pieces_and_in_chunks() {
    let hub = Running::new(Router::new().route("/", post(echo)), limits()).await;
    let mut stream = hub.connect().await;
    let (head, length) = ("POST / HTTP/1.1\r\nhost: hub\r\n", "content-length: 7\r\n\r\n");
    let chunked = "transfer-encoding: chunked\r\n\r\n2\r\n\"h\r\n5\r\nello\"\r\n0\r\n\r\n";
    for pieces in [
        vec![format!("{head}{length}\"hello\"")],
        vec![format!("{head}{length}\"he"), "llo\"".to_owned()],
        vec![format!("{head}{chunked}")],
    ] {
        for piece in pieces {
            stream.write_all(piece.as_bytes()).await.unwrap();
            tokio::task::yield_now().await;
        }
        let mut text = Vec::new();
        while !text.ends_with(b"\"hello\"") {
            assert_ne!(stream.read_buf(&mut text).await.unwrap(), 0, "{}", String::from_utf8_lossy(&text));
        }
        assert!(text.starts_with(b"HTTP/1.1 200 "));
    }
}

#[tokio::test]
async fn stalled_and_oversized_bodies_are_refused_while_they_come() {
    let limits = ServerLimits { body_idle_timeout: Duration::from_millis(50), ..limits() };
    let hub = Running::new(Router::new().route("/", post(echo)), limits).await;
    for (rest_of_request, status) in [
        ("content-length: 7\r\n\r\n\"he", "408"),
        ("content-length: 7\r\n\r\n", "408"),
        ("transfer-encoding: chunked\r\n\r\n2\r\n\"h\r\n", "408"),
        ("content-length: 99999999\r\n\r\n", "413"),
    ] {
        let mut stream = hub.connect().await;
        let request = format!("POST / HTTP/1.1\r\nhost: hub\r\n{rest_of_request}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = String::from_utf8(rest(&mut stream).await).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
}
