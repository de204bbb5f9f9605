//! Events as they are stored: one row a commit, each event a short JSON list.

use super::rows;
use forge_shared::{
    JobId, JobType, QueueName, Status, WorkerId,
    event::{Event, EventKind},
    job::Progress,
};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Deserialize;

/// The positions of an event's fields. New fields are added at the end, with a default.
type Positions<'a> = (
    u8,
    i64,
    Option<&'a JobId>,
    Option<&'a JobType>,
    Option<&'a QueueName>,
    Option<&'a WorkerId>,
    Option<u8>,
    Option<u32>,
    Option<u32>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<&'a str>,
    Option<&'a Progress>,
);

/// The same, read.
#[derive(Deserialize)]
struct Stored(
    u8,
    i64,
    Option<JobId>,
    Option<JobType>,
    Option<QueueName>,
    Option<WorkerId>,
    Option<u8>,
    Option<u32>,
    Option<u32>,
    Option<i64>,
    Option<i64>,
    Option<i64>,
    Option<String>,
    Option<Progress>,
);

pub(super) fn encode(events: &[Event]) -> String {
    let mut text = Vec::with_capacity(events.len() * 128);
    text.push(b'[');
    for (at, event) in events.iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        let stored: Positions<'_> = (
            event.kind as u8,
            event.ts,
            event.job_id.as_ref(),
            event.job_type.as_ref(),
            event.queue.as_ref(),
            event.worker_id.as_ref(),
            event.status.map(|status| status as u8),
            event.attempt,
            event.attempts,
            event.wait_ms,
            event.run_ms,
            event.run_at,
            event.reason.as_deref(),
            event.progress.as_ref(),
        );
        serde_json::to_writer(&mut text, &stored).expect("an event is always JSON");
    }
    text.push(b']');
    String::from_utf8(text).expect("JSON is UTF-8")
}

fn decode(first: u64, text: &str) -> rusqlite::Result<Vec<Event>> {
    let stored: Vec<Stored> = rows::json(text, 1)?;
    Ok(stored
        .into_iter()
        .zip(first..)
        .filter_map(|(stored, seq)| {
            Some(Event {
                seq,
                kind: *EventKind::ALL.get(usize::from(stored.0))?,
                ts: stored.1,
                job_id: stored.2,
                job_type: stored.3,
                queue: stored.4,
                worker_id: stored.5,
                status: stored.6.and_then(|status| Status::ALL.get(usize::from(status)).copied()),
                attempt: stored.7,
                attempts: stored.8,
                wait_ms: stored.9,
                run_ms: stored.10,
                run_at: stored.11,
                reason: stored.12,
                progress: stored.13,
            })
        })
        .collect())
}

pub(super) fn after(connection: &Connection, seq: u64, max: usize) -> rusqlite::Result<Vec<Event>> {
    // The row that holds the next event may start before it.
    let start: i64 = connection
        .prepare_cached("SELECT first FROM events WHERE first <= ?1 ORDER BY first DESC LIMIT 1")?
        .query_row([seq as i64 + 1], |row| row.get(0))
        .optional()?
        .unwrap_or(0);
    let mut statement =
        connection.prepare_cached("SELECT first, data FROM events WHERE first >= ?1 ORDER BY first")?;
    let mut batches = statement.query(params![start])?;
    let mut events = Vec::new();
    while let Some(row) = batches.next()? {
        let first = row.get::<_, i64>(0)?.unsigned_abs();
        events.extend(decode(first, &rows::text(row, 1)?)?.into_iter().filter(|event| event.seq > seq));
        if events.len() >= max {
            break;
        }
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_storage() {
        for kind in EventKind::ALL {
            let event = Event {
                seq: 41,
                kind,
                ts: 7,
                job_id: Some(JobId::new("a").unwrap()),
                job_type: Some(JobType::new("t \"quoted\"").unwrap()),
                queue: None,
                worker_id: None,
                status: Some(Status::Quarantined),
                attempt: Some(2),
                attempts: Some(1),
                wait_ms: None,
                run_ms: Some(3),
                run_at: None,
                reason: Some("line\nbreak".to_owned()),
                progress: Some(Progress { percent: Some(4.5), message: None, at: 9 }),
            };
            let next = Event { seq: 42, reason: None, progress: None, ..event.clone() };
            let both = vec![event, next];
            assert_eq!(decode(41, &encode(&both)).unwrap(), both);
        }
    }
}
