//! What happens to the files: damage, eviction, leftovers, a full disk.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use forge_agent::cache::{Cache, Held, Limits};

use super::server::{Server, answer, send};
use super::{cache, from, limits, names, open, sha256, solver};

async fn fetch(cache: &Cache, body: &[u8]) -> Held {
    let server = Server::serving(body).await;
    cache.get(&sha256(body), &from(server.url())).await.unwrap()
}

fn overwrite(path: &Path, bytes: &[u8]) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn script_with_a_shebang_runs() {
    let dir = tempfile::tempdir().unwrap();
    let held = fetch(&cache(&dir), b"#!/bin/sh\necho solved $1\n").await;
    let output = tokio::process::Command::new(held.path()).arg("it").output().await.unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "solved it\n");
}

#[tokio::test]
async fn many_fresh_solvers_run_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(&dir);
    let runs = (0..20).map(|number| {
        let cache = cache.clone();
        tokio::spawn(async move {
            let held = fetch(&cache, format!("#!/bin/sh\necho {number}\n").as_bytes()).await;
            let output = tokio::process::Command::new(held.path()).output().await.unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{number}\n"));
        })
    });
    for run in futures_util::future::join_all(runs).await {
        run.unwrap();
    }
}

#[tokio::test]
async fn folder_and_solvers_belong_to_the_agent_alone() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("deep/solvers");
    let held = fetch(&open(&inner, limits(), "http://127.0.0.1:9"), b"x").await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&inner), mode(held.path())), (0o700, 0o500));
    std::fs::set_permissions(&inner, PermissionsExt::from_mode(0o777)).unwrap();
    open(&inner, limits(), "http://127.0.0.1:9");
    assert_eq!(mode(&inner), 0o700);
}

#[tokio::test]
async fn solver_damaged_while_the_agent_was_away_is_fetched_again() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(5000, 40));
    let path = fetch(&cache(&dir), &body).await.path().to_owned();
    let mut damaged = body.clone();
    damaged[2500] ^= 1;
    overwrite(&path, &damaged);
    let again = cache(&dir);
    let server = Server::serving(&body).await;
    let held = again.get(&sha256(&body), &from(server.url())).await.unwrap();
    assert_eq!(std::fs::read(held.path()).unwrap(), body);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn solver_damaged_after_it_was_verified_is_fetched_again() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(5000, 41));
    let cache = cache(&dir);
    let server = Server::serving(&body).await;
    let (sum, source) = (sha256(&body), from(server.url()));
    let path = cache.get(&sum, &source).await.unwrap().path().to_owned();
    type Damage = fn(&Path, &[u8]);
    let damages: [Damage; 5] = [
        |path, body| {
            let modified = std::fs::metadata(path).unwrap().modified().unwrap();
            overwrite(path, &vec![0; body.len()]);
            // Even with its old date, as a restored backup would have it.
            std::fs::File::open(path).unwrap().set_modified(modified).unwrap();
        },
        |path, body| overwrite(path, &body[..body.len() - 1]),
        |path, _| {
            std::fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("/bin/sh", path).unwrap();
        },
        |path, _| {
            std::fs::remove_file(path).unwrap();
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        },
        |path, _| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        },
    ];
    for (already, damage) in damages.into_iter().enumerate() {
        damage(&path, &body);
        let held = cache.get(&sum, &source).await.unwrap();
        assert!(held.path().symlink_metadata().unwrap().is_file());
        assert_eq!(std::fs::read(held.path()).unwrap(), body);
        assert_eq!(server.requests().len(), already + 2);
    }
}

#[tokio::test]
async fn damaged_solver_that_cannot_be_fetched_again_is_gone() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(5000, 42));
    let cache = cache(&dir);
    overwrite(fetch(&cache, &body).await.path(), b"damaged");
    let server =
        Server::start("127.0.0.1", |_, stream| send(stream, answer("404 Not Found", &[], b""))).await;
    cache.get(&sha256(&body), &from(server.url())).await.unwrap_err();
    assert_eq!(names(dir.path()), [""; 0]);
}

