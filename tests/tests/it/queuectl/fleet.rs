//! Machines, workers, solvers, tokens and the hub itself, from a terminal.

use super::snapshots::{compare, compare_help, steady};
use forge_tests::{
    hub::Hub,
    queuectl::{Queue, Said, until},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::MetadataExt as _};

async fn register(hub: &Hub, id: &str, more: Value) {
    let mut worker = json!({
        "worker_id": id, "hostname": "rack", "pid": 7, "version": "0.1.0", "os": "linux", "arch": "x86_64", "slots": 4,
        "cores": 8, "ram_gb": 32.0, "tags": ["gpu"], "types": ["render"],
    });
    for (name, value) in more.as_object().expect("fields") {
        worker[name] = value.clone();
    }
    let answer = hub.post("/api/workers/register", worker).await;
    assert!([200, 204].contains(&answer.status), "{}", answer.text());
}

async fn measure(hub: &Hub, id: &str) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let snapshot = json!({
        "timestamp": now.as_millis() as u64, "cpu": 41.26, "cpuCores": [], "memory": {"percent": 50.0, "used": 16.0, "total": 32.0},
        "disk": {"read": 1.0, "write": 2.0}, "network": {"rx": 3.0, "tx": 4.0},
        "load": {"avg1": 1.5, "avg5": 1.0, "avg15": 0.5},
        "gpus": [{"index": 0, "model": "Some Card", "utilizationGpu": 33.0}],
    });
    hub.post(&format!("/api/ingest/{id}"), snapshot).await.expect(204);
}

#[track_caller]
fn check(said: &Said, code: i32, words: &str) {
    assert_eq!((said.code, said.stderr.lines().next()), (code, Some(words)), "{}", said.stderr);
}

#[tokio::test]
async fn workers_are_drained_resumed_and_forgotten() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    register(&hub, "rack-1", json!({})).await;
    register(&hub, "rack-2", json!({})).await;
    let state = |id: &str| queue.ask(&["workers", "show", id])["state"].clone();
    assert_eq!(queue.ask(&["workers", "list"]).as_array().map(Vec::len), Some(2));

    let drained = queue.ask(&["workers", "drain", "rack-1", "rack-2"]);
    assert_eq!(
        drained,
        json!([{"id": "rack-1", "state": "draining"}, {"id": "rack-2", "state": "draining"}])
    );
    assert_eq!(queue.ask(&["workers", "list", "--state", "online"]), json!([]));
    queue.ask(&["workers", "resume", "rack-1"]);
    assert_eq!((state("rack-1"), state("rack-2")), (json!("online"), json!("draining")));

    check(
        &queue.run(&["workers", "forget", "rack-2"]),
        2,
        "Forget rack-2 (draining)? Nobody is there to answer",
    );
    assert_eq!(queue.ask(&["workers", "forget", "rack-2", "--dry-run"])[0]["state"], "would be forgotten");
    assert_eq!(state("rack-2"), "draining", "a dry run does nothing");
    queue.ask(&["workers", "forget", "rack-2", "--yes"]);
    check(&queue.run(&["workers", "show", "rack-2"]), 1, "Worker not found");
    for verb in ["drain", "resume"] {
        check(&queue.run(&["workers", verb, "nobody"]), 1, "Worker not found");
    }
}

#[tokio::test]
async fn machines_show_what_they_measured() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    measure(&hub, "rack-1").await;
    let shown = queue.ask(&["nodes", "show", "rack-1"]);
    assert_eq!(
        (&shown["status"], &shown["cpu_percent"], &shown["load1"]),
        (&json!("online"), &json!(41.3), &json!(1.5))
    );
    assert_eq!(
        shown["gpus"],
        json!([{"index": 0, "model": "Some Card", "use_percent": 33.0}]),
        "what is not told is left out"
    );
    assert_eq!(queue.ask(&["nodes", "list", "--status", "offline"]), json!([]));
    let history = queue.ask(&["nodes", "history", "rack-1", "--range", "1h"]);
    assert_eq!((&history[0]["samples"], &history[0]["memory_percent_max"]), (&json!(1), &json!(50.0)));
    for words in [["show", "nobody"], ["history", "nobody"]] {
        check(&queue.run(&["nodes", words[0], words[1]]), 1, "Machine not found");
    }
}

