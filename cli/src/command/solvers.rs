//! `solvers …`: programs that the hub keeps for its agents.

use crate::{
    confirm::Caution,
    hub::{Hub, Pushed},
    output::{self, Format, Record, Shape},
    problem::Problem,
    span::iso,
};
use clap::{Args, Subcommand};
use forge_shared::response::Solver;
use std::path::PathBuf;

const DIGEST_LENGTH: usize = 64;

#[derive(Debug, Subcommand)]
pub(crate) enum Solvers {
    /// Upload programs, unless the hub has them, and print their sha256
    #[command(after_help = "Examples:
  queuectl solvers push ./render
  queuectl solvers push target/release/* -o jsonl")]
    Push(Push),
    /// List the programs that the hub has
    #[command(after_help = "Examples:
  queuectl solvers list")]
    List,
    /// Remove programs; jobs that name them fail until they are uploaded again
    #[command(after_help = "Examples:
  queuectl solvers rm 2cf24dba
  queuectl solvers rm 2cf24dba --dry-run

The beginning of a sha256 is enough, if there is only one such solver.")]
    Rm(Rm),
}

#[derive(Debug, Args)]
pub(crate) struct Push {
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Rm {
    /// The sha256, or its beginning
    #[arg(value_name = "SHA256", required = true)]
    digests: Vec<String>,
    #[command(flatten)]
    caution: Caution,
}

const SOLVERS: Shape =
    Shape { fields: &["sha256", "bytes", "created_at"], columns: &["sha256", "bytes", "created_at"] };
const PUSHED: Shape = Shape {
    fields: &["file", "sha256", "bytes", "uploaded"],
    columns: &["sha256", "bytes", "uploaded", "file"],
};
const REMOVED: Shape =
    Shape { fields: &["sha256", "bytes", "state"], columns: &["sha256", "bytes", "state"] };

pub(super) async fn run(hub: &Hub, command: Solvers, format: Option<Format>) -> Result<(), Problem> {
    match command {
        Solvers::List => {
            let solvers: Vec<Solver> = hub.get("/api/solvers").read().await?;
            let record = |solver: &Solver| {
                Record(vec![
                    ("sha256", solver.sha256.clone().into()),
                    ("bytes", solver.bytes.into()),
                    ("created_at", iso(solver.created_at)),
                ])
            };
            Ok(output::print_all(format, SOLVERS, solvers.iter().map(record))?)
        }
        Solvers::Push(Push { files }) => {
            let mut output = output::to_stdout(format, PUSHED);
            for file in files {
                let Pushed { solver, uploaded } = hub.push_solver(&file).await?;
                output.item(&Record(vec![
                    ("file", file.display().to_string().into()),
                    ("sha256", solver.sha256.into()),
                    ("bytes", solver.bytes.into()),
                    ("uploaded", uploaded.into()),
                ]))?;
                output.flush()?;
            }
            Ok(output.end()?)
        }
        Solvers::Rm(Rm { digests, caution }) => remove(hub, &digests, caution, format).await,
    }
}

async fn remove(
    hub: &Hub,
    digests: &[String],
    caution: Caution,
    format: Option<Format>,
) -> Result<(), Problem> {
    let known: Vec<Solver> = hub.get("/api/solvers").read().await?;
    let mut chosen = digests.iter().map(|digest| find(&known, digest)).collect::<Result<Vec<_>, _>>()?;
    chosen.sort_by(|a, b| a.sha256.cmp(&b.sha256));
    chosen.dedup();
    if !caution.dry_run {
        let names: Vec<&str> = chosen.iter().map(|solver| &solver.sha256[..12]).collect();
        caution.ask(&format!(
            "Remove {} {}",
            if names.len() == 1 { "solver" } else { "solvers" },
            names.join(", ")
        ))?;
        for solver in &chosen {
            hub.delete(format!("/api/solvers/{}", solver.sha256)).done().await?;
        }
    }
    let state = if caution.dry_run { "would be removed" } else { "removed" };
    let record = |solver: &&Solver| {
        Record(vec![
            ("sha256", solver.sha256.clone().into()),
            ("bytes", solver.bytes.into()),
            ("state", state.into()),
        ])
    };
    Ok(output::print_all(format, REMOVED, chosen.iter().map(record))?)
}

fn find<'a>(known: &'a [Solver], digest: &str) -> Result<&'a Solver, Problem> {
    let wanted = digest.to_lowercase();
    if wanted.is_empty() || wanted.len() > DIGEST_LENGTH || !wanted.chars().all(|c| c.is_ascii_hexdigit()) {
        return Err(Problem::usage(
            "Invalid sha256",
            format!("'{digest}' must be up to {DIGEST_LENGTH} hex digits"),
        ));
    }
    let found: Vec<&Solver> = known.iter().filter(|solver| solver.sha256.starts_with(&wanted)).collect();
    match found[..] {
        [solver] => Ok(solver),
        [] => Err(Problem::refused(
            "Solver not found",
            format!("no sha256 begins with '{digest}'; `queuectl solvers list` shows them"),
        )),
        _ => Err(Problem::refused(
            "More than one solver",
            format!("{} begin with '{digest}'; write more of the one that you mean", found.len()),
        )),
    }
}