#[tokio::test]
async fn solver_that_lost_its_mode_runs_again_without_a_download() {
    let dir = tempfile::tempdir().unwrap();
    let cache = cache(&dir);
    let path = fetch(&cache, b"#!/bin/sh\n").await.path().to_owned();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o400)).unwrap();
    let held = cache.get(&sha256(b"#!/bin/sh\n"), &from("http://127.0.0.1:9/".into())).await.unwrap();
    assert!(Command::new(held.path()).status().unwrap().success());
}

#[tokio::test]
async fn least_recently_used_goes_first_and_never_one_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let cache = open(dir.path(), Limits { total_max: 3500, ..limits() }, "http://127.0.0.1:9");
    let bodies: Vec<_> = (50..55).map(|seed| solver(1000, seed)).collect();
    let present = || bodies.iter().map(|body| dir.path().join(sha256(body)).exists()).collect::<Vec<_>>();
    let in_use = fetch(&cache, &bodies[0]).await;
    fetch(&cache, &bodies[1]).await;
    fetch(&cache, &bodies[2]).await;
    // Used again, so that the third is now the oldest that nobody holds.
    fetch(&cache, &bodies[1]).await;
    fetch(&cache, &bodies[3]).await;
    assert_eq!(present(), [true, true, false, true, false]);
    fetch(&cache, &bodies[4]).await;
    assert_eq!(present(), [true, false, false, true, true]);
    drop(in_use);
    fetch(&cache, &bodies[2]).await;
    assert_eq!(present(), [false, false, true, true, true]);
}

#[tokio::test]
async fn smaller_limit_is_kept_from_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let first = cache(&dir);
    for seed in 60..64 {
        fetch(&first, &solver(1000, seed)).await;
    }
    assert_eq!(names(dir.path()).len(), 4);
    open(dir.path(), Limits { total_max: 2000, ..limits() }, "http://127.0.0.1:9");
    assert_eq!(names(dir.path()).len(), 2);
}

#[tokio::test]
async fn leftovers_that_nothing_can_resume_are_swept() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: String| std::fs::write(dir.path().join(name), "x").unwrap();
    let [no_version, no_part, whole, locked] = ["a", "b", "c", "d"].map(|text| sha256(text.as_bytes()));
    put(format!("{no_version}.part"));
    put(format!("{no_part}.from"));
    put(format!("{whole}.part"));
    put(format!("{whole}.from"));
    put(format!("{locked}.lock"));
    put("notes.txt".into());
    cache(&dir);
    assert_eq!(names(dir.path()), [format!("{whole}.from"), format!("{whole}.part"), "notes.txt".into()]);
}

struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn small(path: &'a Path) -> Option<Self> {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(path).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(path))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

#[tokio::test]
async fn full_disk_fails_with_advice_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mounted::small(dir.path()) else {
        println!("SKIPPED: a full disk needs the right to mount a small one");
        return;
    };
    let cache = cache(&dir);
    let kept = fetch(&cache, &solver(8_000, 70)).await;
    let body = solver(200_000, 71);
    let server = Server::serving(&body).await;
    let error = cache.get(&sha256(&body), &from(server.url())).await.unwrap_err();
    assert_eq!(error.reason(), "solver_disk_full");
    let text = error.to_string();
    assert!(text.contains(dir.path().to_str().unwrap()) && text.contains("free space"), "{text}");
    assert_eq!(server.requests().len(), 1, "asking again would not make room");
    assert_eq!(names(dir.path()), [sha256(&solver(8_000, 70))]);
    drop(kept);
    fetch(&cache, &solver(20_000, 72)).await;
}

#[tokio::test]
async fn solvers_that_nobody_uses_make_room_on_a_full_disk() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mounted::small(dir.path()) else {
        println!("SKIPPED: a full disk needs the right to mount a small one");
        return;
    };
    let cache = cache(&dir);
    for seed in 80..84 {
        fetch(&cache, &solver(30_000, seed)).await;
    }
    let last = solver(30_000, 83);
    assert!(names(dir.path()).contains(&sha256(&last)));
}