#[tokio::test]
async fn solvers_are_pushed_once_and_removed() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    fs::write(queue.path("a"), "abc").expect("write");
    fs::write(queue.path("b"), "abd").expect("write");
    let pushed = queue.ask(&["solvers", "push", "a", "b"]);
    let sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(pushed[0], json!({"file": "a", "sha256": sha, "bytes": 3, "uploaded": true}));
    assert_eq!(queue.ask(&["solvers", "push", "a"])[0]["uploaded"], false, "the hub has it");
    assert_eq!(hub.get(&format!("/api/solvers/{sha}")).await.body, b"abc");
    check(&queue.run(&["solvers", "push", "missing"]), 3, "missing cannot be read");

    check(&queue.run(&["solvers", "rm", "ffff", "--yes"]), 1, "Solver not found");
    check(&queue.run(&["solvers", "rm", "../x", "--yes"]), 2, "Invalid sha256");
    check(
        &queue.run(&["solvers", "rm", "ba7816"]),
        2,
        "Remove solver ba7816bf8f01? Nobody is there to answer",
    );
    queue.ask(&["solvers", "rm", "BA7816", "--dry-run"]);
    assert_eq!(queue.ask(&["solvers", "list"]).as_array().map(Vec::len), Some(2));
    queue.ask(&["solvers", "rm", "BA7816", "--yes"]);
    assert_eq!(queue.ask(&["solvers", "list"]).as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn tokens_are_made_kept_and_taken_back() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    let made = queue.ask(&["tokens", "create", "ci", "--scope", "viewer"]);
    let (id, secret) = (made["id"].as_str().expect("an id"), made["secret"].as_str().expect("a secret"));
    let viewer = Queue::of(&hub).env("FORGE_TOKEN", secret);
    viewer.ask(&["overview"]);
    check(&viewer.run(&["tokens", "create", "more", "--scope", "admin"]), 5, "The token may not do this");

    let said =
        queue.run(&["tokens", "create", "rack", "--scope", "worker", "--out", "rack.token", "-o", "json"]);
    assert_eq!((said.code, said.stdout.contains("fq_")), (0, false), "{}", said.stdout);
    let kept = fs::read_to_string(queue.path("rack.token")).expect("the file");
    assert!(kept.starts_with("fq_"), "{kept}");
    assert_eq!(fs::metadata(queue.path("rack.token")).expect("the file").mode() & 0o777, 0o600);
    let again = ["tokens", "create", "rack", "--scope", "worker", "--out", "rack.token"];
    check(&queue.run(&again), 3, "rack.token is there already");
    let names = |queue: &Queue| {
        let list = queue.ask(&["tokens", "list"]);
        let name = |token: &Value| token["name"].as_str().expect("a name").to_owned();
        list.as_array().expect("a list").iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(&queue).len(), 2, "what could not be kept was not made");

    check(&queue.run(&["tokens", "revoke", id]), 2, &format!("Revoke {id} (ci)? Nobody is there to answer"));
    check(&queue.run(&["tokens", "revoke", "tok_none", "--yes"]), 1, "No such token");
    queue.ask(&["tokens", "revoke", id, "--yes"]);
    assert_eq!(names(&queue), ["rack"]);
    check(&viewer.run(&["overview"]), 5, "The hub does not accept the token");
    let audit = queue.ask(&["audit", "-n", "1"]);
    assert_eq!((&audit[0]["action"], &audit[0]["target"]), (&json!("token.revoke"), &json!(id)));
}

