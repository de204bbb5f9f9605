//! The screen, drawn without a terminal, and what keys do to it.

use super::{
    model::{Effect, Mode, Model, Pane, Update, View, Wanted},
    view::{self, Palette},
};
use forge_shared::{Job, fleet::Node, overview::Overview, response::Worker};
use ratatui::{
    Terminal,
    backend::TestBackend,
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
};
use serde_json::{Value, json};
use std::time::Duration;

const HUB_MS: i64 = 1_800_000_000_000;
const NOW: Duration = Duration::from_secs(100);

fn overview() -> Overview {
    let minute = |n: u64| json!({"ts": n, "completed": n, "failed": 0, "failed_attempts": n / 30});
    let queue = |name: &str, due: u64| {
        json!({"name": name, "due": due, "scheduled": 1, "running": 2, "oldest_wait_ms": (due > 0).then_some(125_000),
               "completed_last_hour": 7, "failed_last_hour": 0})
    };
    let value = json!({
        "ts": HUB_MS,
        "machines": {"online": 1, "degraded": 0, "offline": 1},
        "workers": {"online": 1, "draining": 1, "lost": 0},
        "slots": 8, "busy": 2,
        "jobs": {"pending": 9, "assigned": 0, "running": 2, "completed": 70, "failed": 1, "quarantined": 1},
        "views": {"due": 8, "scheduled": 1, "retrying": 0, "blocked": 0, "dead": 1, "cancelled": 0},
        "oldest_waiting_ms": 125_000,
        "queues": [queue("default", 0), queue("media/video", 8)],
        "today": {"completed": 70, "failed": 2}, "total": {"completed": 70, "failed": 2},
        "minutes": (0..60).map(minute).collect::<Vec<_>>(), "days": [],
    });
    serde_json::from_value(value).expect("an overview")
}

fn worker(id: &str, state: &str) -> Worker {
    let value = json!({
        "id": id, "name": null, "state": state, "draining": false, "cores": 4, "ram_gb": 8.0, "tags": [], "hostname": null,
        "pid": 1, "version": "0.1.0", "os": "linux", "arch": "x86_64", "slots": 4, "types": [], "queues": [],
        "boot_id": null, "registered_at": 1, "last_heartbeat": 1, "busy": 2, "rss_kb": 1, "outbox": 0, "jobs": 2,
    });
    serde_json::from_value(value).expect("a worker")
}

fn node(id: &str, status: &str, latest: Value) -> Node {
    let value =
        json!({"id": id, "name": id, "lastSeen": HUB_MS, "status": status, "latest": latest, "history": []});
    serde_json::from_value(value).expect("a node")
}

fn snapshot() -> Value {
    json!({
        "timestamp": HUB_MS, "cpu": 42.4, "cpuCores": [], "memory": {"percent": 61.0, "used": 5.0, "total": 8.0},
        "disk": {"read": 0.0, "write": 0.0}, "network": {"rx": 0.0, "tx": 0.0},
        "load": {"avg1": 1.0, "avg5": 1.0, "avg15": 1.0},
    })
}

fn job(id: &str, fields: Value) -> Job {
    let mut job = json!({
        "id": id, "type": "render", "queue": "default", "params": {}, "status": "running", "priority": 0,
        "worker_id": "anvil", "created_at": HUB_MS - 60_000, "run_at": HUB_MS, "claimed_at": HUB_MS - 40_000,
        "started_at": HUB_MS - 30_000, "attempt": 1, "attempts": 1, "max_attempts": 3, "cancel_requested": false,
        "fail_history": [], "tags": [],
    });
    for (name, value) in fields.as_object().expect("fields") {
        job[name] = value.clone();
    }
    serde_json::from_value(job).expect("a job")
}

fn jobs() -> Vec<Job> {
    vec![
        job("frame-1", json!({"progress": {"percent": 12.5, "at": HUB_MS}})),
        job("frame-2", json!({"started_at": HUB_MS - 90_000, "type": "évil\u{202e}"})),
    ]
}

fn known() -> Model {
    let mut model = Model::new("http://hub.example:3000");
    let nodes = vec![node("anvil", "online", snapshot()), node("bellows", "offline", snapshot())];
    for update in [
        Update::Overview(Box::new(overview())),
        Update::Workers(vec![worker("anvil", "online"), worker("crane", "draining")]),
        Update::Nodes(nodes),
        Update::Jobs { wanted: Wanted::default(), jobs: jobs(), is_cut: false },
    ] {
        model.update(update, NOW);
    }
    model
}

fn screen(model: &mut Model, now: Duration, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
    terminal.draw(|frame| view::draw(frame, model, now, Palette { colours: true })).expect("draw");
    let buffer = terminal.backend().buffer();
    let line = |y: u16| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..rows).map(|y| line(y).trim_end().to_owned() + "\n").collect()
}

