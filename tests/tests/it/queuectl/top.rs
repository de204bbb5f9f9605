//! `queuectl top` in a real terminal, on a real hub with a real agent.

use forge_tests::{
    agent::{Agent, AgentOptions},
    binary,
    hub::{Hub, Options, SECRET},
    queuectl::Queue,
};
use serde_json::json;
use std::{
    process::{Command, Output},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How long anything may take to show on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal of 80 x 24 with a shell in it.
struct Terminal {
    dir: TempDir,
}

impl Terminal {
    /// `None` when the machine has no tmux.
    fn open(hub: &Hub) -> Option<Self> {
        let terminal = Self { dir: tempfile::tempdir().expect("a folder") };
        let shell = format!(
            "env PS1='$ ' HUB_URL={} FORGE_TOKEN={SECRET} HOME={} bash --norc --noprofile",
            hub.url(""),
            terminal.dir.path().display()
        );
        let opened =
            terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", &shell])?;
        assert!(opened.status.success(), "{}", String::from_utf8_lossy(&opened.stderr));
        terminal.until_shows("$");
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Option<Output> {
        let socket = self.dir.path().join("tmux");
        let mut command = Command::new("tmux");
        command.arg("-S").arg(socket).args(arguments).env_remove("TMUX").env("LC_ALL", "C.UTF-8");
        command.output().inspect_err(|error| eprintln!("SKIPPED: tmux cannot be run: {error}")).ok()
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let said = self.tmux(arguments).expect("tmux was there before");
        String::from_utf8_lossy(&said.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.ask(&["capture-pane", "-p"])
    }

    /// Keys by their names, or text.
    fn press(&self, keys: &[&str]) {
        self.ask(&[&["send-keys"], keys].concat());
    }

    fn line(&self, text: &str) {
        self.press(&[text, "Enter"]);
    }

    #[track_caller]
    fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "{what}:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    #[track_caller]
    fn until_shows(&self, text: &str) -> String {
        self.until(&format!("'{text}' should show"), |screen| screen.contains(text))
    }

    /// What a shell would notice if it were not put back: modes of the line, screen and cursor.
    fn state(&self) -> String {
        let pane = self.ask(&["display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"]);
        self.line("clear; stty -g");
        let screen = self.until("modes should show", |screen| screen.lines().any(|line| line.contains(':')));
        let modes = screen.lines().find(|line| line.contains(':')).expect("it was there").to_owned();
        pane + &modes
    }

    fn start_top(&self) {
        self.line(&format!("clear; {} top; echo ended with $?", binary::queuectl().display()));
        self.until_shows("queuectl top  http");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn pid_of_top(terminal: &Terminal) -> u32 {
    let shell = terminal.ask(&["display-message", "-p", "#{pane_pid}"]);
    let children = format!("/proc/{0}/task/{0}/children", shell.trim());
    let children = std::fs::read_to_string(children).expect("the shell has a child");
    children.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("its number")
}

#[tokio::test]
async fn a_hub_is_watched_and_led_from_a_terminal() {
    let hub = Hub::new().await;
    let Some(terminal) = Terminal::open(&hub) else { return };
    let _agent = Agent::start(&hub, AgentOptions::default().id("anvil").env("WORKER_ALLOW_COMMANDS", "true"));
    let endless = json!({"id": "endless", "type": "command", "command": "echo it begins >&2; sleep 600"});
    hub.enqueue(endless).await;
    let before = terminal.state();

    terminal.start_top();
    terminal.until("machine and job should show", |screen| {
        let has = |words: &[&str]| screen.lines().any(|line| words.iter().all(|word| line.contains(word)));
        has(&["anvil", "online", "1/1"]) && has(&["endless", "running", "anvil"]) && has(&["default"])
    });
    terminal.press(&["Enter"]);
    terminal.until_shows("it begins");
    terminal.press(&["Escape"]);
    terminal.until_shows("Jobs: running 1");

    // A smaller window, and back.
    terminal.ask(&["resize-window", "-x", "50", "-y", "14"]);
    terminal.until("the last line should move", |screen| {
        screen.lines().nth(13).is_some_and(|line| line.contains("q quit"))
    });
    terminal.ask(&["resize-window", "-x", "80", "-y", "24"]);
    terminal.until_shows("Machines 1");

    terminal.press(&["c"]);
    terminal.until_shows("Cancel endless");
    terminal.press(&["n"]);
    terminal.until_shows("q quit");
    assert_eq!(hub.job("endless").await["cancel_requested"], false, "a no is a no");
    terminal.press(&["c"]);
    terminal.until_shows("Cancel endless");
    terminal.press(&["y"]);
    terminal.until_shows("Jobs: running 0");
    assert_eq!(hub.job("endless").await["fail_reason"], "cancelled");
    terminal.press(&["v", "v"]);
    terminal.until("it should be among the failed", |screen| {
        screen.lines().any(|line| line.contains("endless") && line.contains("cancelled"))
    });
    terminal.press(&["r"]);
    terminal.until_shows("endless is tried again");

    terminal.press(&["q"]);
    terminal.until_shows("ended with 0");
    assert_eq!(terminal.state(), before, "the terminal is as it was");

    terminal.start_top();
    terminal.press(&["C-c"]);
    terminal.until_shows("ended with 0");
    assert_eq!(terminal.state(), before, "and after Ctrl-C");

    terminal.start_top();
    let pid = pid_of_top(&terminal).to_string();
    assert!(Command::new("kill").arg(pid).status().expect("run kill").success());
    terminal.until_shows("ended with 0");
    assert_eq!(terminal.state(), before, "and after SIGTERM");
}

#[tokio::test]
async fn a_hub_that_goes_away_is_told_and_so_is_its_return() {
    let mut hub = Hub::new().await;
    let Some(terminal) = Terminal::open(&hub) else { return };
    terminal.start_top();
    terminal.until_shows("live");
    hub.kill9().await;
    terminal.until_shows(" old: ");
    let port = hub.address().port().to_string();
    let mut again = Hub::start(Options::default().dir(hub.dir()).env("PORT", &port)).await;
    terminal.until_shows("live");
    terminal.press(&["q"]);
    terminal.until_shows("ended with 0");
    again.kill9().await;
    // From the beginning it is an error like any other.
    terminal.line(&format!("clear; {} top; echo ended with $?", binary::queuectl().display()));
    terminal.until_shows("ended with 4");
    assert!(terminal.screen().contains("The hub cannot be reached"), "{}", terminal.screen());
}

#[test]
fn top_says_what_it_needs() {
    let queue = Queue::new();
    let said = queue.run(&["top"]);
    assert_eq!((said.code, said.stderr.lines().next()), (2, Some("No hub is named")));
    let said = queue.run(&["--hub", "http://127.0.0.1:9", "top"]);
    assert_eq!((said.code, said.stderr.lines().next()), (2, Some("top needs a terminal")));
}
