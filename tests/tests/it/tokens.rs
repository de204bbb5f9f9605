//! Who may call what. The API's own description says which scopes each operation takes; the hub
//! is held to it with every kind of token on every route.

use forge_tests::hub::{Hub, client_with};
use reqwest::Method;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
/// Needs no token, as the documentation lists them.
const PUBLIC: [&str; 9] = [
    "GET /api/health",
    "GET /api/ready",
    "GET /api/jobs/events",
    "GET /api/openapi.json",
    "GET /api/docs",
    "POST /api/session",
    "GET /install.sh",
    "GET /api/downloads",
    "GET /downloads/{name}",
];

struct Operation {
    method: Method,
    path: String,
    /// Scopes that may call it; empty when everybody may.
    scopes: BTreeSet<String>,
    public: bool,
}

impl Operation {
    fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// With something in place of each `{parameter}`.
    fn example(&self) -> String {
        let mut path = String::new();
        for part in self.path.split_inclusive('}') {
            match part.split_once('{') {
                Some((before, "sha256}")) => path += &format!("{before}{}", "a".repeat(64)),
                Some((before, _)) => path += &format!("{before}example"),
                None => path += part,
            }
        }
        path
    }

    /// The scopes, when the description says them in a form that can be read.
    fn read(method: &str, path: &str, operation: &Value) -> Result<Self, String> {
        let method: Method =
            method.to_uppercase().parse().map_err(|_| format!("{method} {path}: no method"))?;
        let Some(security) = operation.get("security").and_then(Value::as_array) else {
            return Err(format!("{method} {path} declares no security"));
        };
        if security.is_empty() {
            return Err(format!("{method} {path} has an empty security list; a public route says [{{}}]"));
        }
        let public = security.iter().any(|way| way.as_object().is_some_and(serde_json::Map::is_empty));
        let scopes: BTreeSet<String> = security
            .iter()
            .filter_map(Value::as_object)
            .flat_map(|way| way.values())
            .filter_map(Value::as_array)
            .flatten()
            .filter_map(|scope| scope.as_str().map(str::to_owned))
            .collect();
        if !public && scopes.is_empty() {
            return Err(format!("{method} {path} wants a token but names no scope: {security:?}"));
        }
        Ok(Self { method, path: path.to_owned(), scopes, public })
    }
}

