//! Settings: flags first, then the environment, then a file, then defaults.

use anyhow::{Context, bail};
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
use forge_shared::{JobType, WorkerId};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt, fs,
    path::{Path, PathBuf},
};

const CONFIG_FLAG: &str = "--config";
const CONFIG_NAME: &str = "FORGE_AGENT_CONFIG";

/// Pushes this machine's metrics to a Forge Fleet hub and, when enabled, runs jobs for it.
#[derive(Debug, Clone, Parser)]
#[command(name = "forge-agent", version = forge_version::LONG, max_term_width = 100)]
pub struct Config {
    /// Where the hub is, such as https://hub.example.com.
    #[arg(long, env = "HUB_URL", value_parser = hub_url, global = true, default_value = "http://127.0.0.1:3000")]
    pub hub_url: String,

    /// The token to speak to the hub with; a worker's token is enough.
    #[arg(
        long,
        env = "FORGE_INGEST_SECRET",
        hide_env_values = true,
        global = true,
        default_value = "",
        hide_default_value = true
    )]
    pub ingest_secret: Token,

    /// This machine's id: letters, digits, '-' and '_', at most 64. The host name when left out.
    #[arg(long, env = "NODE_ID", global = true)]
    pub node_id: Option<WorkerId>,

    /// This machine's name for people. The id when left out.
    #[arg(long, env = "NODE_NAME", global = true)]
    pub node_name: Option<String>,

    /// How often metrics are sent.
    #[arg(long, env = "PUSH_INTERVAL_MS", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(250..=3_600_000), global = true)]
    pub push_interval_ms: u64,

    /// Run jobs; without it this machine only sends metrics.
    #[arg(long, env = "WORKER_ENABLED", default_value_t = false, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", global = true)]
    pub worker_enabled: bool,

    /// Cores to offer. All of them when left out.
    #[arg(long, env = "WORKER_CORES", value_parser = clap::value_parser!(u32).range(1..), global = true)]
    pub worker_cores: Option<u32>,

    /// Memory to offer, in GB. All of it when left out.
    #[arg(long, env = "WORKER_RAM_GB", value_parser = positive, global = true)]
    pub worker_ram_gb: Option<f64>,

    /// Tags of this machine: a JSON array such as ["gpu"].
    #[arg(long, env = "WORKER_TAGS", default_value = "[]", value_parser = json::<List<String>>, global = true)]
    pub worker_tags: List<String>,

    /// Job types to take: a JSON array. An empty one means all.
    #[arg(long, env = "WORKER_TYPES", default_value = "[]", value_parser = json::<List<JobType>>, global = true)]
    pub worker_types: List<JobType>,

    /// Jobs to run at a time.
    #[arg(long, env = "WORKER_SLOTS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_024), global = true)]
    pub worker_slots: u32,

    /// Programs for job types without a solver: a JSON map such as {"resize": ["/opt/resize", "-q"]}.
    #[arg(long, env = "WORKER_HANDLERS", default_value = "{}", value_parser = json::<Handlers>, global = true)]
    pub worker_handlers: Handlers,

    /// Run jobs that are a shell line. Whoever may enqueue can then run anything on this machine.
    #[arg(long, env = "WORKER_ALLOW_COMMANDS", default_value_t = false, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", global = true)]
    pub worker_allow_commands: bool,

    /// How often to ask for jobs when the hub cannot keep a request waiting.
    #[arg(long, env = "JOB_POLL_INTERVAL_MS", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(50..=3_600_000), global = true)]
    pub job_poll_interval_ms: u64,

    /// Where solvers are kept. ~/.forge-fleet/solvers when left out.
    #[arg(long, env = "SOLVER_CACHE_DIR", global = true)]
    pub solver_cache_dir: Option<PathBuf>,

    /// How much room the solvers may take, in GB.
    #[arg(long, env = "SOLVER_CACHE_MAX_GB", default_value_t = 10.0, value_parser = positive, global = true)]
    pub solver_cache_max_gb: f64,

    /// Where working folders and unsent outcomes are kept. ~/.forge-fleet/agent when left out.
    #[arg(long, env = "AGENT_STATE_DIR", global = true)]
    pub state_dir: Option<PathBuf>,

    /// Leave each job's working folder behind, to look at.
    #[arg(long, env = "KEEP_WORK_DIRS", default_value_t = false, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", global = true)]
    pub keep_work_dirs: bool,

    /// How long a running job may go on after SIGTERM or SIGINT before it is stopped and given back.
    #[arg(long, env = "SHUTDOWN_GRACE_MS", default_value_t = 30_000, global = true)]
    pub shutdown_grace_ms: u64,

    /// A PEM file with further certificates to trust. HTTPS_PROXY and NO_PROXY are respected too.
    #[arg(long, env = "HUB_CA_FILE", global = true)]
    pub hub_ca_file: Option<PathBuf>,

    /// What is logged: error, warn, info, debug or trace.
    #[arg(long, env = "LOG_LEVEL", default_value = "info", global = true)]
    pub log_level: String,

    /// A TOML file with any of these settings, named like the flags: `hub_url = "..."`.
    #[arg(long, env = CONFIG_NAME, global = true)]
    pub config: Option<PathBuf>,

    #[command(subcommand)]
    pub command: Option<Task>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum Task {
    /// Check everything between this machine and the hub, and say what to fix.
    Doctor,
}

