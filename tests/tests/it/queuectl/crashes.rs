//! Workers that end without a word.

use forge_tests::queuectl::{Queue, kill_hard, until};
use serde_json::json;

/// Waits on its first run, and ends at once on the second. Two runs at a time would be noticed.
const HANGS_ONCE: &str = "mkdir running || touch twice_at_once; trap 'rmdir running' EXIT; echo run >> runs; \
     test $(wc -l < runs) -ge 2 || sleep 600 & wait $!";

#[test]
fn the_job_of_a_killed_worker_goes_to_the_next() {
    let queue = Queue::new();
    queue.enqueue(&json!({"id": "a", "command": HANGS_ONCE}));
    queue.start(1);
    until("the job runs", || queue.lines("runs").len() == 1);
    let [victim] = queue.worker_pids()[..] else { panic!("there is one worker") };
    kill_hard(victim);
    queue.start(1);
    queue.until_count("completed", 1);
    assert_eq!((queue.lines("runs").len(), queue.job("a")["attempts"].as_u64()), (2, Some(1)));
    assert!(!queue.path("twice_at_once").exists());
    assert_eq!(queue.count("active_workers"), 1);
    assert!(!queue.worker_pids().contains(&victim), "its file is removed");
}

#[test]
fn whoever_looks_gives_the_job_of_a_killed_worker_back() {
    let queue = Queue::new();
    queue.enqueue(&json!({"id": "a", "command": HANGS_ONCE}));
    queue.start(1);
    until("the job runs", || queue.lines("runs").len() == 1);
    assert_eq!(queue.job("a")["state"], "processing");
    kill_hard(queue.worker_pids()[0]);
    until("it waits again", || queue.job("a")["state"] == "pending");
    assert_eq!(queue.ask(&["status"])["active_workers"], 0);
}

#[test]
fn jobs_survive_worker_after_worker() {
    let queue = Queue::in_memory();
    let jobs: Vec<String> = (0..150)
        .map(|n| {
            json!({"id": format!("j{n}"), "command": format!("echo {n} >> runs; sleep 0.02")}).to_string()
        })
        .collect();
    assert_eq!(queue.run_with(&["enqueue", "-"], &jobs.join("\n")).code, 0);
    queue.start(4);
    for killed in 1..=4 {
        until("work goes on", || queue.lines("runs").len() >= killed * 20);
        kill_hard(queue.worker_pids()[0]);
        queue.start(1);
    }
    queue.until_count("completed", 150);
    let mut ran: Vec<u32> = queue.lines("runs").iter().map(|line| line.parse().expect("a number")).collect();
    // A run whose worker was killed is not known to have ended, so it is done once more.
    assert!((150..=154).contains(&ran.len()), "{} runs", ran.len());
    ran.sort_unstable();
    ran.dedup();
    assert_eq!(ran.len(), 150);
}
