//! The queue of this folder. Nothing is made that is not there.

use super::{super::Console, Finding};
use crate::{
    backend::{Backend as _, Counts, Local},
    local::{folder::Folder, runtime::Runtime, settings::Settings},
    problem::Problem,
};
use std::{path::Path, process::Command};

/// SQLite needs room to work, not only to store.
const FREE_BYTES_MIN: u64 = 100 << 20;

pub(super) fn examine(console: &Console) -> Result<Vec<Finding>, Problem> {
    let folder = &console.folder;
    let mut findings = vec![Finding::ok("place", format!("the queue of this folder, {}", here()))];
    findings.push(shell());
    findings.push(disk());
    if folder.config().exists() {
        findings.push(match Settings::load(folder) {
            Ok(_) => Finding::ok("config.json", "can be read"),
            Err(problem) => Finding::of("config.json", &problem),
        });
    }
    if !folder.queue().exists() {
        findings.push(Finding::warning(
            "queue.db",
            "there is none in this folder",
            "go to the folder of your queue, or begin one with `queuectl enqueue`; for a hub, name it with --hub URL",
        ));
        return Ok(findings);
    }
    match super::super::runtime()?.block_on(counts(folder)) {
        Ok(counts) => findings.extend(jobs(&counts, Runtime::at(folder).is_stopping())),
        Err(problem) => findings.push(Finding::of("queue.db", &problem)),
    }
    Ok(findings)
}

async fn counts(folder: &Folder) -> Result<Counts, Problem> {
    let backend = Local::open(folder).await?;
    let counts = backend.counts().await;
    backend.close().await;
    counts
}

fn here() -> String {
    std::env::current_dir().map_or_else(|_| ".".to_owned(), |path| path.display().to_string())
}

fn shell() -> Finding {
    match Command::new("bash").args(["-lc", "exit 0"]).output() {
        Ok(output) if output.status.success() => Finding::ok("bash", "runs commands"),
        Ok(output) => Finding::problem(
            "bash",
            format!("`bash -lc` ends with {}", output.status),
            "every job fails like this; look at ~/.bash_profile and ~/.profile",
        ),
        Err(error) => Finding::problem(
            "bash",
            format!("cannot be started: {error}"),
            "install bash: jobs are run by it",
        ),
    }
}

fn disk() -> Finding {
    match nix::sys::statvfs::statvfs(Path::new(".")) {
        Err(error) => Finding::warning("disk", format!("cannot be measured: {error}"), "look with `df -h .`"),
        Ok(disk) => {
            #[allow(clippy::useless_conversion, reason = "the types differ between systems")]
            let free = u64::from(disk.blocks_available()) * u64::from(disk.fragment_size());
            let found = format!("{} free", super::super::overview::size(free));
            match free < FREE_BYTES_MIN {
                true => Finding::problem(
                    "disk",
                    found,
                    "make room: a full disk stops the queue, and loses nothing",
                ),
                false => Finding::ok("disk", found),
            }
        }
    }
}

fn jobs(counts: &Counts, is_stopping: bool) -> Vec<Finding> {
    let Counts { pending, processing, completed, failed, dead, active_workers } = *counts;
    let found = format!("{pending} pending, {processing} processing, {failed} failed, {completed} completed");
    let workers = format!("{active_workers} live");
    vec![
        Finding::ok("queue.db", found),
        match (active_workers, pending + failed) {
            (0, 1..) => Finding::problem(
                "workers",
                format!("{workers}, and jobs wait"),
                "start some: `queuectl worker start --count 2`",
            ),
            (1.., _) if is_stopping => Finding::warning(
                "workers",
                format!("{workers}, asked to stop"),
                "each finishes its job first: `queuectl list --state processing`",
            ),
            _ => Finding::ok("workers", workers),
        },
        match dead {
            0 => Finding::ok("dead jobs", "none"),
            n => Finding::warning(
                "dead jobs",
                format!("{n} failed too often"),
                "`queuectl dlq list`, `queuectl logs ID`, then `queuectl dlq retry ID`",
            ),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::{super::Verdict, *};

    #[test]
    fn jobs_without_workers_are_a_problem() {
        let counts = |pending, active_workers| Counts { pending, active_workers, ..Counts::default() };
        let verdict = |counts: Counts, is_stopping| jobs(&counts, is_stopping)[1].verdict;
        assert_eq!(verdict(counts(1, 0), true), Verdict::Problem);
        assert_eq!(verdict(counts(0, 0), true), Verdict::Ok);
        assert_eq!(verdict(counts(1, 1), false), Verdict::Ok);
        assert_eq!(verdict(counts(1, 1), true), Verdict::Warning);
    }
}
