//! The hub's own TLS, and proxies in front of it.

use forge_tests::{
    agent::{Agent, AgentOptions},
    between::tls::Authority,
    hub::{Hub, Options, SECRET, client_with},
    operate::forge_hub_with,
    raw, turn,
};
use reqwest::{Certificate, Client};
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

struct Secure {
    hub: Hub,
    dir: TempDir,
}

impl Secure {
    async fn start(authority: &Authority) -> Self {
        let dir = TempDir::new().expect("make a folder");
        let secure = |name: &str| dir.path().join(name).display().to_string();
        let (certificate, key) = authority.certify("localhost");
        fs::write(dir.path().join("cert.pem"), certificate).expect("write");
        fs::write(dir.path().join("key.pem"), key).expect("write");
        let options =
            Options::default().env("TLS_CERT", &secure("cert.pem")).env("TLS_KEY", &secure("key.pem"));
        Self { hub: Hub::start(options).await, dir }
    }

    fn replace(&self, certificate: &str, key: &str) {
        fs::write(self.dir.path().join("cert.pem"), certificate).expect("write");
        fs::write(self.dir.path().join("key.pem"), key).expect("write");
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.hub.address().port())
    }

    fn ca_file(&self, authority: &Authority) -> PathBuf {
        let path = self.dir.path().join("ca.pem");
        fs::write(&path, &authority.pem).expect("write");
        path
    }

    /// What the hub says of itself to somebody who trusts this authority.
    async fn health(&self, authority: &Authority) -> reqwest::Result<Value> {
        trusting(authority).get(self.url("/api/health")).send().await?.json().await
    }

    async fn until(&self, authority: &Authority, what: &str, wanted: impl Fn(&Value) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let health = self.health(authority).await;
            if health.as_ref().is_ok_and(&wanted) {
                return;
            }
            assert!(Instant::now() < deadline, "{what}: {health:?}\n{}", self.hub.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// A client of its own each time, so that every call is a new connection.
fn trusting(authority: &Authority) -> Client {
    let _ = client_with(None);
    let certificate = Certificate::from_pem(authority.pem.as_bytes()).expect("a certificate");
    Client::builder().no_proxy().tls_certs_only([certificate]).build().expect("build a client")
}

#[tokio::test]
async fn a_health_check_speaks_tls_to_a_hub_that_does() {
    let _turn = turn::shared().await;
    let secure = Secure::start(&Authority::new("one")).await;
    let port = secure.hub.address().port().to_string();
    let file = |name: &str| secure.dir.path().join(name).display().to_string();
    let (certificate, key) = (file("cert.pem"), file("key.pem"));
    let with_tls = [("PORT", &*port), ("TLS_CERT", &*certificate), ("TLS_KEY", &*key)];
    let database = secure.dir.path().join("unused.sqlite");
    let (well, said) = forge_hub_with(&database, &["health"], &with_tls).await;
    assert!(well && said.contains(r#""status":"ok""#), "{said}");
    let (well, said) = forge_hub_with(&database, &["health"], &with_tls[..1]).await;
    assert!(!well && said.contains("instead of its health"), "{said}");
}

#[tokio::test]
async fn new_certificate_is_taken_up_and_a_bad_one_changes_nothing() {
    let _turn = turn::shared().await;
    let (first, second) = (Authority::new("first"), Authority::new("second"));
    let secure = Secure::start(&first).await;
    assert!(secure.hub.greeting().contains("https://127.0.0.1:"), "{}", secure.hub.greeting());
    assert_eq!(secure.health(&first).await.unwrap()["status"], "ok");
    assert!(secure.health(&second).await.is_err(), "another authority's client does not trust it");
    let installer =
        trusting(&first).get(secure.url("/install.sh")).send().await.unwrap().text().await.unwrap();
    assert!(
        installer.contains(&format!("\nserved_by='{}'\n", secure.url(""))),
        "it knows where it comes from"
    );

    // A stream that is open when the certificate changes.
    let watching = trusting(&first).get(secure.url("/api/jobs/events")).send().await.unwrap();
    assert_eq!(watching.status(), 200);

    let (certificate, key) = second.certify("localhost");
    let (other, _) = first.certify("localhost");
    secure.replace(&other, &key);
    secure
        .until(&first, "a pair that does not match is told", |health| {
            health["problems"][0]["code"] == "tls_certificate"
        })
        .await;
    assert!(secure.hub.log().contains("cannot be used together"), "{}", secure.hub.log());
    secure.replace("nothing", "");
    secure.replace(&certificate, &key);
    secure.until(&second, "the new certificate serves", |health| health["status"] == "ok").await;
    assert!(secure.health(&first).await.is_err());

    let enqueue =
        trusting(&second).post(secure.url("/api/jobs")).bearer_auth(SECRET).json(&json!({"type": "t"}));
    assert_eq!(enqueue.send().await.unwrap().status(), 201);
    let mut seen = String::new();
    let mut watching = watching;
    while !seen.contains("job:created") {
        let chunk =
            tokio::time::timeout(Duration::from_secs(10), watching.chunk()).await.expect("an event in time");
        seen += &String::from_utf8_lossy(&chunk.unwrap().expect("the stream goes on"));
    }
}

#[tokio::test]
async fn agent_works_over_tls_and_cookies_are_for_https_only() {
    let _turn = turn::shared().await;
    let authority = Authority::new("ours");
    let secure = Secure::start(&authority).await;
    let ca = secure.ca_file(&authority).display().to_string();
    let client = trusting(&authority);
    let login = client.post(secure.url("/api/session")).json(&json!({"token": SECRET})).send().await.unwrap();
    let cookie = login.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("; Secure"), "{cookie}");

    let handlers = json!({"t": ["/bin/sh", "-c", "echo 7"]}).to_string();
    let options = AgentOptions::default().env("HUB_CA_FILE", &ca).env("WORKER_HANDLERS", &handlers);
    let _agent = Agent::start_at(&secure.url(""), options);
    let job = client.post(secure.url("/api/jobs")).bearer_auth(SECRET).json(&json!({"type": "t"}));
    let job: Value = job.send().await.unwrap().json().await.unwrap();
    let path = format!("/api/jobs/{}?wait_ms=30000", job["id"].as_str().unwrap());
    let done: Value =
        client.get(secure.url(&path)).bearer_auth(SECRET).send().await.unwrap().json().await.unwrap();
    assert_eq!((&done["status"], &done["result"]), (&json!("completed"), &json!(7)), "{done}");
}

#[tokio::test]
async fn peers_that_do_not_speak_tls_are_told_and_slow_ones_are_dropped() {
    let _turn = turn::shared().await;
    let secure = Secure::start(&Authority::new("ours")).await;
    let address = secure.hub.address();
    let answer =
        raw::exchange(address, b"GET /api/health HTTP/1.1\r\nhost: hub\r\n\r\n").await.expect("an answer");
    assert_eq!(answer.refused(400), "https_required");
    let given_up = async |beginning: &[u8]| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(beginning).await.unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(30), stream.read(&mut [0; 64])).await;
        assert!(matches!(ended.expect("the hub hangs up"), Ok(0) | Err(_)), "half a handshake is given up");
    };
    tokio::join!(given_up(b""), given_up(b"\x16\x03\x01"));
}

#[tokio::test]
async fn hub_does_not_start_with_files_that_are_no_certificate() {
    let _turn = turn::shared().await;
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("cert.pem").display().to_string();
    fs::write(&path, "not a certificate").unwrap();
    for (certificate, why) in
        [(path.as_str(), "holds no certificate"), ("/nowhere.pem", "cannot read TLS_CERT")]
    {
        let options = Options::default().env("TLS_CERT", certificate).env("TLS_KEY", &path);
        let refused = Hub::try_start(options).await.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains(why), "{refused}");
    }
}

