//! Where commands go: the queue of this folder, or a hub.
//!
//! What is typed comes before the environment, and the environment before the saved context:
//! `--local`, `--hub` and `--context`; then `QUEUECTL_CONTEXT`; then `HUB_URL`; then the context that
//! `context use` chose; and without any of these, this folder.

pub(crate) mod contexts;
pub(crate) mod token;

use crate::{hub::Hub, problem::Problem};
use clap::Args;
use contexts::{Contexts, LOCAL};
use forge_agent::config::{Token, hub_url};
use std::path::PathBuf;

const HEADING: &str = "Where";

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct Where {
    /// Talk to this hub, such as https://hub.example.com [env: HUB_URL]
    #[arg(long, global = true, value_name = "URL", value_parser = hub_url, conflicts_with_all = ["context", "local"])]
    hub: Option<String>,
    /// Read the hub's token from a file that only you can read; - is standard input [env: FORGE_TOKEN
    /// holds the token itself]
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "local")]
    pub(crate) token_file: Option<PathBuf>,
    /// Use a hub that was saved with `queuectl context add` [env: QUEUECTL_CONTEXT]
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "local")]
    context: Option<String>,
    /// Use the queue in this folder, whatever else is set
    #[arg(long, global = true)]
    local: bool,
}

/// A hub that was named, and what opens it.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) url: String,
    pub(crate) token: Option<Token>,
    pub(crate) ca_file: Option<PathBuf>,
}

impl Address {
    pub(crate) fn connect(&self) -> Result<Hub, Problem> {
        Hub::new(&self.url, self.token.clone(), self.ca_file.as_deref())
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Target {
    Local,
    Hub(Address),
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

pub(crate) fn ca_file() -> Option<PathBuf> {
    variable("HUB_CA_FILE").map(PathBuf::from)
}

impl Where {
    pub(crate) fn target(&self) -> Result<Target, Problem> {
        if self.local {
            return Ok(Target::Local);
        }
        if let Some(url) = &self.hub {
            return self.hub_at(url.clone());
        }
        if let Some(name) = self.context.clone().or_else(|| variable("QUEUECTL_CONTEXT")) {
            return self.saved(&name);
        }
        if let Some(url) = variable("HUB_URL") {
            let url =
                hub_url(&url).map_err(|why| Problem::usage("HUB_URL is not the address of a hub", why))?;
            return self.hub_at(url);
        }
        match Contexts::load()?.current() {
            Some(name) => self.saved(name),
            None if self.token_file.is_some() => Err(Problem::usage(
                "No hub is named",
                "--token-file belongs to a hub: add --hub URL or --context NAME",
            )),
            None => Ok(Target::Local),
        }
    }

    fn hub_at(&self, url: String) -> Result<Target, Problem> {
        Ok(Target::Hub(Address { url, token: self.token()?, ca_file: ca_file() }))
    }

    /// A saved hub gets its own token: one in the environment may be another hub's.
    fn saved(&self, name: &str) -> Result<Target, Problem> {
        if name == LOCAL {
            return Ok(Target::Local);
        }
        let contexts = Contexts::load()?;
        let context = contexts.get(name)?;
        let token = match &self.token_file {
            Some(_) => self.token()?,
            None => contexts.token(name)?.map_or_else(|| self.token(), |token| Ok(Some(token)))?,
        };
        let ca_file = context.ca_file.clone().or_else(ca_file);
        Ok(Target::Hub(Address { url: context.hub.clone(), token, ca_file }))
    }

    /// From a file, standard input or the environment; never from the command line, which everybody on
    /// the machine can read.
    pub(crate) fn token(&self) -> Result<Option<Token>, Problem> {
        if let Some(path) = &self.token_file {
            return token::read(path).map(Some);
        }
        let held = variable("FORGE_TOKEN").or_else(|| variable("FORGE_INGEST_SECRET"));
        Ok(held.map(|text| Token::from(text.as_str())))
    }
}
