//! What commands about hubs print, word for word.

use super::snapshots::{compare, compare_help, steady};
use forge_tests::{hub::Hub, queuectl::Queue};
use serde_json::json;
use std::fmt::Write as _;

#[test]
fn help_about_hubs() {
    compare_help(
        "hub_help.txt",
        &[
            "jobs",
            "jobs list",
            "jobs show",
            "jobs cancel",
            "jobs retry",
            "jobs kill",
            "jobs run-now",
            "jobs delete",
            "jobs change",
            "jobs logs",
            "jobs watch",
            "submit",
            "batch",
            "batch submit",
            "events",
            "context",
            "context add",
            "context use",
            "context list",
            "context rm",
            "sessions",
            "sessions list",
            "sessions end",
        ],
    );
}

#[tokio::test]
async fn output_about_hubs() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    hub.enqueue(json!({"id": "done", "type": "add", "params": {"n": 1.5}, "tags": ["x"]})).await;
    let claimed = hub.claim("w1").await;
    let result = json!({"worker_id": "w1", "lease_id": claimed["lease_id"], "result": {"sum": 2}});
    hub.post("/api/jobs/done/result", result).await.expect(200);
    std::fs::write(queue.path("jobs"), "{\"type\":\"t\"}\n").expect("write the jobs");
    // Every database has its own.
    let newest = hub.stream("/api/events").await.next().await.expect("read the stream").expect("a message");
    let epoch = newest.id.as_deref().and_then(|id| id.split('-').next()).expect("an epoch").to_owned();
    let mut all = String::new();
    let every = &["json", "jsonl", "csv", "table"][..];
    let mut show = |words: &[&str], formats: &[&str]| {
        for format in formats {
            let arguments: Vec<&str> = words.iter().copied().chain(["-o", *format]).collect();
            let said = queue.run(&arguments);
            assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{arguments:?}");
            assert!(!said.stdout.contains('\u{1b}'), "no colours where there is no terminal");
            let text = steady(&said.stdout).replace(&hub.url(""), "http://hub").replace(&epoch, "1");
            write!(all, "$ queuectl {}\n{text}\n", arguments.join(" ").replace(&hub.url(""), "http://hub"))
                .expect("a string takes all");
        }
    };
    show(&["submit", "report", "--id", "next", "--delay", "1h"], &["json"]);
    show(&["submit", "report", "--id", "later", "--delay", "1h"], &["table"]);
    show(&["batch", "submit", "jobs", "--dry-run"], &["table"]);
    show(&["events", "--type", "report"], &["json", "jsonl", "csv"]);
    show(&["jobs", "logs", "done"], &["json"]);
    show(&["jobs", "watch", "done"], &["json", "jsonl"]);
    show(&["status"], &["json"]);
    show(&["jobs", "list"], every);
    show(&["jobs", "show", "done"], every);
    show(&["jobs", "cancel", "later", "--dry-run"], every);
    show(&["jobs", "kill", "later", "--yes"], &["json"]);
    show(&["jobs", "retry", "--view", "dead", "--dry-run"], &["json", "table"]);
    show(&["jobs", "retry", "--view", "dead", "--yes"], &["json"]);
    show(&["jobs", "kill", "later", "--yes"], &["table"]);
    show(&["jobs", "retry", "--view", "dead", "--yes"], &["table"]);
    show(&["sessions", "list"], &["json", "csv"]);
    show(&["jobs", "delete", "done", "--yes"], &["json"]);
    show(&["context", "add", "lab", &hub.url(""), "--use"], &["json"]);
    show(&["context", "list"], &["json", "csv"]);
    show(&["context", "use", "local"], &["json", "table"]);
    show(&["context", "rm", "lab", "--yes"], &["json"]);
    compare("hub_output.txt", &all);
}
