//! A hub, seen from here.

use super::Finding;
use crate::{
    hub::Hub,
    problem::Problem,
    span::{age, spoken},
};
use forge_agent::config::is_open_to_listeners;
use forge_hub::clock::wall_ms;
use forge_shared::{
    overview::{Overview, QueueOverview},
    request::Scope,
    response::{Health, Problem as Trouble, Session, Settings, Worker, WorkerState},
};
use std::time::{Duration, Instant};

/// Beyond this, times that the two machines write down confuse people.
const SKEW_MAX_MS: i64 = 2_000;
/// Beyond this, what is to run "in ten minutes" does not.
const SKEW_BAD_MS: i64 = 60_000;
const SLOW: Duration = Duration::from_millis(500);
/// A due job that waited for this long is worth a look.
const WAIT_MAX_MS: i64 = 5 * 60_000;
const OURS: &str = env!("CARGO_PKG_VERSION");

/// Looks on until something makes looking further pointless.
pub(super) async fn examine(hub: &Hub) -> Vec<Finding> {
    let mut findings = vec![address(hub)];
    let began = Instant::now();
    let health: Health = match hub.get("/api/health").read().await {
        Ok(health) => health,
        Err(problem) => {
            findings.push(Finding::of("hub", &problem));
            return findings;
        }
    };
    findings
        .push(Finding::ok("hub", format!("forge-hub {}, up for {}", health.version, age(health.uptime_ms))));
    findings.extend(health.problems.iter().map(troubled));
    findings.push(latency(hub, began.elapsed()).await);
    findings.push(version(&health.version));
    findings.push(match hub.get("/api/ready").done().await {
        Ok(()) => Finding::ok("ready", "it can write"),
        Err(problem) => Finding::of("ready", &problem),
    });
    let session: Session = match hub.get("/api/session").read().await {
        Ok(session) => session,
        Err(problem) => {
            findings.push(Finding::of("token", &problem));
            return findings;
        }
    };
    findings.push(token(&session));
    let asked = Instant::now();
    match hub.get("/api/overview").read::<Overview>().await {
        Ok(overview) => {
            findings.push(clock(overview.ts, wall_ms(), asked.elapsed()));
            match hub.get("/api/workers").read::<Vec<Worker>>().await {
                Ok(workers) => findings.extend(state(&overview, &workers, &health.version)),
                Err(problem) => findings.push(Finding::of("workers", &problem)),
            }
        }
        Err(problem) => findings.push(hidden("overview", &problem)),
    }
    findings.push(match hub.get("/api/settings").read::<Settings>().await {
        Ok(settings) => sizes(&settings),
        Err(problem) => hidden("sizes", &problem),
    });
    findings
}

/// What the hub itself knows to be wrong, with its own advice.
fn troubled(trouble: &Trouble) -> Finding {
    let since = age(wall_ms() - trouble.since);
    Finding::problem("hub", format!("{}, for {since}", trouble.code.replace('_', " ")), &*trouble.message)
}

/// What a token may not see is no fault of the hub's.
fn hidden(check: &'static str, problem: &Problem) -> Finding {
    match problem {
        Problem::Denied(_) => Finding::warning(
            check,
            "the token may not look at it",
            "a viewer's or administrator's token shows more: --token-file FILE",
        ),
        problem => Finding::of(check, problem),
    }
}

fn address(hub: &Hub) -> Finding {
    if is_open_to_listeners(hub.url()) {
        return Finding::warning(
            "address",
            format!("{}: everybody on the way can read the token", hub.url()),
            "use https, or a tunnel to a port of this machine",
        );
    }
    Finding::ok("address", hub.url())
}

