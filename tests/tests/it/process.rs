//! Starting, stopping and refusing to start.

use forge_tests::{
    binary,
    hub::{Hub, Options, database_in},
};
use reqwest::Method;
use serde_json::json;
use std::{fs, sync::Arc, time::Duration};
use tempfile::TempDir;

#[tokio::test]
async fn stopping_answers_long_polls_and_ends_streams() {
    let mut hub = Hub::new().await;
    let request =
        hub.client().post(hub.url("/api/jobs/claim")).json(&json!({"worker_id": "w", "wait_ms": 60_000}));
    let claim = tokio::spawn(request.send());
    let id = hub.enqueue(json!({"type": "t", "run_at": 4_000_000_000_000_i64})).await;
    let waiting = tokio::spawn(hub.client().get(hub.url(&format!("/api/jobs/{id}?wait_ms=60000"))).send());
    let mut streams = Vec::new();
    for path in ["/api/jobs/events", "/api/events?topics=jobs", "/api/fleet/events"] {
        streams.push((path, hub.stream(path).await));
    }
    hub.until_long_polls(2).await;
    let took = hub.stop().await;
    assert!(took < Duration::from_secs(10), "{took:?}");
    let claim = claim.await.expect("no panic").expect("an answer");
    assert_eq!(claim.status(), 204, "a waiting claim is told that there is nothing");
    let waiting = waiting.await.expect("no panic").expect("an answer");
    assert_eq!(waiting.status(), 200, "a waiting reader gets the job as it is");
    for (path, mut stream) in streams {
        let ended = async { while let Ok(Some(_)) = stream.next().await {} };
        tokio::time::timeout(Duration::from_secs(2), ended)
            .await
            .unwrap_or_else(|_| panic!("{path} did not end"));
    }
}

#[tokio::test]
async fn a_second_hub_on_the_same_database_refuses() {
    let mut hub = Hub::new().await;
    let second = Hub::try_start(Options::default().dir(hub.dir())).await;
    let error = second.err().expect("the second hub refuses").to_string();
    assert!(error.to_lowercase().contains("another hub"), "it says why: {error}");
    assert!(hub.is_alive());
    hub.enqueue(json!({"type": "t"})).await;
    // A killed hub leaves no lock behind.
    hub.restart().await;
}

#[tokio::test]
async fn a_newer_foreign_or_damaged_database_is_refused() {
    let mut hub = Hub::new().await;
    hub.enqueue(json!({"type": "t"})).await;
    hub.stop().await;
    let good = fs::read(hub.database()).expect("read the database");
    let refused = async |bytes: &[u8], words: &[&str]| {
        let dir = Arc::new(TempDir::new().expect("make a folder"));
        fs::write(database_in(dir.path()), bytes).expect("write a database");
        let error =
            Hub::try_start(Options::default().dir(dir.clone())).await.err().expect("it refuses").to_string();
        let lower = error.to_lowercase();
        assert!(words.iter().any(|word| lower.contains(word)), "none of {words:?} in: {error}");
        assert!(!lower.contains("panicked"), "{error}");
        assert_eq!(fs::read(database_in(dir.path())).expect("read it"), bytes, "the file is left as it was");
    };
    // The header's user_version is at 60, application_id at 68.
    let mut newer = good.clone();
    newer[60..64].copy_from_slice(&1_000_000_u32.to_be_bytes());
    refused(&newer, &["newer"]).await;
    let mut foreign = good.clone();
    foreign[68..72].copy_from_slice(&0x1234_5678_u32.to_be_bytes());
    refused(&foreign, &["not a forge", "another program", "not ours", "not one of"]).await;
    let mut damaged = good.clone();
    damaged[..16].copy_from_slice(b"not a database!!");
    refused(&damaged, &["not a database", "damaged", "not a forge"]).await;
    refused(b"just some text that was here before", &["not a database", "damaged", "not a forge"]).await;
    let mut schema = good;
    schema[100..160].fill(0xff);
    refused(&schema, &["damaged", "malformed", "not a database"]).await;
}