async fn operations(hub: &Hub) -> Vec<Operation> {
    let document = hub.get("/api/openapi.json").await.expect(200);
    let mut operations = Vec::new();
    let mut wrong = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                match Operation::read(method, path, operation) {
                    Ok(operation) => operations.push(operation),
                    Err(why) => wrong.push(why),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(operations.len() > 40, "only {} operations are described", operations.len());
    operations
}

/// The status alone: a stream's body would never end.
async fn status(hub: &Hub, token: Option<&str>, operation: &Operation) -> u16 {
    let mut request = client_with(token).request(operation.method.clone(), hub.url(&operation.example()));
    if operation.method != Method::GET && operation.method != Method::DELETE {
        // Nothing that any route accepts: whoever gets past the door is stopped by this.
        request = request.header("content-type", "application/json").body("\"nothing\"");
    }
    let response = tokio::time::timeout(Duration::from_secs(20), request.send()).await;
    response
        .unwrap_or_else(|_| panic!("{} did not answer", operation.name()))
        .expect("an answer")
        .status()
        .as_u16()
}

#[tokio::test]
async fn only_the_listed_routes_are_public() {
    let hub = Hub::new().await;
    for operation in operations(&hub).await {
        let name = operation.name();
        // The documentation's page and what it is made of.
        let listed = PUBLIC.contains(&name.as_str()) || name.starts_with("GET /api/docs/");
        assert_eq!(operation.public, listed, "{}", operation.name());
    }
}

#[tokio::test]
async fn every_route_keeps_to_its_scopes_with_every_kind_of_token() {
    let hub = Hub::new().await;
    let mut tokens: Vec<(&str, Option<String>)> =
        vec![("none", None), ("garbage", Some("garbage".to_owned()))];
    for scope in ["producer", "worker", "viewer", "admin"] {
        tokens.push((scope, Some(hub.token(scope).await.1)));
    }
    let (revoked_id, revoked) = hub.token("admin").await;
    hub.delete(&format!("/api/tokens/{revoked_id}")).await.expect(204);
    tokens.push(("revoked", Some(revoked)));
    // The worker's token belongs to the first worker that uses it.
    let claim = json!({"worker_id": "example"});
    let worker = tokens.iter().find(|(kind, _)| *kind == "worker").and_then(|(_, token)| token.clone());
    hub.call_as(worker.as_deref(), Method::POST, "/api/jobs/claim", Some(&claim)).await.expect(204);

    let mut wrong = Vec::new();
    for operation in operations(&hub).await {
        for (kind, token) in &tokens {
            // A wrong token is answered slowly on purpose; a login is tried elsewhere.
            if operation.path == "/api/session" {
                continue;
            }
            let got = status(&hub, token.as_deref(), &operation).await;
            let known = !matches!(*kind, "none" | "garbage" | "revoked");
            let fits = if operation.public {
                got != 401 && got != 403
            } else if !known {
                // Whoever guesses is slowed down by and by.
                got == 401 || (got == 429 && *kind != "none")
            } else if operation.scopes.contains(*kind) || *kind == "admin" {
                // A worker's token also answers 403 for what another worker holds.
                got != 401 && (got != 403 || *kind == "worker")
            } else {
                got == 403
            };
            if !fits || got >= 500 {
                wrong.push(format!(
                    "{} with {kind} answered {got}; its scopes: {:?}",
                    operation.name(),
                    operation.scopes
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn scopes_mean_what_they_say() {
    let hub = Hub::new().await;
    let producer = hub.token("producer").await.1;
    let viewer = hub.token("viewer").await.1;
    let worker = hub.token("worker").await.1;
    let job = json!({"type": "t"});
    let call = async |token: &str, method: Method, path: &str, body: Option<&Value>| {
        hub.call_as(Some(token), method, path, body).await.status
    };
    assert_eq!(call(&producer, Method::POST, "/api/jobs", Some(&job)).await, 201);
    assert_eq!(call(&viewer, Method::POST, "/api/jobs", Some(&job)).await, 403);
    assert_eq!(call(&worker, Method::POST, "/api/jobs", Some(&job)).await, 403);
    assert_eq!(call(&viewer, Method::GET, "/api/jobs", None).await, 200);
    assert_eq!(call(&worker, Method::GET, "/api/jobs", None).await, 403);
    assert_eq!(
        call(&producer, Method::POST, "/api/tokens", Some(&json!({"name": "n", "scope": "admin"}))).await,
        403
    );
    // A worker's token is bound to the first id that uses it.
    let claim = |name: &str| json!({"worker_id": name});
    assert_eq!(call(&worker, Method::POST, "/api/jobs/claim", Some(&claim("one"))).await, 200);
    assert_eq!(call(&worker, Method::POST, "/api/jobs/claim", Some(&claim("two"))).await, 403);
    // It sees itself, and no other worker.
    for name in ["one", "two"] {
        hub.post("/api/workers/register", json!({"worker_id": name})).await.expect(204);
    }
    assert_eq!(call(&worker, Method::GET, "/api/workers/one", None).await, 200);
    assert_eq!(call(&worker, Method::GET, "/api/workers/two", None).await, 404);
    assert_eq!(call(&worker, Method::GET, "/api/workers", None).await, 403);
    // It cannot finish what another worker holds, nor read it.
    let other = hub.enqueue(json!({"type": "t"})).await;
    let held = hub.claim("other").await;
    let result = json!({"worker_id": "other", "lease_id": held["lease_id"], "result": 1});
    let stolen = call(&worker, Method::POST, &format!("/api/jobs/{other}/result"), Some(&result)).await;
    assert!(matches!(stolen, 403 | 409), "{stolen}");
    let read = call(&worker, Method::GET, &format!("/api/jobs/{other}"), None).await;
    assert!(matches!(read, 403 | 404), "{read}");
    assert_eq!(hub.job(&other).await["status"], "assigned");
}

#[tokio::test]
async fn revoking_closes_streams_and_long_polls_at_once() {
    let hub = Hub::new().await;
    let (viewer_id, viewer) = hub.token("viewer").await;
    let (worker_id, worker) = hub.token("worker").await;
    let url = hub.url("/api/events?topics=jobs");
    let mut stream =
        forge_tests::sse::Stream::open(&client_with(Some(&viewer)), &url, None).await.expect("a stream");
    let claim = client_with(Some(&worker)).post(hub.url("/api/jobs/claim"));
    let waiting = tokio::spawn(claim.json(&json!({"worker_id": "w", "wait_ms": 60_000})).send());
    hub.get("/api/health").await.expect(200);
    hub.delete(&format!("/api/tokens/{viewer_id}")).await.expect(204);
    hub.delete(&format!("/api/tokens/{worker_id}")).await.expect(204);
    let ended = async { while let Ok(Some(_)) = stream.next().await {} };
    tokio::time::timeout(Duration::from_secs(5), ended).await.expect("the stream is closed");
    let answer =
        tokio::time::timeout(Duration::from_secs(5), waiting).await.expect("the long poll is answered");
    let status = answer.expect("no panic").map(|response| response.status().as_u16()).unwrap_or(401);
    assert!(matches!(status, 204 | 401), "{status}");
    assert_eq!(hub.call_as(Some(&viewer), Method::GET, "/api/jobs", None).await.status, 401);
}

#[tokio::test]
async fn an_administrator_s_writes_are_on_record() {
    let hub = Hub::new().await;
    let (id, _) = hub.token("viewer").await;
    let job = hub.enqueue(json!({"type": "t"})).await;
    hub.post(&format!("/api/jobs/{job}/kill"), json!({})).await.expect(200);
    hub.delete(&format!("/api/tokens/{id}")).await.expect(204);
    let log = hub.get("/api/audit").await.expect(200);
    let text = log.to_string();
    for expected in [&id, &job] {
        assert!(text.contains(expected.as_str()), "{expected} in {text}");
    }
    assert!(text.contains("\"actor\":\"admin\""), "{text}");
}