fn press(model: &mut Model, keys: &str) -> Option<Effect> {
    let key = |c: char| match c {
        '\n' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        '\u{1b}' => KeyCode::Esc,
        '\u{8}' => KeyCode::Backspace,
        c => KeyCode::Char(c),
    };
    keys.chars().fold(None, |_, c| model.key(KeyEvent::new(key(c), KeyModifiers::NONE), NOW))
}

#[track_caller]
fn assert_shows(screen: &str, words: &[&str]) {
    for words in words {
        assert!(screen.contains(words), "'{words}' is missing in\n{screen}");
    }
}

#[test]
fn the_whole_hub_fits_80_by_24() {
    let screen = screen(&mut known(), NOW, 80, 24);
    assert_shows(
        &screen,
        &[
            "queuectl top  http://hub.example:3000",
            "live\n",
            "machines 1 up, 1 down, 1 draining  slots 2/8  due 8 (2m 5s)  later 1  run 2",
            "done/min ",
            "█ 59\n",
            "Machines 3",
            "anvil          online    42%  61%   2/4",
            "bellows        offline     –    –     –",
            "crane          draining    –    –   2/4",
            "Queues 2",
            "media/video       8     1     2   2m 5s",
            "Jobs: running 2",
            "frame-1",
            "30s  12%",
            r"évil\u{202e}",
            "q quit",
        ],
    );
    let lines: Vec<&str> = screen.lines().collect();
    let at = |word: &str| lines.iter().position(|line| line.contains(word)).expect("it is there");
    assert!(at("frame-2") < at("frame-1"), "what runs the longest comes first");
}

#[test]
fn what_is_not_known_is_not_zero() {
    let mut model = Model::new("http://hub.example:3000");
    let before = screen(&mut model, NOW, 80, 24);
    assert_shows(
        &before,
        &["connecting", "nothing is known yet", "Machines –", "Jobs: running –", "not known yet"],
    );
    assert!(!before.contains('0') || before.matches('0').count() == "3000".matches('0').count(), "{before}");
    model.update(Update::Trouble("connection refused".to_owned()), NOW);
    assert_shows(&screen(&mut model, NOW, 80, 24), &["connection refused"]);
}

#[test]
fn an_unreachable_hub_is_told_and_so_is_the_age_of_what_is_shown() {
    let mut model = known();
    model.update(Update::Trouble("connection refused".to_owned()), NOW);
    let later = NOW + Duration::from_secs(75);
    assert_shows(&screen(&mut model, later, 80, 24), &["1m 15s old: connection refused", "frame-1"]);
    model.update(Update::Heard, later);
    assert_shows(&screen(&mut model, later, 80, 24), &["live\n"]);
    assert_shows(&screen(&mut model, later + Duration::from_secs(20), 80, 24), &["20s old\n"]);
}

#[test]
fn every_size_is_drawn() {
    for columns in (1..140).step_by(7) {
        for rows in (1..60).step_by(3) {
            for keys in ["", "?", "c", "/x", "\n", "\t\t"] {
                let mut model = known();
                press(&mut model, keys);
                screen(&mut model, NOW, columns, rows);
            }
        }
    }
    assert_shows(&screen(&mut known(), NOW, 30, 5), &["too small"]);
    assert_shows(&screen(&mut known(), NOW, 50, 24), &["Machines 3", "Jobs: running 2"]);
    assert_shows(&screen(&mut known(), NOW, 80, 14), &["Jobs: running 2", "frame-1"]);
}

#[test]
fn a_job_is_cancelled_only_after_a_yes() {
    let mut model = known();
    assert_eq!(press(&mut model, "c"), None);
    assert_shows(&screen(&mut model, NOW, 80, 24), &["Cancel frame-2", "y/n"]);
    // The list changes under the question: it is still about the same job.
    model.update(Update::Jobs { wanted: Wanted::default(), jobs: vec![], is_cut: false }, NOW);
    assert_eq!(press(&mut model, "y"), Some(Effect::Cancel("frame-2".to_owned())));
    let mut model = known();
    for answer in ["cn", "c\n", "c\u{1b}", "cq"] {
        assert_eq!(press(&mut model, answer), None, "{answer:?}");
        assert!(matches!(model.mode, Mode::Browse));
    }
    model.update(Update::Notice("frame-2 is being cancelled".to_owned()), NOW);
    assert_shows(&screen(&mut model, NOW, 80, 24), &["frame-2 is being cancelled"]);
}

#[test]
fn a_job_is_retried_and_nothing_is_done_to_a_queue() {
    let mut model = known();
    assert_eq!(press(&mut model, "jr"), Some(Effect::Retry("frame-1".to_owned())));
    for key in ["\tc", "r", "l"] {
        assert_eq!(press(&mut model, key), None);
    }
    assert_shows(&screen(&mut model, NOW, 80, 24), &["Tab leads to them"]);
}

