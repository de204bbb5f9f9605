//! `submit` and `batch submit`.

use forge_tests::{
    agent::{Agent, AgentOptions},
    hub::Hub,
    queuectl::{Queue, kill_hard, until},
};
use serde_json::{Value, json};
use std::{fmt::Write as _, fs, os::unix::fs::PermissionsExt as _};

fn script(queue: &Queue, name: &str, text: &str) {
    let path = queue.path(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("write a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("make it a program");
}

#[tokio::test]
async fn a_solver_is_uploaded_once_and_its_result_printed_to_the_digit() {
    let hub = Hub::new().await;
    let _agent = Agent::start(&hub, AgentOptions::default());
    let queue = Queue::of(&hub);
    script(
        &queue,
        "solver",
        "read p; echo \"$p\" >&2; echo '{\"n\":1.10,\"big\":123456789012345678901234567890}'",
    );
    let words = ["submit", "add", "--solver", "solver", "--param", "a=1.10", "--param", "b=x", "--wait"];
    let said = queue.run(&words);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert_eq!(said.stdout, "{\"n\":1.10,\"big\":123456789012345678901234567890}\n");
    assert_eq!(queue.run(&words).code, 0);
    assert_eq!(hub.get("/api/solvers").await.json().as_array().map(Vec::len), Some(1));
    let put = hub.get("/api/audit").await.json();
    let put = put.as_array().expect("a list").iter().filter(|entry| entry["action"] == "solver.put").count();
    assert_eq!(put, 1, "what the hub has is not sent again");
    let job = queue.ask(&["jobs", "list", "--type", "add", "--limit", "1"]);
    assert_eq!(job[0]["params"], json!({"a": 1.1, "b": "x"}));
    let from_stdin = queue.run_with(
        &["submit", "add", "--solver", "solver", "--params-file", "-", "--wait", "-o", "jsonl"],
        "{\"a\":2}",
    );
    assert_eq!((from_stdin.code, from_stdin.stdout.lines().count()), (0, 1), "{}", from_stdin.stderr);
    assert_eq!(queue.run(&["submit", "add", "--solver", "missing"]).code, 3);
}

#[tokio::test]
async fn waiting_ends_with_the_fate_of_the_job() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    let ended =
        |id: &'static str| queue.follow(&["submit", "t", "--id", id, "--max-attempts", "1", "--wait"]);
    let claim = || async {
        let answer = hub.post("/api/jobs/claim", json!({"worker_id": "w1", "wait_ms": 30_000})).await;
        answer.expect(200)
    };
    let good = ended("good");
    let lease = claim().await;
    let result = json!({"worker_id": "w1", "lease_id": lease["lease_id"], "result": {"x": 1}});
    hub.post("/api/jobs/good/result", result).await.expect(200);
    let good = good.end();
    assert_eq!((good.code, serde_json::from_str::<Value>(&good.stdout).ok()), (0, Some(json!({"x": 1}))));
    let bad = ended("bad");
    let lease = claim().await;
    let failure = json!({"worker_id": "w1", "lease_id": lease["lease_id"], "reason": "no luck"});
    hub.post("/api/jobs/bad/fail", failure).await.expect(200);
    let bad = bad.end();
    assert_eq!(
        (bad.code, bad.stdout.as_str(), bad.stderr.lines().next()),
        (6, "", Some("Job bad is dead: no luck"))
    );
    let cancelled = ended("cancelled");
    until("it is there", || queue.run(&["jobs", "cancel", "cancelled", "-y"]).code == 0);
    let cancelled = cancelled.end();
    assert_eq!(
        (cancelled.code, cancelled.stderr.lines().next()),
        (6, Some("Job cancelled was cancelled: cancelled"))
    );
    let slow = queue.run(&["submit", "t", "--id", "slow", "--wait", "--timeout", "100ms"]);
    assert_eq!((slow.code, slow.stderr.contains("jobs watch slow")), (7, true), "{}", slow.stderr);
    let left = queue.follow(&["submit", "t", "--id", "left", "--wait"]);
    hub.until_long_polls(1).await;
    let left = left.interrupt();
    assert_eq!((left.code, left.stderr.lines().next()), (130, Some("Job left goes on")));
    assert_eq!(queue.ask(&["jobs", "show", "left"])["status"], "pending");
}

#[tokio::test]
async fn every_field_of_a_job_has_its_option() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    let all = "submit render --id a --queue night --priority -3 --tag x --tag y --param n=1 --max-attempts 7 \
        --max-runtime 1h30m --run-at 2030-01-01T00:00:00Z --expires-at 2031-01-01T00:00:00Z --backoff fixed \
        --backoff-first 10s --backoff-factor 3 --backoff-max 5m --backoff-jitter half --idempotency-key k \
        --solver-checksum 0000000000000000000000000000000000000000000000000000000000000000 \
        --solver-url https://files.example/solver";
    let words: Vec<&str> = all.split_whitespace().collect();
    assert_eq!(queue.ask(&words), json!({"id": "a", "status": "pending"}));
    assert_eq!(queue.ask(&words), json!({"id": "a", "status": "pending"}), "the key makes it the same job");
    let job = hub.job("a").await;
    for (field, value) in [
        ("type", json!("render")),
        ("queue", json!("night")),
        ("priority", json!(-3)),
        ("tags", json!(["x", "y"])),
        ("params", json!({"n": 1})),
        ("max_attempts", json!(7)),
        ("max_runtime_ms", json!(5_400_000)),
        ("run_at", json!(1_893_456_000_000_u64)),
        ("expires_at", json!(1_924_992_000_000_u64)),
        (
            "backoff",
            json!({"kind": "fixed", "first_ms": 10_000, "factor": 3.0, "max_ms": 300_000, "jitter": "half"}),
        ),
        ("solver_url", json!("https://files.example/solver")),
    ] {
        assert_eq!(job[field], value, "{field}");
    }
    queue.ask(&[
        "submit",
        "command",
        "--id",
        "b",
        "--command",
        "true",
        "--max-runtime",
        "none",
        "--delay",
        "1h",
    ]);
    let job = hub.job("b").await;
    assert_eq!((&job["command"], &job["max_runtime_ms"]), (&json!("true"), &Value::Null));
    assert!(job["run_at"].as_i64() > job["created_at"].as_i64());
}

