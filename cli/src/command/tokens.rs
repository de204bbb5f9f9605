//! `tokens …`: who may talk to the hub.

use crate::{
    confirm::Caution,
    hub::Hub,
    output::{self, Format, Record, Shape},
    problem::Problem,
    span::{iso, iso_or_none},
    target::token,
};
use clap::{Args, Subcommand, ValueEnum};
use forge_agent::config::Token as Secret;
use forge_shared::{
    request::{NewToken, Scope},
    response::{CreatedToken, Token},
};
use serde_json::Value;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Tokens {
    /// Make a token. Its secret is shown this once, or written to a file that only you can read
    #[command(after_help = "Examples:
  queuectl tokens create ci --scope producer
  queuectl tokens create rack-3 --scope worker --out rack-3.token")]
    Create(Create),
    /// List tokens, without their secrets
    #[command(after_help = "Examples:
  queuectl tokens list")]
    List,
    /// Take tokens back, at once: what they opened is closed
    #[command(after_help = "Examples:
  queuectl tokens revoke tok_4f2a91c07be3d158
  queuectl tokens revoke tok_4f2a91c07be3d158 --yes")]
    Revoke(Revoke),
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// What to call it
    name: String,
    /// What it may do
    #[arg(long, value_enum)]
    scope: May,
    /// Write the secret to this new file instead of showing it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum May {
    /// Enqueue jobs, look at them, and act on them
    Producer,
    /// Take jobs and push metrics, for the first worker that uses it
    Worker,
    /// Look at everything but tokens and the audit log
    Viewer,
    /// Everything
    Admin,
}

impl From<May> for Scope {
    fn from(may: May) -> Self {
        match may {
            May::Producer => Self::Producer,
            May::Worker => Self::Worker,
            May::Viewer => Self::Viewer,
            May::Admin => Self::Admin,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// As the list shows them
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    caution: Caution,
}

const TOKENS: Shape = Shape {
    fields: &["id", "name", "scope", "worker_id", "created_at", "last_used_at"],
    columns: &["id", "name", "scope", "worker_id", "created_at", "last_used_at"],
};
const REVOKED: Shape = Shape { fields: &["id", "name", "state"], columns: &["id", "name", "state"] };

pub(super) async fn run(hub: &Hub, command: Tokens, format: Option<Format>) -> Result<(), Problem> {
    match command {
        Tokens::Create(create) => self::create(hub, create, format).await,
        Tokens::List => {
            let tokens: Vec<Token> = hub.get("/api/tokens").read().await?;
            Ok(output::print_all(format, TOKENS, tokens.iter().map(|token| Record(fields(token))))?)
        }
        Tokens::Revoke(Revoke { ids, caution }) => revoke(hub, &ids, caution, format).await,
    }
}

fn fields(token: &Token) -> Vec<(&'static str, Value)> {
    vec![
        ("id", token.id.clone().into()),
        ("name", token.name.clone().into()),
        ("scope", token.scope.as_str().into()),
        ("worker_id", token.worker_id.as_ref().map_or(Value::Null, |id| id.as_str().into())),
        ("created_at", iso(token.created_at)),
        ("last_used_at", iso_or_none(token.last_used_at)),
    ]
}

async fn create(hub: &Hub, command: Create, format: Option<Format>) -> Result<(), Problem> {
    let Create { name, scope, out } = command;
    // Before a token is made that could then not be kept.
    if let Some(out) = out.as_ref().filter(|out| out.exists()) {
        return Err(Problem::storage(
            &format!("{} is there already", out.display()),
            "name a new file, or remove the old one first",
        ));
    }
    let made: CreatedToken =
        hub.post("/api/tokens").json(&NewToken { name, scope: scope.into() }).read().await?;
    let mut record = Record(fields(&made.token));
    match &out {
        Some(out) => {
            if let Err(problem) = token::write(out, &Secret::from(made.secret.as_str())) {
                // Nobody has its secret, so nobody should be able to use it.
                let _ = hub.delete(format!("/api/tokens/{}", made.token.id)).done().await;
                return Err(problem);
            }
            record.0.push(("file", out.display().to_string().into()));
        }
        None => record.0.push(("secret", made.secret.into())),
    }
    output::print_one(format, &record)?;
    if out.is_none() && output::is_for_people(format) {
        eprintln!("The secret is shown only this once: keep it in a file of mode 0600.");
    }
    Ok(())
}

async fn revoke(hub: &Hub, ids: &[String], caution: Caution, format: Option<Format>) -> Result<(), Problem> {
    let tokens: Vec<Token> = hub.get("/api/tokens").read().await?;
    let find = |id: &String| {
        tokens.iter().find(|token| token.id == *id).ok_or_else(|| {
            Problem::refused("No such token", format!("'{id}' is none; `queuectl tokens list` shows them"))
        })
    };
    let chosen = ids.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    if !caution.dry_run {
        let names: Vec<String> =
            chosen.iter().map(|token| format!("{} ({})", token.id, token.name)).collect();
        caution.ask(&format!("Revoke {}", names.join(", ")))?;
        for token in &chosen {
            hub.delete(format!("/api/tokens/{}", token.id)).done().await?;
        }
    }
    let state = if caution.dry_run { "would be revoked" } else { "revoked" };
    let record = |token: &&Token| {
        Record(vec![
            ("id", token.id.clone().into()),
            ("name", token.name.clone().into()),
            ("state", state.into()),
        ])
    };
    Ok(output::print_all(format, REVOKED, chosen.iter().map(record))?)
}
