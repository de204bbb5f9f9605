//! What an operator can set: each setting is a flag and an environment name.

use crate::{
    adapter::http::tls,
    background::{backup as backups, retention::Keep},
    backup,
    secret::Secret,
};
use clap::Parser;
use std::{net::IpAddr, path::PathBuf, time::Duration};

pub(crate) const ABOUT: &str =
    "The hub of a compute fleet: keeps jobs and workers durably, serves the API and the event streams.";
pub(crate) const AFTER_HELP: &str = "Start it, then enqueue a job:\n  curl -H \"Authorization: Bearer $TOKEN\" -d '{\"type\":\"demo\"}' http://127.0.0.1:3000/api/jobs\n\nAPI documentation is at /api/docs of the running hub.";

#[derive(Parser)]
#[command(name = "forge-hub", version = forge_version::LONG, about = ABOUT, after_help = AFTER_HELP)]
pub struct Config {
    /// Address to listen on
    #[arg(long, env = "HOST", default_value = "0.0.0.0")]
    pub host: IpAddr,

    /// Port to listen on; 0 takes a free one
    #[arg(long, env = "PORT", default_value_t = 3000)]
    pub port: u16,

    /// Database file; its folder also gets the logs, the solvers and the administrator's secret
    #[arg(long, env = "SQLITE_PATH", global = true, default_value = "./forge-fleet.sqlite")]
    pub sqlite_path: PathBuf,

    /// The administrator's token. Without it one is made on first start, kept beside the database
    /// and printed once. Prefer the environment: arguments can be read by others on this machine
    #[arg(long, env = "FORGE_INGEST_SECRET", hide_env_values = true, value_parser = secret)]
    pub ingest_secret: Option<Secret>,

    /// What to log: error, warn, info, debug, trace, or a filter such as info,forge_hub=debug
    #[arg(long, env = "LOG_LEVEL", default_value = "info")]
    pub log_level: String,

    /// Other origins whose pages may use the API with a token, separated by commas
    #[arg(long, env = "CORS_ORIGINS", default_value = "")]
    pub cors_origins: String,

    /// Whether job events (without params, results, reasons or machine names) may be watched
    /// without a token
    #[arg(long, env = "HUB_PUBLIC_EVENTS", default_value_t = true, action = clap::ArgAction::Set)]
    pub public_events: bool,

    /// Requests a second that each scoped token may send; the administrator is exempt
    #[arg(long, env = "RATE_LIMIT", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub rate_limit: u32,

    /// Connections at once
    #[arg(long, env = "MAX_CONNECTIONS", default_value_t = 4_096, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections: u32,

    /// Event streams at once
    #[arg(long, env = "MAX_WATCHERS", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_watchers: u32,

    /// Certificate chain in PEM: the hub then speaks https, and takes up a new one by itself
    #[arg(long, env = "TLS_CERT", value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// The certificate's private key in PEM
    #[arg(long, env = "TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Reverse proxies whose X-Forwarded-For is believed: addresses and networks such as
    /// 10.0.0.0/8, separated by commas
    #[arg(long, env = "TRUSTED_PROXIES", default_value = "")]
    pub trusted_proxies: String,

    /// Marks session cookies as https-only, for a hub behind a proxy that speaks TLS; with TLS_CERT
    /// they always are
    #[arg(long, env = "SECURE_COOKIES", default_value_t = false, action = clap::ArgAction::Set)]
    pub secure_cookies: bool,

    /// Days that completed jobs are kept
    #[arg(long, env = "KEEP_COMPLETED_DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub keep_completed_days: u32,

    /// Days that failed and dead jobs are kept
    #[arg(long, env = "KEEP_FAILED_DAYS", default_value_t = 180, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub keep_failed_days: u32,

    /// How many failed and dead jobs are kept; the oldest go first
    #[arg(long, env = "KEEP_FAILED_MAX", default_value_t = 10_000)]
    pub keep_failed_max: u64,

    /// Days that events are kept for watchers that come back
    #[arg(long, env = "KEEP_EVENTS_DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub keep_events_days: u32,

    /// Makes a backup this often, such as 6h or 1d, and keeps the newest; without it none are made
    #[arg(long, env = "BACKUP_EVERY", value_name = "TIME", value_parser = span)]
    pub backup_every: Option<Duration>,

    /// Folder for backups, best on another disk; otherwise `backups` beside the database
    #[arg(long, env = "BACKUP_DIR", value_name = "FOLDER")]
    pub backup_dir: Option<PathBuf>,

    /// How many backups are kept; the oldest go first
    #[arg(long, env = "BACKUP_KEEP", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub backup_keep: u32,

    /// Folder with the agent and queuectl for machines to fetch, as `make dist` fills it. Else
    /// `downloads` beside this program, or /usr/share/forge-fleet/downloads
    #[arg(long, env = "DOWNLOADS_DIR")]
    pub downloads_dir: Option<PathBuf>,

    /// File to write the address to once the hub is ready
    #[arg(long, env = "FORGE_READY_FILE")]
    pub ready_file: Option<PathBuf>,

