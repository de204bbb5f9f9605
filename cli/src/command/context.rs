//! `context add`, `use`, `list`, `rm`: hubs under a name.

use super::Console;
use crate::{
    confirm::Caution,
    hub::Hub,
    output::{self, Record, Shape},
    problem::Problem,
    target::{
        self,
        contexts::{Context as Saved, Contexts, LOCAL},
        token,
    },
};
use clap::{Args, Subcommand};
use forge_agent::config::{hub_url, is_open_to_listeners};
use forge_shared::response::{Health, Session};
use std::path::PathBuf;

const CONTEXTS: Shape = Shape {
    fields: &["name", "current", "hub", "token", "ca_file"],
    columns: &["name", "current", "hub", "token"],
};

#[derive(Debug, Subcommand)]
pub(crate) enum Context {
    /// Save a hub and its token under a name
    #[command(after_help = "Examples:
  queuectl context add prod https://hub.example.com --token-file prod.token
  pass show forge/prod | queuectl context add prod https://hub.example.com --token-file -
  queuectl context add lab http://127.0.0.1:3000 --use

The token is copied into a file that only you can read. It comes from --token-file or FORGE_TOKEN, or is asked \
for on a terminal; never from the command line, which everybody on the machine can see.")]
    Add(Add),
    /// Choose the hub for all commands that name none; `local` is this folder again
    #[command(after_help = "Examples:
  queuectl context use prod
  queuectl context use local")]
    Use(Named),
    /// List saved hubs
    #[command(after_help = "Examples:
  queuectl context list")]
    List,
    /// Forget a hub and its token
    #[command(after_help = "Examples:
  queuectl context rm prod
  queuectl context rm prod --yes")]
    Rm(Rm),
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// What to call it
    name: String,
    /// Where the hub is
    #[arg(value_name = "URL", value_parser = hub_url)]
    url: String,
    /// A PEM file with further certificates to trust [env: HUB_CA_FILE]
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Use it from now on
    #[arg(long = "use")]
    choose: bool,
    /// In place of the one that has this name
    #[arg(long)]
    replace: bool,
    /// Do not ask the hub whether it is there and accepts the token
    #[arg(long)]
    no_check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// Which one
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Rm {
    /// Which one
    name: String,
    #[command(flatten)]
    caution: Caution,
}

pub(super) async fn run(console: &Console, command: Context) -> Result<(), Problem> {
    match command {
        Context::Add(add) => self::add(console, add).await,
        Context::Use(Named { name }) => {
            let mut contexts = Contexts::load()?;
            contexts.choose(&name)?;
            let hub = contexts.get(&name).map(|context| context.hub.clone()).ok();
            if output::is_for_people(console.format) {
                let whereto = hub.as_deref().unwrap_or("the queue of the folder");
                return Ok(output::say(&format!("Commands now go to {whereto}"))?);
            }
            let record = Record(vec![("current", name.into()), ("hub", hub.into())]);
            Ok(output::print_one(console.format, &record)?)
        }
        Context::List => list(console),
        Context::Rm(Rm { name, caution }) => {
            let mut contexts = Contexts::load()?;
            let hub = contexts.get(&name)?.hub.clone();
            if caution.dry_run {
                return Ok(output::say(&format!("Would forget '{name}' ({hub}) and its token"))?);
            }
            caution.ask(&format!("Forget '{name}' ({hub}) and its token"))?;
            contexts.remove(&name)?;
            if output::is_for_people(console.format) {
                return Ok(output::say(&format!("Forgot {name}"))?);
            }
            Ok(output::print_one(console.format, &Record(vec![("removed", name.into())]))?)
        }
    }
}

async fn add(console: &Console, add: Add) -> Result<(), Problem> {
    let mut contexts = Contexts::load()?;
    if contexts.contains(&add.name) && !add.replace {
        return Err(Problem::usage(
            &format!("There is a context '{}' already", add.name),
            "choose another name, or add --replace",
        ));
    }
    let token = match console.place.token()? {
        Some(token) => Some(token),
        None => token::ask(&add.url)?,
    };
    let ca_file = add.ca_file.map(std::path::absolute).transpose()?;
    let who = match add.no_check {
        true => None,
        false => {
            let trusted = ca_file.clone().or_else(target::ca_file);
            Some(check(&Hub::new(&add.url, token.clone(), trusted.as_deref())?).await?)
        }
    };
    if token.is_some() && is_open_to_listeners(&add.url) {
        eprintln!("Careful: {} is not encrypted, and whoever is on the way can read the token", add.url);
    }
    contexts.add(&add.name, Saved { hub: add.url.clone(), ca_file }, token.as_ref())?;
    if add.choose {
        contexts.choose(&add.name)?;
    }
    let scope = who.as_ref().map(|who| who.scope.as_str());
    if output::is_for_people(console.format) {
        let with = scope.map_or_else(String::new, |scope| format!(" with a token that is {scope}"));
        let next = match add.choose {
            true => "commands now go there".to_owned(),
            false => format!("`queuectl context use {}` makes it the one that commands go to", add.name),
        };
        return Ok(output::say(&format!("Saved {} as {}{with}; {next}", add.url, add.name))?);
    }
    let record = Record(vec![
        ("name", add.name.into()),
        ("hub", add.url.into()),
        ("current", add.choose.into()),
        ("scope", scope.into()),
        ("token_name", who.map(|who| who.name).into()),
    ]);
    Ok(output::print_one(console.format, &record)?)
}

/// Whether a hub is there, and who the token is to it.
async fn check(hub: &Hub) -> Result<Session, Problem> {
    // First without a question of tokens: another kind of server should be called that.
    hub.get("/api/health").read::<Health>().await?;
    hub.get("/api/session").read().await
}

fn list(console: &Console) -> Result<(), Problem> {
    let contexts = Contexts::load()?;
    let local = Record(vec![
        ("name", LOCAL.into()),
        ("current", contexts.current().is_none().into()),
        ("hub", serde_json::Value::Null),
        ("token", serde_json::Value::Null),
        ("ca_file", serde_json::Value::Null),
    ]);
    let saved = contexts.iter().map(|(name, context)| {
        let token = match contexts.token(name) {
            Ok(Some(_)) => "saved",
            Ok(None) => "none",
            Err(_) => "unusable",
        };
        Record(vec![
            ("name", name.into()),
            ("current", (contexts.current() == Some(name)).into()),
            ("hub", context.hub.clone().into()),
            ("token", token.into()),
            ("ca_file", context.ca_file.as_ref().map(|path| path.display().to_string()).into()),
        ])
    });
    Ok(output::print_all(console.format, CONTEXTS, std::iter::once(local).chain(saved))?)
}
