//! Servers of solvers that behave badly, and an agent that dies while it downloads.

use super::{end_of, files_in};
use forge_tests::{
    agent::{Agent, AgentOptions, until},
    between::origin::{Asked, Origin, Reply, long_script},
    cable::Cable,
    hub::{Hub, Options},
};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

const LENGTH: usize = 600_000;
const HALF: usize = 250_000;

fn job(origin: &Origin, checksum: &str) -> Value {
    json!({"type": "t", "solver_url": origin.url(), "solver_checksum": checksum})
}

fn cache(agent: &Agent) -> PathBuf {
    agent.dir().path().join(".forge-fleet/solvers")
}

/// Kills the agent when half of a solver is there; answers what the server was asked for.
async fn killed_halfway(first: fn(&[u8], Asked) -> Reply) -> Vec<Asked> {
    let hub = Hub::new().await;
    let mut agent = Agent::start(&hub, AgentOptions::default());
    let mark = agent.dir().path().join("runs");
    let (script, checksum) = long_script(&format!("echo run >> {}; echo 6", mark.display()), LENGTH);
    let origin = Origin::start("127.0.0.1", move |asked| match asked.number {
        0 => first(&script, asked),
        _ => Reply::whole(&script, asked),
    })
    .await;
    let id = hub.enqueue(job(&origin, &checksum)).await;
    let part = cache(&agent).join(format!("{checksum}.part"));
    until("half of the solver should be there", || {
        fs::metadata(&part).is_ok_and(|part| part.len() == HALF as u64)
    })
    .await;
    assert_eq!(hub.job(&id).await["status"], "assigned", "it is only prepared");
    agent.kill9().await;
    agent.start_again();
    let job = end_of(&hub, &id).await;
    assert_eq!((&job["status"], &job["result"]), (&json!("completed"), &json!(6)), "{job}");
    assert_eq!(super::runs(agent.dir().path()), 1);
    assert_eq!(files_in(&cache(&agent)), [checksum]);
    origin.asked()
}

#[tokio::test]
async fn agent_killed_while_it_downloads_goes_on_where_it_was() {
    let asked = killed_halfway(|script, asked| Reply::part(script, asked, HALF).then_stalls()).await;
    assert_eq!(asked.last(), Some(&Asked { number: 1, from: Some(HALF) }));
}

#[tokio::test]
async fn agent_killed_while_it_downloads_what_has_no_version_starts_over() {
    let first = |script: &[u8], _| {
        let head = format!("200 OK\r\ncontent-length: {}", script.len());
        Reply::new(&head, &script[..HALF]).then_stalls()
    };
    let asked = killed_halfway(first).await;
    assert_eq!(asked.last(), Some(&Asked { number: 1, from: None }));
}

#[tokio::test]
async fn server_that_cuts_stalls_and_lies_is_outlasted() {
    let hub = Hub::new().await;
    let agent = Agent::start(&hub, AgentOptions::default());
    let (script, checksum) = long_script("echo 6", LENGTH);
    let length = script.len();
    let origin = Origin::start("127.0.0.1", move |asked| match asked.number {
        0 => Reply::part(&script, asked, HALF),
        1 => Reply::part(&script, asked, HALF + 50_000).then_stalls(),
        // More than there is: the announced end never comes.
        2 => {
            let from = asked.from.unwrap_or(0);
            let head = format!(
                "206 Partial Content\r\netag: \"the-one-version\"\r\ncontent-range: bytes {from}-{}/{}\r\ncontent-length: {}",
                length + 99, length + 100, length + 100 - from
            );
            Reply::new(&head, &script[from..length - 1_000])
        }
        _ => Reply::whole(&script, asked),
    })
    .await;
    let id = hub.enqueue(job(&origin, &checksum)).await;
    let job = end_of(&hub, &id).await;
    assert_eq!((&job["result"], &job["attempt"]), (&json!(6), &json!(1)), "{job}");
    let from: Vec<Option<usize>> = origin.asked().iter().map(|asked| asked.from).collect();
    assert_eq!(from, [None, Some(HALF), Some(HALF + 50_000), Some(length - 1_000)]);
    agent.until_log("sent nothing for 30s").await;
    assert_eq!(files_in(&cache(&agent)), [checksum]);
}

#[tokio::test]
async fn server_that_announces_more_than_it_sends_fails_the_job_and_is_named() {
    let hub = Hub::new().await;
    let agent = Agent::start(&hub, AgentOptions::default());
    let (script, checksum) = long_script("echo 6", 1_000);
    let origin = Origin::start("127.0.0.1", move |_| {
        Reply::new(&format!("200 OK\r\ncontent-length: {}", script.len() + 1), &script[..500])
    })
    .await;
    let mut job = job(&origin, &checksum);
    job["max_attempts"] = json!(1);
    let id = hub.enqueue(job).await;
    let job = end_of(&hub, &id).await;
    assert_eq!((&job["status"], &job["fail_reason"]), (&json!("quarantined"), &json!("solver_unavailable")));
    let said = job["fail_history"][0]["backtrace"].as_str().unwrap_or_default();
    let host = origin.url().trim_end_matches("/solver").to_owned();
    assert!(said.contains(&host) && said.contains("after 500 bytes"), "{said}");
    assert_eq!(files_in(&cache(&agent)), Vec::<String>::new());
}

#[tokio::test]
async fn public_server_that_redirects_to_a_private_address_is_refused() {
    let Some(cable) = Cable::lay() else { return };
    let public = cable.add_public_address();
    let hub = Hub::start(Options::default().env("HOST", "0.0.0.0")).await;
    let url = format!("http://{}:{}", cable.here, hub.address().port());
    let _agent = Agent::start_at(&url, AgentOptions::default().wrapper(cable.wrapper()));
    let (script, checksum) = long_script("echo 6", 1_000);
    let private = Origin::start(&cable.here, move |asked| Reply::whole(&script, asked)).await;
    let target = private.url();
    let origin = Origin::start(&public, move |_| {
        Reply::new(&format!("302 Found\r\nlocation: {target}\r\ncontent-length: 0"), b"")
    })
    .await;
    let mut job = job(&origin, &checksum);
    job["max_attempts"] = json!(1);
    let id = hub.enqueue(job).await;
    let job = end_of(&hub, &id).await;
    assert_eq!(
        (&job["status"], &job["fail_reason"]),
        (&json!("quarantined"), &json!("solver_url_forbidden"))
    );
    let said = job["fail_history"][0]["backtrace"].as_str().unwrap_or_default();
    assert!(said.contains("private address"), "{said}");
    assert_eq!((origin.asked().len(), private.asked().len()), (1, 0));
}
