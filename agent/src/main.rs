//! The program: settings, logs, signals.

use anyhow::Context as _;
use forge_agent::{
    cache::{Cache, Limits},
    config::{Config, Task},
    doctor,
    finishing::Finishing,
    holdings::{Holdings, Room},
    hub::{self, Hub},
    job::Workshop,
    metrics::{Machine, Meter, push_loop},
    outbox::Outbox,
    reporter::HeldBack,
    runner::Settings,
    supervise,
    tls::Trust,
    worker::{Mode, Worker},
};
use forge_shared::request::Register;
use std::{cell::Cell, io::IsTerminal as _, process::ExitCode, sync::Arc, time::Duration};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

fn main() -> ExitCode {
    // Before anything else: this process stays small and single-threaded.
    if std::env::args_os().nth(1).is_some_and(|word| word == "__supervise") {
        supervise::main();
    }
    hide_from_solvers();
    match start() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("forge-agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Solvers run under the same account, which may read its own processes' environment and memory: the
/// token is in there. The system keeps them out of a process that says it is not to be dumped.
fn hide_from_solvers() {
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        eprintln!("forge-agent: jobs of this machine could read its token: {error}");
    }
}

fn start() -> anyhow::Result<ExitCode> {
    let config = Config::load()?;
    start_log(&config.log_level)?;
    // One thread does: everything here waits, and hashing has threads of its own.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let code = runtime.block_on(async {
        match config.command {
            Some(Task::Doctor) => doctor::examine(&config).await,
            None => run(&config).await,
        }
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
    code
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

async fn run(config: &Config) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        !config.ingest_secret.is_empty(),
        "there is no token: set FORGE_INGEST_SECRET to a worker's token of the hub at {}",
        config.hub_url
    );
    if config.is_open_to_listeners() {
        tracing::warn!(
            hub = config.hub_url,
            "THE TOKEN AND ALL JOBS TRAVEL UNENCRYPTED: this hub is spoken to by plain http; use https"
        );
    }
    let id = config.id()?;
    let trust = Trust::read(config.hub_ca_file.as_deref())?;
    let client = hub::client(&trust, &config.hub_url, hub::USER_AGENT)?;
    let name = config.node_name.clone();
    let hub = Hub::new(client, config.hub_url.clone(), config.ingest_secret.clone(), id, name);
    let stop = CancellationToken::new();
    let pushing = push_metrics(hub.clone(), config.push_interval_ms, stop.clone());
    tracing::info!(
        worker.id = %hub.worker_id(), hub = config.hub_url, version = forge_version::LONG,
        jobs = config.worker_enabled, "started"
    );
    let mut signals = Signals::listen()?;
    let working = async {
        let ended = if config.worker_enabled {
            work(config, hub, trust, &mut signals).await
        } else {
            signals.asked_to_stop().await;
            Ok(ExitCode::SUCCESS)
        };
        stop.cancel();
        ended
    };
    let ((), ended) = tokio::join!(pushing, working);
    tracing::info!("stopped");
    ended
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn asked_to_stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

async fn push_metrics(hub: Hub, every_ms: u64, stop: CancellationToken) {
    let away = Cell::new(false);
    let send = async |snapshots: Vec<_>| match hub.push(&snapshots).await {
        Ok(()) => {
            if away.replace(false) {
                tracing::info!("metrics reach the hub again");
            }
            true
        }
        Err(error) => {
            if !away.replace(true) {
                tracing::warn!("metrics are kept for later: {error}");
            }
            false
        }
    };
    push_loop(Meter::new(), Duration::from_millis(every_ms), send, stop).await;
}

async fn work(config: &Config, hub: Hub, trust: Trust, signals: &mut Signals) -> anyhow::Result<ExitCode> {
    let state = config.state_dir()?;
    let boot = Hub::boot_id()?;
    let machine = Machine::detect();
    let limits = Limits { total_max: (config.solver_cache_max_gb * GIB) as u64, ..Limits::default() };
    let cache =
        Cache::open(config.cache_dir()?, limits, &config.hub_url, config.ingest_secret.reveal(), trust)?;
    // Its lock keeps a second agent away from these folders.
    let outbox = Outbox::open(&state.join("outbox"))?;
    let runner = Settings { keep_work: config.keep_work_dirs, ..Settings::new(state.join("work")) };
    runner.sweep();
    let held_back = HeldBack::default();
    let (cores, ram_gb) =
        (config.worker_cores.unwrap_or(machine.cores), config.worker_ram_gb.unwrap_or(machine.ram_gb));
    let worker = Arc::new(Worker {
        workshop: Workshop {
            hub: hub.clone(),
            cache,
            handlers: config.worker_handlers.clone(),
            allow_commands: config.worker_allow_commands,
        },
        finishing: Finishing::new(hub.clone(), outbox.clone(), held_back.clone()),
        outbox,
        held_back,
        runner,
        about: Register {
            worker_id: hub.worker_id().clone(),
            name: config.node_name.clone(),
            cores: Some(cores),
            ram_gb: Some(ram_gb),
            tags: config.worker_tags.0.clone(),
            hostname: Some(machine.hostname),
            pid: Some(std::process::id()),
            version: Some(forge_version::VERSION.to_owned()),
            os: Some(machine.os),
            arch: Some(machine.arch),
            slots: Some(config.worker_slots),
            types: config.worker_types.0.clone(),
            queues: Vec::new(),
            boot_id: Some(boot.clone()),
            holding: None,
        },
        hub,
        boot,
        slots: config.worker_slots,
        types: config.worker_types.0.clone(),
        poll_every: Duration::from_millis(config.job_poll_interval_ms),
        grace: Duration::from_millis(config.shutdown_grace_ms),
        mode: watch::Sender::new(Mode::Run),
        holdings: Holdings::new(Room { cores: cores.into(), ram_gb }),
        superseded: CancellationToken::new(),
        hurry: CancellationToken::new(),
    });
    let running = tokio::spawn(worker.clone().run());
    tokio::pin!(running);
    tokio::select! {
        _ = &mut running => {}
        () = signals.asked_to_stop() => {
            tracing::info!(grace_ms = config.shutdown_grace_ms, "stopping: no more jobs; running ones may finish");
            worker.mode.send_replace(Mode::Leave);
            tokio::select! {
                _ = &mut running => {}
                () = signals.asked_to_stop() => {
                    tracing::info!("stopping now");
                    worker.leave_now();
                    let _ = running.await;
                }
            }
        }
    }
    Ok(if worker.superseded.is_cancelled() { ExitCode::from(3) } else { ExitCode::SUCCESS })
}
