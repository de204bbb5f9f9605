//! `overview`, `settings` and `audit`: the hub itself.

use super::{print_listing, queues};
use crate::{
    hub::Hub,
    output::{self, Format, Record, Shape},
    problem::Problem,
    span::{age, iso, spoken},
};
use clap::Args;
use forge_shared::{
    overview::{Ended, Overview},
    response::{AuditEntry, Settings},
};
use serde_json::{Value, json};

const LIMIT_DEFAULT: u64 = 50;

#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// At most so many; 0 is all
    #[arg(short = 'n', long, default_value_t = LIMIT_DEFAULT, value_name = "N")]
    limit: u64,
}

const ENTRIES: Shape = Shape {
    fields: &["at", "actor", "action", "target", "detail"],
    columns: &["at", "actor", "action", "target", "detail"],
};

pub(super) async fn run(hub: &Hub, format: Option<Format>) -> Result<(), Problem> {
    let overview: Overview = hub.get("/api/overview").read().await?;
    if !output::is_for_people(format) {
        return Ok(output::print_one(format, &for_programs(&overview))?);
    }
    output::print_one(format, &for_people(&overview))?;
    if overview.queues.is_empty() {
        return Ok(());
    }
    output::say("")?;
    queues::print(&overview.queues, format)
}

/// What the hub said, field by field.
fn for_programs(overview: &Overview) -> Record {
    Record(vec![
        ("at", iso(overview.ts)),
        ("machines", json!(overview.machines)),
        ("workers", json!(overview.workers)),
        ("slots", overview.slots.into()),
        ("busy", overview.busy.into()),
        ("jobs", json!(overview.jobs)),
        ("views", json!(overview.views)),
        ("oldest_waiting_ms", overview.oldest_waiting_ms.map_or(Value::Null, Value::from)),
        ("today", json!(overview.today)),
        ("total", json!(overview.total)),
        ("queues", json!(overview.queues)),
        ("minutes", json!(overview.minutes)),
        ("days", json!(overview.days)),
    ])
}

fn for_people(overview: &Overview) -> Record {
    let Overview { machines, workers, slots, busy, jobs, views, today, total, minutes, .. } = overview;
    let ended = |Ended { completed, failed }: Ended| format!("{completed} completed, {failed} failed");
    let hour = minutes.iter().fold(Ended::default(), |sum, minute| Ended {
        completed: sum.completed + minute.completed,
        failed: sum.failed + minute.failed,
    });
    let oldest = overview.oldest_waiting_ms.map(|ms| format!(" (the oldest for {})", age(ms)));
    Record(vec![
        (
            "machines",
            format!(
                "{} online, {} degraded, {} offline",
                machines.online, machines.degraded, machines.offline
            )
            .into(),
        ),
        (
            "workers",
            format!(
                "{} online, {} draining, {} lost; {busy} of {slots} slots busy",
                workers.online, workers.draining, workers.lost
            )
            .into(),
        ),
        (
            "waiting",
            format!(
                "{} due{}, {} scheduled, {} retrying, {} blocked",
                views.due,
                oldest.unwrap_or_default(),
                views.scheduled,
                views.retrying,
                views.blocked
            )
            .into(),
        ),
        ("running", format!("{} running, {} assigned", jobs.running, jobs.assigned).into()),
        ("kept", format!("{} completed, {} failed, {} dead", jobs.completed, jobs.failed, views.dead).into()),
        ("last hour", ended(hour).into()),
        ("today", ended(*today).into()),
        ("in all", ended(*total).into()),
    ])
}

pub(super) async fn settings(hub: &Hub, format: Option<Format>) -> Result<(), Problem> {
    let settings: Settings = hub.get("/api/settings").read().await?;
    let (kept, limits) = (&settings.retention, &settings.limits);
    if !output::is_for_people(format) {
        return Ok(output::print_one(
            format,
            &Record(vec![
                ("version", settings.version.into()),
                ("started_at", iso(settings.started_at)),
                ("database_bytes", settings.database_bytes.into()),
                ("log_bytes", settings.log_bytes.into()),
                ("solvers_bytes", settings.solvers_bytes.into()),
                ("retention", json!(kept)),
                ("limits", json!(limits)),
            ]),
        )?);
    }
    let record = Record(vec![
        ("version", settings.version.clone().into()),
        ("started_at", iso(settings.started_at)),
        ("database", size(settings.database_bytes).into()),
        ("logs and history", size(settings.log_bytes).into()),
        ("solvers", size(settings.solvers_bytes).into()),
        ("completed jobs kept", spoken(kept.completed_ms).into()),
        ("failed jobs kept", format!("{}, at most {}", spoken(kept.failed_ms), kept.failed_max).into()),
        ("events kept", spoken(kept.events_ms).into()),
        ("params at most", size(limits.params_bytes).into()),
        ("result at most", size(limits.result_bytes).into()),
        ("log of an attempt", size(limits.log_bytes).into()),
        ("solver at most", size(limits.solver_bytes).into()),
        ("lease", spoken(limits.lease_ms).into()),
        ("requests a second", limits.requests_per_second.into()),
    ]);
    Ok(output::print_one(format, &record)?)
}

/// Bytes as people say them.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let steps = std::iter::successors(Some(bytes as f64), |size| (*size >= 1024.0).then_some(size / 1024.0));
    let (unit, size) = steps.enumerate().take(UNITS.len()).last().unwrap_or((0, 0.0));
    if unit == 0 { format!("{bytes} B") } else { format!("{size:.1} {}", UNITS[unit]) }
}

pub(super) async fn audit(hub: &Hub, command: Audit, format: Option<Format>) -> Result<(), Problem> {
    let most = if command.limit == 0 { u64::MAX } else { command.limit };
    print_listing(hub.get("/api/audit").listing::<AuditEntry>(), most, format, ENTRIES, |entry| {
        Record(vec![
            ("at", iso(entry.ts)),
            ("actor", entry.actor.into()),
            ("action", entry.action.into()),
            ("target", entry.target.into()),
            ("detail", entry.detail.map_or(Value::Null, Value::from)),
        ])
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_told_as_people_say_them() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (16 << 20, "16.0 MiB"), (5 << 40, "5.0 TiB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
