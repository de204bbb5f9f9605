//! What the files in `deploy/` promise, read from the files themselves.

use forge_tests::{
    binary::workspace,
    dockerfile::{self, Stage},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn json(path: &str) -> Value {
    serde_json::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

const DOCKERFILES: [&str; 2] = ["deploy/hub/Dockerfile", "deploy/agent/Dockerfile"];

fn stages(path: &str) -> Vec<Stage> {
    dockerfile::parse(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A tag that names one version: `1.95.0-slim-bookworm`, not `1`, not `latest`.
fn is_pinned(image: &str) -> bool {
    let Some((_, tag)) = image.split_once(':') else { return false };
    let version = tag.split(['-', '@']).next().unwrap_or_default();
    version.split('.').count() >= 2 && version.split('.').all(|part| part.parse::<u32>().is_ok())
}

#[test]
fn images_begin_with_exact_versions_those_that_the_sources_ask_for() {
    for pinned in ["rust:1.95.0-slim-bookworm", "debian:12.12-slim", "debian:12.12-slim@sha256:ab"] {
        assert!(is_pinned(pinned), "{pinned}");
    }
    for loose in ["rust", "rust:latest", "rust:1", "debian:bookworm-slim", "node:20-slim"] {
        assert!(!is_pinned(loose), "{loose}");
    }
    let toolchain = read("rust-toolchain.toml");
    for path in DOCKERFILES {
        for stage in stages(path) {
            assert!(is_pinned(&stage.base), "{path}: {}", stage.base);
            if let Some(version) = stage.base.strip_prefix("rust:") {
                let version = version.split('-').next().unwrap_or_default();
                assert!(toolchain.contains(&format!("\"{version}\"")), "{path} builds with Rust {version}");
            }
        }
    }
}

#[test]
fn images_run_as_nobody_in_particular_say_how_they_are_and_keep_no_secret() {
    for path in DOCKERFILES {
        let stages = stages(path);
        let last = stages.last().expect("a stage");
        let user = &last.last("USER").unwrap_or_else(|| panic!("{path} runs as root")).rest;
        let ids: Vec<u32> = user.split(':').filter_map(|id| id.parse().ok()).collect();
        assert!(ids.len() == 2 && ids.iter().all(|id| *id > 9_999), "{path}: USER {user}");
        for name in ["ENTRYPOINT", "HEALTHCHECK"] {
            assert!(last.last(name).and_then(|line| line.exec_form()).is_some(), "{path}: {name} [...]");
        }
        assert!(
            last.all("COPY").all(|copy| dockerfile::copy(copy).from_stage.is_some()),
            "{path} ships no sources"
        );
        for stage in &stages {
            assert_eq!(stage.last("VOLUME"), None, "{path}: Railway refuses VOLUME");
            for line in &stage.instructions {
                let upper = line.rest.to_uppercase();
                let is_secret = ["SECRET", "TOKEN", "PASSWORD"].iter().any(|word| upper.contains(word));
                assert!(!(["ARG", "ENV"].contains(&line.name.as_str()) && is_secret), "{path}: {line:?}");
                if line.rest.contains("apt-get install") {
                    let is_tidy = line.rest.contains("--no-install-recommends")
                        && line.rest.contains("rm -rf /var/lib/apt/lists");
                    assert!(is_tidy, "{path}: {line:?}");
                }
            }
            for copy in stage.all("COPY").map(dockerfile::copy).filter(|copy| copy.from_stage.is_none()) {
                for source in copy.sources {
                    assert!(workspace().join(&source).exists(), "{path} copies {source}");
                }
            }
        }
    }
    let hub = stages(DOCKERFILES[0]).pop().expect("a stage");
    assert_eq!(hub.env()["SQLITE_PATH"], "/data/forge-fleet.sqlite");
    let ignored = read(".dockerignore");
    for name in [".git", ".forge", "target", "dist", "**/node_modules", "**/*.secret", "**/.env"] {
        assert!(ignored.lines().any(|line| line == name), "{name} would be sent to the builder");
    }
}

#[test]
fn hadolint_agrees() {
    if Command::new("hadolint").arg("--version").output().is_err() {
        return eprintln!(
            "SKIPPED: hadolint is missing; the checks beside this one still look at the Dockerfiles."
        );
    }
    for path in DOCKERFILES {
        // Versions of Debian's packages go with the pinned Debian.
        let linted =
            Command::new("hadolint").args(["--ignore", "DL3008"]).arg(workspace().join(path)).output();
        let linted = linted.expect("run hadolint");
        assert!(linted.status.success(), "{}", String::from_utf8_lossy(&linted.stdout));
    }
}

/// The part of YAML that the compose file uses, flat: `services.hub.read_only` to `true`. The items of a list,
/// in either of its forms, are joined by commas.
fn flat(yaml: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open: Vec<(usize, String)> = Vec::new();
    let bare = |text: &str| text.trim().trim_matches('"').to_owned();
    for line in yaml.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')) {
        let indent = line.len() - line.trim_start().len();
        assert!(indent % 2 == 0 && !line.contains('\t'), "indented by two spaces: {line}");
        open.retain(|(at, _)| *at < indent);
        let path = || open.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(".");
        if let Some(item) = line.trim().strip_prefix("- ") {
            let list: &mut String = found.entry(path()).or_default();
            *list = [list.as_str(), &bare(item)]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(",");
            continue;
        }
        let (name, value) = line.trim().split_once(':').unwrap_or_else(|| panic!("no key in: {line}"));
        open.push((indent, name.to_owned()));
        let value = value.trim().trim_start_matches('[').trim_end_matches(']');
        let path = open.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(".");
        let before = found.insert(path.clone(), value.split(", ").map(bare).collect::<Vec<_>>().join(","));
        assert_eq!(before, None, "{path} is there twice");
    }
    found
}

#[test]
fn the_compose_file_bounds_what_each_service_may_use_and_do() {
    let compose = flat(&read("deploy/compose.yaml"));
    for service in ["hub", "agent"] {
        let of = |path: &str| {
            let path = format!("services.{service}.{path}");
            compose.get(&path).unwrap_or_else(|| panic!("{path} is missing")).as_str()
        };
        for limit in ["cpus", "memory", "pids"] {
            assert!(
                of(&format!("deploy.resources.limits.{limit}")).starts_with(|c: char| c.is_ascii_digit())
            );
        }
        assert_eq!((of("read_only"), of("cap_drop"), of("init")), ("true", "ALL", "true"));
        assert_eq!(of("security_opt"), "no-new-privileges:true");
        assert!(workspace().join(of("build.dockerfile")).is_file());
        assert_eq!(of("build.context"), "..");
        assert!(of("volumes").ends_with(":/data"));
        let volume = of("volumes").split(':').next().unwrap_or_default();
        assert!(compose.contains_key(&format!("volumes.{volume}")), "{volume} is a named volume");
        assert!(of("environment.FORGE_INGEST_SECRET").starts_with("${"), "no secret in the file");
        let version = env!("CARGO_PKG_VERSION");
        assert!(of("image").ends_with(&format!(":{version}")), "the image is that of version {version}");
    }
    assert_eq!(compose["services.agent.depends_on.hub.condition"], "service_healthy");
}

#[test]
fn railway_builds_the_same_image_and_asks_for_its_health() {
    let railway = json("deploy/railway/railway.json");
    assert_eq!(railway["build"]["builder"], "DOCKERFILE");
    assert_eq!(railway["build"]["dockerfilePath"], DOCKERFILES[0]);
    assert_eq!(railway["deploy"]["numReplicas"], 1, "one hub serves a database");
    let health = railway["deploy"]["healthcheckPath"].as_str().expect("a path");
    let route = &json("docs/openapi.json")["paths"][health]["get"];
    assert_eq!(route["security"], serde_json::json!([{}]), "{health} needs no token");
}

#[test]
fn drafts_say_that_nobody_has_tried_them_and_can_be_read() {
    let (plist, script) = (read("deploy/launchd/com.forge-fleet.agent.plist"), read("deploy/install.ps1"));
    for draft in [&plist, &script] {
        assert!(draft.contains("UNTESTED DRAFT"));
    }
    let mut python = Command::new("python3")
        .args([
            "-c",
            "import plistlib, sys; print(plistlib.loads(sys.stdin.buffer.read())['ProgramArguments'][0])",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("run python3");
    python.stdin.take().expect("standard input").write_all(plist.as_bytes()).expect("write to python3");
    let said = python.wait_with_output().expect("wait for python3");
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "/usr/local/bin/forge-agent");

    let parse = "$errors = $null; [void][System.Management.Automation.Language.Parser]::ParseFile($args[0], [ref]$null, \
                 [ref]$errors); $errors; exit $errors.Count";
    let path = workspace().join("deploy/install.ps1");
    match Command::new("pwsh").args(["-NoProfile", "-Command", parse]).arg(&path).output() {
        Ok(parsed) => assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stdout)),
        Err(_) => balanced(&script),
    }
}

/// Without PowerShell: every bracket is closed by its own kind. Texts and comments are left out.
fn balanced(script: &str) {
    let mut open = Vec::new();
    let mut within = None;
    let mut letters = script.chars();
    while let Some(letter) = letters.next() {
        match (within, letter) {
            (_, '`') => drop(letters.next()),
            (Some(end), _) => within = Some(end).filter(|end| *end != letter),
            (None, '\'' | '"') => within = Some(letter),
            (None, '#') => within = Some(if open.last() == Some(&'<') { '>' } else { '\n' }),
            (None, '(' | '[' | '{') => open.push(letter),
            (None, ')' | ']' | '}') => {
                let opened = open.pop();
                assert!(
                    matches!((opened, letter), (Some('('), ')') | (Some('['), ']') | (Some('{'), '}')),
                    "{opened:?} {letter}"
                );
            }
            (None, '<') => within = Some('>'),
            _ => {}
        }
    }
    assert_eq!((open, within), (Vec::new(), None), "something stays open");
}

#[test]
fn the_bill_of_materials_has_what_is_shipped_and_nothing_that_is_banned() {
    let made = Command::new(workspace().join("scripts/sbom")).output().expect("run scripts/sbom");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let bill: Value = serde_json::from_slice(&made.stdout).expect("JSON");
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = bill["components"].as_array().expect("components");
    let names: BTreeSet<&str> =
        components.iter().filter_map(|component| component["name"].as_str()).collect();
    for name in ["forge-hub", "forge-agent", "forge-cli", "rusqlite", "tokio", "rustls", "react", "wouter"] {
        assert!(names.contains(name), "{name} is shipped");
    }
    for name in ["proptest", "rcgen", "forge-tests", "vite", "vitest", "aws-lc-rs", "openssl-sys", "chrono"] {
        assert!(!names.contains(name), "{name} is not");
    }
    let refs: BTreeSet<&str> =
        components.iter().filter_map(|component| component["bom-ref"].as_str()).collect();
    assert_eq!(refs.len(), components.len(), "each is named once");
    for component in components {
        assert!(component["licenses"][0]["expression"].is_string(), "{component}");
    }
    for entry in bill["dependencies"].as_array().expect("dependencies") {
        for on in entry["dependsOn"].as_array().expect("a list") {
            assert!(refs.contains(on.as_str().expect("a name")), "{on}");
        }
    }
}
