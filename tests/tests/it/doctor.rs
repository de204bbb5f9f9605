//! What an operator is told about a hub's files: `doctor`, `check` and `vacuum`.

use forge_tests::{
    hub::{Hub, Options},
    operate::{forge_hub, forge_hub_with},
};
use serde_json::json;
use std::{
    fs::{self, File, Permissions},
    net::TcpListener,
    os::unix::fs::{FileExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};
use tempfile::TempDir;

fn side_of(database: &Path) -> PathBuf {
    database.with_extension("side.sqlite")
}

/// On a port that is free.
async fn doctor(database: &Path, env: &[(&str, &str)]) -> (bool, String) {
    let mut all = vec![("PORT", "0"), ("HOST", "127.0.0.1")];
    all.extend_from_slice(env);
    forge_hub_with(database, &["doctor"], &all).await
}

/// A hub with a job that left a log.
async fn used() -> Hub {
    let hub = Hub::new().await;
    hub.enqueue(json!({"type": "t", "params": {"text": "x".repeat(200_000)}})).await;
    let job = hub.claim("w").await;
    let (id, lease) = (job["id"].as_str().expect("an id"), job["lease_id"].as_str().expect("a lease"));
    let path = format!("/api/jobs/{id}/logs?worker_id=w&lease_id={lease}&offset=0");
    hub.send(hub.client().post(hub.url(&path)).body("a line\n")).await.expect(200);
    hub
}

#[tokio::test]
async fn sound_hub_is_called_sound_before_its_first_start_while_it_runs_and_after() {
    let dir = TempDir::new().unwrap();
    let (well, said) = doctor(&dir.path().join("new.sqlite"), &[]).await;
    assert!(well && said.contains("note  database:") && said.contains("ok    port:"), "{said}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "a look leaves nothing behind");

    let mut hub = used().await;
    let (well, said) = doctor(&hub.database(), &[]).await;
    assert!(well && said.contains("note  hub: one serves this database now"), "{said}");
    let (well, said) = forge_hub(&hub.database(), &["check"]).await;
    assert!(well && said.contains("ok    both files belong together"), "{said}");
    let (well, said) = forge_hub(&hub.database(), &["vacuum"]).await;
    assert!(!well && said.contains("already served by another hub; stop that one first"), "{said}");
    hub.stop().await;
    let (well, said) = doctor(&hub.database(), &[]).await;
    assert!(well && !said.contains("FAIL") && said.contains("ok    both files: belong together"), "{said}");
}

#[tokio::test]
async fn each_thing_that_is_wrong_is_named_with_what_to_do() {
    let mut hub = used().await;
    hub.stop().await;
    let (dir, database) = (hub.dir(), hub.database());
    let missing = dir.path().join("missing.pem").display().to_string();
    let wrong =
        [("TRUSTED_PROXIES", "everybody"), ("TLS_CERT", missing.as_str()), ("TLS_KEY", missing.as_str())];
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut env = wrong.to_vec();
    env.push(("PORT", &port));
    fs::set_permissions(&database, Permissions::from_mode(0o644)).unwrap();
    let (well, said) = doctor(&database, &env).await;
    assert!(!well, "{said}");
    for found in [
        "FAIL  settings: TRUSTED_PROXIES: 'everybody'",
        "FAIL  tls: cannot read TLS_CERT",
        "FAIL  port: cannot listen on 127.0.0.1",
        "Stop what listens there, or set PORT",
        "note  database: others can read it; run: chmod 600",
    ] {
        assert!(said.contains(found), "{found} is not in\n{said}");
    }

    // The logs of another hub.
    let mut other = used().await;
    other.stop().await;
    let own = fs::read(side_of(&database)).unwrap();
    fs::copy(side_of(&other.database()), side_of(&database)).unwrap();
    let (well, said) = doctor(&database, &[]).await;
    assert!(
        !well && said.contains("FAIL  both files:") && said.contains("restore both from one backup"),
        "{said}"
    );
    let (well, said) = forge_hub(&database, &["check"]).await;
    assert!(!well && said.contains("FAIL  the logs are about other jobs"), "{said}");
    fs::write(side_of(&database), own).unwrap();

    // A page in the middle turned to zeros.
    let file = File::options().write(true).open(&database).unwrap();
    let pages = file.metadata().unwrap().len() / 4_096;
    for page in 2..pages {
        file.write_at(&[0; 4_096], page * 4_096).unwrap();
    }
    for word in ["doctor", "check"] {
        let (well, said) = forge_hub_with(&database, &[word], &[("PORT", "0")]).await;
        assert!(!well && said.contains("FAIL") && said.contains("forge-hub restore"), "{said}");
    }
}

#[tokio::test]
async fn vacuum_gives_room_back_and_loses_nothing() {
    let mut hub = Hub::new().await;
    let mut gone = Vec::new();
    for _ in 0..20 {
        gone.push(hub.enqueue(json!({"type": "gone", "params": {"text": "x".repeat(100_000)}})).await);
    }
    for id in gone {
        hub.delete(&format!("/api/jobs/{id}")).await.expect(204);
        hub.delete(&format!("/api/jobs/{id}?purge=true")).await.expect(204);
    }
    let kept = hub.enqueue(json!({"type": "kept"})).await;
    hub.stop().await;
    let size = || fs::metadata(hub.database()).unwrap().len();
    let before = size();
    let (well, said) = forge_hub(&hub.database(), &["vacuum"]).await;
    assert!(well && said.contains(" before, ") && said.contains(" now"), "{said}");
    assert!(size() < before / 2, "{before} bytes became {}", size());
    hub.restart().await;
    assert_eq!(hub.job(&kept).await["status"], "pending");
}

#[tokio::test]
async fn backup_can_be_checked_without_restoring_it() {
    let hub = used().await;
    let folder = TempDir::new().unwrap();
    let into = folder.path().display().to_string();
    let (well, said) = forge_hub(&hub.database(), &["backup", "--to", &into]).await;
    assert!(well, "{said}");
    let backup = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let shown = backup.display().to_string();
    let (well, said) = forge_hub(&hub.database(), &["check", &shown]).await;
    assert!(well && said.contains("its databases are whole; 1 jobs"), "{said}");
    assert_eq!(fs::read_dir(&backup).unwrap().count(), 3, "a look leaves nothing behind");
    fs::OpenOptions::new().append(true).open(backup.join("side.sqlite")).unwrap().set_len(4_096).unwrap();
    let (well, said) = forge_hub(&hub.database(), &["check", &shown]).await;
    assert!(!well && said.contains("side.sqlite is damaged"), "{said}");
}

#[tokio::test]
async fn database_of_a_newer_version_is_refused_by_every_word() {
    let mut hub = used().await;
    hub.stop().await;
    // `user_version` is the number at byte 60 of the file.
    let file = File::options().write(true).open(hub.database()).unwrap();
    file.write_at(&99u32.to_be_bytes(), 60).unwrap();
    let folder = TempDir::new().unwrap();
    let into = folder.path().display().to_string();
    for words in [&["doctor"][..], &["check"], &["vacuum"], &["backup", "--to", &into]] {
        let (well, said) = forge_hub_with(&hub.database(), words, &[("PORT", "0")]).await;
        assert!(!well && said.contains("newer version (99)"), "{words:?}: {said}");
    }
    let refused =
        Hub::try_start(Options::default().dir(hub.dir())).await.err().map(|error| error.to_string());
    assert!(refused.unwrap_or_default().contains("start a newer hub"));
}
