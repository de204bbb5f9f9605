//! Each statement that runs often must use the index it was written for.

use super::Folder;
use crate::kit::StepClock;
use rusqlite::Connection;

const LOAD: &str = include_str!("../../../src/store/sqlite/load.rs");
const LIST: &str = include_str!("../../../src/store/sqlite/list.rs");
const STORE: &str = include_str!("../../../src/store/sqlite/mod.rs");
const SAVE: &str = include_str!("../../../src/store/sqlite/save.rs");
const VIEW: &str = include_str!("../../../src/store/sqlite/view.rs");
const EVENT_LOG: &str = include_str!("../../../src/store/sqlite/event_log.rs");
const OVERDUE: &str = include_str!("../../../src/store/sqlite/sql/overdue_jobs.sql");
const OVERVIEW: &str = include_str!("../../../src/store/sqlite/overview.rs");
const BECAME_DUE: &str = include_str!("../../../src/store/sqlite/sql/became_due.sql");
const PRUNE_EVENTS: &str = include_str!("../../../src/store/sqlite/sql/prune_events.sql");

fn in_one_line(text: &str) -> String {
    text.replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The statement must be in the code as it is here, and its plan must say this. A condition alone
/// stands for a statement whose columns are put together elsewhere.
fn check(connection: &Connection, source: &str, sql: &str, plan: &str) {
    assert!(in_one_line(source).contains(sql), "the code does not say: {sql}");
    let whole = if sql.starts_with("FROM") { format!("SELECT * {sql}") } else { sql.to_owned() };
    let steps = plan_of(connection, &whole);
    assert!(steps.iter().any(|step| step.contains(plan)), "{sql}\nis done by {steps:#?}\nnot by {plan}");
    let full_scan = |step: &&String| {
        step.starts_with("SCAN")
            && !step.contains("INDEX")
            && !step.contains("events")
            && !step.contains("subquery")
    };
    assert_eq!(steps.iter().find(full_scan), None, "{sql} looks at every row");
}

fn plan_of(connection: &Connection, sql: &str) -> Vec<String> {
    connection
        .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
        .and_then(|mut statement| statement.raw_query().mapped(|row| row.get(3)).collect())
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
}

#[tokio::test]
async fn hot_statements_use_their_index() {
    let folder = Folder::new();
    let store = folder.try_open(StepClock::new()).unwrap();
    let connection = Connection::open(folder.file()).unwrap();
    let cases = [
        (LOAD, "FROM jobs j WHERE j.id = ?1", "USING INDEX sqlite_autoindex_jobs_1 (id=?)"),
        (LOAD, "FROM jobs j WHERE j.seq = ?1", "USING INTEGER PRIMARY KEY (rowid=?)"),
        (
            LOAD,
            "FROM jobs j INDEXED BY jobs_live WHERE j.lease_worker = ?1 AND j.status IN (1, 2)",
            "USING INDEX jobs_live (lease_worker=?)",
        ),
        (
            LOAD,
            "SELECT run_at, seq FROM jobs INDEXED BY jobs_lane WHERE lane = ?1 AND run_at = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4",
            "USING COVERING INDEX jobs_lane (lane=? AND run_at=? AND rowid>?)",
        ),
        (
            LOAD,
            "SELECT run_at, seq FROM jobs INDEXED BY jobs_lane WHERE lane = ?1 AND run_at > ?2 ORDER BY run_at, seq LIMIT ?3",
            "USING COVERING INDEX jobs_lane (lane=? AND run_at>?)",
        ),
        (LOAD, "SELECT seq, body FROM idempotency WHERE key = ?1", "USING PRIMARY KEY (key=?)"),
        (
            LOAD,
            "SELECT result, hash, key, usage FROM results WHERE seq = ?1",
            "USING INTEGER PRIMARY KEY (rowid=?)",
        ),
        (LOAD, "FROM workers WHERE id = ?1", "USING PRIMARY KEY (id=?)"),
        (
            STORE,
            "FROM jobs INDEXED BY jobs_live WHERE status IN (1, 2) AND seq > ?1 ORDER BY seq LIMIT ?2",
            "INDEX jobs_live",
        ),
        (
            LIST,
            "SELECT lease_worker, count(*) FROM jobs INDEXED BY jobs_live WHERE status IN (1, 2) GROUP BY lease_worker",
            "USING INDEX jobs_live",
        ),
        (
            STORE,
            "SELECT seq FROM jobs INDEXED BY jobs_expiring WHERE expires_at IS NOT NULL AND lane IS NOT NULL AND expires_at <= ?1 LIMIT ?2",
            "INDEX jobs_expiring (expires_at>? AND expires_at<?)",
        ),
        (
            LIST,
            "SELECT seq FROM jobs INDEXED BY jobs_finished WHERE finished_at IS NOT NULL AND status = ?1 AND finished_at < ?2 ORDER BY finished_at LIMIT ?3",
            "INDEX jobs_finished (status=? AND finished_at>? AND finished_at<?)",
        ),
        (
            LIST,
            "SELECT seq FROM jobs INDEXED BY jobs_finished WHERE finished_at IS NOT NULL AND status IN (4, 5) ORDER BY finished_at LIMIT ?1",
            "INDEX jobs_finished (status=?",
        ),
        (
            OVERVIEW,
            "SELECT run_at FROM jobs INDEXED BY jobs_later WHERE lane IS NOT NULL AND run_at > created_at AND run_at > ?1 AND run_at <= ?2 ORDER BY run_at LIMIT 1 OFFSET ?3",
            "INDEX jobs_later (run_at>? AND run_at<?)",
        ),
        (
            OVERVIEW,
            "SELECT ts, queue, completed, failed, failed_attempts FROM flow WHERE span = ?1 AND ts >= ?2",
            "USING PRIMARY KEY (span=? AND ts>?)",
        ),
        (OVERVIEW, "DELETE FROM flow WHERE span = ?1 AND ts < ?2", "USING PRIMARY KEY (span=? AND ts<?)"),
        (VIEW, "FROM history WHERE seq = ?1 ORDER BY n", "USING PRIMARY KEY (seq=?)"),
        (SAVE, "DELETE FROM idempotency WHERE seq = ?1", "INDEX idempotency_job (seq=?)"),
        (SAVE, "DELETE FROM jobs WHERE seq = ?1", "USING INTEGER PRIMARY KEY (rowid=?)"),
        (
            SAVE,
            "DELETE FROM tags WHERE seq = ?1 AND tag IN (SELECT value FROM json_each((SELECT tags FROM specs WHERE seq = ?1)))",
            "USING PRIMARY KEY (tag=? AND seq=?)",
        ),
        (
            EVENT_LOG,
            "SELECT first FROM events WHERE first <= ?1 ORDER BY first DESC LIMIT 1",
            "USING INTEGER PRIMARY KEY (rowid<?)",
        ),
        (
            EVENT_LOG,
            "SELECT first, data FROM events WHERE first >= ?1 ORDER BY first",
            "USING INTEGER PRIMARY KEY (rowid>?)",
        ),
    ];
    for (source, sql, plan) in cases {
        check(&connection, source, sql, plan);
    }
    for (index, implied) in [("jobs_later", "j.run_at > j.created_at"), ("jobs_retrying", "j.attempt > 0")] {
        assert!(LIST.contains(&format!("(\"{index}\", \"j.lane IS NOT NULL AND {implied}\")")), "{index}");
        let sql = format!(
            "SELECT * FROM jobs j INDEXED BY {index} WHERE j.lane IS NOT NULL AND {implied} AND j.run_at > ?1 \
             AND (j.run_at, j.seq) > (?2, ?3) ORDER BY j.run_at, j.seq LIMIT 51"
        );
        let steps = plan_of(&connection, &sql);
        assert_eq!(steps.len(), 1, "nothing is sorted: {steps:#?}");
        assert!(steps[0].contains(&format!("USING INDEX {index} (run_at>?)")), "{steps:#?}");
    }
    for (file, plan) in [
        (OVERDUE, "USING INDEX jobs_live"),
        (BECAME_DUE, "USING INDEX jobs_later (run_at>? AND run_at<?)"),
        (PRUNE_EVENTS, "USING INTEGER PRIMARY KEY (rowid<?)"),
    ] {
        let statement = file.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n");
        check(&connection, file, &in_one_line(&statement), plan);
    }
    forge_hub::store::Store::close(&*store).await;
}
