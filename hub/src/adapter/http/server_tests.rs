use super::*;
use crate::adapter::http::json;
use axum::routing::{get, post};
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
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let task = tokio::spawn(serve(listener, router, Origins::default(), limits, stop.clone()));
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

#[tokio::test]
async fn watcher_that_does_not_read_is_dropped() {
    struct Ended(Arc<Notify>);
    impl Drop for Ended {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let ended = Arc::new(Notify::new());
    let dropped = ended.clone();
    let endless = move || {
        let guard = Ended(dropped.clone());
        async move {
            let chunks = futures_util::stream::repeat_with(move || {
                let _held = &guard;
                Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 4096]))
            });
            Body::from_stream(chunks)
        }
    };
    let limits = ServerLimits { write_stall_timeout: Duration::from_millis(50), ..limits() };
    let hub = Running::new(Router::new().route("/", get(endless)), limits).await;
    let mut stream = hub.connect().await;
    stream.write_all(REQUEST).await.unwrap();
    ended.notified().await;
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
