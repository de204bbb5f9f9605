//! What `forge-agent doctor` says.

use forge_tests::{binary, hub::Hub};
use std::process::Output;
use tokio::process::Command;

pub(super) async fn doctor(env: &[(&str, &str)]) -> (Output, String) {
    let home = tempfile::tempdir().expect("make a folder");
    let output = Command::new(binary::agent())
        .arg("doctor")
        .env_clear()
        .env("HOME", home.path())
        .env("NODE_ID", "patient")
        .envs(env.iter().copied())
        .output()
        .await
        .expect("run the doctor");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, said)
}

#[tokio::test]
async fn healthy_machine_passes_and_a_wrong_token_or_hub_is_named() {
    let hub = Hub::new().await;
    let url = hub.url("");
    let (_, worker) = hub.token("worker").await;
    let (output, said) = doctor(&[("HUB_URL", &url), ("FORGE_INGEST_SECRET", &worker)]).await;
    assert!(output.status.success() && !said.contains("FAIL"), "{said}");
    for line in ["ok    connection", "ok    token", "ok    clock", "ok    state", "ok    solver cache"] {
        assert!(said.contains(line), "{line} in\n{said}");
    }

    let (output, said) = doctor(&[("HUB_URL", &url), ("FORGE_INGEST_SECRET", "wrong-canary")]).await;
    assert!(
        !output.status.success() && said.contains("FAIL  token: the hub does not accept this token"),
        "{said}"
    );
    assert!(!said.contains("wrong-canary"), "{said}");

    let (_, viewer) = hub.token("viewer").await;
    let (_, said) = doctor(&[("HUB_URL", &url), ("FORGE_INGEST_SECRET", &viewer)]).await;
    assert!(
        said.contains("FAIL  token: the hub does not accept this token") && said.contains("scope"),
        "{said}"
    );

    let (output, said) = doctor(&[("HUB_URL", "http://127.0.0.1:9"), ("FORGE_INGEST_SECRET", "x")]).await;
    assert!(!output.status.success() && said.contains("FAIL  connection"), "{said}");
}
