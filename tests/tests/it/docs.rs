//! What the documentation shows is run as it stands there.

use forge_tests::{
    agent::{Agent, AgentOptions, SOON},
    binary::workspace,
    examples::{self, Example},
    hub::{Hub, SECRET},
};
use std::{fs, path::Path, process::Stdio};
use tokio::process::Command;

/// An agent as the page tells its readers to start it, once its hub has numbers of it.
async fn hub_with_agent() -> (Hub, Agent) {
    let hub = Hub::new().await;
    let mut machines = hub.stream("/api/fleet/events").await;
    let options = AgentOptions::default()
        .env("WORKER_TYPES", r#"["demo"]"#)
        .env("WORKER_HANDLERS", r#"{"demo": ["/bin/sh", "-c", "cat"]}"#);
    let agent = Agent::start(&hub, options);
    agent.until_log("\"registered\"").await;
    let numbers = async {
        while !machines.next().await.expect("the stream goes on").expect("a machine").json()["latest"]
            .is_object()
        {}
    };
    tokio::time::timeout(SOON, numbers).await.expect("the machine is seen");
    (hub, agent)
}

/// Runs every example of the page in one language, in order, against one hub.
async fn every_example_prints_what_the_page_says(
    language: &str,
    program: &[&str],
    file: &str,
    needs: &[&str],
) {
    for tool in needs.iter().chain(program.first()) {
        let found =
            Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().await;
        if found.is_err() {
            eprintln!("SKIPPED: the examples in {language}, because {tool} is missing");
            return;
        }
    }
    let page = fs::read_to_string(workspace().join("docs/examples.md")).expect("the page");
    let (hub, _agent) = hub_with_agent().await;
    let folder = tempfile::tempdir().expect("make a folder");
    let mut wrong = String::new();
    for Example { title, code, prints } in examples::in_language(&page, language) {
        fs::write(folder.path().join(file), code).expect("write the example");
        let ran = run(program, file, folder.path(), &hub).await;
        let printed = String::from_utf8_lossy(&ran.stdout);
        if !ran.status.success() || !examples::prints_as_told(&printed, &prints) {
            let said = String::from_utf8_lossy(&ran.stderr);
            wrong += &format!(
                "'{title}' in {language}: {}\n{printed}--- but should print\n{prints}--- it said\n{said}\n",
                ran.status
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

async fn run(program: &[&str], file: &str, folder: &Path, hub: &Hub) -> std::process::Output {
    let mut command = Command::new(program[0]);
    command
        .args(&program[1..])
        .arg(file)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("HUB_URL", hub.url(""))
        .env("TOKEN", SECRET)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let ended = tokio::time::timeout(SOON, command.output()).await;
    ended.unwrap_or_else(|_| panic!("the example in {file} does not end")).expect("run the example")
}

#[tokio::test]
async fn examples_with_curl_print_what_the_page_says() {
    every_example_prints_what_the_page_says("sh", &["sh", "-eu"], "example.sh", &["curl", "jq"]).await;
}

#[tokio::test]
async fn examples_in_python_print_what_the_page_says() {
    every_example_prints_what_the_page_says("python", &["python3"], "example.py", &[]).await;
}

#[tokio::test]
async fn examples_in_javascript_print_what_the_page_says() {
    every_example_prints_what_the_page_says("js", &["node"], "example.mjs", &[]).await;
}
