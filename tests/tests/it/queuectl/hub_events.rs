//! What is followed: events, jobs, logs.

use forge_tests::{
    agent::{Agent, AgentOptions},
    hub::Hub,
    queuectl::Queue,
};
use serde_json::{Value, json};

fn event(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"))
}

#[tokio::test]
async fn past_events_are_shown_and_chosen() {
    let hub = Hub::new().await;
    hub.enqueue(json!({"id": "a", "type": "render"})).await;
    hub.enqueue(json!({"id": "b", "type": "report", "queue": "night"})).await;
    hub.claim("w1").await;
    let queue = Queue::of(&hub);
    let shown = |words: &str| -> Vec<Value> {
        let words: Vec<&str> = words.split_whitespace().collect();
        let said = queue.run(&words);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{words:?}");
        said.stdout.lines().map(event).collect()
    };
    let all = shown("events");
    let names: Vec<&str> = all.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(names, ["job:created", "job:created", "job:assigned"]);
    assert_eq!(shown("events --last 1").len(), 1);
    assert_eq!(shown("events --type report")[0]["job_id"], "b");
    assert_eq!(shown("events --job a").len(), 2);
    assert_eq!(shown("events --queue night").len(), 1);
    assert_eq!(shown("events --topics workers").len(), 0);
    let second = all[1]["id"].as_str().expect("an id");
    assert_eq!(shown(&format!("events --after {second}"))[0]["event"], "job:assigned");
    let last = all[2]["id"].as_str().expect("an id");
    assert_eq!(shown(&format!("events --after {last}")).len(), 0);
    let array = queue.ask(&["events", "-o", "json"]);
    assert_eq!(array.as_array().map(Vec::len), Some(3));
    let old = queue.run(&["events", "--after", "1-1"]);
    assert_eq!(
        (old.code, old.stderr.lines().next()),
        (1, Some("The hub does not have these events any more"))
    );
}

#[tokio::test]
async fn events_are_followed_through_a_restart_without_a_gap() {
    let mut hub = Hub::on_a_fixed_port().await;
    let queue = Queue::of(&hub);
    hub.enqueue(json!({"id": "before", "type": "t"})).await;
    let mut following = queue.follow(&["events", "-f", "--last", "1"]);
    assert_eq!(event(&following.line())["job_id"], "before");
    hub.enqueue(json!({"id": "first", "type": "t"})).await;
    assert_eq!(event(&following.line())["job_id"], "first");
    hub.restart().await;
    hub.enqueue(json!({"id": "second", "type": "t"})).await;
    assert_eq!(event(&following.line())["job_id"], "second");
    let said = following.interrupt();
    assert_eq!((said.code, said.stdout.as_str()), (130, ""));
    assert!(said.stderr.contains("broke off"), "{}", said.stderr);
}

#[tokio::test]
async fn an_array_of_events_is_closed_by_the_interrupt() {
    let hub = Hub::new().await;
    hub.enqueue(json!({"id": "a", "type": "t"})).await;
    let mut following = Queue::of(&hub).follow(&["events", "-f", "-n", "1", "-o", "json"]);
    let mut text = following.line();
    while !text.contains("job:created") {
        text += &following.line();
    }
    let said = following.interrupt();
    assert_eq!(said.code, 130);
    let all: Value = serde_json::from_str(&(text + &said.stdout)).expect("valid JSON");
    assert_eq!(all[0]["job_id"], "a");
}

