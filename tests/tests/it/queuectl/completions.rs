//! What shells and manuals are told about `queuectl`.

use forge_tests::{binary::workspace, queuectl::Queue};
use std::{fs, path::Path, process::Command};

/// Every command that `--help` leads to, as words.
fn commands(queue: &Queue, above: &[String]) -> Vec<Vec<String>> {
    let arguments: Vec<&str> = above.iter().map(String::as_str).chain(["--help"]).collect();
    let help = queue.run(&arguments).stdout;
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).filter(|name| {
        // Long descriptions go on further to the right, and `help` only repeats.
        !name.is_empty() && *name != "help"
    });
    let mut all = vec![above.to_vec()];
    for name in names {
        let below: Vec<String> = above.iter().cloned().chain([name.to_owned()]).collect();
        all.extend(commands(queue, &below));
    }
    all
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

/// What bash offers after these words.
fn offered(script: &Path, words: &[&str]) -> Vec<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let last = words.len() - 1;
    let ask = format!(
        "set -eu; source {}; COMP_WORDS=({}); COMP_CWORD={last}; \
         _queuectl queuectl '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        quoted.join(" "),
        words[last],
        words[last - 1],
    );
    let said = Command::new("bash").args(["--norc", "-c", &ask]).output().expect("run bash");
    assert!(said.status.success() && said.stderr.is_empty(), "{}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8_lossy(&said.stdout).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let queue = Queue::new();
    let script = queue.path("queuectl.bash");
    fs::write(&script, queue.run(&["completions", "bash"]).stdout).expect("write the script");
    for (words, expected) in [
        (&["queuectl", "enq"][..], "enqueue"),
        (&["queuectl", "worker", "sta"], "start"),
        (&["queuectl", "worker", "start", "--cou"], "--count"),
        (&["queuectl", "list", "--state", "de"], "dead"),
        (&["queuectl", "list", "-o", "js"], "json"),
    ] {
        let offered = offered(&script, words);
        assert!(offered.iter().any(|word| word == expected), "{words:?}: {offered:?}");
    }
}

#[test]
fn every_shell_gets_a_script() {
    let queue = Queue::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = queue.run(&["completions", shell]);
        assert_eq!((said.code, said.stdout.contains("queuectl")), (0, true), "{shell}");
        // Whoever has the shell reads the script with it.
        if ["zsh", "fish"].contains(&shell) && is_there(shell) {
            let script = queue.path("script");
            fs::write(&script, said.stdout).expect("write the script");
            let read = Command::new(shell).arg("-n").arg(&script).status().expect("run the shell");
            assert!(read.success(), "{shell} does not read its script");
        }
    }
    assert_eq!(queue.run(&["completions", "csh"]).code, 2);
}

#[test]
fn every_command_has_a_manual_page() {
    let queue = Queue::new();
    let said = queue.run(&["man", "--dir", "man1"]);
    let commands = commands(&queue, &[]);
    assert!(commands.len() > 15, "{commands:?}");
    assert_eq!(said.stdout, format!("Wrote {} pages to man1\n", commands.len()));
    for words in commands {
        let name = ["queuectl".to_owned()].iter().chain(&words).cloned().collect::<Vec<_>>().join("-");
        let page = fs::read_to_string(queue.path(&format!("man1/{name}.1"))).expect("a page");
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"] {
            assert!(page.contains(&format!(".SH {section}\n")), "{name} has no {section}");
        }
        assert!(words.is_empty() || page.contains(".SH EXAMPLES\n.nf\nqueuectl "), "{name} has no example");
        let one: Vec<&str> = ["man"].into_iter().chain(words.iter().map(String::as_str)).collect();
        assert_eq!(queue.run(&one).stdout, page, "{name} is the same alone");
    }
    if is_there("groff") {
        let pages = fs::read_dir(queue.path("man1")).expect("the pages").flatten().map(|page| page.path());
        let mut read = Command::new("groff");
        let read = read.args(["-man", "-Tutf8", "-ww", "-z"]).args(pages).output().expect("run groff");
        assert!(read.stderr.is_empty(), "{}", String::from_utf8_lossy(&read.stderr));
    }
    let said = queue.run(&["man", "nonsense"]);
    assert_eq!((said.code, said.stderr.lines().next()), (2, Some("Unknown command")));
}

#[test]
fn the_help_of_every_command_is_compared() {
    let folder = workspace().join("tests/tests/it/queuectl/snapshots");
    let compared: String = ["help.txt", "hub_help.txt", "fleet_help.txt"]
        .map(|name| fs::read_to_string(folder.join(name)).expect("a snapshot"))
        .concat();
    for words in commands(&Queue::new(), &[]) {
        let line = ["$ queuectl"].into_iter().chain(words.iter().map(String::as_str)).chain(["--help"]);
        let line = line.collect::<Vec<_>>().join(" ");
        assert!(compared.lines().any(|found| found == line), "'{line}' is in no snapshot: add it to a test");
    }
}
