//! What can be typed: without a word after it `forge-hub` serves; with one it looks after a hub's
//! data.

use crate::config::Config;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

#[derive(Parser)]
#[command(
    name = "forge-hub",
    version = forge_version::LONG,
    about = crate::config::ABOUT,
    after_help = crate::config::AFTER_HELP,
    subcommand_help_heading = "Looking after a hub (without one of these words it serves)"
)]
pub struct Cli {
    #[command(flatten)]
    pub config: Config,

    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Copy the database, the logs and the solvers into a new folder, also while the hub runs
    Backup(Backup),
    /// Put a backup in place, checked first, on a stopped hub
    Restore(Restore),
    /// Find what stands between this hub and a good start; every finding says what to do
    Doctor,
    /// Read all of the database, also while the hub runs, and say whether it is sound
    Check(Check),
    /// Write the database of a stopped hub anew, without the room that removed jobs left
    Vacuum,
    /// Ask the hub on this machine whether it is well, for health checks
    Health,
}

#[derive(Args)]
pub struct Backup {
    /// Folder that gets a new folder with the backup; otherwise BACKUP_DIR, or `backups` beside
    /// the database
    #[arg(long, value_name = "FOLDER")]
    pub to: Option<PathBuf>,

    /// Also copy the administrator's secret that is kept beside the database. Whoever has the
    /// backup then has the hub
    #[arg(long)]
    pub with_secret: bool,
}

#[derive(Args)]
pub struct Check {
    /// Check this backup instead: every checksum, and the databases in it
    #[arg(value_name = "BACKUP")]
    pub backup: Option<PathBuf>,
}

#[derive(Args)]
pub struct Restore {
    /// The backup: a folder that `forge-hub backup` made
    #[arg(value_name = "BACKUP")]
    pub from: PathBuf,

    /// The database to make; otherwise SQLITE_PATH
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,

    /// Move a database that is there already aside
    #[arg(long)]
    pub force: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn everything_that_can_be_typed_is_sound_and_explained() {
        Cli::command().debug_assert();
        for command in Cli::command().get_subcommands() {
            assert!(command.get_about().is_some(), "{} does not say what it is for", command.get_name());
        }
    }

    #[test]
    fn the_database_can_be_named_before_and_after_the_word() {
        for arguments in [
            ["forge-hub", "--sqlite-path", "a.sqlite", "backup"],
            ["forge-hub", "backup", "--sqlite-path", "a.sqlite"],
        ] {
            let cli = Cli::try_parse_from(arguments).unwrap();
            assert_eq!(cli.config.sqlite_path, PathBuf::from("a.sqlite"));
            assert!(matches!(cli.command, Some(Command::Backup(_))));
        }
        let serve = Cli::try_parse_from(["forge-hub", "--port", "0"]).unwrap();
        assert!(serve.command.is_none());
    }
}