/// The first call opened the connection; this one did not.
async fn latency(hub: &Hub, first: Duration) -> Finding {
    let began = Instant::now();
    let answered = hub.get("/api/health").read::<Health>().await;
    let (ms, first_ms) = (began.elapsed().as_millis(), first.as_millis());
    match answered {
        Err(problem) => Finding::of("latency", &problem),
        Ok(_) if began.elapsed() > SLOW => Finding::warning(
            "latency",
            format!("{ms} ms"),
            "the hub is far away, or busy: `queuectl bench` measures it, its log and /metrics tell more",
        ),
        Ok(_) => Finding::ok("latency", format!("{ms} ms; {first_ms} ms with a new connection")),
    }
}

fn version(theirs: &str) -> Finding {
    match theirs == OURS {
        true => Finding::ok("version", format!("queuectl has the same: {OURS}")),
        false => Finding::warning(
            "version",
            format!("the hub is {theirs}, queuectl {OURS}"),
            "most things work all the same; install the queuectl of the hub's version to be sure",
        ),
    }
}

fn token(session: &Session) -> Finding {
    let found = format!("'{}', {}", session.name, session.scope.as_str());
    match session.scope {
        Scope::Worker => Finding::warning(
            "token",
            found,
            "a worker's token is for an agent; make another with `queuectl tokens create NAME --scope viewer`",
        ),
        _ => Finding::ok("token", found),
    }
}

/// The hub read its clock while the question was under way.
fn clock(theirs_ms: i64, ours_ms: i64, took: Duration) -> Finding {
    let took_ms = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
    let skew_ms = ours_ms - took_ms / 2 - theirs_ms;
    let off = skew_ms.abs() - took_ms / 2;
    let found =
        format!("this machine is {} {}", spoken(skew_ms.abs()), if skew_ms > 0 { "ahead" } else { "behind" });
    let advice = "set both clocks by NTP: `timedatectl status` here and there";
    match off {
        off if off > SKEW_BAD_MS => Finding::problem("clock", found, advice),
        off if off > SKEW_MAX_MS => Finding::warning("clock", found, advice),
        _ => Finding::ok("clock", "agrees with the hub's"),
    }
}

fn state(overview: &Overview, workers: &[Worker], version: &str) -> Vec<Finding> {
    let mut findings = vec![machines(overview), self::workers(overview, workers, version)];
    findings.extend(overview.queues.iter().filter_map(|queue| self::queue(queue, workers)));
    if !findings.iter().any(|finding| finding.check == "queue") {
        findings.push(Finding::ok("queues", format!("{} due, none for long", overview.views.due)));
    }
    findings.push(match overview.views.dead {
        0 => Finding::ok("dead jobs", "none"),
        n => Finding::warning(
            "dead jobs",
            format!("{n} failed too often"),
            "`queuectl dlq list` shows them; repair the cause, then `queuectl jobs retry --view dead`",
        ),
    });
    findings
}

fn machines(overview: &Overview) -> Finding {
    let states = &overview.machines;
    let found = format!("{} online, {} degraded, {} offline", states.online, states.degraded, states.offline);
    match states.degraded + states.offline {
        0 => Finding::ok("machines", found),
        _ => Finding::warning(
            "machines",
            found,
            "`queuectl nodes list --status offline` names them; run `forge-agent doctor` there",
        ),
    }
}

fn workers(overview: &Overview, workers: &[Worker], version: &str) -> Finding {
    let states = &overview.workers;
    let found = format!(
        "{} online, {} draining, {} lost; {} of {} slots busy",
        states.online, states.draining, states.lost, overview.busy, overview.slots
    );
    let other = workers.iter().filter(|worker| worker.state != WorkerState::Lost);
    let other: Vec<&str> = other
        .filter(|worker| worker.version.as_deref().is_some_and(|theirs| theirs != version))
        .map(|worker| worker.id.as_str())
        .collect();
    if states.online == 0 && overview.views.due > 0 {
        return Finding::problem(
            "workers",
            format!("{found}; {} due", overview.views.due),
            "start an agent with WORKER_ENABLED=true, or `queuectl workers resume ID` one that drains",
        );
    }
    if states.lost > 0 {
        let advice =
            "see to the machines of `queuectl workers list --state lost`, or `queuectl workers forget ID`";
        return Finding::warning("workers", found, advice);
    }
    if !other.is_empty() {
        return Finding::warning(
            "workers",
            format!("{found}; of another version than the hub: {}", other.join(", ")),
            "update them when you can; versions next to each other work together",
        );
    }
    Finding::ok("workers", found)
}

