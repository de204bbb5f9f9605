//! Disks that are full: under a solver's folder, under the cache, under the outbox.

use super::{end_of, files_in, run_script, runs, script, upload};
use forge_tests::{
    agent::{Agent, AgentOptions, until_exists},
    between::origin::long_script,
    disk::SmallDisk,
    hub::Hub,
};
use serde_json::{Value, json};
use std::{fs, path::Path};

const DISK_KIB: u32 = 1024;
/// A result that does not fit where the solver's folder was.
const RESULT_BYTES: usize = 100_000;

/// With its outbox and working folders on this disk, and its cache elsewhere.
fn on(disk: &SmallDisk) -> AgentOptions {
    AgentOptions::default().env("AGENT_STATE_DIR", &disk.path().display().to_string())
}

#[tokio::test]
async fn solver_that_fills_its_folder_fails_and_the_next_job_finds_it_empty() {
    let Some(disk) = SmallDisk::mount(DISK_KIB) else { return };
    let hub = Hub::new().await;
    let agent = Agent::start(&hub, on(&disk));
    let full = run_script(&hub, "head -c 100000000 /dev/zero > large").await;
    assert_eq!((&full["status"], &full["fail_reason"]), (&json!("quarantined"), &json!("exit_code:1")));
    let said = full["fail_history"][0]["backtrace"].as_str().unwrap_or_default();
    assert!(said.contains("No space left on device"), "{full}");
    assert_eq!(files_in(&disk.path().join("work")), Vec::<String>::new());
    assert_eq!(run_script(&hub, "head -c 500000 /dev/zero > fits; echo 1").await["result"], json!(1));
    drop(agent);
}

#[tokio::test]
async fn full_disk_under_the_cache_fails_the_job_with_advice_and_not_the_next_one() {
    let Some(disk) = SmallDisk::mount(64) else { return };
    let hub = Hub::new().await;
    let cache = disk.path().display().to_string();
    let _agent = Agent::start(&hub, AgentOptions::default().env("SOLVER_CACHE_DIR", &cache));
    let (large, checksum) = long_script("echo 1", 200_000);
    assert_eq!(upload(&hub, large).await, checksum);
    let id = hub.enqueue(json!({"type": "t", "solver_checksum": checksum, "max_attempts": 1})).await;
    let job = end_of(&hub, &id).await;
    assert_eq!((&job["status"], &job["fail_reason"]), (&json!("quarantined"), &json!("solver_disk_full")));
    let said = job["fail_history"][0]["backtrace"].as_str().unwrap_or_default();
    assert!(said.contains(&cache) && said.contains("SOLVER_CACHE_DIR"), "{said}");
    assert_eq!(files_in(disk.path()), Vec::<String>::new());
    assert_eq!(run_script(&hub, "echo 2").await["result"], json!(2));
}

/// In its first run a solver that waits, fills the disk of the outbox as any program on the machine
/// might, and has a large result; later runs only have a small one.
fn filling(dir: &Path, disk: &SmallDisk) -> String {
    format!(
        "cd {}; echo run >> runs; test $(wc -l < runs) -ge 2 && echo 8 && exit
        touch started; while ! test -e go; do sleep 0.05; done
        head -c 100000000 /dev/zero > {}/ballast 2> /dev/null
        head -c {RESULT_BYTES} /dev/zero | tr '\\0' x",
        dir.display(),
        disk.path().display()
    )
}

struct Full {
    hub: Hub,
    agent: Agent,
    disk: SmallDisk,
    id: String,
}

impl Full {
    /// A job whose outcome will find the outbox's disk full, and is about to end.
    async fn about_to_be(options: fn(AgentOptions) -> AgentOptions) -> Option<Self> {
        let disk = SmallDisk::mount(DISK_KIB)?;
        let hub = Hub::on_a_fixed_port().await;
        let agent = Agent::start(&hub, options(on(&disk)));
        let dir = agent.dir();
        let job = script(&hub, &filling(dir.path(), &disk)).await;
        let id = hub.enqueue(job).await;
        until_exists(&dir.path().join("started")).await;
        Some(Self { hub, agent, disk, id })
    }

    async fn go(&self) {
        fs::write(self.agent.dir().path().join("go"), "").expect("tell the solver to end");
        self.agent
            .until_log(&format!("no space left for the outbox in {}", self.disk.path().display()))
            .await;
    }

    fn make_room(&self) {
        fs::remove_file(self.disk.path().join("ballast")).expect("remove what fills the disk");
    }

    fn runs(&self) -> usize {
        runs(self.agent.dir().path())
    }
}

fn text(job: &Value) -> usize {
    job["result"]["stdout"].as_str().map_or(0, str::len)
}

#[tokio::test]
async fn outcome_that_cannot_be_kept_goes_to_the_hub_at_once() {
    let Some(full) = Full::about_to_be(|options| options).await else { return };
    full.go().await;
    let job = end_of(&full.hub, &full.id).await;
    assert_eq!((&job["status"], text(&job), full.runs()), (&json!("completed"), RESULT_BYTES, 1), "{job}");
    full.make_room();
    assert_eq!(run_script(&full.hub, "echo 2").await["result"], json!(2));
}

#[tokio::test]
async fn outcome_that_cannot_be_kept_is_written_as_soon_as_there_is_room() {
    let Some(mut full) = Full::about_to_be(|options| options).await else { return };
    full.hub.kill9().await;
    full.go().await;
    full.make_room();
    full.agent.until_log("the outcome is on disk after all").await;
    full.agent.kill9().await;
    full.hub.restart().await;
    full.agent.start_again();
    let job = end_of(&full.hub, &full.id).await;
    assert_eq!((&job["attempt"], text(&job), full.runs()), (&json!(1), RESULT_BYTES, 1), "{job}");
}

#[tokio::test]
async fn agent_with_a_full_disk_and_no_hub_can_still_leave_and_says_what_is_lost() {
    let short_grace = |options: AgentOptions| options.env("SHUTDOWN_GRACE_MS", "1000");
    let Some(mut full) = Full::about_to_be(short_grace).await else { return };
    full.hub.kill9().await;
    full.go().await;
    full.agent.terminate();
    assert!(full.agent.ended().await.success());
    let log = full.agent.log();
    let lost = log.lines().find(|line| line.contains("AN OUTCOME IS LOST")).unwrap_or_default();
    assert!(lost.contains(&full.id) && lost.contains(&full.disk.path().display().to_string()), "{log}");
    full.make_room();
    full.hub.restart().await;
    full.agent.start_again();
    let job = end_of(&full.hub, &full.id).await;
    assert_eq!((&job["result"], &job["attempt"], full.runs()), (&json!(8), &json!(2), 2), "{job}");
}