/// How many wrong tokens an address may send before it has to wait.
async fn wrong_tokens_until_told_to_wait(hub: &Hub, forwarded: &str) -> usize {
    let client = client_with(None);
    for tried in 0..50 {
        let request =
            client.get(hub.url("/api/jobs")).bearer_auth("wrong").header("x-forwarded-for", forwarded);
        match hub.send(request).await.status {
            401 => {}
            429 => return tried,
            other => panic!("{other}"),
        }
    }
    panic!("wrong tokens are never slowed down");
}

#[tokio::test]
async fn clients_behind_a_trusted_proxy_are_told_apart() {
    let _turn = turn::shared().await;
    let hub = Hub::start(Options::default().env("TRUSTED_PROXIES", "127.0.0.0/8, ::1")).await;
    assert_eq!(wrong_tokens_until_told_to_wait(&hub, "198.51.100.1").await, 10);
    assert_eq!(wrong_tokens_until_told_to_wait(&hub, "198.51.100.2").await, 10, "another client starts anew");
    // What is left of the proxy's own entry was made up by the client.
    let mut made_up = 0;
    while hub
        .send(
            client_with(None)
                .get(hub.url("/api/jobs"))
                .bearer_auth("wrong")
                .header("x-forwarded-for", format!("203.0.113.{made_up}, 198.51.100.3")),
        )
        .await
        .status
        == 401
    {
        made_up += 1;
    }
    assert_eq!(made_up, 10);
    let login = client_with(None).post(hub.url("/api/session")).json(&json!({"token": SECRET}));
    hub.send(login.header("x-forwarded-for", "198.51.100.9")).await.expect(200);
    let audit = hub.get("/api/audit").await.expect(200);
    assert!(audit.to_string().contains("from 198.51.100.9"), "{audit}");
    assert!(hub.log().contains("198.51.100.2"), "the log names the client");

    let hub = Hub::start(Options::default()).await;
    assert_eq!(wrong_tokens_until_told_to_wait(&hub, "198.51.100.1").await, 10);
    assert_eq!(wrong_tokens_until_told_to_wait(&hub, "198.51.100.2").await, 0, "nobody's word is taken");
}
