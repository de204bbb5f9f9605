//! No 2xx to a durable write leaves the hub before its commit is on the disk, as the kernel saw
//! it.

use forge_tests::{
    hub::{Hub, Options, SECRET},
    raw,
    trace::{self, SyncOrder},
    turn,
};
use serde_json::{Value, json};
use std::{fs, process::Command};
use tokio::{io::AsyncWriteExt, net::TcpStream};

const SYSCALLS: &str =
    "trace=read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg,pwrite64,pwritev,pwritev2,fdatasync,fsync";
/// Writes of each kind.
const ROUNDS: usize = 8;

/// Why tracing is impossible here, if it is.
pub(crate) fn untraceable() -> Option<String> {
    match Command::new("strace").args(["-D", "-f", "-o", "/dev/null", "true"]).output() {
        Err(error) => Some(format!("strace cannot be run ({error}); install it")),
        Ok(output) if !output.status.success() => {
            Some(format!("this system forbids tracing: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
        Ok(_) => None,
    }
}

/// Sends every kind of durable job write, one after the other on one connection, to a traced hub.
pub(crate) async fn record(options: Options) -> SyncOrder {
    let folder = tempfile::tempdir().expect("make a folder");
    let output = folder.path().join("trace");
    // -D: the hub stays our own child and strace watches from the side.
    let wrapper = [
        "strace",
        "-D",
        "-f",
        "-yy",
        "-s",
        "64",
        "-e",
        SYSCALLS,
        "-o",
        output.to_str().expect("a plain path"),
    ];
    let mut hub = Hub::start(options.wrapper(&wrapper)).await;
    let mut stream = TcpStream::connect(hub.address()).await.expect("connect");
    let port = stream.local_addr().expect("an address").port();
    let mut sent = 0;
    for n in 0..ROUNDS {
        let mut post = async |path: &str, body: Value| {
            sent += 1;
            post(&mut stream, path, &body).await
        };
        let worker = "tracer";
        post("/api/jobs", json!({"type": "traced", "params": {"n": n}})).await;
        let lease = |job: &Value| json!({"worker_id": worker, "lease_id": job["lease_id"], "retry_in_ms": 0, "reason": "again"});
        let job = post("/api/jobs/claim", json!({"worker_id": worker})).await;
        let path =
            |what: &str, job: &Value| format!("/api/jobs/{}/{what}", job["id"].as_str().expect("an id"));
        post(&path("fail", &job), lease(&job)).await;
        let job = post("/api/jobs/claim", json!({"worker_id": worker})).await;
        post(&path("release", &job), lease(&job)).await;
        let job = post("/api/jobs/claim", json!({"worker_id": worker})).await;
        let mut result = lease(&job);
        result["result"] = json!({"n": n});
        post(&path("result", &job), result).await;
        post("/api/jobs/batch", json!([{"type": "cancelled", "id": format!("c{n}")}])).await;
        post(&format!("/api/jobs/c{n}/cancel"), json!({})).await;
    }
    hub.stop().await;
    let text = fs::read(&output).expect("read the trace");
    let order = trace::sync_order(&trace::parse(&String::from_utf8_lossy(&text)), port);
    assert_eq!(order.answers, sent, "every answer was found in the trace");
    order
}

async fn post(stream: &mut TcpStream, path: &str, body: &Value) -> Value {
    let body = body.to_string();
    // In one write, so that one read of the hub's brings the whole request.
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {SECRET}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("send");
    let answer = raw::read_answer(stream).await.expect("an answer");
    assert!((200..300).contains(&answer.status), "{path}: {} {}", answer.status, answer.text());
    if answer.body.is_empty() { Value::Null } else { answer.json() }
}

#[tokio::test]
async fn no_answer_leaves_before_its_commit_is_synced() {
    if let Some(why) = untraceable() {
        eprintln!("SKIPPED: {why}");
        return;
    }
    let _turn = turn::shared().await;
    let order = record(Options::default()).await;
    assert!(order.too_early.is_empty(), "of {} answers: {:?}", order.answers, order.too_early);
}
