//! `jobs …`, with a hub and in a folder.

use forge_tests::{hub::Hub, queuectl::Queue};
use serde_json::{Value, json};

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|job| job["id"].as_str().expect("an id")).collect()
}

#[tokio::test]
async fn jobs_are_found_by_every_filter() {
    let hub = Hub::new().await;
    let add = |job: Value| hub.enqueue(job);
    add(json!({"id": "one", "type": "render", "queue": "night", "tags": ["blue"]})).await;
    add(json!({"id": "two", "type": "render", "delay_ms": 3_600_000})).await;
    add(json!({"id": "three", "type": "report"})).await;
    let claimed = hub.claim("w1").await;
    assert_eq!(claimed["id"], "one");
    let queue = Queue::of(&hub);
    let check = |filter: &str, expected: &[&str]| {
        let words: Vec<&str> = ["jobs", "list"].into_iter().chain(filter.split_whitespace()).collect();
        assert_eq!(ids(&queue.ask(&words)), expected, "{filter}");
    };
    check("", &["three", "two", "one"]);
    check("--limit 2", &["three", "two"]);
    check("--type render", &["two", "one"]);
    check("--queue night", &["one"]);
    check("--tag blue", &["one"]);
    check("--status pending", &["three", "two"]);
    check("--status assigned --worker w1", &["one"]);
    check("--view scheduled", &["two"]);
    check("--text thr", &["three"]);
    check("--since 10m", &["three", "two", "one"]);
    check("--until 10m", &[]);
    check("--since 2020-01-01T00:00:00Z --type report", &["three"]);
    for wrong in ["--status lost", "--since yesterday", "--view none", "--limit many"] {
        let words: Vec<&str> = ["jobs", "list"].into_iter().chain(wrong.split_whitespace()).collect();
        assert_eq!(queue.run(&words).code, 2, "{wrong}");
    }
}

#[tokio::test]
async fn a_job_is_shown_with_every_digit_and_attempt() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    let params = r#"{"exact":1.10,"big":123456789012345678901234567890}"#;
    queue.ask(&["submit", "t", "--id", "a", "--params", params]);
    let claimed = hub.claim("w1").await;
    let report = json!({"worker_id": "w1", "lease_id": claimed["lease_id"], "reason": "no luck"});
    hub.post("/api/jobs/a/fail", report).await.expect(200);
    let said = queue.run(&["jobs", "show", "a"]);
    assert!(said.stdout.contains(params), "{}", said.stdout);
    let job: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!((&job["status"], &job["attempts"]), (&json!("pending"), &json!(1)));
    assert_eq!(
        (&job["history"][0]["reason"], &job["history"][0]["worker_id"]),
        (&json!("no luck"), &json!("w1"))
    );
    let table = queue.run(&["jobs", "show", "a", "-o", "table"]).stdout;
    assert!(table.contains("no luck") && table.contains("OUTCOME"), "{table}");
    assert!(!table.contains('\u{1b}'), "no colours where there is no terminal");
}

/// Everything that is done to named jobs, on whatever answers.
fn act_on_named(queue: &Queue) {
    let status = |id: &str| queue.ask(&["jobs", "show", id])["status"].clone();
    let refused = |words: &[&str], code: i32, first: &str| {
        let said = queue.run(words);
        assert_eq!((said.code, said.stderr.lines().next()), (code, Some(first)), "{words:?}");
    };
    refused(&["jobs", "cancel", "a"], 2, "Cancel a? Nobody is there to answer");
    let dry = queue.ask(&["jobs", "cancel", "a", "--dry-run"]);
    assert_eq!(dry, json!([{"id": "a", "status": "pending", "would": "cancel"}]));
    assert_eq!(status("a"), "pending", "a question and a dry run change nothing");
    assert_eq!(queue.ask(&["jobs", "cancel", "a", "--yes"]), json!({"id": "a", "status": "failed"}));
    assert_eq!(queue.ask(&["jobs", "retry", "a"]), json!({"id": "a", "status": "pending"}));
    refused(&["jobs", "retry", "a"], 1, "Job a is not in a state for this");
    assert_eq!(queue.ask(&["jobs", "kill", "a", "-y"]), json!({"id": "a", "status": "quarantined"}));
    assert_eq!(queue.ask(&["jobs", "delete", "a", "-y"]), json!({"id": "a", "status": "deleted"}));
    refused(&["jobs", "delete", "a", "-y"], 1, "Job not found");
    refused(&["jobs", "delete", "b", "-y"], 1, "Job b is not in a state for this");
    queue.ask(&["jobs", "change", "b", "--priority", "-7", "--run-at", "2h"]);
    let changed = queue.ask(&["jobs", "show", "b"]);
    assert_eq!(changed["priority"], -7);
    assert!(changed["run_at"].as_str() > changed["created_at"].as_str(), "{changed}");
    queue.ask(&["jobs", "run-now", "b"]);
    assert!(queue.ask(&["jobs", "list", "--view", "scheduled"]).as_array().is_some_and(Vec::is_empty));
    // One that is not there does not keep the others from it.
    let some = queue.run(&["jobs", "kill", "b", "nobody", "c", "-y", "-o", "jsonl"]);
    assert_eq!(
        (some.code, some.stdout.lines().count(), some.stderr.lines().next()),
        (1, 2, Some("Job not found"))
    );
    assert_eq!((status("b"), status("c")), (json!("quarantined"), json!("quarantined")));
    refused(&["jobs", "retry"], 2, "No job is named");
    refused(&["jobs", "retry", "b", "--type", "t"], 2, "Either name jobs or filter them");
    refused(&["jobs", "change", "b"], 2, "Nothing to change");
}

