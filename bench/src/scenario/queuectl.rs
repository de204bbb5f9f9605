//! What a person waits for at a prompt.

use super::Effort;
use crate::{
    figures::{millis, percentile, print},
    hub::beside_us,
};
use anyhow::{Context, ensure};
use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

const LISTED: usize = 100_000;

pub(super) fn run(effort: Effort) -> anyhow::Result<()> {
    let (program, folder) = (beside_us("queuectl")?, TempDir::new()?);
    let queuectl = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(folder.path()).stdin(Stdio::null());
        command
    };
    let mut took = Vec::new();
    for n in 0..effort.samples.min(200) {
        let job = format!(r#"{{"id":"one-{n}","command":"true"}}"#);
        let mut enqueue = queuectl(&["enqueue", &job]);
        let began = Instant::now();
        let status = enqueue.stdout(Stdio::null()).status().context("run queuectl")?;
        took.push(began.elapsed());
        ensure!(status.success(), "queuectl enqueue ended with {status}");
    }
    print("queuectl_enqueue_p50", millis(percentile(&mut took, 0.50)), "ms");
    print("queuectl_enqueue_p99", millis(percentile(&mut took, 0.99)), "ms");
    fill(&program, folder.path())?;
    let mut first = Vec::new();
    for _ in 0..20 {
        first.push(first_line(&mut queuectl(&["list", "-o", "jsonl"]))?);
    }
    print("queuectl_list_100k_first_line_p50", millis(percentile(&mut first, 0.50)), "ms");
    print("queuectl_list_100k_first_line_max", millis(percentile(&mut first, 1.0)), "ms");
    let began = Instant::now();
    let listed = queuectl(&["list", "-o", "jsonl"]).output().context("run queuectl")?;
    ensure!(listed.stdout.split(|byte| *byte == b'\n').count() > LISTED, "the list is too short");
    print("queuectl_list_100k_all", millis(began.elapsed()), "ms");
    Ok(())
}

fn fill(program: &Path, folder: &Path) -> anyhow::Result<()> {
    let mut lines = String::new();
    for n in 0..LISTED {
        writeln!(lines, r#"{{"id":"job-{n}","command":"echo {n}"}}"#)?;
    }
    let mut command = Command::new(program);
    command.args(["enqueue", "-"]).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().context("run queuectl")?;
    child.stdin.take().context("its input")?.write_all(lines.as_bytes())?;
    let status = child.wait()?;
    ensure!(status.success(), "queuectl enqueue ended with {status}");
    Ok(())
}

fn first_line(command: &mut Command) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().context("run queuectl")?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("its output")?).read_line(&mut line)?;
    let took = began.elapsed();
    ensure!(line.contains("\"id\""), "not a job: {line}");
    let status = child.wait()?;
    ensure!(status.success(), "queuectl list ended with {status} when nobody read any more");
    Ok(took)
}
