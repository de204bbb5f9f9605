//! What an operator can set: each setting is a flag and an environment name.

use crate::{background::retention::Keep, secret::Secret};
use clap::Parser;
use std::{net::IpAddr, path::PathBuf};

#[derive(Parser)]
#[command(
    name = "forge-hub",
    version,
    about = "The hub of a compute fleet: keeps jobs and workers durably, serves the API and the event streams.",
    after_help = "Start it, then enqueue a job:\n  curl -H \"Authorization: Bearer $TOKEN\" -d '{\"type\":\"demo\"}' http://127.0.0.1:3000/api/jobs\n\nAPI documentation is at /api/docs of the running hub."
)]
pub struct Config {
    /// Address to listen on
    #[arg(long, env = "HOST", default_value = "0.0.0.0")]
    pub host: IpAddr,

    /// Port to listen on; 0 takes a free one
    #[arg(long, env = "PORT", default_value_t = 3000)]
    pub port: u16,

    /// Database file; its folder also gets the logs, the solvers and the administrator's secret
    #[arg(long, env = "SQLITE_PATH", default_value = "./forge-fleet.sqlite")]
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

    /// Marks session cookies as https-only, for a hub behind a proxy that speaks TLS
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

    /// File to write the address to once the hub is ready
    #[arg(long, env = "FORGE_READY_FILE")]
    pub ready_file: Option<PathBuf>,

    /// Accepted for compatibility and ignored: this program is always a hub
    #[arg(long, env = "HUB_MODE", hide = true)]
    pub hub_mode: Option<String>,
}

impl Config {
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

fn secret(text: &str) -> Result<Secret, String> {
    const LEAST: usize = 16;
    if text.len() < LEAST || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(format!(
            "the administrator's token must have at least {LEAST} characters and no spaces; `openssl rand -hex 32` makes one"
        ));
    }
    Ok(Secret::new(text))
}
