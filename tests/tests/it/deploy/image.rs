//! The hub's image without a container engine: the last stage of its Dockerfile, carried out step by step on
//! a bare Debian, and what comes of it started as a container would be.

use super::downloads;
use forge_tests::{
    binary::{self, workspace},
    dockerfile::{self, Stage},
    hub::{SECRET, client_with},
    machine::Machine,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A debug build on a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// The image, and where it can be changed: nowhere but in its volume.
struct Container {
    machine: Machine,
    stage: Stage,
    env: BTreeMap<String, String>,
    port: u16,
    running: Option<(Child, u32)>,
}

impl Container {
    /// `None`, with the reason printed, where there can be no machine of its own.
    fn create(volume: &Path) -> Option<Self> {
        let machine = Machine::bare()?;
        let text =
            fs::read_to_string(workspace().join("deploy/hub/Dockerfile")).expect("read the Dockerfile");
        let stage = dockerfile::parse(&text).expect("a Dockerfile").pop().expect("a last stage");
        let downloads = downloads();
        // What the stage before has built, of the programs under test.
        let built: BTreeMap<&str, PathBuf> = BTreeMap::from([
            ("/src/dist/bin/forge-hub", binary::hub()),
            ("/src/dist/downloads", downloads.path().to_owned()),
        ]);
        for step in &stage.instructions {
            match step.name.as_str() {
                "RUN" => drop(machine.run(&step.rest).done()),
                "WORKDIR" => drop(machine.run(&format!("mkdir -p {}", step.rest)).done()),
                "COPY" => {
                    let copy = dockerfile::copy(step);
                    assert_eq!(copy.from_stage.as_deref(), Some("build"), "{step:?}");
                    for source in &copy.sources {
                        copy_in(&machine, &built[source.as_str()], &copy.to);
                    }
                }
                // They say how it is run, below.
                "ENV" | "USER" | "EXPOSE" | "STOPSIGNAL" | "HEALTHCHECK" | "ENTRYPOINT" => {}
                other => panic!("this test does not know how to carry out {other}"),
            }
        }
        // A new volume begins as what the image has in its place.
        let data = fs::metadata(machine.path("/data")).expect("the image has /data");
        chown(volume, Some(data.uid()), Some(data.gid())).expect("give the volume away");
        fs::set_permissions(volume, data.permissions()).expect("set the volume's mode");
        machine.mount(volume, "/data");
        machine.make_read_only();
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|socket| socket.local_addr())
            .expect("a free port")
            .port();
        let mut env = stage.env();
        env.insert("PORT".to_owned(), port.to_string());
        env.insert("FORGE_INGEST_SECRET".to_owned(), SECRET.to_owned());
        Some(Self { machine, stage, env, port, running: None })
    }

    /// A program of the image under its user, with its environment and no rights beyond that.
    fn command(&self, words: &[String]) -> std::process::Command {
        let user = &self.stage.last("USER").expect("the image has a user").rest;
        let (uid, gid) = user.split_once(':').expect("USER is uid:gid");
        let mut command = self.machine.command("sh");
        command.args([
            "-c",
            "cd /data; echo $$; exec \"$@\"",
            "sh",
            "setpriv",
            "--no-new-privs",
            "--clear-groups",
        ]);
        command.args([format!("--reuid={uid}"), format!("--regid={gid}"), "--bounding-set=-all".to_owned()]);
        command
            .args(words)
            .envs(&self.env)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn is_healthy(&self) -> bool {
        let check =
            self.stage.last("HEALTHCHECK").and_then(|check| check.exec_form()).expect("HEALTHCHECK [...]");
        self.command(&check).output().expect("run the health check").status.success()
    }

    fn start(&mut self) {
        assert!(!self.is_healthy(), "nothing runs yet, and the health check says so");
        let entry =
            self.stage.last("ENTRYPOINT").and_then(|entry| entry.exec_form()).expect("ENTRYPOINT [...]");
        let mut child = self.command(&entry).spawn().expect("start the hub");
        let mut first = String::new();
        let mut said = BufReader::new(child.stdout.take().expect("standard output"));
        said.read_line(&mut first).expect("its number");
        std::thread::spawn(move || said.lines().count());
        self.running = Some((child, first.trim().parse().expect("a number")));
        let deadline = Instant::now() + SOON;
        while !self.is_healthy() {
            let child = &mut self.running.as_mut().expect("it runs").0;
            if let Ok(Some(status)) = child.try_wait() {
                let mut why = String::new();
                let _ = std::io::Read::read_to_string(&mut child.stderr.take().expect("errors"), &mut why);
                panic!("the hub ended with {status}: {why}");
            }
            assert!(Instant::now() < deadline, "the hub should become healthy");
        }
    }

    /// As a container engine does it.
    fn stop(&mut self) {
        let (mut child, pid) = self.running.take().expect("it runs");
        let signal = &self.stage.last("STOPSIGNAL").expect("a signal").rest;
        self.machine.run(&format!("kill -s {} {pid}", signal.trim_start_matches("SIG"))).done();
        assert!(child.wait().expect("wait for the hub").success());
    }

    async fn ask(&self, path: &str) -> Value {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        let answer = client_with(Some(SECRET)).get(url).send().await.expect("an answer");
        assert_eq!(answer.status(), 200, "{path}");
        answer.json().await.expect("JSON")
    }

    async fn tell(&self, path: &str, body: Value) -> Value {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        let answer = client_with(Some(SECRET)).post(url).json(&body).send().await.expect("an answer");
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        let body = answer.bytes().await.expect("a body");
        serde_json::from_slice(&body).unwrap_or(Value::Null)
    }
}

/// A file under its new name, or what is in a folder.
fn copy_in(machine: &Machine, source: &Path, to: &str) {
    if source.is_dir() {
        for entry in fs::read_dir(source).expect("list a folder").flatten() {
            copy_in(machine, &entry.path(), &format!("{to}/{}", entry.file_name().to_string_lossy()));
        }
    } else {
        let mode = fs::metadata(source).expect("a file").permissions().mode();
        machine.put(to, fs::read(source).expect("read a file"), mode);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_image_is_a_working_hub_that_can_change_nothing_but_its_volume() {
    let volume = TempDir::new().expect("make a folder");
    let Some(mut container) = Container::create(volume.path()) else { return };
    container.start();
    let (_, pid) = container.running.as_ref().expect("it runs");
    let status =
        fs::read_to_string(container.machine.path(&format!("/proc/{pid}/status"))).expect("its status");
    let line = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned()
    };
    assert_eq!(line("Uid:"), "10001\t10001\t10001\t10001");
    assert_eq!(line("CapBnd:"), "0000000000000000");
    for (path, may) in
        [("/x", false), ("/usr/local/bin/x", false), ("/tmp/x", false), ("/run/x", false), ("/data/x", true)]
    {
        let touched = container.command(&["touch".to_owned(), path.to_owned()]).output().expect("run touch");
        assert_eq!(touched.status.success(), may, "{path}");
    }
    assert!(volume.path().join("forge-fleet.sqlite").is_file());
    container.tell("/api/jobs", json!({"type": "t"})).await;
    let offered = container.ask("/api/downloads").await;
    assert_eq!(offered.as_array().map(Vec::len), Some(2), "machines can be added: {offered}");
    container.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_deployed_anew_on_the_same_volume_finds_every_job() {
    let volume = TempDir::new().expect("make a folder");
    let Some(mut old) = Container::create(volume.path()) else { return };
    old.start();
    let jobs: Vec<Value> = (0..200).map(|n| json!({"type": "t", "params": {"n": n}})).collect();
    let made = old.tell("/api/jobs/batch", json!(jobs)).await;
    let ids: BTreeSet<String> = made
        .as_array()
        .expect("answers")
        .iter()
        .filter_map(|job| Some(job["id"].as_str()?.to_owned()))
        .collect();
    assert_eq!(ids.len(), 200, "{made}");
    let claimed = old.tell("/api/jobs/claim", json!({"worker_id": "w"})).await;
    let done = claimed["id"].as_str().expect("a job").to_owned();
    let report = json!({"worker_id": "w", "lease_id": claimed["lease_id"], "result": {"pixels": 1.50}});
    old.tell(&format!("/api/jobs/{done}/result"), report).await;
    let held = old.tell("/api/jobs/claim", json!({"worker_id": "w"})).await;
    old.stop();
    drop(old);

    let mut new = Container::create(volume.path()).expect("another machine");
    new.start();
    let found = new.ask("/api/jobs?limit=1000").await;
    let found: BTreeSet<String> = found
        .as_array()
        .expect("jobs")
        .iter()
        .filter_map(|job| Some(job["id"].as_str()?.to_owned()))
        .collect();
    assert_eq!(found, ids);
    assert_eq!(new.ask(&format!("/api/jobs/{done}")).await["status"], "completed");
    // Who worked while the hub was replaced goes on with the same lease.
    let held_id = held["id"].as_str().expect("a job");
    let report = json!({"worker_id": "w", "lease_id": held["lease_id"], "result": 2});
    new.tell(&format!("/api/jobs/{held_id}/result"), report).await;
    assert_eq!(new.ask(&format!("/api/jobs/{held_id}")).await["status"], "completed");
    new.stop();
}