/// What `doctor` found, by the name of what it looked at.
fn found<'a>(findings: &'a Value, check: &str) -> &'a Value {
    let all = findings.as_array().expect("findings");
    all.iter().find(|finding| finding["check"] == check).unwrap_or_else(|| panic!("no {check} in {findings}"))
}

fn doctor(queue: &Queue) -> (i32, Value) {
    let said = queue.run(&["doctor", "-o", "json"]);
    (said.code, serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {}", said.stdout)))
}

#[tokio::test]
async fn the_doctor_finds_what_is_wrong_and_says_what_to_do() {
    let mut hub = Hub::new().await;
    let queue = Queue::of(&hub);
    let (code, findings) = doctor(&queue);
    assert_eq!(code, 0, "{findings}");
    for check in [
        "address", "hub", "latency", "version", "ready", "token", "clock", "machines", "workers", "queues",
        "sizes",
    ] {
        assert_eq!(found(&findings, check)["state"], "ok", "{check}: {findings}");
    }
    hub.enqueue(json!({"type": "render"})).await;
    let (code, findings) = doctor(&queue);
    let workers = found(&findings, "workers");
    assert_eq!((code, &workers["state"]), (1, &json!("problem")), "{findings}");
    assert!(workers["advice"].as_str().is_some_and(|advice| advice.contains("WORKER_ENABLED")), "{workers}");

    let (code, findings) = doctor(&Queue::of(&hub).env("FORGE_TOKEN", "fq_wrong"));
    assert_eq!((code, &found(&findings, "token")["state"]), (1, &json!("problem")));
    let (_, producer) = hub.token("producer").await;
    let (code, findings) = doctor(&Queue::of(&hub).env("FORGE_TOKEN", &producer));
    assert_eq!((code, &found(&findings, "overview")["state"]), (0, &json!("warning")), "{findings}");
    hub.kill9().await;
    let (code, findings) = doctor(&queue);
    assert_eq!((code, &found(&findings, "hub")["found"]), (1, &json!("The hub cannot be reached")));
}

#[test]
fn the_doctor_looks_at_a_folder_too() {
    let queue = Queue::new();
    let (code, findings) = doctor(&queue);
    assert_eq!((code, &found(&findings, "queue.db")["state"]), (0, &json!("warning")), "{findings}");
    assert_eq!(fs::read_dir(queue.path("")).expect("the folder").count(), 0, "looking makes no files");
    queue.enqueue(&json!({"id": "a", "command": "true"}));
    let (code, findings) = doctor(&queue);
    assert_eq!((code, &found(&findings, "workers")["state"]), (1, &json!("problem")), "{findings}");
    queue.start(1);
    queue.until_count("completed", 1);
    assert_eq!(doctor(&queue).0, 0);
    fs::write(queue.path("config.json"), "{").expect("write");
    assert_eq!(doctor(&queue).0, 1);
}

#[tokio::test]
async fn a_bench_measures_and_leaves_nothing_behind() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    let mine = hub.enqueue(json!({"type": "render", "priority": 100})).await;
    let figures = queue.ask(&["bench", "--quick"]);
    for (at, measure) in
        ["request", "enqueue", "batch", "claim and result", "claim and result, many"].iter().enumerate()
    {
        assert_eq!(figures[at]["measure"], *measure);
        assert!(figures[at]["median_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{figures}");
    }
    let left = queue.ask(&["jobs", "list", "-n", "0"]);
    assert_eq!(left.as_array().map(Vec::len), Some(1), "{left}");
    assert_eq!(
        (&left[0]["id"], &left[0]["status"], &left[0]["attempts"]),
        (&json!(mine), &json!("pending"), &json!(0))
    );
    assert_eq!(queue.ask(&["workers", "list"]), json!([]));

    assert_eq!(queue.ask(&["overview"])["total"]["failed"], 0, "none was cancelled");

    // Whoever takes everything would take the jobs of the bench too.
    register(&hub, "greedy", json!({"types": []})).await;
    let figures = queue.ask(&["bench", "--quick"]);
    assert!(
        figures[3]["note"].as_str().is_some_and(|note| note.contains("not measured: worker greedy")),
        "{figures}"
    );
    assert_eq!(figures[3].get("median_ms"), None, "what was not measured is no number");
    assert_eq!(queue.ask(&["jobs", "list"]).as_array().map(Vec::len), Some(1));
    let (_, viewer) = hub.token("viewer").await;
    let figures = Queue::of(&hub).env("FORGE_TOKEN", &viewer).ask(&["bench", "--quick"]);
    assert_eq!(figures[1]["note"], "not measured: the token may not do this");
}

#[tokio::test]
async fn an_interrupted_bench_removes_its_jobs_too() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    let bench = queue.follow(&["bench"]);
    let added = || queue.ask(&["overview"])["views"]["scheduled"].as_u64().expect("a number");
    until("jobs are added", || added() > 0);
    assert_eq!(bench.interrupt().code, 130);
    assert_eq!(queue.ask(&["jobs", "list"]), json!([]));
}

