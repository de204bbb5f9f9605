//! `install.sh` as the hub serves it, run on clean machines.

use super::{download_name, downloads, hub_with, run_a_job, write_sums};
use forge_tests::{
    binary::{self, workspace},
    hub::{Hub, Options, client_with},
    machine::Machine,
};
use serde_json::Value;
use std::{fs, net::TcpListener, process::Command};

const SETTINGS: &str = "/etc/forge-fleet/agent.env";

/// Fetches the installer from the hub onto the machine, as a person would.
fn fetch(machine: &Machine, hub: &Hub) {
    machine.run(&format!("curl -fsS {} -o install.sh", hub.url("/install.sh"))).done();
}

async fn worker(hub: &Hub, id: &str) -> Value {
    hub.get(&format!("/api/workers/{id}")).await.expect(200)
}

/// What removing an account always leaves: the backups that the account tools themselves keep.
fn without_backups(files: Vec<String>) -> Vec<String> {
    let is_backup =
        |file: &String| ["/etc/gshadow- ", "/etc/shadow- "].iter().any(|name| file.starts_with(name));
    files.into_iter().filter(|file| !is_backup(file)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_joins_runs_a_job_is_upgraded_and_leaves_without_a_trace() {
    let Some(machine) = Machine::booted() else { return };
    let folder = downloads();
    let hub = hub_with(folder.path()).await;
    let (_, token) = hub.token("worker").await;
    fetch(&machine, &hub);
    let before = machine.files();
    let accounts = || machine.run("cat /etc/passwd /etc/group /etc/shadow").done();
    let accounts_before = accounts();

    // The line that "Add a machine" shows; here everybody is root.
    let line = format!(
        "echo {token} | sh -c \"$(curl -fsSL {0}/install.sh)\" install.sh --hub {0} --id box-1 --name 'Box \"1\" $x' --token-file -",
        hub.url("")
    );
    let said = machine.run(&line).done();
    assert!(said.contains("Done: 'box-1' is part of the fleet"), "{said}");
    let first = worker(&hub, "box-1").await;
    assert_eq!(
        (first["state"].as_str(), first["name"].as_str()),
        (Some("online"), Some("Box \"1\" $x")),
        "{first}"
    );
    assert_eq!(run_a_job(&hub).await["result"]["user"], "forge-agent");
    machine.run("systemctl is-enabled forge-agent && systemctl is-active forge-agent").done();
    assert_eq!(machine.run(&format!("stat -c '%a %U' {SETTINGS}")).done(), "600 root\n");
    for process in fs::read_dir(machine.path("/proc")).expect("list its processes").flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains(&token), "arguments can be seen by everybody");
    }

    // Again, knowing everything from the first time: nothing changes, and the agent goes on.
    let again = machine.run("sh install.sh").done();
    assert!(again.contains("is up to date"), "{again}");
    assert_eq!(worker(&hub, "box-1").await["boot_id"], first["boot_id"], "it was not restarted");

    // What a person changed in the settings stays, and a new program is put in place of the old.
    machine.run(&format!("echo 'WORKER_SLOTS=\"3\"' >>{SETTINGS}")).done();
    let agent = folder.path().join(download_name("forge-agent"));
    let mut bytes = fs::read(&agent).expect("read the agent");
    bytes.extend(b"a newer one");
    fs::write(&agent, bytes).expect("write the agent");
    write_sums(folder.path());
    let upgraded = machine.run("sh install.sh").done();
    assert!(upgraded.contains("Installed /usr/local/bin/forge-agent"), "{upgraded}");
    let second = worker(&hub, "box-1").await;
    assert_ne!(second["boot_id"], first["boot_id"], "the new program runs");
    assert_eq!(second["slots"], 3);
    run_a_job(&hub).await;

    // One agent goes by an id: without the service there is no service.
    let alone = machine.run("sh install.sh --no-service").done();
    assert!(alone.contains("Done: 'box-1'"), "{alone}");
    assert!(!machine.run("systemctl is-active forge-agent").status.success());

    machine.run("sh install.sh --uninstall").done();
    assert_eq!(without_backups(machine.files()), without_backups(before));
    assert_eq!(accounts(), accounts_before);
    assert_eq!(machine.run("systemctl list-unit-files 'forge*' --no-legend; readlink /proc/[0-9]*/exe | grep forge || true").done(), "");
    // There is nothing to remove any more, and that is no error.
    machine.run("sh install.sh --uninstall").done();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_systemd_and_curl_the_agent_is_started_all_the_same() {
    let Some(machine) = Machine::bare() else { return };
    let folder = downloads();
    let hub = hub_with(folder.path()).await;
    let (_, token) = hub.token("worker").await;
    fetch(&machine, &hub);
    machine.run("rm /usr/bin/curl").done();
    let before = machine.files();
    machine.put("/tmp/token", &token, 0o600);
    let said = machine.run("sh install.sh --id box-2 --token-file /tmp/token");
    assert!(said.stderr.contains("systemd does not run here"), "{said:?}");
    assert!(said.done().contains("Done: 'box-2' is part of the fleet"));
    let first = worker(&hub, "box-2").await;
    run_a_job(&hub).await;
    machine.run("sh install.sh").done();
    assert_eq!(worker(&hub, "box-2").await["boot_id"], first["boot_id"], "it was not restarted");
    machine.run("sh install.sh --name Renamed").done();
    assert_eq!(worker(&hub, "box-2").await["name"], "Renamed");
    machine.run("sh install.sh --uninstall").done();
    assert_eq!(without_backups(machine.files()), without_backups(before));
    assert_eq!(
        machine.run("readlink /proc/[0-9]*/exe | grep forge || true").done(),
        "",
        "nothing runs any more"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_right_is_refused_and_changes_nothing() {
    let Some(machine) = Machine::bare() else { return };
    let folder = downloads();
    let hub = hub_with(folder.path()).await;
    fetch(&machine, &hub);
    let before = machine.files();
    let refused = |arguments: &str, why: &str| {
        let error = machine.run_with(&format!("sh install.sh {arguments}"), "a-token").refused();
        assert!(error.contains(why), "{arguments}: {error}");
    };
    refused("--hub ftp://hub --token-file -", "must begin with https://");
    refused("--hub 'http://a b' --token-file -", "is not the address of a hub");
    refused("--hub http://127.0.0.1:9 --token-file -", "offers no downloads");
    refused("--token-file /nowhere", "cannot read /nowhere");
    refused("--token 'has\"quote'", "this is not a token");
    refused("--token-file - --id 'a b'", "cannot be an id");
    refused("--hub", "needs a value");
    refused("--what", "there is no option '--what'");
    refused("", "there is no token");
    refused("--token a-token --id 'a b'", "Prefer --token-file");

    let bare = Hub::start(Options::default().env("DOWNLOADS_DIR", "/nowhere")).await;
    refused(&format!("--hub {} --token-file -", bare.url("")), "make dist");
    fs::write(folder.path().join(download_name("forge-agent")), "something else").expect("write");
    refused("--token-file -", "is not what the hub lists");
    let sums = fs::read_to_string(folder.path().join("SHA256SUMS")).expect("read the sums");
    fs::write(folder.path().join("SHA256SUMS"), sums.replace("forge-agent-linux", "forge-agent-other"))
        .expect("write the sums");
    refused("--token-file -", "the hub has no forge-agent for linux");
    // A script of which only the beginning arrived does nothing.
    machine.run("head -n 300 install.sh >half.sh; sh half.sh --token-file - 2>&1 || true; rm half.sh").done();
    assert_eq!(machine.files(), before);
    let user = machine
        .run("cp install.sh /tmp; setpriv --reuid=1000 --regid=1000 --clear-groups sh /tmp/install.sh");
    assert!(user.refused().contains("run it as root"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_the_hub_refuses_is_named_as_the_reason() {
    let Some(machine) = Machine::bare() else { return };
    let folder = downloads();
    let hub = hub_with(folder.path()).await;
    fetch(&machine, &hub);
    let said = machine.run_with("sh install.sh --token-file - --wait 2", "fq_of_another_hub");
    let error = said.refused();
    assert!(error.contains("FAIL  token") && error.contains("goes on trying"), "{error}");
    machine.run("sh install.sh --uninstall").done();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_is_installed_for_all_or_for_one_person() {
    let Some(machine) = Machine::bare() else { return };
    let folder = downloads();
    let hub = hub_with(folder.path()).await;
    fetch(&machine, &hub);
    let before = machine.files();
    let all = machine.run("sh install.sh --cli && queuectl --version").done();
    assert!(all.contains("Installed /usr/local/bin/queuectl") && !all.contains("PATH"), "{all}");
    let person =
        "cp install.sh /tmp; setpriv --reuid=1000 --regid=1000 --clear-groups env HOME=/tmp/person SHELL=";
    let zsh = machine.run(&format!("{person}/bin/zsh sh /tmp/install.sh --cli")).done();
    assert!(zsh.contains("/tmp/person/.local/bin is not in PATH") && zsh.contains(".zshrc"), "{zsh}");
    machine.run("/tmp/person/.local/bin/queuectl --version").done();
    let bash = machine.run(&format!("{person}/bin/bash sh /tmp/install.sh --cli")).done();
    assert!(bash.contains("is up to date") && bash.contains(".profile"), "{bash}");
    machine.run(&format!("{person}/bin/bash sh /tmp/install.sh --cli --uninstall")).done();
    machine.run("sh install.sh --cli --uninstall").done();
    assert_eq!(machine.files(), before);
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units_and_little_exposed() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return eprintln!("SKIPPED: the check of systemd's units, because systemd-analyze is missing.");
    }
    let folder = tempfile::TempDir::new().expect("make a folder");
    let printed = Command::new("sh").arg(workspace().join("deploy/install.sh")).arg("--print-unit").output();
    let agent = printed.expect("run the installer").stdout;
    let hub = fs::read(workspace().join("deploy/systemd/forge-hub.service")).expect("read the hub's unit");
    for (name, unit) in [("forge-agent", agent), ("forge-hub", hub)] {
        // The programs are not installed here; any other stands for them.
        let unit =
            String::from_utf8(unit).expect("text").replace(&format!("/usr/local/bin/{name}"), "/bin/true");
        let path = folder.path().join(format!("{name}.service"));
        fs::write(&path, unit).expect("write the unit");
        let verified =
            Command::new("systemd-analyze").arg("verify").arg(&path).output().expect("run systemd-analyze");
        let complaints = String::from_utf8_lossy(&verified.stderr).into_owned();
        assert!(verified.status.success() && !complaints.contains(name), "{complaints}");
        // 10 is exposed to everything, 0 to nothing; it is given in tenths.
        let score = Command::new("systemd-analyze")
            .args(["security", "--offline=true", "--no-pager", "--threshold=25"])
            .arg(&path)
            .output()
            .expect("run systemd-analyze");
        let said = String::from_utf8_lossy(&score.stdout).into_owned();
        println!("{}", said.lines().last().unwrap_or_default());
        assert!(score.status.success(), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_on_a_plain_server_runs_under_its_unit() {
    let Some(machine) = Machine::booted() else { return };
    let unit = fs::read(workspace().join("deploy/systemd/forge-hub.service")).expect("read the hub's unit");
    machine.put("/etc/systemd/system/forge-hub.service", unit, 0o644);
    machine.put("/usr/local/bin/forge-hub", fs::read(binary::hub()).expect("read the hub"), 0o755);
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a free port").port();
    machine.put("/etc/forge-fleet/hub.env", format!("HOST=127.0.0.1\nPORT={port}\n"), 0o600);
    machine.run("systemctl enable --now forge-hub").done();
    let health = format!("timeout 20 sh -c 'until PORT={port} forge-hub health; do sleep 0.1; done'");
    let healthy = machine.run(&health);
    assert!(healthy.status.success(), "{}", machine.run("journalctl --no-pager -u forge-hub").done());
    let token = machine.run("cat /var/lib/forge-hub/forge-fleet.secret").done();
    let made = client_with(Some(token.trim()))
        .post(format!("http://127.0.0.1:{port}/api/jobs"))
        .json(&serde_json::json!({"type": "t"}))
        .send()
        .await
        .expect("an answer");
    assert_eq!(made.status(), 201);
    machine
        .run("systemctl stop forge-hub && systemctl show -p Result --value forge-hub | grep -qx success")
        .done();
}
