//! One job from claim to outcome: find its program, run it, turn its end into a report.

use crate::{
    cache::{Cache, Held, Source},
    config::Handlers,
    holdings::{Hold, Why},
    hub::Hub,
    outbox::Outcome,
    runner::{Ended, Finished, Run, Slot, Usage},
    shipping::Shipping,
};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use forge_shared::{FailureKind, Job, LeaseId, Phase, request::Report, response::ClaimedJob};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::{ffi::OsString, time::Duration};
use tokio::sync::mpsc;

/// A job that is over sooner than this is never reported as running: its result says enough, and
/// a fleet of short jobs is spared a write for each.
const BEGAN_AFTER: Duration = Duration::from_millis(200);
/// Pieces of log that may wait for their way to the hub.
const LOG_PIECES: usize = 64;
/// How much of the end of the log goes into a failure.
const TAIL_BYTES: usize = 4 << 10;
const GIB: f64 = (1_u64 << 30) as f64;

/// What jobs run with on this machine.
pub struct Workshop {
    pub hub: Hub,
    pub cache: Cache,
    pub handlers: Handlers,
    pub allow_commands: bool,
}

/// What is to be told about a job that is over, and the last of its log on its way.
pub struct Done {
    /// `None` when the lease is gone and nobody asks.
    pub outcome: Option<Outcome>,
    pub shipping: Option<Shipping>,
}

struct Program {
    argv: Vec<OsString>,
    /// Keeps the solver in the cache while it runs.
    _held: Option<Held>,
}

/// Why there is nothing to run.
struct Unfit {
    reason: &'static str,
    message: String,
    permanent: bool,
}

impl Workshop {
    /// Runs a job to its end in `slot`. A slot that broke is left empty, and the job failed.
    pub async fn work(&self, slot: &mut Option<Slot>, claimed: &ClaimedJob, hold: &Hold) -> Done {
        let job = &claimed.job;
        let failure = Failing { hub: &self.hub, job, lease: &claimed.lease_id };
        let program = tokio::select! {
            program = self.program(job) => program,
            () = hold.stopping().cancelled() => return failure.stopped(hold.why()),
        };
        let program = match program {
            Ok(program) => program,
            Err(Unfit { reason, message, permanent }) => {
                tracing::warn!(job.id = %job.id, reason, "{message}");
                return failure.report(reason, FailureKind::Error, permanent, Some(message), None);
            }
        };
        hold.enter(Phase::Running);
        let Some(running) = slot.as_mut() else {
            return failure.report("supervisor_lost", FailureKind::Error, false, None, None);
        };
        let (log, pieces) = mpsc::channel(LOG_PIECES);
        let shipping = Shipping::start(self.hub.clone(), job.id.clone(), claimed.lease_id.clone(), pieces);
        let run = self.run(claimed, program.argv.clone());
        let finished = {
            let began = self.began(job, &claimed.lease_id, hold);
            let running = running.run(run, log, hold.stopping());
            tokio::pin!(began, running);
            tokio::select! {
                biased;
                finished = &mut running => finished,
                never = &mut began => match never {},
            }
        };
        shipping.all_read().await;
        let done = match finished {
            Ok(finished) => ended(&failure, finished, hold, &shipping),
            Err(error) => {
                *slot = None;
                tracing::error!(job.id = %job.id, "the process that watches over jobs died: {error:#}");
                failure.report("supervisor_lost", FailureKind::Error, false, Some(format!("{error:#}")), None)
            }
        };
        Done { shipping: Some(shipping), ..done }
    }

    /// Says that the job runs, once it has for a while; then there is nothing more to do.
    async fn began(&self, job: &Job, lease: &LeaseId, hold: &Hold) -> std::convert::Infallible {
        tokio::time::sleep(BEGAN_AFTER).await;
        // When this does not arrive, the next heartbeat says it.
        if let Ok(true) = self.hub.began(&job.id, lease).await {
            hold.stop(Why::Cancelled);
        }
        std::future::pending().await
    }

    async fn program(&self, job: &Job) -> Result<Program, Unfit> {
        if let Some(checksum) = &job.solver_checksum {
            let source = job.solver_url.clone().map_or(Source::Hub, Source::Url);
            return match self.cache.get(checksum, &source).await {
                Ok(held) => Ok(Program { argv: vec![held.path().into()], _held: Some(held) }),
                Err(error) => {
                    Err(Unfit { reason: error.reason(), message: error.to_string(), permanent: false })
                }
            };
        }
        if let Some(argv) = self.handlers.0.get(&job.kind) {
            return Ok(Program { argv: argv.iter().map(OsString::from).collect(), _held: None });
        }
        let message = match &job.command {
            Some(command) if self.allow_commands => {
                // The fourth word is the line's $0, so that --params and the JSON are its $1 and $2.
                let argv = ["bash", "-lc", command, "bash"].map(OsString::from).to_vec();
                return Ok(Program { argv, _held: None });
            }
            Some(_) => "this machine runs no shell lines; set WORKER_ALLOW_COMMANDS=true there to allow it",
            None => "the job names no solver, and this machine has no handler for its type (WORKER_HANDLERS)",
        };
        Err(Unfit { reason: "no_solver", message: message.to_owned(), permanent: true })
    }