#[tokio::test]
async fn a_restart_keeps_jobs_nodes_drains_and_leases() {
    let mut hub = Hub::new().await;
    let id = hub.enqueue(json!({"type": "t", "params": {"n": 1.50}})).await;
    let claimed = hub.claim("w").await;
    hub.post("/api/workers/register", json!({"worker_id": "drained", "cores": 8, "tags": ["gpu"]}))
        .await
        .expect(204);
    hub.post("/api/workers/drained/drain", json!({})).await;
    let snapshot = json!({
        "timestamp": 1, "cpu": 12.5, "cpuCores": [12.5], "memory": {"percent": 1.0, "used": 1.0, "total": 2.0},
        "disk": {"read": 0.0, "write": 0.0}, "network": {"rx": 0.0, "tx": 0.0},
        "load": {"avg1": 0.0, "avg5": 0.0, "avg15": 0.0}, "unknown": true
    });
    hub.post("/api/ingest/node-1", snapshot).await.expect(204);
    let token = hub.token("viewer").await.1;

    hub.stop().await;
    hub.restart().await;
    let job = hub.job(&id).await;
    assert_eq!((&job["status"], &job["worker_id"]), (&json!("assigned"), &json!("w")));
    let worker = hub.get("/api/workers/drained").await.expect(200);
    assert_eq!((&worker["draining"], &worker["cores"]), (&json!(true), &json!(8)));
    let fleet = hub.get("/api/fleet").await.expect(200);
    assert_eq!(fleet[0]["id"], "node-1");
    assert_eq!(hub.call_as(Some(&token), Method::GET, "/api/fleet", None).await.status, 200);
    let beat = json!({"worker_id": "w", "lease_id": claimed["lease_id"]});
    hub.post(&format!("/api/jobs/{id}/heartbeat"), beat).await.expect(204);
}

#[tokio::test]
async fn without_a_secret_the_hub_makes_one_and_keeps_it_to_itself() {
    use std::os::unix::fs::PermissionsExt;
    let mut hub = Hub::start(Options::default().without("FORGE_INGEST_SECRET")).await;
    assert_eq!(hub.call_as(None, Method::GET, "/api/jobs", None).await.status, 401, "it never runs open");
    let secret_files: Vec<_> = fs::read_dir(hub.dir().path())
        .expect("list the folder")
        .flatten()
        .filter(|entry| {
            entry.file_name().to_string_lossy().contains("secret")
                || entry.file_name().to_string_lossy().contains("token")
        })
        .collect();
    assert_eq!(secret_files.len(), 1, "one file beside the database holds it");
    let mode = secret_files[0].metadata().expect("its mode").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let secret = fs::read_to_string(secret_files[0].path()).expect("read it").trim().to_owned();
    assert!(secret.len() >= 32, "{} characters", secret.len());
    assert_eq!(hub.call_as(Some(&secret), Method::GET, "/api/jobs", None).await.status, 200);
    assert_eq!(hub.log().matches(&secret).count(), 0, "it is not logged");
    let shown = hub.greeting().matches(&secret).count();
    assert!(shown > 0, "the first start shows it");
    hub.restart().await;
    assert_eq!(hub.call_as(Some(&secret), Method::GET, "/api/jobs", None).await.status, 200);
    assert_eq!(hub.greeting().matches(&secret).count(), shown, "a later start does not show it");
}

#[tokio::test]
async fn help_documents_every_setting() {
    let output = tokio::process::Command::new(forge_tests::binary::hub())
        .arg("--help")
        .output()
        .await
        .expect("run it");
    assert!(output.status.success());
    let help = String::from_utf8_lossy(&output.stdout);
    for name in [
        "HOST",
        "PORT",
        "SQLITE_PATH",
        "FORGE_INGEST_SECRET",
        "LOG_LEVEL",
        "CORS_ORIGINS",
        "HUB_PUBLIC_EVENTS",
    ] {
        assert!(help.contains(name), "{name} is not in:\n{help}");
    }
}

#[tokio::test]
async fn the_log_is_json_when_nobody_is_at_a_terminal() {
    let mut hub = Hub::new().await;
    let id = hub.enqueue(json!({"type": "t"})).await;
    let job = hub.claim("w").await;
    let result = json!({"worker_id": "w", "lease_id": job["lease_id"], "result": 1});
    hub.post(&format!("/api/jobs/{id}/result"), result).await.expect(200);
    hub.stop().await;
    let log = hub.log();
    for line in log.lines() {
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(line);
        assert!(parsed.is_ok_and(|value| value.is_object()), "not JSON: {line}");
    }
    assert!(
        log.lines().filter(|line| line.contains(&id)).count() >= 3,
        "created, claimed, completed:\n{log}"
    );
}

#[tokio::test]
async fn every_program_and_the_hub_tell_version_and_commit() {
    for (name, path) in
        [("forge-hub", binary::hub()), ("forge-agent", binary::agent()), ("queuectl", binary::queuectl())]
    {
        let said = std::process::Command::new(path).arg("--version").output().expect("run it").stdout;
        let said = String::from_utf8(said).expect("text");
        let begins = format!("{name} {} (", env!("CARGO_PKG_VERSION"));
        assert!(said.starts_with(&begins) && said.ends_with(")\n"), "{said}");
    }
    let hub = Hub::new().await;
    let health = hub.get("/api/health").await.expect(200);
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    assert!(health["commit"].as_str().is_some_and(|commit| !commit.is_empty()), "{health}");
}
