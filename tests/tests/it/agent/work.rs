//! What a job runs, and what its end looks like at the hub.

use super::{end_of, files_in, run_script, script, upload};
use forge_tests::{
    agent::{Agent, AgentOptions},
    hub::Hub,
};
use serde_json::{Value, json};

async fn pair(options: AgentOptions) -> (Hub, Agent) {
    let hub = Hub::new().await;
    let agent = Agent::start(&hub, options);
    (hub, agent)
}

#[tokio::test]
async fn solver_from_the_hubs_store_runs_with_its_params_and_reports_all_it_should() {
    let (hub, _agent) = pair(AgentOptions::default()).await;
    let lines = r#"
        test "$1" = --params && test "$2" = "$(cat "$FORGE_PARAMS_FILE")" || exit 1
        echo "attempt $FORGE_ATTEMPT of $FORGE_JOB_TYPE in $(basename "$PWD")" >&2
        test "$PWD" = "$FORGE_WORK_DIR" || exit 2
        echo 'FORGE_PROGRESS {"percent": 40, "message": "nearly"}' >&2
        printf '{"id": "%s", "params": %s}' "$FORGE_JOB_ID" "$(cat)""#;
    let mut job = script(&hub, lines).await;
    job["params"] = serde_json::from_str(r#"{"x": 1.0000000000000000000001}"#).unwrap();
    let id = hub.enqueue(job).await;
    let job = end_of(&hub, &id).await;
    assert_eq!(job["status"], "completed", "{job}");
    let text = hub.get(&format!("/api/jobs/{id}")).await.text();
    assert_eq!(job["result"]["id"], id.as_str());
    assert!(text.contains("result_hash"), "{text}");
    let log = hub.get(&format!("/api/jobs/{id}/logs")).await.text();
    assert!(log.contains("attempt 1 of script in "), "{log}");
    let attempts = hub.get(&format!("/api/jobs/{id}/attempts")).await.expect(200);
    let usage = &attempts[0]["usage"];
    assert!(
        usage["wall_ms"].is_u64() && usage["cpu_ms"].is_u64() && usage["peak_kb"].as_u64() > Some(0),
        "{attempts}"
    );
}

#[tokio::test]
async fn ends_are_told_apart() {
    let (hub, _agent) = pair(AgentOptions::default()).await;
    let done = run_script(&hub, "echo hello").await;
    assert_eq!((&done["status"], &done["result"]), (&json!("completed"), &json!({"stdout": "hello\n"})));

    let failed = run_script(&hub, "echo why >&2; exit 3").await;
    assert_eq!((&failed["status"], &failed["fail_reason"]), (&json!("quarantined"), &json!("exit_code:3")));
    assert!(
        failed["fail_history"][0]["backtrace"].as_str().is_some_and(|tail| tail.contains("why")),
        "{failed}"
    );

    assert_eq!(run_script(&hub, "kill -9 $$").await["fail_reason"], "signal:9");
    let bytes = run_script(&hub, r"printf '\377\n'; printf '\377\n' >&2").await;
    assert_eq!(bytes["result"], json!({"stdout": "\u{fffd}\n"}));

    let mut slow = script(&hub, "sleep 1000").await;
    slow["max_runtime_ms"] = json!(300);
    let slow = hub.enqueue(slow).await;
    let slow = end_of(&hub, &slow).await;
    assert_eq!(
        (&slow["status"], &slow["fail_reason"]),
        (&json!("quarantined"), &json!("max_runtime_exceeded"))
    );
    assert_eq!(slow["fail_history"][0]["kind"], "timeout");
}

#[tokio::test]
async fn exit_code_100_is_not_tried_again() {
    let (hub, _agent) = pair(AgentOptions::default()).await;
    let job = script(&hub, "exit 100").await;
    let id = hub.enqueue(job).await;
    let job = end_of(&hub, &id).await;
    assert_eq!((&job["status"], &job["attempts"]), (&json!("quarantined"), &json!(1)), "{job}");
}

#[tokio::test]
async fn large_params_reach_the_program_by_file_and_input() {
    let (hub, _agent) = pair(AgentOptions::default()).await;
    let lines = r#"test $# = 0 || exit 1; printf '{"input": %s, "file": %s}' "$(wc -c)" "$(wc -c < "$FORGE_PARAMS_FILE")""#;
    let mut job = script(&hub, lines).await;
    job["params"] = json!({"text": "x".repeat(300_000)});
    let id = hub.enqueue(job).await;
    let job = end_of(&hub, &id).await;
    assert_eq!(job["result"], json!({"input": 300_011, "file": 300_011}), "{job}");
}

#[tokio::test]
async fn handlers_and_commands_are_the_operators_choice() {
    let options = AgentOptions::default()
        .env("WORKER_HANDLERS", r#"{"upper": ["tr", "a-z", "A-Z"], "cat": ["sh", "-c", "cat"]}"#)
        .env("WORKER_ALLOW_COMMANDS", "true");
    let (hub, mut agent) = pair(options).await;
    let id = hub.enqueue(json!({"type": "cat", "params": {"n": 7}})).await;
    assert_eq!(end_of(&hub, &id).await["result"], json!({"n": 7}));
    let id = hub.enqueue(json!({"type": "shell", "command": "echo $((6*7))"})).await;
    assert_eq!(end_of(&hub, &id).await["result"], json!(42));
    let id = hub.enqueue(json!({"type": "unknown"})).await;
    let job = end_of(&hub, &id).await;
    assert_eq!((&job["status"], &job["fail_reason"]), (&json!("quarantined"), &json!("no_solver")));

    agent.kill9().await;
    agent.options = AgentOptions::default();
    agent.start_again();
    let id = hub.enqueue(json!({"type": "shell", "command": "echo no"})).await;
    assert_eq!(end_of(&hub, &id).await["fail_reason"], "no_solver");
}

#[tokio::test]
async fn checksum_that_is_off_by_a_digit_is_an_ordinary_failure_that_leaves_no_file() {
    let (hub, agent) = pair(AgentOptions::default()).await;
    let checksum = upload(&hub, "#!/bin/sh\necho 1\n").await;
    let url = hub.url(&format!("/api/solvers/{checksum}"));
    let (rest, last) = checksum.split_at(checksum.len() - 1);
    let off = format!("{rest}{}", if last == "0" { "1" } else { "0" });
    let job = json!({"type": "t", "solver_url": url, "solver_checksum": off, "max_attempts": 2,
        "backoff": {"kind": "none", "first_ms": 0, "factor": 1.0, "max_ms": 0, "jitter": "none"}});
    let id = hub.enqueue(job).await;
    let job = end_of(&hub, &id).await;
    let reasons: Vec<&Value> =
        job["fail_history"].as_array().unwrap().iter().map(|entry| &entry["reason"]).collect();
    assert_eq!(reasons, ["solver_checksum_mismatch"; 2], "{job}");
    let cache = agent.dir().path().join(".forge-fleet/solvers");
    assert_eq!(files_in(&cache), Vec::<String>::new());
}

#[tokio::test]
async fn without_being_enabled_it_only_sends_metrics() {
    let hub = Hub::new().await;
    let options = AgentOptions::default().env("WORKER_ENABLED", "false").env("NODE_NAME", "The Machine");
    let mut agent = Agent::start(&hub, options);
    let mut events = hub.stream("/api/fleet/events").await;
    let node: Value = loop {
        let message = events.next().await.expect("the stream goes on").expect("a node");
        let node: Value = serde_json::from_str(&message.data).expect("JSON");
        if node["latest"].is_object() {
            break node;
        }
    };
    assert_eq!(
        (&node["id"], &node["name"], &node["status"]),
        (&json!("machine"), &json!("The Machine"), &json!("online"))
    );
    assert!(node["latest"]["memory"]["total"].as_f64() > Some(0.1), "{node}");
    assert_eq!(hub.get("/api/workers").await.expect(200), json!([]));
    agent.terminate();
    assert!(agent.ended().await.success());
}

#[tokio::test]
async fn cancelled_job_is_stopped_with_everything_it_started() {
    let (hub, agent) = pair(AgentOptions::default()).await;
    let mark = agent.dir().path().join("started");
    let lines = format!("setsid sleep 4242 & touch {}; sleep 4242", mark.display());
    let job = script(&hub, &lines).await;
    let id = hub.enqueue(job).await;
    forge_tests::agent::until_exists(&mark).await;
    let answer = hub.post(&format!("/api/jobs/{id}/cancel"), json!({})).await;
    assert!(matches!(answer.status, 200 | 202), "{}", answer.text());
    let job = end_of(&hub, &id).await;
    assert_eq!((&job["status"], &job["fail_reason"]), (&json!("failed"), &json!("cancelled")), "{job}");
    forge_tests::agent::until_gone("sleep 4242", agent.dir().path()).await;
}

#[tokio::test]
async fn jobs_that_were_claimed_ahead_of_a_long_one_go_to_whoever_is_free() {
    let (hub, agent) = pair(AgentOptions::default()).await;
    let dir = agent.dir();
    let short = run_script(&hub, "echo 1").await;
    assert_eq!(short["result"], json!(1));
    let lines = format!(
        "touch {0}/started; while ! test -e {0}/go; do sleep 0.05; done; echo 2",
        dir.path().display()
    );
    // All are there when the first is claimed, so others are claimed while the first runs.
    let long = script(&hub, &lines).await;
    let next = script(&hub, "echo 3").await;
    let ids = hub.post("/api/jobs/batch", json!([long, next, next, next, next])).await.expect(201);
    let id = |n: usize| ids[n]["id"].as_str().expect("an id").to_owned();
    forge_tests::agent::until_exists(&dir.path().join("started")).await;
    let _free = Agent::start(&hub, AgentOptions::default().id("another"));
    for n in 1..=4 {
        let next = end_of(&hub, &id(n)).await;
        assert_eq!((&next["result"], &next["attempts"]), (&json!(3), &json!(1)), "{next}");
        assert_eq!(next["worker_id"], "another", "{next}");
    }
    std::fs::write(dir.path().join("go"), "").unwrap();
    assert_eq!(end_of(&hub, &id(0)).await["result"], json!(2));
}

#[tokio::test]
async fn solver_that_is_deaf_to_the_request_to_end_is_killed_with_its_children() {
    let (hub, agent) = pair(AgentOptions::default()).await;
    let lines = "trap '' TERM; setsid sh -c \"trap '' TERM; exec sleep 8181\" & while :; do sleep 8282; done";
    let mut job = script(&hub, lines).await;
    job["max_runtime_ms"] = json!(300);
    let id = hub.enqueue(job).await;
    let job = end_of(&hub, &id).await;
    assert_eq!(
        (&job["status"], &job["fail_reason"]),
        (&json!("quarantined"), &json!("max_runtime_exceeded")),
        "{job}"
    );
    for command in ["sleep 8181", "sleep 8282"] {
        forge_tests::agent::until_gone(command, agent.dir().path()).await;
    }
}