#[tokio::test]
async fn jobs_are_watched_until_all_have_ended() {
    let hub = Hub::new().await;
    let queue = Queue::of(&hub);
    for id in ["a", "b"] {
        hub.enqueue(json!({"id": id, "type": "t", "max_attempts": 1})).await;
    }
    let mut watching = queue.follow(&["jobs", "watch", "a", "b"]);
    let mut alone = queue.follow(&["jobs", "watch", "a"]);
    hub.until_watchers(2).await;
    let mut leases = Vec::new();
    for _ in 0..2 {
        leases.push(hub.claim("w1").await);
    }
    assert_eq!(event(&watching.line())["event"], "job:assigned");
    assert_eq!(event(&alone.line())["job_id"], "a");
    let result = json!({"worker_id": "w1", "lease_id": leases[0]["lease_id"], "result": {}});
    hub.post("/api/jobs/a/result", result).await.expect(200);
    let alone = alone.end();
    assert_eq!((alone.code, alone.stdout.contains("job:completed")), (0, true), "{alone:?}");
    let failure = json!({"worker_id": "w1", "lease_id": leases[1]["lease_id"], "reason": "no luck"});
    hub.post("/api/jobs/b/fail", failure).await.expect(200);
    let both = watching.end();
    assert_eq!((both.code, both.stderr.as_str()), (6, "1 of 2 jobs did not complete\n"));
    let over = queue.run(&["jobs", "watch", "b"]);
    assert_eq!((over.code, over.stderr.lines().next()), (6, Some("Job b is dead: no luck")));
    assert_eq!(queue.run(&["jobs", "watch", "a"]).code, 0);
    assert_eq!(queue.run(&["jobs", "watch", "nobody"]).code, 1);
}

#[tokio::test]
async fn a_producer_watches_its_jobs_and_reasons_do_not_speak_to_the_terminal() {
    let hub = Hub::new().await;
    let (_, producer) = hub.token("producer").await;
    let queue = Queue::of(&hub).env("FORGE_TOKEN", &producer);
    queue.ask(&["submit", "t", "--id", "a", "--max-attempts", "1"]);
    let mut watching = queue.follow(&["jobs", "watch", "a"]);
    hub.until_watchers(1).await;
    let lease = hub.claim("w1").await;
    assert_eq!(event(&watching.line())["event"], "job:assigned");
    let failure = json!({"worker_id": "w1", "lease_id": lease["lease_id"], "reason": "\u{1b}[31mred"});
    hub.post("/api/jobs/a/fail", failure).await.expect(200);
    let said = watching.end();
    assert_eq!((said.code, said.stderr.contains('\u{1b}')), (6, false), "{}", said.stderr);
    assert!(said.stderr.contains(r"\u{1b}[31mred"), "{}", said.stderr);
    assert_eq!(queue.run(&["events"]).code, 5, "everything is for viewers");
    assert_eq!(
        queue.run(&["jobs", "retry", "--all", "--dry-run"]).code,
        5,
        "and many at once for administrators"
    );
}

#[tokio::test]
async fn a_log_is_followed_through_its_runs_to_the_end_of_the_job() {
    let hub = Hub::new().await;
    let _agent = Agent::start(&hub, AgentOptions::default().env("WORKER_ALLOW_COMMANDS", "true"));
    let queue = Queue::of(&hub);
    let go = queue.path("go");
    let command = format!(
        "echo begun >&2; while [ ! -e {0} ]; do sleep 0.05; done; rm {0}; echo over >&2; test -e {0}.now || {{ touch {0}.now; exit 1; }}",
        go.display()
    );
    let words =
        ["submit", "command", "--id", "a", "--command", &command, "--max-attempts", "2", "--backoff", "none"];
    queue.ask(&words);
    let mut following = queue.follow(&["jobs", "logs", "-f", "a"]);
    assert_eq!(following.line(), "begun");
    queue.touch("go");
    assert_eq!(following.line(), "over");
    assert_eq!(following.line(), "==> run 2 <==");
    assert_eq!(following.line(), "begun");
    queue.touch("go");
    let said = following.end();
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "over\n", ""));
    assert_eq!(queue.run(&["logs", "a"]).stdout, "==> run 1 <==\nbegun\nover\n==> run 2 <==\nbegun\nover\n");
    assert_eq!(queue.run(&["logs", "a", "--attempt", "2"]).stdout, "begun\nover\n");
    assert_eq!(queue.run(&["logs", "a", "--attempt", "3"]).code, 1);
    let pieces = queue.run(&["logs", "-f", "a", "-o", "jsonl"]);
    assert!(pieces.stdout.lines().map(event).all(|piece| piece["attempt"].is_u64()), "{}", pieces.stdout);
}
