//! Solvers that write a gigabyte.

use super::run_script;
use forge_tests::{
    agent::{Agent, AgentOptions},
    hub::{Hub, Options},
    proc, turn,
};
use serde_json::json;

/// The hub keeps no more of one attempt.
const LOG_BYTES_MAX: usize = 16 << 20;
/// Far below what a solver writes here; a debug build needs more than what is promised when idle.
const AGENT_KIB_MAX: u64 = 96 << 10;

#[tokio::test]
async fn gigabyte_on_standard_error_leaves_the_end_of_the_log_and_says_what_is_missing() {
    let _alone = turn::alone().await;
    let hub = Hub::start(Options::default()).await;
    let agent = Agent::start(&hub, AgentOptions::default());
    let job =
        run_script(&hub, "yes 'a line of a very long log' | head -c 1G >&2; echo the end >&2; echo 1").await;
    assert_eq!((&job["status"], &job["result"]), (&json!("completed"), &json!(1)), "{job}");
    let id = job["id"].as_str().expect("an id");
    let log = hub.get(&format!("/api/jobs/{id}/logs")).await;
    let text = log.text();
    assert!(text.len() <= LOG_BYTES_MAX, "{} bytes", text.len());
    assert!(text.trim_end().ends_with("the end"), "{}", &text[text.len().saturating_sub(300)..]);
    assert!(text.contains(" bytes of "), "a line says how much is missing");
    let peak = proc::peak_rss_kib(agent.pid());
    assert!(peak < AGENT_KIB_MAX, "the agent took {peak} KiB");
}

#[tokio::test]
async fn gigabyte_on_standard_output_is_cut_short_and_fails_the_job() {
    let _alone = turn::alone().await;
    let hub = Hub::start(Options::default()).await;
    let agent = Agent::start(&hub, AgentOptions::default());
    let job = run_script(&hub, "head -c 1G /dev/zero").await;
    assert_eq!((&job["status"], &job["fail_reason"]), (&json!("quarantined"), &json!("result_too_large")));
    let said = job["fail_history"][0]["backtrace"].as_str().unwrap_or_default();
    assert!(said.contains("standard output"), "{job}");
    let peak = proc::peak_rss_kib(agent.pid());
    assert!(peak < AGENT_KIB_MAX, "the agent took {peak} KiB");
    assert_eq!(run_script(&hub, "echo 2").await["result"], json!(2));
}
