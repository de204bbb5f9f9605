//! Backups of a hub that is busy, and what becomes of them.

use data_encoding::HEXLOWER;
use forge_tests::{
    hub::{Hub, Options, database_in},
    operate::{forge_hub, forge_hub_with},
    sse::Stream,
    turn,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tempfile::TempDir;

const PRODUCERS: usize = 4;

/// What the hub has acknowledged so far.
#[derive(Clone, Default)]
struct Acknowledged {
    added: Arc<Mutex<Vec<String>>>,
    completed: Arc<Mutex<Vec<String>>>,
}

impl Acknowledged {
    fn added(&self) -> Vec<String> {
        self.added.lock().expect("nobody panics with the lock").clone()
    }

    fn completed(&self) -> Vec<String> {
        self.completed.lock().expect("nobody panics with the lock").clone()
    }

    async fn until(&self, added: usize, completed: usize) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.added().len() < added || self.completed().len() < completed {
            assert!(Instant::now() < deadline, "the hub takes too few jobs");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Producers and a worker that go on until they are aborted.
fn load(hub: &Hub, acknowledged: &Acknowledged) -> Vec<tokio::task::JoinHandle<()>> {
    let mut tasks = Vec::new();
    for _ in 0..PRODUCERS {
        let (client, url, noted) = (hub.client().clone(), hub.url("/api/jobs"), acknowledged.added.clone());
        tasks.push(tokio::spawn(async move {
            loop {
                let job = json!({"type": "t", "params": {"text": "x".repeat(2_000)}});
                let answer = client.post(&url).json(&job).send().await.expect("an answer");
                assert_eq!(answer.status(), 201);
                let id =
                    answer.json::<Value>().await.expect("JSON")["id"].as_str().expect("an id").to_owned();
                noted.lock().expect("nobody panics with the lock").push(id);
            }
        }));
    }
    let (client, base, noted) = (hub.client().clone(), hub.url("/api/jobs"), acknowledged.completed.clone());
    tasks.push(tokio::spawn(async move {
        loop {
            let claim = json!({"worker_id": "w", "wait_ms": 1_000});
            let answer = client.post(format!("{base}/claim")).json(&claim).send().await.expect("an answer");
            if answer.status() != 200 {
                continue;
            }
            let job: Value = answer.json().await.expect("JSON");
            let id = job["id"].as_str().expect("an id").to_owned();
            let result = json!({"worker_id": "w", "lease_id": job["lease_id"], "result": 1});
            let answer =
                client.post(format!("{base}/{id}/result")).json(&result).send().await.expect("an answer");
            assert_eq!(answer.status(), 200);
            noted.lock().expect("nobody panics with the lock").push(id);
        }
    }));
    tasks
}

fn only_backup_in(folder: &Path) -> PathBuf {
    let mut found: Vec<_> =
        fs::read_dir(folder).expect("list").map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[tokio::test]
async fn backup_of_a_busy_hub_has_every_acknowledged_job_and_watchers_start_over() {
    let hub = Hub::new().await;
    let solver = b"#!/bin/sh\necho 1\n".to_vec();
    let checksum = HEXLOWER.encode(&Sha256::digest(&solver));
    hub.send(hub.client().put(hub.url(&format!("/api/solvers/{checksum}"))).body(solver)).await.expect(201);
    let logged = hub.enqueue(json!({"type": "logged"})).await;
    let job = hub.post("/api/jobs/claim", json!({"worker_id": "l"})).await.expect(200);
    let lease = job["lease_id"].as_str().expect("a lease");
    let log = format!("/api/jobs/{logged}/logs?worker_id=l&lease_id={lease}&offset=0");
    hub.send(hub.client().post(hub.url(&log)).body("a line\n")).await.expect(200);

    let acknowledged = Acknowledged::default();
    let tasks = load(&hub, &acknowledged);
    acknowledged.until(300, 100).await;
    let (added, completed) = (acknowledged.added(), acknowledged.completed());
    let folder = TempDir::new().unwrap();
    let (well, said) = forge_hub(&hub.database(), &["backup", "--to", text(folder.path())]).await;
    assert!(well, "{said}");
    acknowledged.until(acknowledged.added().len() + 50, 0).await;
    for task in &tasks {
        task.abort();
    }
    let seen = hub.stream("/api/jobs/events").await.next().await.unwrap().expect("where the stream begins");
    let (seen_epoch, last_id) = (seen.position().map(|(epoch, _)| epoch), seen.id.expect("an id"));

    let backup = only_backup_in(folder.path());
    assert!(said.contains(text(&backup)) && said.contains("forge-hub restore"), "{said}");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&backup), 0o700);
    for name in ["database.sqlite", "side.sqlite", "manifest.json"] {
        assert_eq!(mode(&backup.join(name)), 0o600, "{name}");
    }
    assert!(!backup.join("secret").exists());

    let elsewhere = Arc::new(TempDir::new().unwrap());
    let (well, said) = forge_hub(&database_in(elsewhere.path()), &["restore", text(&backup)]).await;
    assert!(well && said.contains("Watchers will start over"), "{said}");
    let restored = Hub::start(Options::default().dir(elsewhere.clone())).await;
    for id in &added {
        let answer = restored.get(&format!("/api/jobs/{id}")).await;
        assert_eq!(answer.status, 200, "{id} was acknowledged before the backup began");
    }
    for id in &completed {
        assert_eq!(restored.job(id).await["status"], "completed");
    }
    assert_eq!(restored.get(&format!("/api/jobs/{logged}/logs")).await.text(), "a line\n");
    let solvers = restored.get("/api/solvers").await.expect(200);
    assert_eq!(solvers[0]["sha256"], json!(checksum));

    let mut stream =
        Stream::open(restored.client(), &restored.url("/api/jobs/events"), Some(&last_id)).await.unwrap();
    // A position in the old log means nothing in this one.
    let reset = stream.until("reset").await;
    assert_ne!(reset.position().map(|(epoch, _)| epoch), seen_epoch);
    let id = restored.enqueue(json!({"type": "after"})).await;
    assert_eq!(restored.job(&id).await["status"], "pending");
}

#[tokio::test]
async fn restoring_checks_first_and_overwrites_nothing_unasked() {
    let mut hub = Hub::new().await;
    let first = hub.enqueue(json!({"type": "first"})).await;
    let folder = TempDir::new().unwrap();
    let database = hub.database();
    let (well, said) = forge_hub(&database, &["backup", "--to", text(folder.path()), "--with-secret"]).await;
    assert!(well, "{said}");
    let backup = only_backup_in(folder.path());
    let second = hub.enqueue(json!({"type": "second"})).await;

    let refused = async |words: &[&str], why: &str| {
        let (well, said) = forge_hub(&database, words).await;
        assert!(!well && said.contains(why), "{said}");
    };
    refused(&["restore", text(&backup)], "already served by another hub; stop that one first").await;
    hub.stop().await;
    refused(&["restore", text(&backup)], "is there already; restore to another path, or add --force").await;
    refused(&["restore", text(folder.path())], "is not a whole backup").await;

    // One wrong byte, in a copy of the backup.
    let damaged = TempDir::new().unwrap();
    for name in ["database.sqlite", "side.sqlite", "manifest.json"] {
        fs::copy(backup.join(name), damaged.path().join(name)).unwrap();
    }
    let mut bytes = fs::read(damaged.path().join("database.sqlite")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(damaged.path().join("database.sqlite"), bytes).unwrap();
    refused(&["restore", text(damaged.path()), "--force"], "is damaged: its checksum is not the one").await;
    fs::remove_file(damaged.path().join("side.sqlite")).unwrap();
    fs::copy(backup.join("database.sqlite"), damaged.path().join("database.sqlite")).unwrap();
    refused(&["restore", text(damaged.path()), "--force"], "is missing from the backup").await;
    fs::write(damaged.path().join("manifest.json"), "{").unwrap();
    refused(&["restore", text(damaged.path()), "--force"], "manifest.json is damaged").await;

    hub.restart().await;
    assert_eq!(hub.job(&second).await["status"], "pending", "what was refused changed nothing");
    hub.stop().await;
    let (well, said) = forge_hub(&database, &["restore", text(&backup), "--force"]).await;
    assert!(well && said.contains("forge-fleet.replaced-"), "{said}");
    hub.restart().await;
    assert_eq!(hub.job(&first).await["status"], "pending");
    assert_eq!(hub.get(&format!("/api/jobs/{second}")).await.status, 404);
    let mut left: Vec<_> = fs::read_dir(hub.dir().path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect();
    left.sort();
    assert_eq!(left, Vec::<String>::new(), "nothing unfinished is left");
}

#[tokio::test]
async fn hub_makes_backups_by_itself_and_keeps_the_newest() {
    let _turn = turn::shared().await;
    let dir = TempDir::new().unwrap();
    let (folder, foreign) = (dir.path().join("kept"), dir.path().join("kept/forge-backup-of-somebody"));
    // A file where the folder should be: the first tries fail.
    fs::write(&folder, "in the way").unwrap();
    let options = [("BACKUP_EVERY", "1s"), ("BACKUP_KEEP", "2"), ("BACKUP_DIR", text(&folder))];
    let options = options.iter().fold(Options::default(), |options, (name, value)| options.env(name, value));
    let hub = Hub::start(options).await;
    let until = async |what: &str, wanted: &dyn Fn(&Value) -> bool| {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let health = hub.get("/api/health").await.expect(200);
            if wanted(&health) {
                return;
            }
            assert!(Instant::now() < deadline, "{what}: {health}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    until("a failure is told", &|health| health["problems"][0]["code"] == "backup_failed").await;
    assert!(hub.metric("forge_backup_failures_total").await >= 1.0);
    assert!(hub.log().contains("the backup failed and is tried again"), "{}", hub.log());

    fs::remove_file(&folder).unwrap();
    until("all is well", &|health| health["status"] == "ok").await;
    fs::create_dir(&foreign).unwrap();
    let backups = || {
        let all = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let mut whole: Vec<_> = all.filter(|path| path.join("manifest.json").exists()).collect();
        whole.sort();
        whole
    };
    let first = backups();
    until("the first has gone", &|_| backups().first() != first.first() && backups().len() == 2).await;
    assert!(foreign.exists(), "what is no backup is left alone");
    assert!(hub.metric("forge_backup_last_success_seconds").await > 0.0);

    let newest = backups().pop().unwrap();
    let target = dir.path().join("restored.sqlite");
    let (well, said) = forge_hub_with(&target, &["restore", text(&newest)], &[]).await;
    assert!(well, "{said}");
}
