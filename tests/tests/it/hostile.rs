//! Clients that cost as much as they can. Only they pay for it.

use forge_tests::{
    hub::{Answer, Hub, Options, SECRET},
    proc, raw, turn,
};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
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
const DRIP_EVERY: Duration = Duration::from_millis(900);
const FILLING_WINDOWS_MAX: usize = 60;

/// What happens beside a healthy client's requests.
#[derive(Clone, Copy)]
enum Beside {
    Nothing,
    /// A batch of jobs now and then, whose events every watcher is sent.
    Batches,
}

/// Requests of the healthy client from one batch to the next.
const BATCH_EVERY: usize = 10;
const BATCH_JOBS: usize = 100;

/// The 99th percentile of a healthy client's requests.
async fn healthy_window(hub: &Hub, beside: Beside) -> Duration {
    let mut took = Vec::with_capacity(REQUESTS);
    for n in 0..REQUESTS {
        if matches!(beside, Beside::Batches) && n % BATCH_EVERY == 0 {
            post_batch(hub, BATCH_JOBS).await;
        }
        let began = Instant::now();
        if n % 2 == 0 {
            hub.post("/api/jobs", json!({"type": "healthy", "params": {"n": n}})).await.expect(201);
        } else {
            let claim = json!({"worker_id": "healthy", "queues": ["default"]});
            hub.post("/api/jobs/claim", claim).await.expect(200);
        }
        took.push(began.elapsed());
    }
    took.sort();
    took[REQUESTS * 99 / 100]
}

async fn healthy_p99(hub: &Hub, beside: Beside) -> Duration {
    let mut windows = Vec::new();
    for _ in 0..WINDOWS {
        windows.push(healthy_window(hub, beside).await);
    }
    median(windows)
}

fn median(mut windows: Vec<Duration>) -> Duration {
    windows.sort();
    windows[windows.len() / 2]
}

/// Jobs that nobody claims, with long names: their events fill buffers.
async fn post_batch(hub: &Hub, n: usize) {
    let jobs: Vec<_> = (0..n).map(|_| json!({"type": "x".repeat(200), "queue": "filler"})).collect();
    hub.post("/api/jobs/batch", json!(jobs)).await.expect(201);
}

/// The median of the windows in which the buffers of those who do not read fill up.
async fn healthy_p99_while_buffers_fill(hub: &Hub) -> Duration {
    let mut windows = Vec::new();
    let mut unread = proc::unread_bytes(hub.address());
    loop {
        let window = healthy_window(hub, Beside::Batches).await;
        let before = std::mem::replace(&mut unread, proc::unread_bytes(hub.address()));
        if unread <= before {
            return median(windows);
        }
        windows.push(window);
        assert!(windows.len() < FILLING_WINDOWS_MAX, "{unread} bytes, and the buffers still take more");
    }
}

/// Sends a byte of a head now and then, for ever, and comes again when the hub drops it.
async fn half_open(address: SocketAddr) {
    loop {
        let Ok(mut stream) = TcpStream::connect(address).await else { return };
        if stream.write_all(b"POST /api/jobs HTTP/1.1\r\nHost: hub\r\nX-Slow: ").await.is_err() {
            continue;
        }
        let mut answer = [0; 64];
        while tokio::time::timeout(DRIP_EVERY, stream.read(&mut answer)).await.is_err() {
            if stream.write_all(b"x").await.is_err() {
                break;
            }
        }
    }
}

/// Asks for events and never reads them.
async fn stalled_watcher(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("a small buffer");
    let mut stream = socket.connect(address).await.expect("connect");
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
    healthy_p99(&hub, Beside::Nothing).await;
    let files_before = proc::open_files(hub.pid());
    let alone = healthy_p99(&hub, Beside::Nothing).await;
    let beside_batches = healthy_p99(&hub, Beside::Batches).await;

    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        stalled.push(stalled_watcher(hub.address()).await);
    }
    // Until its buffers are full, a watcher that does not read is served like any other, which costs
    // what serving two hundred watchers costs. Told, not judged.
    let while_filling = healthy_p99_while_buffers_fill(&hub).await;
    println!(
        "p99 beside batches: {beside_batches:?} before, {while_filling:?} while {STALLED} watchers stall"
    );

    let mut hostile = JoinSet::new();
    for _ in 0..HALF_OPEN {
        hostile.spawn(half_open(hub.address()));
    }
    // They are at the door, not on the way.
    let arrived = Instant::now() + Duration::from_secs(30);
    while proc::open_files(hub.pid()) < files_before + (HALF_OPEN + STALLED) * 9 / 10 {
        assert!(Instant::now() < arrived, "{} files open", proc::open_files(hub.pid()));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let among_all = healthy_p99(&hub, Beside::Nothing).await;
    println!("p99 alone: {alone:?} before, {among_all:?} among {HALF_OPEN} + {STALLED} hostile ones");
    assert!(among_all <= (alone * 2).max(alone + NOISE), "{alone:?} became {among_all:?}");

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
    const BATCHES: usize = 30;
    for _ in 0..BATCHES {
        post_batch(&hub, 1_000).await;
    }
    until_watchers(&hub, 0).await;
    // What was on the way is still readable.
    let mut sent = Vec::new();
    let _ = watcher.read_to_end(&mut sent).await;
    assert!(sent.len() < BATCHES * 1_000 * 200, "it was sent everything: {} bytes", sent.len());
}

