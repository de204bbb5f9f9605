//! A running hub: opens what it needs in the right order, serves, and stops cleanly.

use crate::{
    adapter::http::{
        self, App, Auth, AuthSettings,
        headers::Origins,
        proxies::Proxies,
        server::{self, Front, ServerLimits},
        sse::Watchers,
        tls::Tls,
    },
    background::{announcer, backup, disk, history, operations::Operations, reaper, retention},
    clock::{Clock, SystemClock},
    config::Config,
    downloads::Downloads,
    events::Events,
    fleet::Fleet,
    hub::{Hub, Publisher},
    metrics::Metrics,
    problems::Problems,
    secret::{self, Secret},
    solvers::{self, Solvers},
    store::{Store, sqlite},
};
use anyhow::Context as _;
use forge_engine::lifecycle::Policy;
use std::{fs::File, net::SocketAddr, path::Path, sync::Arc, time::Duration};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// Tokens' last uses are saved this often.
const UPKEEP_EVERY: Duration = Duration::from_secs(60);

pub struct Service {
    pub address: SocketAddr,
    pub secret: Secret,
    /// The secret was made by this start and was shown to nobody yet.
    pub secret_is_new: bool,
    app: Arc<App>,
    listener: TcpListener,
    router: axum::Router,
    front: Front,
    limits: ServerLimits,
    duties: JoinSet<()>,
    stop: CancellationToken,
    /// Held until the end, so that no second hub serves the database.
    _lock: File,
}

impl Service {
    /// Opens everything. When this returns, connections are accepted.
    pub async fn start(config: &Config, stop: CancellationToken) -> anyhow::Result<Self> {
        let origins = Origins::parse(&config.cors_origins)
            .map_err(|why| anyhow::anyhow!("CORS_ORIGINS is not valid: {why}"))?;
        let proxies = Proxies::parse(&config.trusted_proxies)
            .map_err(|why| anyhow::anyhow!("TRUSTED_PROXIES is not valid: {why}"))?;
        let tls = config.tls_files().map(Tls::load).transpose()?.map(Arc::new);
        let path = &config.sqlite_path;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {} for the database", folder.display()))?;
        }
        let lock = sqlite::lock_for_hub(path)?;
        let (secret, secret_is_new) = secret::load_or_create_admin_secret(config.ingest_secret.clone(), path)
            .context("cannot read or make the administrator's secret beside the database")?;

        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let policy = Policy::default();
        let metrics = Arc::new(Metrics::new());
        let problems = Arc::new(Problems::default());
        let publisher = Arc::new(Publisher {
            metrics: metrics.clone(),
            problems: problems.clone(),
            ..Publisher::default()
        });
        let store: Arc<dyn Store> = sqlite::open(path, clock.clone(), policy, publisher.clone())?;
        let events = Arc::new(Events::new(store.event_range().await?));
        let _ = publisher.events.set(events.clone());
        let hub = Arc::new(Hub::new(store.clone(), events, clock, metrics, policy));
        let extended = hub.extend_leases().await.context("cannot extend the leases of running jobs")?;
        if extended > 0 {
            tracing::info!(extended, "extended the leases of jobs that were running when the hub stopped");
        }

        let settings = AuthSettings {
            requests_per_second: config.rate_limit,
            requests_burst: config.rate_limit.saturating_mul(2),
            secure_cookies: config.secure_cookies || tls.is_some(),
            origins: origins.clone(),
            ..AuthSettings::default()
        };
        let auth = Auth::load(store.clone(), &secret, settings).await?;
        let fleet = Arc::new(Fleet::load(store.clone()).await?);
        let solvers = Solvers::open(&solvers::folder_beside(path), solvers::BYTES_MAX)
            .context("cannot use the solver folder beside the database")?;
        let (operations, run_operations) = Operations::start(hub.clone(), stop.clone()).await?;
        let mut app = App::new(hub.clone(), auth, fleet.clone(), Arc::new(solvers), operations, stop.clone());
        app.public_events = config.public_events;
        app.problems = problems.clone();
        app.speaks_tls = tls.is_some();
        if let Some(folder) = &config.downloads_dir {
            app.downloads = Downloads::new(folder);
        }
        app.keep = config.keep();
        app.watchers = Arc::new(Watchers::new(u64::from(config.max_watchers)));
        let app = Arc::new(app);
        let router = http::router(&app)?;

        let wanted = SocketAddr::from((config.host, config.port));
        let listener = TcpListener::bind(wanted).await.with_context(|| {
            format!("cannot listen on {wanted}; is another program using the port? Set PORT to a free one")
        })?;
        let address = listener.local_addr()?;

        let mut duties = JoinSet::new();
        duties.spawn(run_operations);
        duties.spawn(reaper::run(hub.clone(), reaper::EVERY, stop.clone()));
        duties.spawn(retention::run(hub.clone(), config.keep(), stop.clone()));
        duties.spawn(announcer::run(hub.clone(), stop.clone()));
        if let Some(tls) = &tls {
            duties.spawn(tls.clone().watch(problems.clone(), stop.clone()));
        }
        if let Some(schedule) = config.backups() {
            let metrics = hub.metrics.clone();
            duties.spawn(backup::run(schedule, problems.clone(), metrics, stop.clone()));
        }
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        duties.spawn(disk::run(hub.clone(), problems.clone(), folder, stop.clone()));
        let (wakes, stopping) = (app.log_wakes.clone(), stop.clone());
        duties.spawn(async move { wakes.run(hub, stopping).await });
        let stopping = stop.clone();
        duties.spawn(history::run(fleet.clone(), stop.clone()));
        duties.spawn(async move { fleet.run(stopping).await });
        duties.spawn(upkeep(app.clone(), stop.clone()));

        let limits =
            ServerLimits { connections_max: config.max_connections as usize, ..ServerLimits::default() };
        Ok(Self {
            address,
            secret,
            secret_is_new,
            app,
            listener,
            router,
            front: Front { origins, proxies, tls },
            limits,
            duties,
            stop,
            _lock: lock,
        })
    }

    /// Serves until the stop token is cancelled, then finishes what was begun.
    pub async fn run(mut self) {
        server::serve(self.listener, self.router, self.front, self.limits, self.stop).await;
        while let Some(ended) = self.duties.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a background duty failed");
            }
        }
        if let Err(error) = self.app.auth.upkeep().await {
            tracing::warn!(%error, "the last uses of tokens could not be saved");
        }
        self.app.store.close().await;
    }
}

async fn upkeep(app: Arc<App>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(UPKEEP_EVERY) => {}
            () = stop.cancelled() => return,
        }
        if let Err(error) = app.auth.upkeep().await {
            tracing::warn!(%error, "the last uses of tokens could not be saved");
        }
    }
}