    /// Accepted for compatibility and ignored: this program is always a hub
    #[arg(long, env = "HUB_MODE", hide = true)]
    pub hub_mode: Option<String>,
}

impl Config {
    pub fn tls_files(&self) -> Option<tls::Files> {
        Some(tls::Files { certificate: self.tls_cert.clone()?, key: self.tls_key.clone()? })
    }

    pub fn backup_folder(&self) -> PathBuf {
        self.backup_dir.clone().unwrap_or_else(|| backup::default_folder(&self.sqlite_path))
    }

    pub fn backups(&self) -> Option<backups::Schedule> {
        Some(backups::Schedule {
            database: self.sqlite_path.clone(),
            folder: self.backup_folder(),
            every: self.backup_every?,
            keep: self.backup_keep,
        })
    }

    pub fn keep(&self) -> Keep {
        const DAY_MS: i64 = 24 * 3_600_000;
        Keep {
            completed_ms: i64::from(self.keep_completed_days) * DAY_MS,
            failed_ms: i64::from(self.keep_failed_days) * DAY_MS,
            failed_max: self.keep_failed_max,
            events_ms: i64::from(self.keep_events_days) * DAY_MS,
        }
    }
}

/// A number and its unit.
fn span(text: &str) -> Result<Duration, String> {
    const UNITS: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];
    let parsed = UNITS.iter().find_map(|(unit, seconds)| {
        let number: u64 = text.trim().strip_suffix(*unit)?.trim().parse().ok()?;
        number.checked_mul(*seconds).filter(|seconds| *seconds > 0)
    });
    parsed.map(Duration::from_secs).ok_or_else(|| "use a number and s, m, h or d: 30m, 6h, 1d".to_owned())
}

fn secret(text: &str) -> Result<Secret, String> {
    const LEAST: usize = 16;
    if text.len() < LEAST || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(format!(
            "the administrator's token must have at least {LEAST} characters and no spaces; `openssl rand -hex 32` makes one"
        ));
    }
    Ok(Secret::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn help_documents_every_flag_with_its_environment_name() {
        let mut command = Config::command();
        let help = command.render_long_help().to_string();
        for argument in Config::command().get_arguments() {
            let flag = argument.get_long().unwrap();
            let name = argument.get_env().unwrap_or_else(|| panic!("--{flag} has no environment name"));
            let name = name.to_str().unwrap();
            assert_eq!(
                help.contains(&format!("--{flag}")) && help.contains(&format!("[env: {name}")),
                !argument.is_hide_set(),
                "--{flag} {name}"
            );
            assert!(argument.get_help().is_some(), "--{flag} does not say what it is for");
        }
    }

    fn parse(arguments: &[&str]) -> Result<Config, String> {
        let all = ["forge-hub"].iter().chain(arguments);
        Config::try_parse_from(all).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_set_has_its_documented_default() {
        let config = parse(&[]).unwrap();
        assert_eq!((config.host.to_string().as_str(), config.port), ("0.0.0.0", 3000));
        assert_eq!(config.sqlite_path, PathBuf::from("./forge-fleet.sqlite"));
        assert!(config.public_events && !config.secure_cookies);
        let (keep, default) = (config.keep(), Keep::default());
        assert_eq!((keep.completed_ms, keep.failed_ms), (default.completed_ms, default.failed_ms));
        assert_eq!((keep.failed_max, keep.events_ms), (default.failed_max, default.events_ms));
    }

    #[test]
    fn the_mode_of_other_programs_is_accepted_and_ignored() {
        assert!(parse(&["--hub-mode", "true"]).is_ok());
        let command = Config::command();
        let mode = command.get_arguments().find(|argument| argument.get_long() == Some("hub-mode")).unwrap();
        assert_eq!(mode.get_env().unwrap(), "HUB_MODE");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for arguments in [
            ["--port", "70000"],
            ["--host", "somewhere"],
            ["--rate-limit", "0"],
            ["--max-watchers", "0"],
            ["--keep-completed-days", "0"],
            ["--public-events", "perhaps"],
            ["--backup-every", "6"],
            ["--backup-every", "0h"],
            ["--backup-keep", "0"],
            ["--tls-cert", "without-a-key.pem"],
            ["--tls-key", "without-a-certificate.pem"],
            ["--ingest-secret", "short"],
            ["--ingest-secret", "with a space in the middle"],
        ] {
            assert!(parse(&arguments).is_err(), "{arguments:?}");
        }
        assert_eq!(parse(&["--backup-every", "6h"]).unwrap().backup_every, Some(Duration::from_secs(21_600)));
        assert!(parse(&["--public-events", "false", "--ingest-secret", "0123456789abcdef"]).is_ok());
    }

    #[test]
    fn the_secret_is_neither_in_the_help_nor_in_an_error() {
        let error = parse(&["--ingest-secret", "hunter2", "--port", "0"]).err().unwrap();
        assert!(!Config::command().render_long_help().to_string().contains("hunter2"));
        assert!(error.contains("at least 16 characters"), "{error}");
    }
}