fn jobs_file(queue: &Queue, name: &str, jobs: u64) {
    let mut text = String::new();
    for n in 0..jobs {
        writeln!(text, "{}", json!({"type": "t", "params": {"n": n}})).expect("a string takes all");
    }
    fs::write(queue.path(name), text).expect("write the jobs");
}

#[tokio::test]
async fn wrong_lines_are_told_by_number_and_cost_no_other() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    let lines = [
        r#"{"params":{"exact":1.10}}"#,
        "",
        r#"{"type":"own","id":"own"}"#,
        "nonsense",
        r#"{"prms":1}"#,
        r#"{"max_attempts":0}"#,
        r#"{"id":"own"}"#,
        r#"{"priority":5}"#,
    ];
    fs::write(queue.path("jobs"), lines.join("\n")).expect("write the jobs");
    let words =
        ["batch", "submit", "jobs", "--type", "t", "--batch", "b", "--rejects", "wrong", "-o", "jsonl"];
    let said = queue.run(&words);
    assert_eq!(said.code, 1, "{}", said.stderr);
    for number in [4, 5, 6, 7] {
        assert!(said.stderr.contains(&format!("Line {number} is not submitted")), "{}", said.stderr);
    }
    assert!(said.stderr.contains("Submitted 3 jobs") && said.stderr.contains("--batch b"), "{}", said.stderr);
    let told: Vec<Value> =
        said.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(told.iter().filter(|line| line["id"].is_string()).count(), 3);
    assert_eq!(told.iter().filter(|line| line["error"].is_string()).count(), 4);
    assert_eq!(fs::read_to_string(queue.path("wrong")).expect("the wrong lines").lines().count(), 4);
    let first =
        told.iter().find(|line| line["line"] == 1).expect("the first line")["id"].as_str().expect("an id");
    let first = hub.get(&format!("/api/jobs/{first}")).await.text();
    assert!(first.contains("1.10"), "{first}");
    // Mended in place and submitted again, only what was missing is added.
    let mended = lines.map(|line| if line == "nonsense" { "{}" } else { line });
    fs::write(queue.path("jobs"), mended.join("\n")).expect("write the jobs");
    assert_eq!(queue.run(&words).code, 1);
    assert_eq!(queue.count("pending"), 4);
    let dry = queue.run(&["batch", "submit", "jobs", "--type", "t", "--dry-run"]);
    assert_eq!((dry.code, queue.count("pending")), (1, 4), "{}", dry.stderr);
    let piped = queue.run_with(&["batch", "submit", "-"], "{\"type\":\"t\"}\n{\"type\":\"t\"}");
    assert_eq!((piped.code, queue.count("pending")), (0, 6), "{}", piped.stderr);
    assert!(
        !piped.stderr.contains('\u{1b}') && !piped.stderr.contains('\r'),
        "no bar where there is no terminal"
    );
}

#[tokio::test]
async fn a_terminal_has_a_bar_that_is_gone_in_the_end() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    jobs_file(&queue, "jobs", 2_000);
    let said = queue.run_on_terminal(&["batch", "submit", "jobs"], "");
    assert_eq!(said.code, 0, "{}", said.stdout);
    assert!(said.stdout.contains("1000 jobs") && said.stdout.contains("left"), "{:?}", said.stdout);
    let last = said.stdout.rsplit('\r').find(|line| !line.trim().is_empty());
    assert!(last.is_some_and(|line| line.ends_with("Submitted 2000 jobs")), "{:?}", said.stdout);
}

#[tokio::test]
async fn a_batch_that_was_cut_goes_on_without_a_job_too_many() {
    const JOBS: u64 = 20_000;
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    jobs_file(&queue, "jobs", JOBS);
    let words = ["batch", "submit", "jobs", "--batch", "b", "-o", "jsonl"];
    let mut first = queue.follow(&words);
    first.line();
    kill_hard(first.pid());
    first.end();
    let there = queue.count("pending");
    assert!((1..JOBS).contains(&there), "{there} jobs were added before the end");
    let mut second = queue.follow(&words);
    second.line();
    let second = second.interrupt();
    assert_eq!((second.code, second.stderr.contains("--batch b")), (130, true), "{}", second.stderr);
    let third = queue.run(&words);
    assert_eq!((third.code, third.stdout.lines().count() as u64), (0, JOBS), "{}", third.stderr);
    assert_eq!(queue.count("pending"), JOBS);
}

#[tokio::test]
async fn a_batch_waits_for_a_hub_that_restarts() {
    const JOBS: u64 = 10_000;
    let mut hub = Hub::on_a_fixed_port().await;
    let queue = Queue::of(&hub);
    jobs_file(&queue, "jobs", JOBS);
    let mut following = queue.follow(&["batch", "submit", "jobs", "-o", "jsonl"]);
    following.line();
    hub.restart().await;
    let said = following.end();
    assert_eq!((said.code, said.stdout.lines().count() as u64), (0, JOBS - 1), "{}", said.stderr);
    assert_eq!(queue.count("pending"), JOBS);
}
