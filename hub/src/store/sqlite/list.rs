//! Finding jobs by filter, with an index that fits the filter.

use super::{rows, view};
use crate::store::{JobPage, Order, Page, Place, Retention};
use forge_shared::{JobId, Status, View, WorkerId, request::JobFilter};
use rusqlite::{Connection, ToSql, params_from_iter};
use std::collections::BTreeMap;

/// A page ends early when its params and results reach this size.
const PAGE_BYTES_MAX: usize = 8 << 20;
/// Below this share of all jobs, a status's own index beats walking all jobs by age.
const RARE_SHARE: i64 = 50;

#[derive(Default)]
struct Condition {
    sql: Vec<String>,
    values: Vec<Box<dyn ToSql>>,
}

impl Condition {
    fn and(&mut self, sql: &str, value: impl ToSql + 'static) {
        self.values.push(Box::new(value));
        self.sql.push(sql.replace("{}", &format!("?{}", self.values.len())));
    }

    fn and_pair(&mut self, sql: &str, values: [i64; 2]) {
        let mut sql = sql.to_owned();
        for value in values {
            self.values.push(Box::new(value));
            sql = sql.replacen("{}", &format!("?{}", self.values.len()), 1);
        }
        self.sql.push(sql);
    }

    fn and_fixed(&mut self, sql: &str) {
        self.sql.push(sql.to_owned());
    }

    fn of(filter: &JobFilter, now_ms: i64) -> Self {
        let mut condition = Self::default();
        if let Some(status) = filter.status {
            condition.and("j.status = {}", rows::status_number(status));
        }
        match filter.view {
            None => {}
            Some(View::Scheduled) => {
                condition.and("j.status = 0 AND j.attempt = 0 AND j.run_at > {}", now_ms);
            }
            Some(View::Retrying) => {
                condition.and("j.status = 0 AND j.attempt > 0 AND j.run_at > {}", now_ms);
            }
            // Nothing can block a job yet but its time.
            Some(View::Blocked) => condition.and_fixed("j.status = 0 AND j.lane IS NULL"),
            Some(View::Dead) => condition.and_fixed("j.status = 5"),
            Some(View::Cancelled) => condition.and_fixed("j.status = 4 AND j.fail_reason = 'cancelled'"),
        }
        if let Some(kind) = &filter.kind {
            condition.and("j.type = {}", kind.to_string());
        }
        if let Some(queue) = &filter.queue {
            condition.and("j.queue = {}", queue.to_string());
        }
        if let Some(worker) = &filter.worker_id {
            // Those that show its name: a lease that ran out or was given back shows none.
            condition.and(
                "j.lease_worker = {} AND j.status <> 0 AND j.lease_state NOT IN (1, 4)",
                worker.to_string(),
            );
        }
        if let Some(tag) = &filter.tag {
            condition.and("j.seq IN (SELECT seq FROM tags WHERE tag = {})", tag.clone());
        }
        match (&filter.worker_id, filter.since) {
            (Some(worker), Some(since)) => condition.run_since(worker.to_string(), since),
            (None, Some(since)) => condition.and("j.created_at >= {}", since),
            (_, None) => {}
        }
        if let Some(until) = filter.until {
            let begun = if filter.worker_id.is_some() { "j.claimed_at" } else { "j.created_at" };
            condition.and(&format!("{begun} < {{}}"), until);
        }
        if let Some(q) = &filter.q {
            condition.values.push(Box::new(q.clone()));
            let n = condition.values.len();
            condition.sql.push(format!(
                "(substr(j.id, 1, length(?{n})) = ?{n} OR instr(j.type, ?{n}) > 0 \
                 OR instr(ifnull(j.fail_reason, ''), ?{n}) > 0 \
                 OR EXISTS (SELECT 1 FROM specs t, json_each(t.tags) tag \
                            WHERE t.seq = j.seq AND instr(tag.value, ?{n}) > 0))"
            ));
        }
        condition
    }