fn act_on_all(queue: &Queue) {
    let refused = queue.run(&["jobs", "retry", "--view", "dead"]);
    assert_eq!((refused.code, refused.stderr.contains("Retry 2 jobs")), (2, true), "{}", refused.stderr);
    let dry = queue.ask(&["jobs", "retry", "--view", "dead", "--dry-run"]);
    assert_eq!(
        (&dry["matched"], &dry["changed"], &dry["sample"]),
        (&json!(2), &json!(0), &json!(["b", "c"]))
    );
    let retried = queue.ask(&["jobs", "retry", "--view", "dead", "--yes"]);
    assert_eq!((&retried["matched"], &retried["changed"]), (&json!(2), &json!(2)));
    let lifted = queue.ask(&["jobs", "change", "--status", "pending", "--priority", "9", "-y"]);
    assert_eq!(lifted["changed"], 2);
    assert_eq!(queue.ask(&["jobs", "show", "c"])["priority"], 9);
    assert_eq!(queue.ask(&["jobs", "delete", "--all", "-y"])["skipped"], 2, "none has ended");
    assert_eq!(queue.ask(&["jobs", "kill", "--all", "-y"])["changed"], 2);
    assert_eq!(queue.ask(&["jobs", "delete", "--view", "dead", "-y"])["changed"], 2);
    assert_eq!(queue.ask(&["jobs", "delete", "--all"])["matched"], 0, "nothing to ask about");
}

#[tokio::test]
async fn jobs_of_a_hub_are_acted_on() {
    let hub = Hub::new().await;
    for id in ["a", "b", "c"] {
        hub.enqueue(json!({"type": "command", "id": id, "command": "true"})).await;
    }
    let queue = Queue::of(&hub);
    act_on_named(&queue);
    act_on_all(&queue);
    hub.enqueue(json!({"type": "t", "id": "runs"})).await;
    let claimed = hub.claim("w1").await;
    let heartbeat = json!({"worker_id": "w1", "lease_id": claimed["lease_id"]});
    hub.post("/api/jobs/runs/heartbeat", heartbeat).await.expect(204);
    let asked = queue.ask(&["jobs", "cancel", "runs", "-y"]);
    assert_eq!(asked, json!({"id": "runs", "status": "running"}), "its worker is asked to stop it");
    assert_eq!(queue.ask(&["jobs", "show", "runs"])["cancel_requested"], true);
}

#[test]
fn jobs_of_a_folder_are_acted_on_in_the_same_way() {
    let queue = Queue::new();
    for id in ["a", "b", "c"] {
        queue.enqueue(&json!({"id": id, "command": "true"}));
    }
    act_on_named(&queue);
    act_on_all(&queue);
    queue.enqueue(&json!({"id": "d", "command": "echo said; touch ran"}));
    queue.start(1);
    queue.until_count("completed", 1);
    assert_eq!(queue.run(&["jobs", "logs", "-f", "d"]).stdout, "said\n");
    queue.ask(&["jobs", "delete", "d", "--yes"]);
    assert_eq!(queue.count("completed"), 0, "completed jobs are kept until they are deleted");
    assert_eq!(queue.run(&["logs", "d"]).code, 1, "and their logs with them");
    assert_eq!(queue.run(&["jobs", "watch", "d"]).code, 2);
}

/// On a terminal the question can be answered.
#[test]
fn a_question_is_asked_and_answered_on_a_terminal() {
    let queue = Queue::new();
    queue.enqueue(&json!({"id": "a", "command": "true"}));
    let answer = |text: &str| queue.run_on_terminal(&["jobs", "kill", "a"], text);
    let no = answer("n\n");
    assert_eq!((no.code, no.stdout.contains("Kill a? [y/N]")), (1, true), "{no:?}");
    assert!(no.stdout.contains("Nothing was done"), "{no:?}");
    assert_eq!(queue.ask(&["jobs", "show", "a"])["status"], "pending");
    assert_eq!(answer("y\n").code, 0);
    assert_eq!(queue.ask(&["jobs", "show", "a"])["status"], "quarantined");
}
