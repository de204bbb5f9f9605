//! The example solvers do what their documentation says.

use super::{end_of, upload};
use forge_tests::{
    agent::{Agent, AgentOptions},
    binary::workspace,
    hub::Hub,
};
use serde_json::{Value, json};
use std::{fs, process::Command};

async fn run(hub: &Hub, program: Vec<u8>, params: Value) -> Value {
    let checksum = upload(hub, program).await;
    let id = hub.enqueue(json!({"type": "example", "solver_checksum": checksum, "params": params})).await;
    end_of(hub, &id).await
}

#[tokio::test]
async fn examples_in_shell_python_and_rust_run() {
    let hub = Hub::new().await;
    let _agent = Agent::start(&hub, AgentOptions::default());
    let examples = workspace().join("examples/solvers");
    let hello = fs::read(examples.join("hello.sh")).unwrap();
    assert_eq!(run(&hub, hello, json!({"name": "you"})).await["result"], json!({"hello": {"name": "you"}}));

    if Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        let pi = fs::read(examples.join("pi.py")).unwrap();
        let job = run(&hub, pi.clone(), json!({"darts": 1_000, "seed": 3})).await;
        let estimate = job["result"]["pi"].as_f64().expect("an estimate");
        assert!((2.8..3.5).contains(&estimate), "{job}");
        let refused = run(&hub, pi, json!({"darts": 0})).await;
        assert_eq!((&refused["fail_reason"], &refused["attempts"]), (&json!("exit_code:100"), &json!(1)));
    } else {
        eprintln!("SKIPPED in part: there is no python3");
    }

    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("collatz");
    let built =
        Command::new("rustc").arg("-O").arg(examples.join("collatz.rs")).arg("-o").arg(&program).status();
    assert!(built.expect("run rustc").success());
    let job = run(&hub, fs::read(program).unwrap(), json!({"below": 1_000})).await;
    assert_eq!(job["result"], json!({"start": 871, "steps": 179}), "{job}");
}
