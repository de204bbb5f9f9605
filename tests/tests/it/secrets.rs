//! Every field that a caller can fill gets a word found nowhere else; none of them may come out
//! where strangers or operators' tools read.

use forge_tests::{
    hub::{Hub, Options, SECRET, client_with},
    sse::Stream,
    turn,
};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;

/// A word for each field, so that a leak names its source.
fn canary(field: &str) -> String {
    format!("canary-{field}-7f3a")
}

const MARK: &str = "-7f3a";

/// Whatever the hub says to people without a token, in metrics or in errors.
#[derive(Default)]
struct Heard(Vec<(String, String)>);

impl Heard {
    fn note(&mut self, from: impl Into<String>, text: impl Into<String>) {
        self.0.push((from.into(), text.into()));
    }

    fn leaks(&self, words: &[&str]) -> Vec<String> {
        let mut leaks = Vec::new();
        for (from, text) in &self.0 {
            for word in words {
                if let Some(at) = text.find(word) {
                    let start = text[..at].char_indices().rev().nth(60).map_or(0, |(at, _)| at);
                    leaks.push(format!("{from}: ...{}", text[start..].chars().take(120).collect::<String>()));
                }
            }
        }
        leaks
    }
}

fn job() -> Value {
    json!({
        "type": "plain", "params": {"p": canary("params")}, "tags": [canary("tag")], "command": canary("command"),
        "solver_url": format!("https://user:{}@example.org/{}", canary("solver-password"), canary("solver-path")),
        "solver_checksum": "a".repeat(64), "idempotency_key": canary("key"), "backoff": {"kind": "none"},
    })
}

async fn live_through_everything(hub: &Hub, heard: &mut Heard) {
    let worker = canary("worker");
    let id = hub.enqueue(job()).await;
    let register = json!({
        "worker_id": worker, "name": canary("worker-name"), "hostname": canary("hostname"), "tags": [canary("worker-tag")],
        "version": canary("version"), "boot_id": canary("boot"),
    });
    hub.post("/api/workers/register", register).await.expect(204);
    let claim = json!({"worker_id": worker, "claim_id": canary("claim"), "boot_id": canary("boot")});
    let claimed = hub.post("/api/jobs/claim", claim.clone()).await.expect(200);
    let path = |what: &str| format!("/api/jobs/{id}/{what}");
    let with = |job: &Value, extra: Value| {
        let mut body = json!({"worker_id": worker, "lease_id": job["lease_id"]});
        body.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        body
    };
    hub.post(&path("heartbeat"), with(&claimed, json!({}))).await.expect(204);
    hub.post(&path("progress"), with(&claimed, json!({"message": canary("progress")}))).await;
    let lease = claimed["lease_id"].as_str().expect("a lease");
    let logs = path(&format!("logs?worker_id={worker}&lease_id={lease}&offset=0"));
    hub.send(hub.client().post(hub.url(&logs)).body(canary("log-text"))).await;
    let failure = json!({
        "reason": canary("reason"), "error_class": canary("error-class"), "backtrace": canary("backtrace"),
        "retry_in_ms": 0, "usage": {"u": canary("usage")},
    });
    hub.post(&path("fail"), with(&claimed, failure)).await.expect(200);
    let mut again = claim;
    again["claim_id"] = json!(canary("claim-again"));
    let again = hub.post("/api/jobs/claim", again).await.expect(200);
    let result = with(&again, json!({"result": {"r": canary("result")}, "result_hash": canary("hash")}));
    let request =
        hub.client().post(hub.url(&path("result"))).header("X-Idempotency-Key", canary("result-key"));
    hub.send(request.json(&result)).await.expect(200);
    let mut other = result;
    other["result"] = json!({"r": canary("other-result")});
    other["result_hash"] = json!(canary("other-hash"));
    heard.note("a different result", hub.post(&path("result"), other).await.text());

    let snapshot = json!({
        "timestamp": 1, "cpu": 1.0, "memory": {"percent": 1.0, "used": 1.0, "total": 1.0},
        "disk": {"read": 0.0, "write": 0.0}, "network": {"rx": 0.0, "tx": 0.0},
        "load": {"avg1": 0.0, "avg5": 0.0, "avg15": 0.0}, "extra": canary("snapshot"),
    });
    let push =
        hub.client().post(hub.url("/api/ingest/plain-node")).header("X-Node-Name", canary("node-name"));
    hub.send(push.json(&snapshot)).await.expect(204);
    let made = hub.post("/api/tokens", json!({"name": canary("token-name"), "scope": "viewer"})).await;
    assert_eq!(made.status, 201, "{}", made.text());
}

