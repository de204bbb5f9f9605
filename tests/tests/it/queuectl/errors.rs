//! Errors' words and exit codes.

use forge_tests::queuectl::Queue;
use std::fs;

#[test]
fn errors_have_their_words_and_exit_codes() {
    let queue = Queue::new();
    let files = || fs::read_dir(queue.path("")).expect("the folder").count();
    let check = |arguments: &[&str], code: i32, words: &str| {
        let said = queue.run(arguments);
        assert_eq!((said.code, said.stderr.lines().next()), (code, Some(words)), "{arguments:?}");
        assert_eq!(said.stdout, "", "{arguments:?}");
        assert!(said.stderr.lines().count() > 1, "{arguments:?} does not say what to do");
    };
    check(&["enqueue", "{id:job1}"], 2, "Invalid JSON");
    check(&["enqueue", ""], 2, "Invalid JSON");
    check(&["enqueue", "[]"], 2, "id and command required");
    check(&["enqueue", r#"{"id":"a"}"#], 2, "id and command required");
    check(&["enqueue", r#"{"command":"true"}"#], 2, "id and command required");
    check(&["enqueue", r#"{"id":"","command":"true"}"#], 2, "id and command required");
    check(&["enqueue", r#"{"id":7,"command":"true"}"#], 2, "id and command required");
    check(&["enqueue", r#"{"id":"a b","command":"true"}"#], 2, "Invalid id");
    check(&["enqueue", r#"{"id":"a","command":"true","max_retries":-1}"#], 2, "Invalid max_retries");
    check(&["enqueue", r#"{"id":"a","command":"true","state":"dead"}"#], 2, "Invalid state");
    check(&["enqueue", r#"{"id":"a","command":"true","run_at":"soon"}"#], 2, "Invalid run_at");
    check(&["enqueue", r#"{"id":"a","command":"true","comand":"x"}"#], 2, "Unknown field");
    assert_eq!(files(), 1, "what is wrong leaves nothing behind but config.json");
    check(&["config", "set", "colour", "1"], 2, "Unknown config key");
    check(&["config", "get", "colour"], 2, "Unknown config key");
    check(&["config", "set", "max_retries", "many"], 2, "Invalid config value");
    check(&["config", "set", "backoff_base", "-2"], 2, "Invalid config value");
    check(&["dlq", "retry", "nobody"], 1, "Job not found in DLQ");
    queue.ask(&["enqueue", r#"{"id":"a","command":"true"}"#]);
    check(&["dlq", "retry", "a"], 1, "Job not found in DLQ");
    check(&["logs", "nobody"], 1, "Job not found");
    queue.ask(&["worker", "stop"]);
    check(&["worker", "run"], 1, "Workers are asked to stop");
    for wrong in [&["nonsense"][..], &["list", "--state", "lost"], &["worker", "start", "--count", "0"]] {
        assert_eq!(queue.run(wrong).code, 2, "{wrong:?}");
    }
    let said = queue.run_with(&["enqueue", "-"], "{\"id\":\"b\",\"command\":\"true\"}\n\n{\"id\":\"c\"}\n");
    assert_eq!((said.code, said.stderr.contains("line 3")), (2, true), "{}", said.stderr);
    let endless = format!(r#"{{"id":"b","command":"{}"}}"#, "x".repeat(128 << 10));
    let said = queue.run_with(&["enqueue", "-"], &endless);
    assert_eq!((said.code, said.stderr.lines().next()), (2, Some("Invalid command")));
    assert_eq!(queue.count("pending"), 1, "one wrong line adds nothing");
}

#[test]
fn files_that_cannot_be_used_are_named_and_left_as_they_are() {
    let queue = Queue::new();
    fs::write(queue.path("config.json"), r#"{"max_retries": "three"}"#).expect("write");
    let said = queue.run(&["config", "get"]);
    assert_eq!((said.code, said.stderr.contains("config.json cannot be used")), (3, true), "{}", said.stderr);
    let letter = "a letter, and a long one, but no database ".repeat(9);
    fs::write(queue.path("queue.db"), &letter).expect("write");
    let said = queue.run(&["status"]);
    assert_eq!((said.code, said.stderr.contains("not a SQLite database")), (3, true), "{}", said.stderr);
    assert_eq!(fs::read_to_string(queue.path("queue.db")).expect("read"), letter);
}

#[test]
fn the_configuration_is_made_filled_in_and_kept() {
    let queue = Queue::new();
    let text = || fs::read_to_string(queue.path("config.json")).expect("read");
    queue.ask(&["config", "get"]);
    assert_eq!(text(), "{\n  \"max_retries\": 3,\n  \"backoff_base\": 2\n}\n");
    fs::write(queue.path("config.json"), r#"{"max_retries":5,"theirs":true}"#).expect("write");
    assert_eq!(queue.ask(&["config", "get"])["backoff_base"], 2);
    assert_eq!(text(), "{\n  \"max_retries\": 5,\n  \"backoff_base\": 2,\n  \"theirs\": true\n}\n");
    queue.ask(&["config", "set", "backoff_base", "1.5"]);
    assert!(text().contains("\"backoff_base\": 1.5"), "{}", text());
    let job = queue.ask(&["enqueue", r#"{"id":"a","command":"true"}"#]);
    assert_eq!(job["max_retries"], 5);
}