    /// What a worker finished since then, by jobs_done_by, and what it has now, by jobs_live.
    fn run_since(&mut self, worker: String, since: i64) {
        self.values.push(Box::new(worker));
        let n = self.values.len();
        self.and(
            &format!(
                "j.seq IN (SELECT seq FROM jobs INDEXED BY jobs_done_by \
                 WHERE finished_at IS NOT NULL AND lease_worker IS NOT NULL AND lease_worker = ?{n} AND finished_at >= {{}} \
                 UNION ALL SELECT seq FROM jobs INDEXED BY jobs_live WHERE lease_worker = ?{n} AND status IN (1, 2))"
            ),
            since,
        );
    }

    fn text(&self) -> String {
        if self.sql.is_empty() { "1".to_owned() } else { self.sql.join(" AND ") }
    }
}

/// The status a filter comes down to, if it does.
fn only_status(filter: &JobFilter) -> Option<Status> {
    filter.status.or(match filter.view? {
        View::Scheduled | View::Retrying | View::Blocked => Some(Status::Pending),
        View::Dead => Some(Status::Quarantined),
        View::Cancelled => Some(Status::Failed),
    })
}

/// An index to start from, and the condition that lets SQLite use it.
fn index_for(
    connection: &Connection,
    filter: &JobFilter,
) -> rusqlite::Result<Option<(&'static str, &'static str)>> {
    let Some(status) = only_status(filter) else { return Ok(None) };
    let mut statement = connection.prepare_cached(
        "SELECT ifnull(sum(n), 0), ifnull(sum(n) FILTER (WHERE status = ?1), 0) FROM counts",
    )?;
    let (all, matching): (i64, i64) =
        statement.query_row([rows::status_number(status)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if matching > all / RARE_SHARE {
        return Ok(None);
    }
    Ok(Some(match status {
        Status::Pending => ("jobs_lane", "j.lane IS NOT NULL"),
        Status::Assigned | Status::Running => ("jobs_live", "j.status IN (1, 2)"),
        Status::Completed | Status::Failed | Status::Quarantined => {
            ("jobs_finished", "j.finished_at IS NOT NULL")
        }
    }))
}

/// The index that has the jobs of a view by when they are due, and the condition that lets SQLite use it.
fn index_by_due_time(view: Option<View>) -> Option<(&'static str, &'static str)> {
    match view? {
        View::Scheduled => Some(("jobs_later", "j.lane IS NOT NULL AND j.run_at > j.created_at")),
        View::Retrying => Some(("jobs_retrying", "j.lane IS NOT NULL AND j.attempt > 0")),
        View::Blocked | View::Dead | View::Cancelled => None,
    }
}

pub(super) fn jobs(connection: &Connection, filter: &JobFilter, page: &Page) -> rusqlite::Result<JobPage> {
    let mut condition = Condition::of(filter, page.now_ms);
    let (index, order) = match page.order {
        Order::NewestFirst => {
            if let Some(place) = page.after {
                condition.and("j.seq < {}", place.seq);
            }
            let index = index_for(connection, filter)?.filter(|_| filter.view != Some(View::Blocked));
            (index, "j.seq DESC")
        }
        Order::SoonestFirst => {
            if let Some(place) = page.after {
                condition.and_pair("(j.run_at, j.seq) > ({}, {})", [place.run_at, place.seq]);
            }
            (index_by_due_time(filter.view), "j.run_at, j.seq")
        }
    };
    let mut hint = String::new();
    if let Some((index, implied)) = index {
        hint = format!("INDEXED BY {index}");
        condition.and_fixed(implied);
    }
    let rest = format!(
        "WHERE {} ORDER BY {order} LIMIT {} OFFSET {}",
        condition.text(),
        u64::from(page.limit) + 1,
        page.offset
    );
    let mut statement = connection.prepare(&view::select_jobs(&hint, &rest))?;
    let mut rows = statement.query(params_from_iter(condition.values.iter().map(AsRef::as_ref)))?;
    let mut found = JobPage::default();
    let (mut last, mut bytes) = (None, 0);
    while let Some(row) = rows.next()? {
        if found.jobs.len() as u32 >= page.limit || bytes > PAGE_BYTES_MAX {
            found.next = last;
            break;
        }
        let (seq, size, job) = view::job(connection, row)?;
        last = Some(Place { run_at: job.run_at, seq });
        found.jobs.push(job);
        bytes += size;
    }
    Ok(found)
}

pub(super) fn matching(
    connection: &Connection,
    filter: &JobFilter,
    now_ms: i64,
    (after, upto): (i64, i64),
    max: u32,
) -> rusqlite::Result<Vec<(i64, JobId)>> {
    let mut condition = Condition::of(filter, now_ms);
    condition.and("j.seq > {}", after);
    condition.and("j.seq <= {}", upto);
    let sql = format!("SELECT j.seq, j.id FROM jobs j WHERE {} ORDER BY j.seq LIMIT {max}", condition.text());
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map(params_from_iter(condition.values.iter().map(AsRef::as_ref)), |row| {
        Ok((row.get(0)?, JobId::trusted(rows::text(row, 1)?)))
    })?;
    rows.collect()
}

pub(super) fn count(connection: &Connection, filter: &JobFilter, now_ms: i64) -> rusqlite::Result<u64> {
    let condition = Condition::of(filter, now_ms);
    let sql = format!("SELECT count(*) FROM jobs j WHERE {}", condition.text());
    let values = params_from_iter(condition.values.iter().map(AsRef::as_ref));
    connection.prepare(&sql)?.query_row(values, |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

/// How many jobs each worker has now.
pub(super) fn live_by_worker(connection: &Connection) -> rusqlite::Result<BTreeMap<WorkerId, u64>> {
    connection
        .prepare_cached(
            "SELECT lease_worker, count(*) FROM jobs INDEXED BY jobs_live WHERE status IN (1, 2) GROUP BY lease_worker",
        )?
        .query_map([], |row| {
            Ok((WorkerId::trusted(rows::text(row, 0)?), row.get::<_, i64>(1)?.unsigned_abs()))
        })?
        .collect()
}

/// Finished jobs that were kept long enough, oldest first.
pub(super) fn prunable(connection: &Connection, keep: &Retention, max: u32) -> rusqlite::Result<Vec<i64>> {
    let mut older = connection.prepare_cached(
        "SELECT seq FROM jobs INDEXED BY jobs_finished \
         WHERE finished_at IS NOT NULL AND status = ?1 AND finished_at < ?2 ORDER BY finished_at LIMIT ?3",
    )?;
    let mut seqs: Vec<i64> = Vec::new();
    for (status, age) in [(3, keep.completed_ms), (4, keep.failed_ms), (5, keep.failed_ms)] {
        let rows = older.query_map(rusqlite::params![status, keep.now_ms - age, max], |row| row.get(0))?;
        seqs.extend(rows.collect::<rusqlite::Result<Vec<i64>>>()?);
    }
    let failed: i64 = connection
        .prepare_cached("SELECT ifnull(sum(n), 0) FROM counts WHERE status IN (4, 5)")?
        .query_row([], |row| row.get(0))?;
    let surplus = failed - i64::try_from(keep.failed_max).unwrap_or(i64::MAX);
    if surplus > 0 {
        let mut oldest = connection.prepare_cached(
            "SELECT seq FROM jobs INDEXED BY jobs_finished \
             WHERE finished_at IS NOT NULL AND status IN (4, 5) ORDER BY finished_at LIMIT ?1",
        )?;
        let rows = oldest.query_map([surplus.min(i64::from(max))], |row| row.get(0))?;
        seqs.extend(rows.collect::<rusqlite::Result<Vec<i64>>>()?);
    }
    seqs.sort_unstable();
    seqs.dedup();
    seqs.truncate(max as usize);
    Ok(seqs)
}