async fn until_watchers(hub: &Hub, n: u32) {
    let deadline = Instant::now() + GIVEN_UP_MAX;
    while hub.metric("forge_watchers").await != f64::from(n) {
        assert!(Instant::now() < deadline, "{n} watchers should be left");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A request on a connection that is there already.
async fn ask(stream: &mut TcpStream, method: &str, path: &str, body: &Value) -> Answer {
    let body = body.to_string();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: hub\r\nauthorization: Bearer {SECRET}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await.expect("ask");
    raw::read_answer(stream).await.expect("the hub answers")
}

#[tokio::test]
async fn a_hub_without_free_descriptors_rests_and_goes_on_when_some_are_closed() {
    const DESCRIPTORS: &str = "--nofile=64";
    const COMPLAINT: &str = "cannot accept connections";
    const COMPLAINTS: usize = 10;
    let _turn = turn::alone().await;
    let options = Options::default().env("LOG_LEVEL", "warn").wrapper(&["prlimit", DESCRIPTORS]);
    let mut hub = Hub::start(options).await;
    let mut early = TcpStream::connect(hub.address()).await.expect("connect");
    ask(&mut early, "POST", "/api/jobs", &json!({"type": "early"})).await.expect(201);

    // Watchers, because the hub drops whoever asks for nothing.
    let mut crowd = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(hub.address()).await.expect("connect");
        stream.write_all(b"GET /api/jobs/events HTTP/1.1\r\nHost: hub\r\n\r\n").await.expect("ask");
        crowd.push(stream);
    }
    until_logged(&hub, COMPLAINT, 1).await;
    let (began, cpu_before) = (Instant::now(), proc::cpu(hub.pid()));
    let already = hub.log().matches(COMPLAINT).count();
    until_logged(&hub, COMPLAINT, already + COMPLAINTS).await;
    let (took, cpu) = (began.elapsed(), proc::cpu(hub.pid()) - cpu_before);
    println!("{COMPLAINTS} refused accepts in {took:?}, for {cpu:?} of processor time");
    assert!(cpu < took / 4, "the hub spins: {cpu:?} of processor time in {took:?}");

    // Whoever is inside is still served, as far as that needs no new file.
    let id =
        ask(&mut early, "POST", "/api/jobs", &json!({"type": "crowded"})).await.expect(201)["id"].clone();
    ask(&mut early, "POST", "/api/jobs/claim", &json!({"worker_id": "w"})).await.expect(200);
    ask(&mut early, "GET", "/api/jobs?limit=10", &Value::Null).await.expect(200);
    let solver = ask(&mut early, "PUT", &format!("/api/solvers/{}", "0".repeat(64)), &json!("bytes")).await;
    println!("a new file: {} {}", solver.status, solver.text());
    assert!(solver.status >= 500, "no file can be made: {}", solver.text());

    drop(crowd);
    let later = tokio::time::timeout(GIVEN_UP_MAX, hub.get("/api/health")).await;
    later.expect("new clients are answered again").expect(200);
    hub.enqueue(json!({"type": "later"})).await;
    assert_eq!(hub.job(id.as_str().expect("an id")).await["type"], "crowded");
    assert_eq!(hub.log().matches("panicked").count(), 0);
    hub.stop().await;
}

async fn until_logged(hub: &Hub, words: &str, times: usize) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while hub.log().matches(words).count() < times {
        assert!(Instant::now() < deadline, "{words:?} should be logged {times} times");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
