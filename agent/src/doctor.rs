//! What stands between this machine and the hub, and what to do about it.

use crate::{
    config::Config,
    hub::{self, Failed, Hub, explain},
    tls::Trust,
};
use std::{
    fs,
    path::Path,
    process::ExitCode,
    time::{Duration, SystemTime},
};

/// Beyond this, times that the two machines write down confuse people.
const SKEW_MAX: Duration = Duration::from_secs(5);
const FREE_BYTES_MIN: u64 = 1 << 30;

struct Report {
    failed: bool,
}

impl Report {
    fn good(&self, what: &str, found: &str) {
        println!("ok    {what}: {found}");
    }

    fn note(&self, what: &str, found: &str) {
        println!("note  {what}: {found}");
    }

    fn bad(&mut self, what: &str, wrong: &str, fix: &str) {
        self.failed = true;
        println!("FAIL  {what}: {wrong}\n      {fix}");
    }
}

/// Looks at everything, prints a line for each, and succeeds when nothing is wrong.
pub async fn examine(config: &Config) -> anyhow::Result<ExitCode> {
    let mut report = Report { failed: false };
    let id = match config.id() {
        Ok(id) => {
            report.good("id", id.as_str());
            id
        }
        Err(error) => {
            report.bad("id", &error.to_string(), "Choose one of letters, digits, '-' and '_'.");
            return Ok(ExitCode::FAILURE);
        }
    };
    let proxies: Vec<String> = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"]
        .into_iter()
        .filter(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
        .map(str::to_owned)
        .collect();
    match proxies.is_empty() {
        true => report.good("proxy", "none"),
        false => report.note("proxy", &format!("set by {}", proxies.join(", "))),
    }
    address(config, !proxies.is_empty(), &mut report).await;
    let trust = Trust::read(config.hub_ca_file.as_deref());
    match trust.and_then(|trust| hub::client(&trust, &config.hub_url, hub::USER_AGENT)) {
        Ok(client) => {
            let hub = Hub::new(client, config.hub_url.clone(), config.ingest_secret.clone(), id, None);
            hub_itself(config, &hub, &mut report).await;
        }
        Err(error) => report.bad("certificates", &format!("{error:#}"), "Mend HUB_CA_FILE, or leave it out."),
    }
    folder("state", config.state_dir(), &mut report);
    folder("solver cache", config.cache_dir(), &mut report);
    if !config.worker_enabled {
        report.note("jobs", "this machine only sends metrics; set WORKER_ENABLED=true to run jobs");
    }
    Ok(if report.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn address(config: &Config, has_proxy: bool, report: &mut Report) {
    let Ok(url) = reqwest::Url::parse(&config.hub_url) else { return };
    report.good("hub", url.as_str());
    if config.is_open_to_listeners() {
        report.note("hub", "plain http: the token and all jobs can be read on the way; use https");
    }
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return };
    match tokio::net::lookup_host((host.trim_matches(['[', ']']), port)).await {
        Ok(found) => {
            let found: Vec<String> = found.map(|address| address.ip().to_string()).collect();
            report.good("name", &found.join(", "));
        }
        // A proxy resolves it by itself.
        Err(error) if has_proxy => report.note("name", &format!("{host} cannot be resolved here: {error}")),
        Err(error) => {
            let fix = "Check the host in HUB_URL and this machine's DNS.";
            report.bad("name", &format!("{host} cannot be resolved: {error}"), fix);
        }
    }
}

async fn hub_itself(config: &Config, hub: &Hub, report: &mut Report) {
    let asked = SystemTime::now();
    let health = match hub.look("/api/health").await {
        Ok(health) => health,
        Err(error) => {
            let fix = match config.hub_url.starts_with("https") {
                true => {
                    "Is the hub running, the port right, and its certificate one that this machine trusts (HUB_CA_FILE)? A proxy between may refuse."
                }
                false => "Is the hub running, and the port right? A firewall between may drop packets.",
            };
            report.bad("connection", &explain(&error), fix);
            return;
        }
    };
    match health.status().is_success() {
        true => report.good("connection", "the hub answers"),
        false => {
            report.bad("connection", &format!("health answers {}", health.status()), "Look at the hub's log.")
        }
    }
    skew(&health, asked, report);
    if config.ingest_secret.is_empty() {
        report.bad("token", "there is none", "Set FORGE_INGEST_SECRET to a worker's token.");
        return;
    }
    match hub.may_work().await {
        Ok(()) => report.good("token", "accepted, and may work under this id"),
        Err(Failed::Later { why, token: true, .. }) => {
            report.bad(
                "token",
                &why,
                "Use a token of the scope worker: POST /api/tokens on the hub makes one.",
            );
        }
        Err(error) => report.bad("token", &error.to_string(), "Look at the hub's log, and try again."),
    }
}

fn skew(health: &reqwest::Response, asked: SystemTime, report: &mut Report) {
    let date = health.headers().get("date").and_then(|date| httpdate(date.to_str().ok()?));
    let Some(date) = date else { return };
    let skew = match date.duration_since(asked) {
        Ok(ahead) => ahead,
        Err(behind) => behind.duration(),
    };
    match skew <= SKEW_MAX {
        true => report.good("clock", "agrees with the hub's"),
        false => report.bad(
            "clock",
            &format!("{} s apart from the hub's", skew.as_secs()),
            "Set both by NTP; jobs still work, but times and certificates may not.",
        ),
    }
}

/// The date of an HTTP answer, which has one form: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn httpdate(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_ascii_whitespace().skip(1);
    let day: u64 = words.next()?.parse().ok()?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok()?;
    let mut time = words.next()?.splitn(3, ':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    // Days since 1970 by the civil calendar, with years that begin in March.
    let (y, m) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(((days * 24 + hour) * 60 + minute) * 60 + second))
}

fn folder(what: &str, path: anyhow::Result<std::path::PathBuf>, report: &mut Report) {
    let path = match path {
        Ok(path) => path,
        Err(error) => return report.bad(what, &error.to_string(), "Set it."),
    };
    let shown = path.display().to_string();
    if let Err(error) = fs::create_dir_all(&path).and_then(|()| tempfile::tempfile_in(&path)) {
        let fix = "Give this user a folder that it may write, and that is not full.";
        return report.bad(what, &format!("{shown} cannot be written: {error}"), fix);
    }
    match free_bytes(&path) {
        Some(free) if free < FREE_BYTES_MIN => {
            report.bad(what, &format!("{shown} has {} MiB free", free >> 20), "Free some disk space.");
        }
        Some(free) => report.good(what, &format!("{shown}, {} GiB free", free >> 30)),
        None => report.good(what, &shown),
    }
}

fn free_bytes(path: &Path) -> Option<u64> {
    let found = nix::sys::statvfs::statvfs(path).ok()?;
    Some(found.blocks_available() as u64 * found.fragment_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_http_answers() {
        let seconds =
            |text| httpdate(text).map(|at| at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs());
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(seconds("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000));
        assert_eq!(seconds("nonsense"), None);
    }
}
