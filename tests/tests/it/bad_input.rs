//! Requests that nobody should send: each is refused with its own 4xx that names the field,
//! nothing is stored, and the hub lives on.

use forge_tests::{
    hub::{Answer, Hub, SECRET},
    raw, turn,
};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream};

/// One row: what is sent, and which refusal is expected. An empty field means none is at fault.
struct Row {
    method: &'static str,
    path: String,
    body: Vec<u8>,
    status: u16,
    code: &'static str,
    field: &'static str,
}

fn row(
    method: &'static str,
    path: impl Into<String>,
    body: impl Into<Vec<u8>>,
    status: u16,
    code: &'static str,
    field: &'static str,
) -> Row {
    Row { method, path: path.into(), body: body.into(), status, code, field }
}

/// A 400 about a field of a new job.
fn job(body: &str, field: &'static str) -> Row {
    row("POST", "/api/jobs", body, 400, "invalid_field", field)
}

/// A 400 about a field of another call's body.
fn about(path: &str, body: &str, field: &'static str) -> Row {
    row("POST", path, body, 400, "invalid_field", field)
}

fn deep(levels: usize) -> String {
    format!(r#"{{"type":"t","params":{}{}}}"#, "[".repeat(levels), "]".repeat(levels))
}

fn text(field: &str, length: usize) -> String {
    format!(r#"{{"type":"t","{field}":"{}"}}"#, "x".repeat(length))
}

fn malformed() -> Vec<Row> {
    let post = |body: Vec<u8>, code| row("POST", "/api/jobs", body, 400, code, "");
    vec![
        post(b"".to_vec(), "malformed_json"),
        post(b"{".to_vec(), "malformed_json"),
        post(b"{\"type\":\"t\"".to_vec(), "malformed_json"),
        post(b"{\"type\":\"t\"} trailing".to_vec(), "malformed_json"),
        post(b"{'type':'t'}".to_vec(), "malformed_json"),
        post(b"{\"type\":\"t\",}".to_vec(), "malformed_json"),
        post(b"{\"type\":\"\xff\xfe\"}".to_vec(), "malformed_json"),
        post(b"{\"type\":\"t\",\"params\":NaN}".to_vec(), "malformed_json"),
        post(deep(200).into_bytes(), "too_deep"),
        post(deep(100_000).into_bytes(), "too_deep"),
        row("POST", "/api/jobs/claim", "{\"worker_id\":", 400, "malformed_json", ""),
        row("POST", "/api/jobs", "[]", 400, "invalid_field", ""),
        row("POST", "/api/jobs", "\"t\"", 400, "invalid_field", ""),
        row("POST", "/api/jobs/batch", "{}", 400, "invalid_field", ""),
    ]
}

fn new_jobs() -> Vec<Row> {
    vec![
        job("{}", "type"),
        job(r#"{"type":null}"#, "type"),
        job(r#"{"type":7}"#, "type"),
        job(r#"{"type":""}"#, "type"),
        job(r#"{"type":"a\nb"}"#, "type"),
        job(&format!(r#"{{"type":"{}"}}"#, "x".repeat(256)), "type"),
        job(r#"{"type":"t","type":"u"}"#, "type"),
        job(r#"{"type":"t","colour":"red"}"#, "colour"),
        job(r#"{"type":"t","maxAttempts":3}"#, "maxAttempts"),
        job(r#"{"type":"t","priority":32768}"#, "priority"),
        job(r#"{"type":"t","priority":-32769}"#, "priority"),
        job(r#"{"type":"t","priority":1.5}"#, "priority"),
        job(r#"{"type":"t","priority":"high"}"#, "priority"),
        job(r#"{"type":"t","max_attempts":0}"#, "max_attempts"),
        job(r#"{"type":"t","max_attempts":-1}"#, "max_attempts"),
        job(r#"{"type":"t","max_attempts":99999999999}"#, "max_attempts"),
        job(r#"{"type":"t","max_runtime_ms":0}"#, "max_runtime_ms"),
        job(r#"{"type":"t","max_runtime_ms":-5}"#, "max_runtime_ms"),
        job(r#"{"type":"t","max_runtime_ms":1e300}"#, "max_runtime_ms"),
        job(r#"{"type":"t","delay_ms":-1}"#, "delay_ms"),
        job(r#"{"type":"t","delay_ms":9223372036854775807}"#, "delay_ms"),
        job(r#"{"type":"t","run_at":-1}"#, "run_at"),
        job(r#"{"type":"t","run_at":9223372036854775807}"#, "run_at"),
        job(r#"{"type":"t","run_at":"tomorrow"}"#, "run_at"),
        job(r#"{"type":"t","run_at":4000000000000,"delay_ms":5}"#, "delay_ms"),
        job(r#"{"type":"t","expires_at":-1}"#, "expires_at"),
        job(r#"{"type":"t","expires_at":1}"#, "expires_at"),
        job(r#"{"type":"t","id":""}"#, "id"),
        job(r#"{"type":"t","id":"a/b"}"#, "id"),
        job(r#"{"type":"t","id":"a.b"}"#, "id"),
        job(r#"{"type":"t","id":".."}"#, "id"),
        job(r#"{"type":"t","id":"claim"}"#, "id"),
        job(r#"{"type":"t","id":"events"}"#, "id"),
        job(r#"{"type":"t","id":"counts-by-worker"}"#, "id"),
        job(&text("id", 65), "id"),
        job(r#"{"type":"t","id":"ümlaut"}"#, "id"),
        job(r#"{"type":"t","queue":""}"#, "queue"),
        job(r#"{"type":"t","queue":"a/b/c/d"}"#, "queue"),
        job(r#"{"type":"t","queue":"a//b"}"#, "queue"),
        job(r#"{"type":"t","queue":"ns/*"}"#, "queue"),
        job(&text("queue", 256), "queue"),
        job(r#"{"type":"t","tags":"gpu"}"#, "tags"),
        job(r#"{"type":"t","tags":[1]}"#, "tags[0]"),
        job(r#"{"type":"t","tags":[""]}"#, "tags"),
        job(&format!(r#"{{"type":"t","tags":["{}"]}}"#, "x".repeat(1000)), "tags"),
        job(&format!(r#"{{"type":"t","tags":[{}"x"]}}"#, "\"x\",".repeat(10_000)), "tags"),
        job(r#"{"type":"t","idempotency_key":""}"#, "idempotency_key"),
        job(&text("idempotency_key", 10_000), "idempotency_key"),
        job(r#"{"type":"t","solver_url":"https://example.org/x"}"#, "solver_checksum"),
        job(r#"{"type":"t","solver_checksum":"abc"}"#, "solver_checksum"),
        job(&format!(r#"{{"type":"t","solver_checksum":"{}"}}"#, "g".repeat(64)), "solver_checksum"),
        job(
            &format!(r#"{{"type":"t","solver_url":"not a url","solver_checksum":"{}"}}"#, "a".repeat(64)),
            "solver_url",
        ),
        job(
            &format!(
                r#"{{"type":"t","solver_url":"file:///etc/passwd","solver_checksum":"{}"}}"#,
                "a".repeat(64)
            ),
            "solver_url",
        ),
        job(r#"{"type":"t","backoff":{"kind":"slowly"}}"#, "backoff.kind"),
        job(r#"{"type":"t","backoff":{"kind":"fixed","first_ms":-1}}"#, "backoff.first_ms"),
        job(r#"{"type":"t","backoff":{"kind":"exponential","factor":-2.0}}"#, "backoff.factor"),
        job(r#"{"type":"t","backoff":{"kind":"fixed","colour":1}}"#, "backoff.colour"),
        row("POST", "/api/jobs/batch", r#"[{"type":"t"},{"type":""}]"#, 400, "invalid_field", "[1].type"),
        row("POST", "/api/jobs/batch", r#"[{"type":"t"},{"type":"t","x":1}]"#, 400, "invalid_field", "[1].x"),
    ]
}

fn workers() -> Vec<Row> {
    vec![
        about("/api/jobs/claim", "{}", "worker_id"),
        about("/api/jobs/claim", r#"{"worker_id":""}"#, "worker_id"),
        about("/api/jobs/claim", r#"{"worker_id":"a/b"}"#, "worker_id"),
        about("/api/jobs/claim", r#"{"worker_id":".."}"#, "worker_id"),
        about("/api/jobs/claim", &format!(r#"{{"worker_id":"{}"}}"#, "w".repeat(65)), "worker_id"),
        about("/api/jobs/claim", r#"{"worker_id":"w","max":0}"#, "max"),
        about("/api/jobs/claim", r#"{"worker_id":"w","max":-1}"#, "max"),
        about("/api/jobs/claim", r#"{"worker_id":"w","max":1000000}"#, "max"),
        about("/api/jobs/claim", r#"{"worker_id":"w","wait_ms":-1}"#, "wait_ms"),
        about("/api/jobs/claim", r#"{"worker_id":"w","types":"a"}"#, "types"),
        about("/api/jobs/claim", r#"{"worker_id":"w","types":[""]}"#, "types[0]"),
        about("/api/jobs/claim", r#"{"worker_id":"w","queues":["*"]}"#, "queues[0]"),
        about("/api/jobs/j/heartbeat", "{}", "worker_id"),
        about("/api/jobs/j/heartbeat", r#"{"worker_id":"w","phase":"dancing"}"#, "phase"),
        about("/api/jobs/j/heartbeat", r#"{"worker_id":"w","lease_id":"a/b"}"#, "lease_id"),
        about("/api/jobs/j/result", r#"{"worker_id":"w"}"#, "result"),
        about("/api/jobs/j/result", r#"{"worker_id":"w","result":1,"result_hash":""}"#, "result_hash"),
        about("/api/jobs/j/fail", r#"{"worker_id":"w"}"#, "reason"),
        about("/api/jobs/j/fail", r#"{"worker_id":"w","reason":7}"#, "reason"),
        about("/api/jobs/j/fail", r#"{"worker_id":"w","reason":"r","kind":"tired"}"#, "kind"),
        about("/api/jobs/j/fail", r#"{"worker_id":"w","reason":"r","retry_in_ms":-1}"#, "retry_in_ms"),
        about("/api/jobs/j/snooze", r#"{"worker_id":"w","delay_ms":-1}"#, "delay_ms"),
        about("/api/jobs/j/progress", r#"{"worker_id":"w","percent":"half"}"#, "percent"),
        about("/api/jobs/j/progress", r#"{"worker_id":"w","percent":-5}"#, "percent"),
        about("/api/workers/register", r#"{"worker_id":"w","cores":-1}"#, "cores"),
        about("/api/workers/register", r#"{"worker_id":"w","ram_gb":-1}"#, "ram_gb"),
        about("/api/workers/register", r#"{"worker_id":"w","tags":"gpu"}"#, "tags"),
        about("/api/ingest/n", "{}", "timestamp"),
        about("/api/ingest/n", r#"{"timestamp":"now"}"#, "timestamp"),
    ]
}

fn paths_and_queries() -> Vec<Row> {
    let get = |path: &str, code, field| row("GET", path, "", 400, code, field);
    let long = "x".repeat(65);
    vec![
        get("/api/jobs?status=sleeping", "invalid_field", "status"),
        get("/api/jobs?view=pretty", "invalid_field", "view"),
        get("/api/jobs?limit=0", "invalid_field", "limit"),
        get("/api/jobs?limit=-1", "invalid_field", "limit"),
        get("/api/jobs?limit=many", "invalid_field", "limit"),
        get("/api/jobs?limit=1000000000000", "invalid_field", "limit"),
        get("/api/jobs?offset=-1", "invalid_field", "offset"),
        get("/api/jobs?limit=1&limit=2", "invalid_field", "limit"),
        get("/api/jobs?stauts=pending", "invalid_field", "stauts"),
        get("/api/jobs?cursor=nonsense", "invalid_field", "cursor"),
        get("/api/fleet?history=61", "invalid_field", "history"),
        get("/api/jobs?sort=oldest", "invalid_field", "sort"),
        get("/api/jobs?sort=due", "invalid_field", "sort"),
        get("/api/jobs?sort=due&view=retrying&cursor=5", "invalid_field", "cursor"),
        get("/api/jobs?since=yesterday", "invalid_field", "since"),
        get("/api/jobs?queue=a%2F%2Fb", "invalid_field", "queue"),
        get("/api/jobs/a.b", "invalid_id", "id"),
        get("/api/jobs/a%2Fb", "invalid_id", "id"),
        get("/api/jobs/%2e%2e", "invalid_id", "id"),
        get(&format!("/api/jobs/{long}"), "invalid_id", "id"),
        get("/api/jobs/x?wait_ms=-1", "invalid_field", "wait_ms"),
        get("/api/workers/a%2Fb", "invalid_id", "id"),
        row("POST", format!("/api/ingest/{long}"), "{}", 400, "invalid_id", "node_id"),
        get("/api/solvers/nothex", "invalid_id", "sha256"),
        row("PUT", "/api/solvers/abc", "data", 400, "invalid_id", "sha256"),
        row("PUT", format!("/api/solvers/{}", "z".repeat(64)), "data", 400, "invalid_id", "sha256"),
    ]
}

fn people() -> Vec<Row> {
    let patch = |body: &str, field| row("PATCH", "/api/jobs/j", body, 400, "invalid_field", field);
    vec![
        patch(r#"{"priority":99999}"#, "priority"),
        patch(r#"{"status":"completed"}"#, "status"),
        patch(r#"{"run_at":-5}"#, "run_at"),
        about("/api/jobs/bulk", "{}", "action"),
        about("/api/jobs/bulk", r#"{"action":"explode","filter":{}}"#, "action"),
        about("/api/jobs/bulk", r#"{"action":"cancel"}"#, "filter"),
        about("/api/jobs/bulk", r#"{"action":"cancel","filter":{"colour":"red"}}"#, "filter.colour"),
        about("/api/jobs/bulk", r#"{"action":"cancel","filter":{"status":"asleep"}}"#, "filter.status"),
        about("/api/jobs/bulk", r#"{"action":"set_priority","filter":{}}"#, "priority"),
        about("/api/tokens", r#"{"name":"n","scope":"root"}"#, "scope"),
        about("/api/tokens", r#"{"scope":"viewer"}"#, "name"),
        about("/api/tokens", r#"{"name":"","scope":"viewer"}"#, "name"),
        about("/api/tokens", r#"{"name":"n","scope":"viewer","secret":"mine"}"#, "secret"),
    ]
}

fn other() -> Vec<Row> {
    let large = |path: &str, bytes: usize| row("POST", path, text("command", bytes), 413, "too_large", "");
    vec![
        large("/api/jobs", 3 << 20),
        large("/api/jobs/claim", 3 << 20),
        row(
            "POST",
            "/api/jobs",
            format!(r#"{{"type":"t","params":"{}"}}"#, "x".repeat((1 << 20) + 10)),
            413,
            "too_large",
            "params",
        ),
        row("POST", "/api/nothing/here", "{}", 404, "no_such_route", ""),
        row("PUT", "/api/jobs", "{}", 405, "method_not_allowed", ""),
        row("DELETE", "/api/jobs/claim", "", 405, "method_not_allowed", ""),
    ]
}

async fn send(hub: &Hub, row: &Row) -> Answer {
    let mut request = format!(
        "{} {} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {SECRET}\r\nContent-Length: {}\r\n\r\n",
        row.method,
        row.path,
        row.body.len()
    )
    .into_bytes();
    request.extend_from_slice(&row.body);
    raw::exchange(hub.address(), &request)
        .await
        .unwrap_or_else(|| panic!("no answer to {} {}", row.method, row.path))
}

fn judge(row: &Row, answer: &Answer) -> Result<(), String> {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    let field = body.get("field").and_then(Value::as_str).unwrap_or_default();
    let expected = (row.status, row.code, row.field);
    let got = (answer.status, body["code"].as_str().unwrap_or_default(), field);
    let says_why = body["error"].as_str().is_some_and(|text| text.len() > 5);
    if got == expected && says_why {
        return Ok(());
    }
    let sent: String = String::from_utf8_lossy(&row.body).chars().take(90).collect();
    Err(format!(
        "{} {} {sent}\n    expected {expected:?}\n    got {} {}",
        row.method,
        row.path,
        answer.status,
        answer.text()
    ))
}

#[tokio::test]
async fn every_bad_request_is_refused_by_name_and_leaves_nothing() {
    let mut hub = Hub::new().await;
    let rows: Vec<Row> = [malformed(), new_jobs(), workers(), paths_and_queries(), people(), other()]
        .into_iter()
        .flatten()
        .collect();
    assert!(rows.len() >= 60, "only {} rows", rows.len());
    let tokens = hub.get("/api/tokens").await.expect(200);
    let mut wrong = Vec::new();
    for row in &rows {
        let answer = send(&hub, row).await;
        wrong.extend(judge(row, &answer).err());
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert!(hub.is_alive());
    assert_eq!(hub.get("/api/jobs").await.expect(200), json!([]), "nothing was stored");
    assert_eq!(hub.get("/api/workers").await.expect(200), json!([]));
    assert_eq!(hub.get("/api/fleet").await.expect(200), json!([]));
    assert_eq!(hub.get("/api/solvers").await.expect(200), json!([]));
    assert_eq!(hub.get("/api/tokens").await.expect(200), tokens);
    assert!(!hub.log().contains("panicked"), "{}", hub.log());
}

#[tokio::test]
async fn doubled_headers_are_refused() {
    let hub = Hub::new().await;
    let body = r#"{"type":"t"}"#;
    let bearer = format!("Authorization: Bearer {SECRET}\r\n");
    let request = |headers: &str| {
        format!(
            "POST /api/jobs HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\n{headers}\r\n{body}"
        )
    };
    let length = format!("Content-Length: {}\r\n", body.len());
    let keys = "Idempotency-Key: a\r\nIdempotency-Key: b\r\n";
    for (headers, status) in [
        (format!("{bearer}{bearer}{length}"), 400),
        (format!("{bearer}Authorization: Bearer other\r\n{length}"), 400),
        (format!("{bearer}{length}{keys}"), 400),
        (format!("{bearer}{length}Content-Length: 3\r\n"), 400),
        (format!("{bearer}{length}Transfer-Encoding: chunked\r\n"), 400),
    ] {
        let answer = raw::exchange(hub.address(), request(&headers).as_bytes()).await;
        // The parser may also close without an answer on what could be request smuggling.
        if let Some(answer) = answer {
            assert_eq!(answer.status, status, "{headers}: {}", answer.text());
        }
    }
    assert_eq!(hub.get("/api/jobs").await.expect(200), json!([]));
}

#[tokio::test]
async fn too_much_of_a_head_is_refused() {
    let hub = Hub::new().await;
    let many: String = (0..90).map(|n| format!("X-Filler-{n}: 1\r\n")).collect();
    let long = format!("X-Filler: {}\r\n", "x".repeat(100_000));
    for headers in [many, long] {
        let request = format!("GET /api/health HTTP/1.1\r\nHost: hub\r\n{headers}\r\n");
        if let Some(answer) = raw::exchange(hub.address(), request.as_bytes()).await {
            assert!((400..500).contains(&answer.status), "{}", answer.status);
        }
    }
    hub.get("/api/health").await.expect(200);
}

/// The body's own idle timeout is longer than the head's, so this takes some seconds.
#[tokio::test]
async fn a_stalled_request_is_given_up() {
    let _turn = turn::shared().await;
    let hub = Hub::start(Default::default()).await;
    let head = format!(
        "POST /api/jobs HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {SECRET}\r\nContent-Length: 100\r\n\r\n"
    );
    let mut body = TcpStream::connect(hub.address()).await.expect("connect");
    body.write_all(format!("{head}{{\"type\":").as_bytes()).await.expect("send a part");
    let mut headers = TcpStream::connect(hub.address()).await.expect("connect");
    headers.write_all(&head.as_bytes()[..40]).await.expect("send a part");
    let (body, headers) = tokio::join!(raw::read_answer(&mut body), raw::read_answer(&mut headers));
    assert_eq!(body.expect("a stalled body is answered").refused(408), "body_stalled");
    assert!(headers.is_none_or(|answer| answer.status == 408), "a stalled head is closed or answered");
    assert_eq!(hub.get("/api/jobs").await.expect(200), json!([]));
}