/// Only what is wrong with it.
fn queue(queue: &QueueOverview, workers: &[Worker]) -> Option<Finding> {
    let waited = queue.oldest_wait_ms.filter(|ms| queue.due > 0 && *ms > WAIT_MAX_MS)?;
    let takes = |worker: &&Worker| {
        worker.state == WorkerState::Online
            && (worker.queues.is_empty() || worker.queues.iter().any(|pattern| pattern.matches(&queue.name)))
    };
    let found = format!("{}: {} due, the oldest for {}", queue.name, queue.due, age(waited));
    Some(match workers.iter().filter(takes).count() {
        0 => Finding::problem(
            "queue",
            format!("{found}, and no worker takes from it"),
            "start a worker for it; an agent takes from every queue",
        ),
        _ => Finding::warning(
            "queue",
            found,
            "its workers are busy, or do not take these types: `queuectl workers list`, `queuectl jobs list --status pending`",
        ),
    })
}

fn sizes(settings: &Settings) -> Finding {
    use super::super::overview::size;
    Finding::ok(
        "sizes",
        format!(
            "database {}, logs and history {}, solvers {}; how much room is left, only the hub's machine knows",
            size(settings.database_bytes),
            size(settings.log_bytes),
            size(settings.solvers_bytes)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::{super::Verdict, *};
    use serde_json::json;

    #[test]
    fn a_clock_is_judged_by_what_can_be_known() {
        let ms = Duration::from_millis;
        for (ours, took, verdict) in [
            (1_000_000, ms(10), Verdict::Ok),
            (1_001_500, ms(10), Verdict::Ok),
            (1_004_000, ms(10), Verdict::Warning),
            (996_000, ms(10), Verdict::Warning),
            (1_004_000, ms(8_000), Verdict::Ok),
            (1_100_000, ms(10), Verdict::Problem),
        ] {
            assert_eq!(clock(1_000_000, ours, took).verdict, verdict, "{ours} after {took:?}");
        }
    }

    fn worker(queues: &[&str], state: &str) -> Worker {
        serde_json::from_value(json!({
            "id": "w", "name": null, "state": state, "draining": false, "cores": 1, "ram_gb": 1.0, "tags": [], "hostname": null,
            "pid": 1, "version": "0.1.0", "os": null, "arch": null, "slots": 1, "types": [], "queues": queues,
            "boot_id": null, "registered_at": 1, "last_heartbeat": 1, "busy": 0, "rss_kb": 1, "outbox": 0, "jobs": 0,
        }))
        .expect("a worker")
    }

    #[test]
    fn an_old_queue_is_a_problem_when_nobody_takes_from_it() {
        let media = |wait_ms: i64| -> QueueOverview {
            serde_json::from_value(json!({
                "name": "media/video", "due": 3, "scheduled": 0, "running": 0, "oldest_wait_ms": wait_ms,
                "completed_last_hour": 0, "failed_last_hour": 0,
            }))
            .expect("a queue")
        };
        let check = |workers: &[Worker], wait_ms, expected: Option<Verdict>| {
            assert_eq!(queue(&media(wait_ms), workers).map(|finding| finding.verdict), expected);
        };
        check(&[], 1_000, None);
        check(&[], 600_000, Some(Verdict::Problem));
        check(&[worker(&["audio"], "online"), worker(&[], "lost")], 600_000, Some(Verdict::Problem));
        check(&[worker(&["media/*"], "online")], 600_000, Some(Verdict::Warning));
        check(&[worker(&[], "online")], 600_000, Some(Verdict::Warning));
    }
}