    fn run(&self, claimed: &ClaimedJob, argv: Vec<OsString>) -> Run {
        let ClaimedJob { job, lease_id: lease, requires, .. } = claimed;
        let params = Bytes::copy_from_slice(job.params.get().as_bytes());
        let env = [
            ("FORGE_JOB_ID", job.id.to_string()),
            ("FORGE_JOB_TYPE", job.kind.to_string()),
            ("FORGE_ATTEMPT", job.attempt.to_string()),
        ];
        Run {
            argv,
            params: Some(params),
            env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            name: format!("{}-{}", job.id, lease.as_str().rsplit('-').next().unwrap_or("0")),
            memory_max: requires.and_then(|requires| requires.ram_gb).map(|ram_gb| (ram_gb * GIB) as u64),
            max_runtime: job.max_runtime_ms.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis),
            work_dir: None,
        }
    }
}

fn ended(failure: &Failing<'_>, finished: Finished, hold: &Hold, shipping: &Shipping) -> Done {
    let Finished { ended, permanent, stdout, usage } = finished;
    let tail = || Some(shipping.tail(TAIL_BYTES)).filter(|tail| !tail.is_empty());
    let usage = Some(usage);
    match ended {
        Ended::Exited(0) => failure.success(&stdout, usage),
        Ended::Exited(code) => {
            failure.report(&format!("exit_code:{code}"), FailureKind::Error, permanent, tail(), usage)
        }
        Ended::Signaled(signal) => {
            failure.report(&format!("signal:{signal}"), FailureKind::Error, false, tail(), usage)
        }
        Ended::TimedOut => failure.report("max_runtime_exceeded", FailureKind::Timeout, false, tail(), usage),
        Ended::OutputTooLarge => {
            let why = "the program wrote more to its standard output than a result may have".to_owned();
            failure.report("result_too_large", FailureKind::Error, false, Some(why), usage)
        }
        Ended::NotStarted(why) => failure.report("not_started", FailureKind::Error, false, Some(why), usage),
        Ended::Stopped => failure.stopped(hold.why()),
    }
}

/// Turns ends into reports.
struct Failing<'a> {
    hub: &'a Hub,
    job: &'a Job,
    lease: &'a LeaseId,
}

impl Failing<'_> {
    fn blank(&self, usage: Option<Usage>) -> Report {
        Report {
            job_id: self.job.id.clone(),
            worker_id: self.hub.worker_id().clone(),
            lease_id: Some(self.lease.clone()),
            result: None,
            result_hash: None,
            idempotency_key: Some(self.lease.to_string()),
            reason: None,
            kind: FailureKind::Error,
            permanent: false,
            retry_in_ms: None,
            error_class: None,
            backtrace: None,
            usage: usage
                .map(|usage| serde_json::value::to_raw_value(&usage).expect("numbers are always JSON")),
        }
    }

    fn success(&self, stdout: &[u8], usage: Option<Usage>) -> Done {
        let result = result_of(stdout);
        let hash = HEXLOWER.encode(&Sha256::digest(result.get().as_bytes()));
        tracing::info!(job.id = %self.job.id, job.r#type = %self.job.kind, job.attempt = self.job.attempt, "job finished");
        let report = Report { result: Some(result), result_hash: Some(hash), ..self.blank(usage) };
        Done { outcome: Some(Outcome::Report(report)), shipping: None }
    }

    fn report(
        &self,
        reason: &str,
        kind: FailureKind,
        permanent: bool,
        detail: Option<String>,
        usage: Option<Usage>,
    ) -> Done {
        tracing::info!(job.id = %self.job.id, job.r#type = %self.job.kind, job.attempt = self.job.attempt, reason, "job failed");
        let reason = Some(reason.to_owned());
        let report = Report { reason, kind, permanent, backtrace: detail, ..self.blank(usage) };
        Done { outcome: Some(Outcome::Report(report)), shipping: None }
    }

    fn stopped(&self, why: Option<Why>) -> Done {
        match why {
            Some(Why::Cancelled) => self.report("cancelled", FailureKind::Cancelled, false, None, None),
            Some(Why::Gone) => {
                tracing::warn!(job.id = %self.job.id, "stopped: the job is no longer this machine's");
                Done { outcome: None, shipping: None }
            }
            Some(Why::Leaving) | None => {
                tracing::info!(job.id = %self.job.id, "stopped and given back");
                let outcome = Outcome::Release { job_id: self.job.id.clone(), lease_id: self.lease.clone() };
                Done { outcome: Some(outcome), shipping: None }
            }
        }
    }
}

/// Standard output as the result: JSON as it is, digit for digit; anything else as text.
fn result_of(stdout: &[u8]) -> Box<RawValue> {
    if let Ok(text) = std::str::from_utf8(stdout)
        && let Ok(json) = serde_json::from_str::<Box<RawValue>>(text)
    {
        return json;
    }
    let wrapped = serde_json::json!({ "stdout": String::from_utf8_lossy(stdout) });
    serde_json::value::to_raw_value(&wrapped).expect("text is always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_is_the_output_digit_for_digit_or_its_text() {
        assert_eq!(
            result_of(b" {\"x\": 1.000000000000000000001}\n").get(),
            "{\"x\": 1.000000000000000000001}"
        );
        assert_eq!(result_of(b"hello\n").get(), r#"{"stdout":"hello\n"}"#);
        assert_eq!(result_of(b"").get(), r#"{"stdout":""}"#);
        assert_eq!(result_of(b"1 2").get(), r#"{"stdout":"1 2"}"#);
        assert_eq!(result_of(b"\xff\n").get(), "{\"stdout\":\"\u{fffd}\\n\"}");
    }
}
