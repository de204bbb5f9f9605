//! Clients that cost as much as they can. Only they pay for it.

use forge_tests::{
    hub::{Hub, Options},
    proc, turn,
};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

const HALF_OPEN: usize = 1_000;
const STALLED: usize = 200;
/// p99 of each window; the median of several windows shrugs off one hiccup of the machine.
const WINDOWS: usize = 9;
const REQUESTS: usize = 300;
/// Below this a difference is the scheduler's, not the hub's: ten more runnable threads on two
/// cores cost that much by themselves.
const NOISE: Duration = Duration::from_millis(3);
/// Half-open heads are dropped after 5 s, stalled watchers after 30 s without reading.
const GIVEN_UP_MAX: Duration = Duration::from_secs(90);

/// The median over several windows of a healthy client's 99th percentile.
async fn healthy_p99(hub: &Hub) -> Duration {
    let mut windows = Vec::new();
    for _ in 0..WINDOWS {
        let mut took = Vec::with_capacity(REQUESTS);
        for n in 0..REQUESTS {
            let began = Instant::now();
            if n % 2 == 0 {
                hub.post("/api/jobs", json!({"type": "healthy", "params": {"n": n}})).await.expect(201);
            } else {
                hub.post("/api/jobs/claim", json!({"worker_id": "healthy"})).await.expect(200);
            }
            took.push(began.elapsed());
        }
        took.sort();
        windows.push(took[REQUESTS * 99 / 100]);
    }
    windows.sort();
    windows[WINDOWS / 2]
}

/// Sends a byte of a head now and then, for ever.
async fn half_open(address: std::net::SocketAddr) {
    loop {
        let Ok(mut stream) = TcpStream::connect(address).await else { return };
        if stream.write_all(b"POST /api/jobs HTTP/1.1\r\nHost: hub\r\nX-Slow: ").await.is_err() {
            continue;
        }
        loop {
            tokio::time::sleep(Duration::from_millis(900)).await;
            // Dropped by the hub: come again.
            if stream.write_all(b"x").await.is_err() {
                break;
            }
        }
    }
}

/// Asks for events and never reads them.
async fn stalled_watcher(address: std::net::SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("connect");
    stream.write_all(b"GET /api/jobs/events HTTP/1.1\r\nHost: hub\r\n\r\n").await.expect("ask");
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.expect("the hub answers");
    assert_eq!(&head, b"HTTP/1.1 200", "a watcher is let in");
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_healthy_client_does_not_feel_hostile_ones() {
    let _turn = turn::alone().await;
    assert!(proc::open_files_max() > 4 * (HALF_OPEN + STALLED), "raise the limit of open files (ulimit -n)");
    let mut hub = Hub::start(Options::default().env("LOG_LEVEL", "warn")).await;
    healthy_p99(&hub).await;
    let files_before = proc::open_files(hub.pid());
    let before = healthy_p99(&hub).await;

    let mut hostile = JoinSet::new();
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        stalled.push(stalled_watcher(hub.address()).await);
    }
    for _ in 0..HALF_OPEN {
        hostile.spawn(half_open(hub.address()));
    }
    // They are at the door, not on the way.
    let arrived = Instant::now() + Duration::from_secs(30);
    while proc::open_files(hub.pid()) < files_before + (HALF_OPEN + STALLED) * 9 / 10 {
        assert!(Instant::now() < arrived, "{} files open", proc::open_files(hub.pid()));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let during = healthy_p99(&hub).await;
    println!(
        "p99 of a healthy client: {before:?} before, {during:?} among {HALF_OPEN} + {STALLED} hostile ones"
    );
    assert!(during <= (before * 2).max(before + NOISE), "{before:?} became {during:?}");

    hostile.shutdown().await;
    drop(stalled);
    let given_up = Instant::now() + GIVEN_UP_MAX;
    while proc::open_files(hub.pid()) > files_before + 16 {
        assert!(
            Instant::now() < given_up,
            "{} of {files_before} files still open",
            proc::open_files(hub.pid())
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(hub.is_alive());
    hub.get("/api/health").await.expect(200);
    hub.stop().await;
}

#[tokio::test]
async fn a_watcher_that_never_reads_is_dropped_and_holds_no_queue() {
    let _turn = turn::alone().await;
    let hub = Hub::start(Options::default().env("LOG_LEVEL", "warn")).await;
    let mut watcher = stalled_watcher(hub.address()).await;
    // More events than any socket buffers.
    for _ in 0..60 {
        let jobs: Vec<_> = (0..1_000).map(|_| json!({"type": "x".repeat(200)})).collect();
        hub.post("/api/jobs/batch", json!(jobs)).await.expect(201);
    }
    // The hub gives up on a peer that takes nothing; what was on the way is still readable.
    let ended = async {
        tokio::time::sleep(Duration::from_secs(35)).await;
        let mut bytes = vec![0; 1 << 20];
        let mut total = 0_usize;
        loop {
            match watcher.read(&mut bytes).await {
                Ok(0) | Err(_) => return total,
                Ok(n) => total += n,
            }
        }
    };
    let total = tokio::time::timeout(GIVEN_UP_MAX, ended).await.expect("the watcher is dropped");
    assert!(total < 60_000 * 200, "it was sent everything: {total} bytes");
}