/// A secret: its `Debug` says nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Token {
    fn from(text: &str) -> Self {
        Self(text.trim().to_owned())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Keeps clap from taking a JSON array for a repeated flag.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct List<T>(pub Vec<T>);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Handlers(pub BTreeMap<JobType, Vec<String>>);

impl<'de> serde::Deserialize<'de> for Handlers {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let handlers = BTreeMap::<String, Vec<String>>::deserialize(deserializer)?;
        let checked = handlers.into_iter().map(|(kind, argv)| {
            let kind = JobType::new(&kind).map_err(|error| serde::de::Error::custom(error.0))?;
            match argv.first() {
                Some(program) if !program.is_empty() => Ok((kind, argv)),
                _ => Err(serde::de::Error::custom(format!("the handler of '{kind}' names no program"))),
            }
        });
        checked.collect::<Result<_, _>>().map(Self)
    }
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("this is not the JSON that is expected: {error}"))
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if n.is_finite() && n > 0.0 => Ok(n),
        _ => Err("it must be a number above 0".to_owned()),
    }
}

/// Kept without a slash at the end, so that paths can be put behind it.
pub fn hub_url(text: &str) -> Result<String, String> {
    let url = reqwest::Url::parse(text).map_err(|error| format!("this is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("it must begin with https:// or http://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(
            "it must not hold a user, a password or a query; the token goes into FORGE_INGEST_SECRET"
                .to_owned(),
        );
    }
    Ok(text.trim_end_matches('/').to_owned())
}

impl Config {
    /// From this process's arguments and environment.
    pub fn load() -> anyhow::Result<Self> {
        Self::from_args(std::env::args_os().collect())
    }

    pub fn from_args(args: Vec<OsString>) -> anyhow::Result<Self> {
        let mut command = Self::command();
        if let Some(path) = config_path(&args) {
            for (id, value) in read_file(&path, &command)? {
                command = command.mut_arg(id, |arg| arg.default_value(value));
            }
        }
        let matches = command.get_matches_from(args);
        let config = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        Ok(config)
    }

    /// The id this machine goes by.
    pub fn id(&self) -> anyhow::Result<WorkerId> {
        if let Some(id) = &self.node_id {
            return Ok(id.clone());
        }
        let host = sysinfo::System::host_name().unwrap_or_default();
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
        let id: String = host.chars().map(plain).take(64).collect();
        WorkerId::new(&id)
            .map_err(|_| anyhow::anyhow!("the host name '{host}' does not do as an id; set NODE_ID to one"))
    }

    pub fn cache_dir(&self) -> anyhow::Result<PathBuf> {
        self.solver_cache_dir.clone().map_or_else(|| at_home("solvers"), Ok)
    }

    pub fn state_dir(&self) -> anyhow::Result<PathBuf> {
        self.state_dir.clone().map_or_else(|| at_home("agent"), Ok)
    }

    pub fn is_open_to_listeners(&self) -> bool {
        is_open_to_listeners(&self.hub_url)
    }
}

/// Whether what is sent there can be read on the way.
pub fn is_open_to_listeners(hub_url: &str) -> bool {
    reqwest::Url::parse(hub_url).is_ok_and(|url| url.scheme() == "http" && !is_this_machine(&url))
}

