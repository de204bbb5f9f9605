//! `sessions list`, `sessions end`: who is logged in to the dashboard.

use crate::{
    confirm::Caution,
    hub::Hub,
    output::{self, Format, Record, Shape},
    problem::Problem,
    span::iso,
};
use clap::{Args, Subcommand};
use forge_shared::response::LoggedIn;

const SESSIONS: Shape = Shape {
    fields: &["id", "name", "scope", "token_id", "created_at", "expires_at"],
    columns: &["id", "name", "scope", "created_at", "expires_at"],
};

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List who is logged in to the dashboard, newest first
    #[command(after_help = "Examples:
  queuectl sessions list")]
    List,
    /// Log somebody out; their token can log in again unless it is revoked
    #[command(after_help = "Examples:
  queuectl sessions end 5f2c0a9be1d34c67
  queuectl sessions end 5f2c0a9be1d34c67 --yes")]
    End(End),
}

#[derive(Debug, Args)]
pub(crate) struct End {
    /// Which one, as the list shows it
    #[arg(value_name = "SESSION_ID")]
    id: String,
    #[command(flatten)]
    caution: Caution,
}

pub(super) async fn run(hub: &Hub, command: Sessions, format: Option<Format>) -> Result<(), Problem> {
    let sessions: Vec<LoggedIn> = hub.get("/api/sessions").read().await?;
    match command {
        Sessions::List => Ok(output::print_all(format, SESSIONS, sessions.iter().map(record))?),
        Sessions::End(End { id, caution }) => {
            let session = sessions.iter().find(|session| session.id == id).ok_or_else(|| {
                Problem::refused(
                    "Session not found",
                    format!("nobody is logged in as '{id}'; `queuectl sessions list` shows who is"),
                )
            })?;
            let what = format!("Log out {} ({})", session.name, session.scope.as_str());
            if caution.dry_run {
                return Ok(output::print_one(format, &record(session))?);
            }
            caution.ask(&what)?;
            hub.delete(format!("/api/sessions/{id}")).done().await?;
            if output::is_for_people(format) {
                return Ok(output::say(&format!("Logged out {}", output::visible(&session.name)))?);
            }
            Ok(output::print_one(format, &Record(vec![("ended", id.into())]))?)
        }
    }
}

fn record(session: &LoggedIn) -> Record {
    Record(vec![
        ("id", session.id.as_str().into()),
        ("name", session.name.as_str().into()),
        ("scope", session.scope.as_str().into()),
        ("token_id", session.token_id.as_str().into()),
        ("created_at", iso(session.created_at)),
        ("expires_at", iso(session.expires_at)),
    ])
}
