//! The program: settings, logs, signals.

use anyhow::Context as _;
use clap::Parser as _;
use forge_hub::{
    cli::{Cli, Command},
    command,
    config::Config,
    service::Service,
};
use std::io::{IsTerminal as _, Write as _};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// A stop that takes longer than this is cut short.
const STOP_AFTER: std::time::Duration = std::time::Duration::from_millis(9_500);

fn main() {
    let Cli { config, command } = Cli::parse();
    if let Some(command) = command {
        std::process::exit(operate(&command, &config));
    }
    if let Err(error) = start_log(&config.log_level) {
        eprintln!("forge-hub: {error:#}");
        std::process::exit(2);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = runtime.context("cannot start").and_then(|runtime| {
        let result = runtime.block_on(serve(&config));
        runtime.shutdown_timeout(std::time::Duration::from_millis(200));
        result
    });
    if let Err(error) = result {
        tracing::error!("{error:#}");
        eprintln!("forge-hub: {error:#}");
        std::process::exit(1);
    }
}

/// The exit code: 0 when all is well.
fn operate(command: &Command, config: &Config) -> i32 {
    match command::run(command, config) {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(error) => {
            eprintln!("forge-hub: {error:#}");
            1
        }
    }
}

fn start_log(level: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level)
        .with_context(|| format!("LOG_LEVEL '{level}' is not valid; try info, debug or warn"))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    if std::io::stderr().is_terminal() {
        log.with_target(false).init();
    } else {
        log.json().flatten_event(true).init();
    }
    Ok(())
}

async fn serve(config: &Config) -> anyhow::Result<()> {
    let stop = CancellationToken::new();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let service = Service::start(config, stop.clone()).await?;
    tracing::info!(address = %service.address, version = forge_version::LONG, "listening");
    greet(config, &service);
    if let Some(path) = &config.ready_file {
        write_whole(path, &service.address.to_string())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let running = tokio::spawn(service.run());
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping");
    stop.cancel();
    let finished = tokio::select! {
        finished = running => finished.is_ok(),
        () = tokio::time::sleep(STOP_AFTER) => false,
        _ = terminate.recv() => false,
        _ = interrupt.recv() => false,
    };
    if finished {
        tracing::info!("stopped");
    } else {
        tracing::warn!("stopped before everything was finished; nothing acknowledged is lost");
    }
    Ok(())
}

/// Whoever waits for the file never sees half of it.
fn write_whole(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    let unfinished = path.with_extension("unfinished");
    std::fs::write(&unfinished, text)?;
    std::fs::rename(unfinished, path)
}

/// Tells a person at the terminal (or whoever reads the output) what to do next.
fn greet(config: &Config, service: &Service) {
    let host = if service.address.ip().is_unspecified() {
        format!("127.0.0.1:{}", service.address.port())
    } else {
        service.address.to_string()
    };
    let url = format!("{}://{host}", if config.tls_cert.is_some() { "https" } else { "http" });
    let database = std::path::absolute(&config.sqlite_path).unwrap_or_else(|_| config.sqlite_path.clone());
    let secret_file = forge_hub::secret::admin_secret_path(&database);
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "Forge Fleet hub {}", forge_version::LONG);
    let _ = writeln!(out, "  listening on  {url}");
    let login = if service.secret_is_new {
        format!("#token={}   (logs in)", service.secret.expose())
    } else {
        String::new()
    };
    let _ = writeln!(out, "  dashboard     {url}/{login}");
    let _ = writeln!(out, "  API docs      {url}/api/docs");
    let _ = writeln!(out, "  database      {}", database.display());
    let token = if config.ingest_secret.is_some() {
        let _ = writeln!(out, "  token         from FORGE_INGEST_SECRET");
        "$FORGE_INGEST_SECRET".to_owned()
    } else if service.secret_is_new {
        let _ = writeln!(
            out,
            "  token         {}   (shown this once; kept in {})",
            service.secret.expose(),
            secret_file.display()
        );
        service.secret.expose().to_owned()
    } else {
        let _ = writeln!(out, "  token         in {}", secret_file.display());
        format!("$(cat {})", secret_file.display())
    };
    let _ = writeln!(out, "\nEnqueue a job:");
    let _ = writeln!(
        out,
        "  curl -sS -H \"Authorization: Bearer {token}\" -d '{{\"type\":\"demo\",\"params\":{{\"n\":1}}}}' {url}/api/jobs"
    );
    let _ = out.flush();
}