#[test]
fn help_about_the_fleet() {
    compare_help(
        "fleet_help.txt",
        &[
            "queues",
            "queues list",
            "workers",
            "workers list",
            "workers show",
            "workers drain",
            "workers resume",
            "workers forget",
            "nodes",
            "nodes list",
            "nodes show",
            "nodes history",
            "solvers",
            "solvers push",
            "solvers list",
            "solvers rm",
            "tokens",
            "tokens create",
            "tokens list",
            "tokens revoke",
            "overview",
            "settings",
            "audit",
            "doctor",
            "bench",
            "top",
            "completions",
            "man",
        ],
    );
}

#[tokio::test]
async fn output_about_the_fleet() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    register(&hub, "rack-1", json!({})).await;
    measure(&hub, "rack-1").await;
    hub.enqueue(json!({"type": "render", "queue": "media/video", "delay_ms": 3_600_000})).await;
    fs::write(queue.path("solver"), "abc").expect("write");
    let token = hub.token("worker").await.0;
    let mut all = String::new();
    let every = &["json", "jsonl", "csv", "table"][..];
    let mut show = |words: &[&str], formats: &[&str]| {
        for format in formats {
            let arguments: Vec<&str> = words.iter().copied().chain(["-o", *format]).collect();
            let said = queue.run(&arguments);
            assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{arguments:?}");
            assert!(!said.stdout.contains('\u{1b}'), "no colours where there is no terminal");
            let line = format!("$ queuectl {}\n{}\n", arguments.join(" "), steady(&said.stdout));
            all.push_str(&line.replace(&token, "tok_0123456789abcdef"));
        }
    };
    show(&["queues", "list"], every);
    show(&["workers", "list"], every);
    show(&["workers", "show", "rack-1"], every);
    show(&["workers", "drain", "rack-1"], every);
    show(&["workers", "resume", "rack-1"], &["json"]);
    show(&["workers", "forget", "rack-1", "--dry-run"], every);
    show(&["nodes", "list"], every);
    show(&["nodes", "show", "rack-1"], &["json", "table"]);
    show(&["nodes", "history", "rack-1"], every);
    show(&["solvers", "push", "solver"], every);
    show(&["solvers", "list"], every);
    show(&["solvers", "rm", "ba78", "--yes"], &["json"]);
    show(&["tokens", "list"], every);
    show(&["overview"], &["table"]);
    show(&["audit", "-n", "2"], every);
    show(&["tokens", "revoke", &token, "--yes"], &["json"]);
    compare("fleet_output.txt", &all);
    let names = |words: &str| {
        let answer = queue.ask(&[words]);
        answer.as_object().expect("an object").keys().cloned().collect::<Vec<_>>().join(" ")
    };
    let overview = "at busy days jobs machines minutes queues slots today total views workers";
    let settings = "database_bytes limits log_bytes retention solvers_bytes started_at version";
    assert_eq!((names("overview").as_str(), names("settings").as_str()), (overview, settings));
}
