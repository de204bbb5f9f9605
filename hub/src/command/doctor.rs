//! `forge-hub doctor`: what stands between this hub and a good start, and what to do about it.

use super::size;
use crate::{
    adapter::http::{headers::Origins, proxies::Proxies},
    backup,
    clock::wall_ms,
    config::Config,
    disk::Space,
    secret, solvers,
    store::sqlite::{
        self,
        copy::Kind,
        inspect::{self, Depth},
        side,
    },
};
use std::{
    fs,
    io::{self, ErrorKind},
    net::{SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::Duration,
};

/// No clock that is right shows less: the day this was written.
const EARLIEST_MS: i64 = 1_794_787_200_000;
/// Clocks of different machines differ a little.
const AHEAD_MAX_MS: i64 = 60_000;

#[derive(Default)]
struct Report {
    failed: bool,
}

impl Report {
    fn good(&self, what: &str, found: &str) {
        println!("ok    {what}: {found}");
    }

    fn note(&self, what: &str, found: &str) {
        println!("note  {what}: {found}");
    }

    fn bad(&mut self, what: &str, wrong: &str, fix: &str) {
        self.failed = true;
        println!("FAIL  {what}: {wrong}\n      {fix}");
    }
}

/// Looks at everything, prints a line for each. True when nothing is wrong.
pub(super) fn doctor(config: &Config) -> bool {
    let mut report = Report::default();
    settings(config, &mut report);
    folder(config, &mut report);
    let running = is_served(&config.sqlite_path);
    if running {
        report.note("hub", "one serves this database now");
    }
    administrator(config, &mut report);
    files(config, &mut report);
    clock(config, &mut report);
    tls(config, &mut report);
    if !running {
        port(config, &mut report);
    }
    backups(config, &mut report);
    !report.failed
}

fn settings(config: &Config, report: &mut Report) {
    let wrong: Vec<String> = [
        Origins::parse(&config.cors_origins).err().map(|why| format!("CORS_ORIGINS: {why}")),
        Proxies::parse(&config.trusted_proxies).err().map(|why| format!("TRUSTED_PROXIES: {why}")),
        tracing_subscriber::EnvFilter::try_new(&config.log_level)
            .err()
            .map(|why| format!("LOG_LEVEL: {why}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    match wrong.is_empty() {
        true => report.good("settings", "can be used"),
        false => report.bad(
            "settings",
            &wrong.join("; "),
            "The hub does not start with them; forge-hub --help explains each.",
        ),
    }
}

fn folder(config: &Config, report: &mut Report) {
    let folder = match config.sqlite_path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let shown = folder.display();
    let trial = folder.join(format!(".forge-doctor-{}", std::process::id()));
    match fs::write(&trial, "x").and_then(|()| fs::remove_file(&trial)) {
        Ok(()) => report.good("folder", &format!("{shown} can be written")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            report.note("folder", &format!("{shown} is not there; the hub makes it when it starts"));
            return;
        }
        Err(error) => {
            let fix = "Give it to the user that runs the hub, or set SQLITE_PATH to another folder.";
            report.bad("folder", &format!("{shown} cannot be written: {error}"), fix);
        }
    }
    match Space::under(folder) {
        Ok(space) if space.is_low() => {
            let found = format!("{} of {} are free", size(space.free), size(space.total));
            report.bad(
                "disk",
                &found,
                "Free some space, or shorten what is kept, before writes are refused.",
            );
        }
        Ok(space) => report.good("disk", &format!("{} of {} are free", size(space.free), size(space.total))),
        Err(error) => report.note("disk", &format!("its free space is unknown: {error}")),
    }
}

fn is_served(database: &Path) -> bool {
    sqlite::beside(database, "lock").exists() && sqlite::lock_for_hub(database).is_err()
}

fn administrator(config: &Config, report: &mut Report) {
    let path = secret::admin_secret_path(&config.sqlite_path);
    if config.ingest_secret.is_some() {
        return report.good("secret", "from FORGE_INGEST_SECRET");
    }
    match fs::read_to_string(&path) {
        Ok(text) if text.trim().is_empty() => report.note("secret", "the hub makes a new one when it starts"),
        Ok(_) => report.good("secret", &format!("in {}", path.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            report.note("secret", "the hub makes one when it starts, and prints it once");
        }
        Err(error) => {
            let fix = "Give it to the user that runs the hub.";
            report.bad("secret", &format!("{} cannot be read: {error}", path.display()), fix);
        }
    }
    others_can_read(&path, "secret", report);
}

fn others_can_read(path: &Path, what: &str, report: &Report) {
    let open = fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0);
    if open {
        report.note(what, &format!("others can read it; run: chmod 600 {}", path.display()));
    }
}

fn files(config: &Config, report: &mut Report) {
    let (main, side) = (&config.sqlite_path, side::path_beside(&config.sqlite_path));
    if !main.exists() {
        report.note("database", &format!("{} is not there; the hub makes it when it starts", main.display()));
        if side.exists() {
            let fix = "Restore the database, or move that file away.";
            report.bad("logs", &format!("{} is there without its database", side.display()), fix);
        }
        return;
    }
    let sound = database("database", main, Kind::Jobs, report);
    others_can_read(main, "database", report);
    if !side.exists() {
        return report.note("logs", "there are none yet");
    }
    if !database("logs", &side, Kind::Side, report) || !sound {
        return;
    }
    match inspect::belong_together(main) {
        Ok(true) => report.good("both files", "belong together"),
        Ok(false) => report.bad(
            "both files",
            "none of the jobs and machines that the logs are about is in the database",
            "One of the two was replaced: restore both from one backup, or move the logs away.",
        ),
        Err(error) => report.note("both files", &format!("could not be compared: {error:#}")),
    }
    match solvers::Solvers::list_folder(&solvers::folder_beside(main)) {
        Ok(solvers) => report.good("solvers", &solvers.len().to_string()),
        Err(error) => {
            report.bad(
                "solvers",
                &format!("cannot be listed: {error}"),
                "Give the folder to the user that runs the hub.",
            );
        }
    }
}

/// True when it can be used.
fn database(what: &str, path: &Path, kind: Kind, report: &mut Report) -> bool {
    let looked = inspect::check(path, kind, Depth::Quick).and_then(|()| inspect::version(path, kind));
    match looked {
        Ok(version) => {
            report.good(what, &format!("{} is whole ({})", path.display(), size(bytes(path))));
            if version < kind.version_known() {
                let known = kind.version_known();
                report.note(
                    what,
                    &format!(
                        "of version {version}; the hub copies it and upgrades it to {known} when it starts"
                    ),
                );
            }
            true
        }
        Err(error) => {
            let fix = "Restore it from a backup with forge-hub restore; if it is of a newer version, start that version.";
            report.bad(what, &format!("{error:#}"), fix);
            false
        }
    }
}

fn bytes(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |meta| meta.len())
}

fn clock(config: &Config, report: &mut Report) {
    const FIX: &str = "Set the clock, and let it be kept right (systemd-timesyncd, chrony).";
    let now = wall_ms();
    let newest = inspect::newest_event(&config.sqlite_path).ok().flatten();
    if now < EARLIEST_MS {
        report.bad("clock", "shows a time that is long past", FIX);
    } else if newest.is_some_and(|newest| newest > now + AHEAD_MAX_MS) {
        report.bad("clock", "shows an earlier time than the newest event in the database", FIX);
    } else {
        report.good("clock", "later than everything in the database");
    }
}

fn tls(config: &Config, report: &mut Report) {
    let Some(files) = config.tls_files() else {
        return report.note(
            "tls",
            "none: the hub speaks plain http; use TLS_CERT and TLS_KEY, or a proxy that speaks https",
        );
    };
    match files.check() {
        Ok(()) => report.good("tls", "the certificate and its key can be used"),
        Err(error) => {
            report.bad("tls", &format!("{error:#}"), "Name a PEM certificate chain and its PEM key.")
        }
    }
    others_can_read(&files.key, "tls", report);
}

fn port(config: &Config, report: &mut Report) {
    let wanted = SocketAddr::from((config.host, config.port));
    match TcpListener::bind(wanted) {
        Ok(_) => report.good("port", &format!("{wanted} is free")),
        Err(error) => {
            let fix = match error.kind() {
                ErrorKind::PermissionDenied => "Ports below 1024 need a privilege: set PORT to a higher one.",
                ErrorKind::AddrInUse => "Stop what listens there, or set PORT to another one.",
                _ => "Set HOST to an address of this machine, and PORT to a free port.",
            };
            report.bad("port", &format!("cannot listen on {wanted}: {error}"), fix);
        }
    }
}

fn backups(config: &Config, report: &mut Report) {
    let folder = config.backup_folder();
    let newest: io::Result<Option<i64>> = backup::newest(&folder, &config.sqlite_path);
    let age = match newest {
        Ok(newest) => {
            newest.and_then(|made_at| u64::try_from(wall_ms() - made_at).ok()).map(Duration::from_millis)
        }
        Err(error) => {
            let fix = "Give the folder to the user that runs the hub, or set BACKUP_DIR to another.";
            return report.bad("backups", &format!("{} cannot be listed: {error}", folder.display()), fix);
        }
    };
    match (config.backup_every, age) {
        (Some(every), Some(age)) if age > 2 * every => report.bad(
            "backups",
            &format!("the newest in {} is {} hours old", folder.display(), age.as_secs() / 3_600),
            "The hub's log says why none was made since.",
        ),
        (_, Some(age)) => {
            report.good("backups", &format!("the newest is {} minutes old", age.as_secs() / 60))
        }
        (Some(_), None) => report
            .note("backups", &format!("none yet in {}; the hub makes one when it starts", folder.display())),
        (None, None) => report.note("backups", "none; set BACKUP_EVERY=6h, and BACKUP_DIR to another disk"),
    }
}
