//! What every command prints, word for word. `UPDATE_SNAPSHOTS=1` writes the files anew.

use forge_tests::{binary::workspace, queuectl::Queue};
use std::{fmt::Write as _, fs};

pub(super) fn compare(name: &str, printed: &str) {
    let path = workspace().join("tests/tests/it/queuectl/snapshots").join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("make the folder");
        fs::write(&path, printed).expect("write");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == printed,
        "{} differs; if that is meant, run the test with UPDATE_SNAPSHOTS=1:\n{printed}",
        path.display()
    );
}

/// What these commands say of themselves.
pub(super) fn compare_help(name: &str, commands: &[&str]) {
    let queue = Queue::new();
    let mut all = String::new();
    for words in commands {
        let arguments: Vec<&str> = words.split_whitespace().chain(["--help"]).collect();
        let said = queue.run(&arguments);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{words}");
        assert!(words.is_empty() || said.stdout.contains("Examples:"), "{words} has no example");
        assert!(!said.stdout.contains('\u{1b}'), "no colours where there is no terminal");
        write!(all, "$ queuectl {}\n{}\n", arguments.join(" "), said.stdout).expect("a string takes all");
    }
    compare(name, &all);
    assert_eq!(fs::read_dir(queue.path("")).expect("the folder").count(), 0, "help makes no files");
}

#[test]
fn help() {
    compare_help(
        "help.txt",
        &[
            "",
            "enqueue",
            "worker",
            "worker start",
            "worker stop",
            "worker run",
            "status",
            "list",
            "dlq",
            "dlq list",
            "dlq retry",
            "config",
            "config get",
            "config set",
            "logs",
        ],
    );
}

/// Times and process numbers differ from run to run; their places do not.
pub(super) fn steady(text: &str) -> String {
    const TIME: &str = "2026-01-01T00:00:00.000Z";
    let mut steady: Vec<u8> = text.bytes().collect();
    let is_like = |found: &[u8]| {
        let same =
            |(found, like): (&u8, u8)| *found == like || found.is_ascii_digit() && like.is_ascii_digit();
        found.iter().zip(TIME.bytes()).all(same)
    };
    for at in 0..text.len().saturating_sub(TIME.len()) {
        let place = at..at + TIME.len();
        if is_like(&steady[place.clone()]) {
            steady[place].copy_from_slice(TIME.as_bytes());
        }
    }
    let text = String::from_utf8(steady).expect("only digits were changed");
    let is_number = |line: &str| line.trim().parse::<u32>().is_ok();
    text.lines()
        .map(|line| if is_number(line) { "    1234\n".to_owned() } else { format!("{line}\n") })
        .collect()
}

#[test]
fn output_in_every_format() {
    let queue = Queue::new();
    let job = r#"{"id":"job1","command":"echo \"a, b\"; test -e fixed","max_retries":0,"priority":2}"#;
    let mut all = String::new();
    let every = &["json", "jsonl", "csv", "table"][..];
    let mut show = |words: &[&str], formats: &[&str]| {
        for format in formats {
            let arguments: Vec<&str> = words.iter().copied().chain(["-o", *format]).collect();
            let said = queue.run(&arguments);
            assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{arguments:?}");
            assert!(!said.stdout.contains('\u{1b}'), "no colours where there is no terminal");
            write!(all, "$ queuectl {}\n{}\n", arguments.join(" "), steady(&said.stdout))
                .expect("a string takes all");
        }
    };
    show(&["config", "get"], every);
    show(&["config", "set", "max_retries", "4"], every);
    show(&["list"], every);
    show(&["enqueue", job], every);
    show(&["list"], every);
    show(&["status"], every);
    show(&["worker", "start"], &["json"]);
    queue.until_count("dead", 1);
    show(&["worker", "stop"], &["json"]);
    queue.until_count("active_workers", 0);
    show(&["dlq", "list"], every);
    show(&["logs", "job1"], every);
    show(&["dlq", "retry", "job1"], &["json"]);
    compare("output.txt", &all);
}
