//! A question before anything that cannot be taken back.

use crate::problem::Problem;
use clap::Args;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

/// For every command that destroys something: `#[command(flatten)]` it.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Caution {
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Only say what would be done
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
}

impl Caution {
    /// Returns once somebody agreed. `what` is a sentence without its end: "Delete 3 jobs".
    pub(crate) fn ask(self, what: &str) -> Result<(), Problem> {
        if self.yes {
            return Ok(());
        }
        if !io::stdin().is_terminal() {
            return Err(Problem::usage(
                &format!("{what}? Nobody is there to answer"),
                "say --yes to do it without a question, or --dry-run to see what it would do",
            ));
        }
        eprint!("{what}? [y/N] ");
        io::stderr().flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(Problem::Refused("Nothing was done".to_owned())),
        }
    }
}
