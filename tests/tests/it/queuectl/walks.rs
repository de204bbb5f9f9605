//! What people do with it, from the first job to the last worker.

use forge_tests::queuectl::{Queue, until};
use serde_json::{Value, json};
use std::{
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

#[test]
fn a_job_is_enqueued_run_and_shown() {
    let queue = Queue::new();
    queue.enqueue(&json!({"id": "test1", "command": "echo success; echo trouble >&2"}));
    assert_eq!(queue.count("pending"), 1);
    assert_eq!(queue.count("active_workers"), 0);
    queue.start(1);
    queue.until_count("completed", 1);
    let status = queue.ask(&["status"]);
    let expected =
        json!({"pending": 0, "processing": 0, "completed": 1, "failed": 0, "dead": 0, "active_workers": 1});
    assert_eq!(status, expected);

    let jobs = queue.ask(&["list"]);
    let job = jobs[0].as_object().expect("a job");
    let names = ["id", "command", "state", "attempts", "max_retries", "created_at", "updated_at"];
    assert_eq!(job.len(), names.len());
    assert!(names.iter().all(|name| job.contains_key(*name)), "{job:?}");
    assert_eq!(
        (&job["state"], &job["attempts"], &job["max_retries"]),
        (&json!("completed"), &json!(0), &json!(3))
    );
    assert!(job["updated_at"].as_str() >= job["created_at"].as_str());
    assert!(job["created_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{job:?}");
    assert_eq!(queue.run(&["logs", "test1"]).stdout, "success\ntrouble\n");

    assert_eq!(queue.ask(&["worker", "stop"]), json!({"stopping": 1}));
    queue.until_count("active_workers", 0);
    assert!(queue.path("queuectl_runtime/STOP").exists());
    assert_eq!(queue.worker_pids(), Vec::<u32>::new());
}

fn seconds(line: &str) -> f64 {
    line.parse().expect("seconds since 1970")
}

#[test]
fn a_job_that_fails_is_retried_after_its_backoff_and_then_dead() {
    let queue = Queue::new();
    // For the agent this exit code means that trying again is pointless; here it means nothing.
    queue.enqueue(&json!({"id": "fail1", "command": "date +%s.%N >> runs; exit 100", "max_retries": 1}));
    queue.start(1);
    queue.until_count("failed", 1);
    let waiting = queue.job("fail1");
    assert_eq!((&waiting["state"], &waiting["attempts"]), (&json!("failed"), &json!(1)));
    queue.until_count("dead", 1);
    let runs = queue.lines("runs");
    let waited = seconds(&runs[1]) - seconds(&runs[0]);
    assert!((2.0..4.5).contains(&waited), "2^1 s, and {waited} s went by");
    assert_eq!(runs.len(), 2);

    let dead = queue.ask(&["dlq", "list"]);
    assert_eq!(dead, queue.ask(&["list", "--state", "dead"]));
    assert_eq!((&dead[0]["state"], &dead[0]["attempts"]), (&json!("dead"), &json!(2)));
    assert_eq!(queue.ask(&["list"]), json!([]), "a list shows no dead jobs unless asked for them");
}

#[test]
fn a_command_that_is_not_there_is_a_failure_like_any_other() {
    let queue = Queue::new();
    queue.ask(&["config", "set", "backoff_base", "0"]);
    queue.enqueue(&json!({"id": "typo", "command": "no-such-command-anywhere", "max_retries": 2}));
    queue.start(1);
    queue.until_count("dead", 1);
    assert_eq!(queue.job("typo")["attempts"], 3);
    let logs = queue.ask(&["logs", "typo", "-o", "json"]);
    assert_eq!(logs.as_array().map(Vec::len), Some(3));
    assert!(logs[2]["output"].as_str().is_some_and(|text| text.contains("command not found")), "{logs}");
}

#[test]
fn three_workers_work_side_by_side() {
    let queue = Queue::new();
    // Each ends only when all three run at the same time.
    for n in 1..=3 {
        let command = format!("touch s{n}; until test -e s1 -a -e s2 -a -e s3; do sleep 0.05; done");
        queue.enqueue(&json!({"id": format!("job{n}"), "command": command}));
    }
    queue.start(3);
    queue.until_count("completed", 3);
    assert_eq!(queue.count("active_workers"), 3);
}

#[test]
fn a_dead_job_can_be_tried_again() {
    let queue = Queue::new();
    queue.enqueue(&json!({"id": "fixable", "command": "test -e fixed", "max_retries": 0}));
    queue.start(1);
    queue.until_count("dead", 1);
    queue.touch("fixed");
    let back = queue.ask(&["dlq", "retry", "fixable"]);
    assert_eq!((&back["id"], &back["attempts"]), (&json!("fixable"), &json!(0)));
    queue.until_count("completed", 1);
    assert_eq!(queue.job("fixable")["attempts"], 0);
    assert_eq!(queue.ask(&["dlq", "list"]), json!([]));
}

#[test]
fn a_worker_that_is_told_to_stop_finishes_its_job_first() {
    let queue = Queue::new();
    let command = "touch started; until test -e go; do sleep 0.05; done; echo done";
    queue.enqueue(&json!({"id": "long", "command": command}));
    queue.enqueue(&json!({"id": "next", "command": "true"}));
    queue.start(1);
    until("the job runs", || queue.path("started").exists());
    // Told twice, it is no less patient.
    for _ in 0..2 {
        assert_eq!(queue.ask(&["worker", "stop"]), json!({"stopping": 1}));
        assert_eq!((queue.count("active_workers"), queue.count("processing")), (1, 1));
    }
    // Somebody is in a hurry: workers are started again before the old one has left.
    fs::remove_file(queue.path("queuectl_runtime/STOP")).expect("remove STOP");
    queue.touch("go");
    queue.until_count("active_workers", 0);
    assert_eq!(queue.job("long")["state"], "completed");
    assert_eq!(queue.job("next")["state"], "pending", "it took no other job");
    assert_eq!(queue.run(&["logs", "long"]).stdout, "done\n");
}

#[test]
fn workers_leave_the_terminal_and_see_new_jobs_at_once() {
    let queue = Queue::new();
    queue.start(1);
    let pid = queue.worker_pids()[0];
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    assert_eq!(fields[3], pid.to_string(), "it leads a session of its own");

    let mut waits = Vec::new();
    for n in 0..3 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64();
        queue.enqueue(&json!({"id": format!("job{n}"), "command": "date +%s.%N >> runs"}));
        until("it ran", || queue.lines("runs").len() == n + 1);
        waits.push(seconds(&queue.lines("runs")[n]) - now);
    }
    // The machine may be busy with other things, but not three times.
    assert!(waits.iter().any(|wait| *wait < 0.5), "{waits:?}");
}

#[test]
fn a_job_runs_where_and_with_what_the_worker_has() {
    let queue = Queue::new();
    queue.enqueue(
        &json!({"id": "where", "command": "pwd; echo \"$FLAVOUR\"; shopt -q login_shell && echo login"}),
    );
    let started = queue.command(&["worker", "start"]).env("FLAVOUR", "mint").output().expect("run queuectl");
    assert!(started.status.success());
    queue.until_count("completed", 1);
    let here = queue.path("").canonicalize().expect("the folder");
    assert_eq!(queue.run(&["logs", "where"]).stdout, format!("{}\nmint\nlogin\n", here.display()));
}

#[test]
fn a_job_that_takes_too_long_is_ended_and_retried() {
    let queue = Queue::new();
    queue.ask(&["config", "set", "backoff_base", "0"]);
    queue.enqueue(&json!({"id": "slow", "command": "sleep 600", "timeout_ms": 200, "max_retries": 1}));
    queue.start(1);
    queue.until_count("dead", 1);
    assert_eq!(queue.job("slow")["attempts"], 2);
    assert!(queue.run(&["logs", "slow"]).stdout.contains("longer than its timeout_ms"));
}

#[test]
fn the_most_urgent_job_comes_first_and_none_before_its_time() {
    let queue = Queue::new();
    let later = SystemTime::now() + Duration::from_secs(3600);
    let later = later.duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64;
    let jobs = [
        json!({"id": "later", "command": "echo later >> runs", "priority": 9, "run_at": later}),
        json!({"id": "second", "command": "echo second >> runs"}),
        json!({"id": "first", "command": "echo first >> runs", "priority": 1}),
        json!({"id": "third", "command": "echo third >> runs", "run_at": "2020-01-01T00:00:00Z"}),
    ];
    let lines: Vec<String> = jobs.iter().map(Value::to_string).collect();
    let said = queue.run_with(&["enqueue", "-", "-o", "jsonl"], &lines.join("\n"));
    assert_eq!((said.code, said.stdout.lines().count()), (0, 4), "{}", said.stderr);
    queue.start(1);
    queue.until_count("completed", 3);
    assert_eq!(queue.lines("runs"), ["first", "second", "third"]);
    assert_eq!(queue.job("later")["state"], "pending");
}

#[test]
fn a_known_id_is_replaced_unless_it_is_being_processed() {
    let queue = Queue::new();
    let command = "echo old; touch started; until test -e go; do sleep 0.05; done";
    queue.enqueue(&json!({"id": "a", "command": "false"}));
    queue.enqueue(&json!({"id": "a", "command": command}));
    assert_eq!(queue.ask(&["list"]).as_array().map(Vec::len), Some(1));
    queue.start(1);
    until("the job runs", || queue.path("started").exists());
    let again = json!({"id": "a", "command": "echo new", "attempts": 2}).to_string();
    let said = queue.run(&["enqueue", &again]);
    assert_eq!((said.code, said.stderr.lines().next()), (1, Some("Job a is being processed")));
    queue.touch("go");
    queue.until_count("completed", 1);
    assert_eq!(queue.run(&["logs", "a"]).stdout, "old\n");
    assert_eq!(queue.ask(&["enqueue", &again])["id"], "a");
    until("the new one ran", || queue.run(&["logs", "a"]).stdout == "new\n");
    queue.until_count("completed", 1);
    assert_eq!(queue.job("a")["attempts"], 2);
}