/// Whether a URL leads to this machine itself. No proxy may be asked for it: it would look at its own
/// machine, and be told the token.
pub(crate) fn is_this_machine(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

fn at_home(folder: &str) -> anyhow::Result<PathBuf> {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    let home = home.context("there is no home folder; set SOLVER_CACHE_DIR and AGENT_STATE_DIR")?;
    Ok(home.join(".forge-fleet").join(folder))
}

/// The file has to be read before the arguments are.
fn config_path(args: &[OsString]) -> Option<PathBuf> {
    let mut args = args.iter().skip(1);
    while let Some(arg) = args.next() {
        if arg == CONFIG_FLAG {
            return args.next().map(PathBuf::from);
        }
        if let Some(path) = arg.to_str().and_then(|arg| arg.strip_prefix("--config=")) {
            return Some(PathBuf::from(path));
        }
    }
    std::env::var_os(CONFIG_NAME).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn read_file(path: &Path, command: &clap::Command) -> anyhow::Result<Vec<(String, String)>> {
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read the settings in {shown}"))?;
    let table: toml::Table = text.parse().with_context(|| format!("{shown} is not valid TOML"))?;
    let known: Vec<&str> = command
        .get_arguments()
        .filter(|arg| arg.get_env().is_some() && arg.get_id() != "config")
        .map(|arg| arg.get_id().as_str())
        .collect();
    let mut settings = Vec::with_capacity(table.len());
    for (name, value) in table {
        if !known.contains(&name.as_str()) {
            bail!("{shown} sets '{name}', which is no setting; there are: {}", known.join(", "));
        }
        let value = match value {
            toml::Value::String(text) => text,
            other => serde_json::to_string(&other).with_context(|| format!("'{name}' in {shown}"))?,
        };
        settings.push((name, value));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Config {
        let args = std::iter::once("forge-agent").chain(args.iter().copied()).map(OsString::from).collect();
        Config::from_args(args).unwrap()
    }

    #[test]
    fn every_setting_is_a_flag_and_an_environment_name() {
        for arg in Config::command()
            .get_arguments()
            .filter(|arg| !matches!(arg.get_id().as_str(), "help" | "version"))
        {
            assert!(arg.get_env().is_some() && arg.get_long().is_some(), "{}", arg.get_id());
            assert!(arg.get_help().is_some(), "{}", arg.get_id());
        }
    }

    #[test]
    fn example_lists_every_environment_name() {
        let example = include_str!("../.env.example");
        let listed: Vec<&str> = example
            .lines()
            .filter_map(|line| line.trim_start_matches("# ").split_once('='))
            .map(|(name, _)| name)
            .filter(|name| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
            .collect();
        let help = Config::command().render_long_help().to_string();
        for name in &listed {
            assert!(help.contains(&format!("[env: {name}")), "{name} is in .env.example but not in --help");
        }
        for arg in Config::command().get_arguments() {
            if let Some(name) = arg.get_env() {
                assert!(listed.contains(&name.to_str().unwrap()), "{name:?} is missing in .env.example");
            }
        }
    }

    #[test]
    fn file_is_below_flags_and_above_defaults() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.toml");
        fs::write(&path, "hub_url = \"https://hub.example/\"\nworker_slots = 3\nworker_tags = [\"gpu\"]\nworker_enabled = true\nworker_handlers = { echo = [\"/bin/cat\"] }\n").unwrap();
        let path = path.to_str().unwrap();
        let config = parse(&["--config", path, "--worker-slots", "5"]);
        assert_eq!((config.hub_url.as_str(), config.worker_slots), ("https://hub.example", 5));
        assert_eq!((config.worker_tags.0, config.worker_enabled), (vec!["gpu".to_owned()], true));
        assert_eq!(config.worker_handlers.0.values().next().unwrap(), &["/bin/cat"]);
        assert_eq!(config.push_interval_ms, 5_000);
    }

    #[test]
    fn file_with_an_unknown_name_is_refused_with_the_known_ones() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.toml");
        fs::write(&path, "hub_urll = \"x\"").unwrap();
        let error = read_file(&path, &Config::command()).unwrap_err().to_string();
        assert!(error.contains("hub_urll") && error.contains("hub_url,"), "{error}");
    }

    #[test]
    fn plain_http_is_fine_on_this_machine_only() {
        for (url, open) in [
            ("http://127.0.0.1:3000", false),
            ("http://localhost", false),
            ("http://[::1]:3000", false),
            ("https://hub.example", false),
            ("http://hub.example", true),
            ("http://10.0.0.1:3000", true),
        ] {
            assert_eq!(parse(&["--hub-url", url]).is_open_to_listeners(), open, "{url}");
        }
    }

    #[test]
    fn token_is_never_shown() {
        let config = parse(&["--ingest-secret", "canary"]);
        assert!(!format!("{config:?}").contains("canary"));
        assert!(!Config::command().render_long_help().to_string().contains("canary"));
    }

    #[test]
    fn bad_values_are_explained() {
        assert!(hub_url("ftp://x").unwrap_err().contains("https://"));
        assert!(hub_url("https://user:pw@x").unwrap_err().contains("FORGE_INGEST_SECRET"));
        assert!(json::<Handlers>(r#"{"a": []}"#).unwrap_err().contains("names no program"));
        assert!(json::<List<JobType>>(r#"[""]"#).is_err());
        assert!(positive("0").is_err() && positive("nan").is_err() && positive("1.5").is_ok());
    }
}
