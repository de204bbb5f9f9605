//! `forge-hub backup` and `forge-hub restore`.

use super::size;
use crate::{
    backup::{self, Order},
    cli,
    clock::wall_ms,
    config::Config,
    secret,
};
use tokio_util::sync::CancellationToken;

pub(super) fn backup(config: &Config, options: &cli::Backup) -> anyhow::Result<()> {
    let into = options.to.clone().unwrap_or_else(|| config.backup_folder());
    let order = Order { database: config.sqlite_path.clone(), into, with_secret: options.with_secret };
    let made = backup::make(&order, wall_ms(), &CancellationToken::new())?;
    println!("Backed up {}", order.database.display());
    println!("  to      {}", made.folder.display());
    println!("  jobs    {}", made.manifest.jobs);
    println!("  size    {} in {} files", size(made.manifest.bytes()), made.manifest.files.len());
    for name in &made.damaged_solvers {
        println!("  left out the solver {name}: its bytes are damaged; upload it again");
    }
    println!("\nPut it in place with:\n  forge-hub restore {} --to <database file>", made.folder.display());
    Ok(())
}

pub(super) fn restore(config: &Config, options: &cli::Restore) -> anyhow::Result<()> {
    let database = options.to.as_ref().unwrap_or(&config.sqlite_path);
    let restored = backup::restore(&options.from, database, options.force, wall_ms())?;
    let manifest = &restored.manifest;
    println!("Restored {}", options.from.display());
    println!("  to      {}", database.display());
    println!("  jobs    {}", manifest.jobs);
    println!(
        "  size    {} in {} files, all as their checksums say",
        size(manifest.bytes()),
        manifest.files.len()
    );
    if let Some(replaced) = &restored.replaced {
        println!("  before  moved to {}; remove it when you no longer need it", replaced.display());
    }
    println!(
        "\nWatchers will start over. Tokens that were revoked after the backup are valid again: revoke them."
    );
    if !secret::admin_secret_path(database).exists() {
        println!(
            "The backup holds no administrator's secret: set FORGE_INGEST_SECRET to the old one, or the hub makes a new one."
        );
    }
    println!("Start the hub with:\n  forge-hub --sqlite-path {}", database.display());
    Ok(())
}
