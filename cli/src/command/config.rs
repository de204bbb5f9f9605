//! `config get`, `config set`.

use crate::{
    local::{folder::Folder, settings::Settings},
    output::{self, Format, Shape},
    problem::Problem,
};
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Show the configuration
    #[command(after_help = "Examples:
  queuectl config get
  queuectl config get max_retries")]
    Get(Get),
    /// Change one value, for jobs enqueued from then on
    #[command(after_help = "Examples:
  queuectl config set max_retries 5
  queuectl config set backoff_base 3")]
    Set(Set),
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// max_retries or backoff_base; both when left out
    key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// max_retries or backoff_base
    key: String,
    #[arg(allow_negative_numbers = true)]
    value: String,
}

pub(super) fn run(folder: &Folder, command: Config, format: Option<Format>) -> Result<(), Problem> {
    let mut settings = Settings::load(folder)?;
    let record = match command {
        Config::Get(get) => match get.key {
            Some(key) => settings.record_of(&key)?,
            None => settings.record(),
        },
        Config::Set(set) => {
            settings.set(&set.key, &set.value)?;
            settings.save(folder)?;
            settings.record()
        }
    };
    Ok(output::to_stdout(format, Shape::ONE).one(&record)?)
}
