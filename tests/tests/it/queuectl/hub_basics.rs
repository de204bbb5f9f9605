//! The same commands with a hub: which one, with which token, and what goes wrong.

use forge_tests::{
    agent::{Agent, AgentOptions},
    between::tls::{Authority, TlsFront},
    hub::{Hub, SECRET},
    queuectl::{Queue, until},
};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt as _};

fn write_token(queue: &Queue, name: &str, token: &str, mode: u32) {
    let path = queue.path(name);
    fs::write(&path, format!("{token}\n")).expect("write a token");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("close the file");
}

#[tokio::test]
async fn the_commands_of_a_folder_work_on_a_hub() {
    let hub = Hub::new().await;
    let _agent = Agent::start(&hub, AgentOptions::default().env("WORKER_ALLOW_COMMANDS", "true"));
    let queue = Queue::of(&hub);
    let job = queue.ask(&["enqueue", r#"{"id":"good","command":"echo out; echo log >&2"}"#]);
    assert_eq!((&job["id"], &job["command"]), (&json!("good"), &json!("echo out; echo log >&2")));
    queue.enqueue(&json!({"id": "bad", "command": "echo no >&2; exit 7", "max_retries": 0}));
    queue.until_count("completed", 1);
    queue.until_count("dead", 1);
    assert_eq!(
        queue.ask(&["status"]),
        json!({"pending": 0, "processing": 0, "completed": 1, "failed": 0, "dead": 1, "active_workers": 1})
    );
    assert_eq!(queue.ask(&["list"]).as_array().map(Vec::len), Some(1), "dead jobs are not in the list");
    assert_eq!(queue.ask(&["list", "--state", "dead"]), queue.ask(&["dlq", "list"]));
    assert_eq!(queue.run(&["logs", "good"]).stdout, "log\n");
    let none = queue.run(&["logs", "nobody"]);
    assert_eq!((none.code, none.stderr.lines().next()), (1, Some("Job not found")));
    let taken = queue.run(&["enqueue", r#"{"id":"good","command":"true"}"#]);
    assert_eq!((taken.code, taken.stderr.lines().next()), (1, Some("The hub has a job with this id")));
    let retried = queue.ask(&["dlq", "retry", "bad"]);
    assert_eq!(retried["id"], "bad");
    queue.until_count("dead", 1);
    let again = queue.run(&["dlq", "retry", "good"]);
    assert_eq!((again.code, again.stderr.lines().next()), (1, Some("Job not found in DLQ")));
    let lines = "{\"id\":\"c1\",\"command\":\"true\"}\n{\"id\":\"c2\",\"command\":\"true\"}\n";
    let both = queue.run_with(&["enqueue", "-"], lines);
    assert_eq!(both.code, 0, "{}", both.stderr);
    queue.until_count("completed", 3);
    assert!(fs::read_dir(queue.path("")).expect("the folder").next().is_none(), "a hub needs no files here");
}

#[tokio::test]
async fn what_is_typed_comes_before_the_environment_and_that_before_the_context() {
    let (here, there) = (Hub::new().await, Hub::new().await);
    here.enqueue(json!({"type": "t"})).await;
    let queue = Queue::new();
    write_token(&queue, "token", SECRET, 0o600);
    let pending = |arguments: &[&str], env: &[(&str, &str)]| {
        let words: Vec<&str> = arguments.iter().copied().chain(["status"]).collect();
        let output = queue.command(&words).envs(env.iter().copied()).output().expect("run queuectl");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let status: serde_json::Value = serde_json::from_str(&text)
            .unwrap_or_else(|_| panic!("{words:?}: {}", String::from_utf8_lossy(&output.stderr)));
        status["pending"].as_u64()
    };
    let (full, empty) = (here.url(""), there.url(""));
    queue.ask(&["context", "add", "full", &full, "--token-file", "token"]);
    queue.ask(&["context", "add", "empty", &empty, "--token-file", "token"]);
    assert_eq!(pending(&[], &[]), Some(0), "without a choice it is the folder");
    queue.ask(&["context", "use", "full"]);
    assert_eq!(pending(&[], &[]), Some(1));
    assert_eq!(pending(&["--local"], &[]), Some(0));
    assert_eq!(pending(&["--context", "empty"], &[]), Some(0));
    assert_eq!(pending(&[], &[("QUEUECTL_CONTEXT", "empty")]), Some(0));
    assert_eq!(pending(&[], &[("QUEUECTL_CONTEXT", "local")]), Some(0));
    assert_eq!(pending(&[], &[("HUB_URL", &empty), ("FORGE_TOKEN", SECRET)]), Some(0));
    assert_eq!(pending(&["--hub", &full], &[("HUB_URL", &empty), ("FORGE_INGEST_SECRET", SECRET)]), Some(1));
    assert_eq!(
        pending(&["--context", "full"], &[("FORGE_TOKEN", "another hub's")]),
        Some(1),
        "a context has its own token"
    );
    queue.ask(&["context", "use", "local"]);
    assert_eq!(pending(&[], &[]), Some(0));
}

#[tokio::test]
async fn contexts_are_checked_saved_and_forgotten() {
    let hub = Hub::new().await;
    let (id, secret) = hub.token("viewer").await;
    let queue = Queue::new();
    let url = hub.url("");
    write_token(&queue, "token", &secret, 0o600);
    let added = queue.ask(&["context", "add", "prod", &url, "--token-file", "token", "--use"]);
    assert_eq!(
        added,
        json!({"name": "prod", "hub": url, "current": true, "scope": "viewer", "token_name": "a viewer"})
    );
    let again = queue.run(&["context", "add", "prod", &url, "--token-file", "token"]);
    assert_eq!((again.code, again.stderr.contains("--replace")), (2, true), "{}", again.stderr);
    let from_stdin =
        queue.run_with(&["context", "add", "piped", &url, "--token-file", "-"], &format!("{secret}\n"));
    assert_eq!(from_stdin.code, 0, "{}", from_stdin.stderr);
    let config = queue.path(".config/forge-fleet");
    for entry in ["contexts.toml", "tokens/prod"] {
        let text = fs::read_to_string(config.join(entry)).expect("it was written");
        assert_eq!(text.contains(&secret), entry.starts_with("tokens"), "{entry}");
    }
    let mode = fs::metadata(config.join("tokens/prod")).expect("the token").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(queue.ask(&["context", "list"]).as_array().map(Vec::len), Some(3));
    // Somebody opened the file to others: it is not used any more.
    fs::set_permissions(config.join("tokens/prod"), fs::Permissions::from_mode(0o644))
        .expect("open the file");
    let open = queue.run(&["status"]);
    assert_eq!((open.code, open.stderr.contains("chmod 600")), (3, true), "{}", open.stderr);
    assert!(!open.stderr.contains(&secret));
    fs::set_permissions(config.join("tokens/prod"), fs::Permissions::from_mode(0o600))
        .expect("close the file");
    hub.delete(&format!("/api/tokens/{id}")).await.expect(204);
    let revoked = queue.run(&["status"]);
    assert_eq!((revoked.code, revoked.stderr.lines().next()), (5, Some("The hub does not accept the token")));
    let unasked = queue.run(&["context", "rm", "prod"]);
    assert_eq!((unasked.code, unasked.stderr.contains("--yes")), (2, true));
    queue.ask(&["context", "rm", "prod", "--yes"]);
    assert!(!config.join("tokens/prod").exists());
    let gone = queue.run(&["--context", "prod", "status"]);
    assert_eq!((gone.code, gone.stderr.lines().next()), (2, Some("There is no context 'prod'")));
    assert_eq!(queue.ask(&["status"])["pending"], 0, "without a context it is the folder again");
    let wrong = queue.run(&["context", "add", "prod", &url, "--token-file", "token"]);
    assert_eq!(wrong.code, 5, "a token that the hub does not know is not saved");
    queue.ask(&["context", "add", "prod", &url, "--token-file", "token", "--no-check"]);
    let (_, other) = hub.token("producer").await;
    let typed = queue.run_on_terminal(&["context", "add", "typed", &url], &format!("{other}\n"));
    assert_eq!(typed.code, 0, "{}", typed.stdout);
    assert!(typed.stdout.contains("it is not shown"), "{}", typed.stdout);
    assert_eq!(fs::read_to_string(config.join("tokens/typed")).expect("the token").trim(), other);
}

#[tokio::test]
async fn problems_with_a_hub_have_their_words_and_exit_codes() {
    let hub = Hub::new().await;
    let (_, viewer) = hub.token("viewer").await;
    let url = hub.url("");
    let queue = Queue::new();
    write_token(&queue, "open", SECRET, 0o640);
    write_token(&queue, "empty", "", 0o600);
    write_token(&queue, "viewer", &viewer, 0o600);
    write_token(&queue, "admin", SECRET, 0o600);
    let check = |arguments: &[&str], code: i32, words: &str| {
        let said = queue.run(arguments);
        assert_eq!((said.code, said.stderr.lines().next()), (code, Some(words)), "{arguments:?}");
        assert!(said.stderr.lines().count() > 1, "{arguments:?} does not say what to do");
        assert!(!said.stderr.contains(SECRET) && !said.stderr.contains(&viewer), "{arguments:?}");
    };
    check(&["--hub", &url, "status"], 5, "The hub wants a token");
    check(&["--hub", &url, "--token-file", "open", "status"], 3, "The token in open can be read by others");
    check(&["--hub", &url, "--token-file", "empty", "status"], 3, "There is no token in empty");
    check(&["--hub", &url, "--token-file", "none", "status"], 3, "The token in none cannot be read");
    check(
        &["--hub", &url, "--token-file", "viewer", "enqueue", r#"{"id":"a","command":"true"}"#],
        5,
        "The token may not do this",
    );
    check(&["--hub", "http://127.0.0.1:1", "status"], 4, "The hub cannot be reached");
    check(&["events"], 2, "No hub is named");
    check(&["submit", "t"], 2, "No hub is named");
    check(&["--token-file", "admin", "status"], 2, "No hub is named");
    let with_hub = |words: &[&'static str]| -> Vec<String> {
        let hub = ["--hub", &url, "--token-file", "admin"].map(str::to_owned);
        hub.into_iter().chain(words.iter().map(|word| (*word).to_owned())).collect()
    };
    for (words, code, about) in [
        (&["worker", "start"][..], 2, "forge-agent"),
        (&["config", "get"], 2, "--local"),
        (&["enqueue", r#"{"id":"a","command":"true","attempts":1}"#], 2, "attempts"),
        (&["submit", "t", "--max-attempts", "0"], 2, "max_attempts"),
        (&["jobs", "show", "nobody"], 1, "nobody"),
    ] {
        let words = with_hub(words);
        let said = queue.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((said.code, said.stderr.contains(about)), (code, true), "{words:?}: {}", said.stderr);
    }
    // Whatever else answers there is not taken for a hub.
    let page = queue.run(&["--hub", &hub.url("/some/page"), "--token-file", "admin", "status"]);
    assert_eq!((page.code, page.stderr.is_empty()), (4, false), "{}", page.stderr);
    let argv = queue.run(&["--hub", &url, "--token", SECRET, "status"]);
    assert_eq!(argv.code, 2, "a token is never an argument");
}

// TLS is spoken by this process, while it waits for queuectl.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_with_a_certificate_of_its_own_is_trusted_by_file() {
    let hub = Hub::new().await;
    let authority = Authority::new("ours");
    let front = TlsFront::start(&authority, "localhost", hub.address()).await;
    let url = format!("https://localhost:{}", front.address().port());
    let queue = Queue::new().env("FORGE_TOKEN", SECRET);
    fs::write(queue.path("ca.pem"), &authority.pem).expect("write the certificate");
    let unknown = queue.run(&["--hub", &url, "status"]);
    assert_eq!((unknown.code, unknown.stderr.contains("HUB_CA_FILE")), (4, true), "{}", unknown.stderr);
    queue.ask(&["context", "add", "safe", &url, "--ca-file", "ca.pem", "--use"]);
    assert_eq!(queue.ask(&["status"])["pending"], 0);
    let by_environment = Queue::of(&hub).env("HUB_URL", &url);
    let ca_file = queue.path("ca.pem").display().to_string();
    assert_eq!(by_environment.env("HUB_CA_FILE", &ca_file).count("pending"), 0);
}

#[tokio::test]
async fn who_is_logged_in_is_listed_and_logged_out() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    hub.post("/api/session", json!({"token": SECRET})).await.expect(200);
    let sessions = queue.ask(&["sessions", "list"]);
    let id = sessions[0]["id"].as_str().expect("an id");
    assert_eq!(sessions[0]["scope"], "admin");
    assert_eq!(queue.run(&["sessions", "end", id]).code, 2, "it asks first");
    assert_eq!(queue.ask(&["sessions", "end", id, "--dry-run"])["id"], id);
    assert_eq!(queue.ask(&["sessions", "end", id, "--yes"]), json!({"ended": id}));
    assert_eq!(queue.run(&["sessions", "end", id, "--yes"]).code, 1);
    assert_eq!(queue.ask(&["sessions", "list"]), json!([]));
}

#[tokio::test]
async fn a_long_list_may_be_cut_by_whoever_reads_it() {
    let hub = Hub::new().await;
    let jobs: Vec<_> = (0..3_000).map(|n| json!({"type": "t", "id": format!("job-{n:05}")})).collect();
    hub.post("/api/jobs/batch", json!(jobs)).await.expect(201);
    let queue = Queue::of(&hub);
    let mut child = queue.command(&["list", "-o", "jsonl"]);
    let mut child = child
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("run queuectl");
    let mut first = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().expect("it was asked for"));
    std::io::BufRead::read_line(&mut out, &mut first).expect("a line");
    assert!(first.contains("job-02999"), "the newest comes first: {first}");
    drop(out);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(0), ""));
    let all = queue.run(&["list", "-o", "jsonl"]);
    assert_eq!(all.stdout.lines().count(), 3_000);
    assert_eq!(queue.run(&["jobs", "list", "-n", "0", "-o", "jsonl"]).stdout.lines().count(), 3_000);
    assert_eq!(queue.run(&["jobs", "list", "-n", "250", "-o", "jsonl"]).stdout.lines().count(), 250);
    until("the hub answers still", || queue.count("pending") == 3_000);
}