/// Requests that are refused, with a secret in the place that is at fault.
async fn provoke_errors(hub: &Hub, heard: &mut Heard) {
    let bodies = [
        json!({"type": {"t": canary("bad-type")}}),
        json!({"type": "t", "priority": canary("bad-priority")}),
        json!({"type": "t", "id": format!("{}/..", canary("bad-id"))}),
        json!({"type": "t", "solver_checksum": canary("bad-checksum")}),
        json!({"type": "t", "backoff": {"kind": canary("bad-kind")}}),
        json!({"type": "t", "params": {"x": canary("changed")}, "idempotency_key": canary("key")}),
    ];
    for body in bodies {
        let answer = hub.post("/api/jobs", body).await;
        assert!((400..500).contains(&answer.status), "{}", answer.text());
        heard.note("a refused job", answer.text());
    }
    let broken = format!("{{\"type\": \"t\", \"params\": {{\"x\": \"{}\"", canary("broken"));
    heard.note("broken JSON", hub.send(hub.client().post(hub.url("/api/jobs")).body(broken)).await.text());
    for path in ["/api/jobs?status=", "/api/jobs?cursor=", "/api/jobs?q=", "/api/nothing?x="] {
        heard.note(path, hub.get(&format!("{path}{}", canary("in-query"))).await.text());
    }
    let wrong = canary("wrong-token");
    heard.note("a wrong token", hub.call_as(Some(&wrong), Method::GET, "/api/jobs", None).await.text());
    let session = json!({"token": canary("wrong-login")});
    heard.note("a wrong login", hub.call_as(None, Method::POST, "/api/session", Some(&session)).await.text());
}

#[tokio::test]
async fn what_callers_send_stays_out_of_logs_events_metrics_and_errors() {
    let _turn = turn::shared().await;
    let mut hub = Hub::start(Options::default().env("LOG_LEVEL", "debug")).await;
    let anybody = client_with(None);
    let mut events =
        Stream::open(&anybody, &hub.url("/api/jobs/events"), None).await.expect("the public stream");
    let mut heard = Heard::default();
    live_through_everything(&hub, &mut heard).await;
    provoke_errors(&hub, &mut heard).await;
    heard.note("/metrics", hub.get("/metrics").await.text());
    heard.note("/api/health", hub.call_as(None, Method::GET, "/api/health", None).await.text());
    loop {
        let message = events.within(Duration::from_secs(10)).await;
        heard.note("the public stream", format!("{message:?}"));
        if message.event.as_deref() == Some("job:completed") {
            break;
        }
    }
    hub.stop().await;
    heard.note("the log", hub.log());
    // A worker's id is a name, not a secret: operators must find it in the log. Events, metrics
    // and errors have no business with it.
    let named = canary("worker");
    for (from, text) in &mut heard.0 {
        if from == "the log" {
            *text = text.replace(&format!("\"{named}\""), "\"\"");
        }
    }
    let leaks = heard.leaks(&[MARK]);
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}

#[tokio::test]
async fn tokens_are_shown_once_and_never_again() {
    let _turn = turn::shared().await;
    let mut hub = Hub::start(Options::default().env("LOG_LEVEL", "debug")).await;
    let mut secrets = vec![SECRET.to_owned()];
    for scope in ["producer", "worker", "viewer", "admin"] {
        secrets.push(hub.token(scope).await.1);
    }
    let login = hub.call_as(None, Method::POST, "/api/session", Some(&json!({"token": secrets[4]}))).await;
    let cookie = login.header("set-cookie").unwrap_or_default().to_owned();
    if login.status < 300 {
        for attribute in ["HttpOnly", "SameSite=Strict"] {
            assert!(cookie.contains(attribute), "{attribute} in {cookie}");
        }
        let value = cookie.split(['=', ';']).nth(1).unwrap_or_default();
        assert!(value.len() >= 32, "a session's cookie cannot be guessed");
        secrets.push(value.to_owned());
    }
    let mut heard = Heard::default();
    for token in secrets.iter().take(5) {
        for path in [
            "/api/tokens",
            "/api/audit",
            "/api/jobs",
            "/api/workers",
            "/metrics",
            "/api/session",
            "/api/openapi.json",
        ] {
            heard.note(path, hub.call_as(Some(token), Method::GET, path, None).await.text());
        }
    }
    hub.stop().await;
    heard.note("the log", hub.log());
    for file in std::fs::read_dir(hub.dir().path()).expect("list the folder").flatten() {
        if file.file_type().is_ok_and(|kind| kind.is_file()) {
            let bytes = std::fs::read(file.path()).expect("read the file");
            heard.note(file.file_name().to_string_lossy(), String::from_utf8_lossy(&bytes));
        }
    }
    let words: Vec<&str> = secrets.iter().map(String::as_str).collect();
    assert_eq!(heard.leaks(&words), [""; 0]);
}