#[test]
fn what_is_chosen_stays_chosen_while_lists_change() {
    let mut model = known();
    press(&mut model, "j");
    let mut more = jobs();
    more.push(job("frame-0", json!({"started_at": HUB_MS - 900_000})));
    model.update(Update::Jobs { wanted: Wanted::default(), jobs: more, is_cut: true }, NOW);
    assert_eq!(press(&mut model, "r"), Some(Effect::Retry("frame-1".to_owned())));
    assert_shows(&screen(&mut model, NOW, 80, 24), &["Jobs: running 3 newest of more"]);
    assert_eq!(press(&mut model, "gr"), Some(Effect::Retry("frame-0".to_owned())));
}

#[test]
fn filters_go_to_the_hub_and_old_answers_are_dropped() {
    let mut model = known();
    press(&mut model, "/fram\u{8}");
    assert_shows(&screen(&mut model, NOW, 80, 24), &["filter: fra█"]);
    let asked = Wanted { text: "fra".to_owned(), ..Wanted::default() };
    assert_eq!(press(&mut model, "\n"), Some(Effect::List(asked.clone())));
    assert_shows(&screen(&mut model, NOW, 80, 24), &["Jobs: running – /fra", "Machines 0 /fra", "none"]);
    model.update(Update::Jobs { wanted: Wanted::default(), jobs: jobs(), is_cut: false }, NOW);
    assert!(model.data.jobs.is_none(), "that was the answer to the question before");
    model.update(Update::Jobs { wanted: asked, jobs: jobs(), is_cut: false }, NOW);
    assert_shows(&screen(&mut model, NOW, 80, 24), &["frame-1"]);
    assert_eq!(press(&mut model, "\u{1b}"), Some(Effect::List(Wanted::default())));
}

#[test]
fn machines_and_queues_lead_to_their_jobs() {
    let mut model = known();
    let machine = Wanted { machine: Some("anvil".to_owned()), ..Wanted::default() };
    assert_eq!(press(&mut model, "\t\n"), Some(Effect::List(machine)));
    let queue = Wanted { queue: Some("media/video".to_owned()), ..Wanted::default() };
    assert_eq!(press(&mut model, "\t\t\n"), Some(Effect::List(queue)));
    assert_eq!(model.pane, Pane::Jobs);
    assert_shows(&screen(&mut model, NOW, 80, 24), &["Jobs: running, queue media/video"]);
    let failed = press(&mut model, "vv");
    assert!(matches!(failed, Some(Effect::List(Wanted { view: View::Failed, .. }))), "{failed:?}");
    assert!(!model.sorting(Pane::Jobs).is_reversed, "the newest failure first");
}

#[test]
fn a_log_is_opened_followed_and_closed() {
    let mut model = known();
    assert_eq!(press(&mut model, "\n"), Some(Effect::OpenLog("frame-2".to_owned())));
    assert_shows(&screen(&mut model, NOW, 80, 24), &["Log of frame-2, following", "nothing yet"]);
    model.update(Update::Log { id: "frame-2".to_owned(), bytes: b"one\ntwo\n".to_vec() }, NOW);
    model.update(Update::Log { id: "another".to_owned(), bytes: b"three\n".to_vec() }, NOW);
    model.update(Update::LogOver { id: "frame-2".to_owned(), why: None }, NOW);
    let shown = screen(&mut model, NOW, 80, 24);
    assert_shows(&shown, &["Log of frame-2, complete", "one\ntwo\n"]);
    assert!(!shown.contains("three"));
    assert_eq!(press(&mut model, "q"), Some(Effect::CloseLog));
    assert_eq!(press(&mut model, "q"), Some(Effect::Quit));
}

#[test]
fn lists_are_sorted_by_any_column() {
    let mut model = known();
    let order = |model: &Model| {
        let rows = model.rows(Pane::Jobs, NOW).expect("jobs");
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(order(&model), ["frame-2", "frame-1"]);
    press(&mut model, "S");
    assert_eq!(order(&model), ["frame-1", "frame-2"]);
    assert!(!model.sorting(Pane::Jobs).is_reversed);
    press(&mut model, "ss");
    assert_shows(&screen(&mut model, NOW, 80, 24), &["job▲"]);
    assert_eq!(order(&model), ["frame-1", "frame-2"]);
}

#[test]
fn help_names_every_key_and_ctrl_c_always_quits() {
    let mut model = known();
    press(&mut model, "?");
    assert_shows(
        &screen(&mut model, NOW, 80, 24),
        &["Keys", "cancel a job; asks first", "retry a job", "Ctrl-C"],
    );
    assert_eq!(press(&mut model, "q"), None, "any key goes back first");
    for keys in ["", "?", "/", "c", "\n"] {
        let mut model = known();
        press(&mut model, keys);
        let quit = model.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL), NOW);
        assert_eq!(quit, Some(Effect::Quit), "{keys:?}");
    }
}
