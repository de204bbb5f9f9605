//! Tables on a terminal.

use forge_tests::queuectl::Queue;
use serde_json::json;

fn queue() -> Queue {
    Queue::new().env("COLUMNS", "60").env("TERM", "xterm").env("NO_COLOR", "")
}

/// How many columns a line takes, without the sequences that colour it.
fn width(line: &str) -> usize {
    let parts = line.split("\u{1b}[").enumerate();
    let shown = parts
        .map(|(at, part)| if at == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) });
    shown.map(|part| part.chars().count()).sum()
}

#[test]
fn a_table_fits_the_terminal_and_only_states_have_colours() {
    let queue = queue();
    let command = format!("printf '\u{1b}[2J\u{202e}'; echo {}", "long ".repeat(30));
    queue.enqueue(&json!({"id": "a-job-with-a-rather-long-name", "command": command}));
    queue.enqueue(&json!({"id": "fails", "command": "false", "max_retries": 0}));
    queue.start(1);
    queue.until_count("completed", 1);
    queue.until_count("dead", 1);

    let shown = queue.run_on_terminal(&["list"], "").stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 2, "{shown:?}");
    assert!(lines.iter().all(|line| width(line) <= 60), "{shown:?}");
    assert!(lines[1].starts_with("a-job-with-a-rather-long-name"), "names are not cut: {shown:?}");
    assert!(lines[1].contains("\u{1b}[32mcomp"), "{shown:?}");
    assert!(!shown.contains("\u{1b}[2J") && !shown.contains('\u{202e}') && shown.contains('…'), "{shown:?}");
    let dead = queue.run_on_terminal(&["dlq", "list"], "").stdout;
    assert!(dead.contains("\u{1b}[31mdead"), "{dead:?}");

    let plain = queue.env("NO_COLOR", "1");
    let shown = plain.run_on_terminal(&["list"], "").stdout;
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    let whole = plain.run(&["list", "-o", "table"]).stdout;
    assert!(whole.contains(r"printf '\u{1b}[2J\u{202e}'") && whole.contains("long long long"), "{whole:?}");
}
