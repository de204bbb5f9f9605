//! What `/metrics` shows.

use crate::store::JobCount;
use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    queue: String,
    r#type: String,
    status: &'static str,
}

pub struct Metrics {
    registry: Registry,
    jobs: Family<JobLabels, Gauge>,
    /// Claim commands that callers sent.
    pub claims: Counter,
    /// From a claim's arrival to its jobs, waiting included.
    pub claim_seconds: Histogram,
    commit_seconds: Histogram,
    batch_commands: Histogram,
    event_lag: Gauge,
    watchers: Gauge,
    long_polls: Gauge,
    database_bytes: Gauge,
    disk_free_bytes: Gauge,
    problems: Gauge,
    nodes: Gauge,
    pub backup_failures: Counter,
    backup_last_success: Gauge,
}

/// What only the caller of `/metrics` knows at that moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Readings {
    pub watchers: u64,
    pub nodes: u64,
    pub database_bytes: u64,
    /// Events published but not yet read by the slowest watcher.
    pub event_lag: u64,
    pub disk_free_bytes: u64,
    /// As `/api/health` lists them.
    pub problems: u64,
}

impl Metrics {
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("forge");
        let jobs = Family::<JobLabels, Gauge>::default();
        let claims = Counter::default();
        let claim_seconds = Histogram::new(exponential_buckets(0.000_1, 2.0, 20));
        let commit_seconds = Histogram::new(exponential_buckets(0.000_05, 2.0, 18));
        let batch_commands = Histogram::new(exponential_buckets(1.0, 2.0, 10));
        let [event_lag, watchers, database_bytes, disk_free_bytes, problems, nodes] =
            std::array::from_fn(|_| Gauge::default());
        let long_polls = Gauge::default();
        let (backup_failures, backup_last_success) = (Counter::default(), Gauge::default());
        registry.register("jobs", "Jobs by queue, type and status", jobs.clone());
        registry.register("claim_commands", "Claims that callers sent", claims.clone());
        registry.register(
            "claim_seconds",
            "From a claim to its jobs, waiting included",
            claim_seconds.clone(),
        );
        registry.register("commit_seconds", "Commits of the job database, synced", commit_seconds.clone());
        registry.register("batch_commands", "Commands decided in one transaction", batch_commands.clone());
        registry.register("event_lag", "Events the slowest watcher has not read", event_lag.clone());
        registry.register("watchers", "Open event streams", watchers.clone());
        registry.register("long_polls", "Requests that wait for something", long_polls.clone());
        registry.register("database_bytes", "Size of the database files", database_bytes.clone());
        registry.register("disk_free_bytes", "Room on the disk of the database", disk_free_bytes.clone());
        registry.register("problems", "What /api/health lists as wrong right now", problems.clone());
        registry.register("backup_failures", "Scheduled backups that failed", backup_failures.clone());
        registry.register(
            "backup_last_success_seconds",
            "When the last scheduled backup of this run was finished, in seconds since 1970; 0 is never",
            backup_last_success.clone(),
        );
        registry.register("nodes", "Machines that ever pushed metrics", nodes.clone());
        Self {
            registry,
            jobs,
            claims,
            claim_seconds,
            commit_seconds,
            batch_commands,
            event_lag,
            watchers,
            long_polls,
            database_bytes,
            disk_free_bytes,
            problems,
            nodes,
            backup_failures,
            backup_last_success,
        }
    }

    /// Counts a long poll for as long as the guard lives.
    pub fn long_poll(&self) -> LongPoll {
        self.long_polls.inc();
        LongPoll(self.long_polls.clone())
    }

    pub fn long_polls(&self) -> i64 {
        self.long_polls.get()
    }

    pub fn backed_up(&self, now_ms: i64) {
        self.backup_last_success.set(now_ms / 1_000);
    }

    pub fn committed(&self, commands: usize, commit: Duration) {
        self.batch_commands.observe(commands as f64);
        if !commit.is_zero() {
            self.commit_seconds.observe(commit.as_secs_f64());
        }
    }

    pub fn render(&self, counts: &[JobCount], readings: Readings) -> String {
        self.jobs.clear();
        for JobCount { queue, kind, status, n } in counts {
            let labels =
                JobLabels { queue: queue.to_string(), r#type: kind.to_string(), status: status.as_str() };
            self.jobs.get_or_create(&labels).set(whole(*n));
        }
        self.watchers.set(whole(readings.watchers));
        self.nodes.set(whole(readings.nodes));
        self.database_bytes.set(whole(readings.database_bytes));
        self.event_lag.set(whole(readings.event_lag));
        self.disk_free_bytes.set(whole(readings.disk_free_bytes));
        self.problems.set(whole(readings.problems));
        let mut text = String::new();
        text::encode(&mut text, &self.registry).expect("writing to a string cannot fail");
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

fn whole(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub struct LongPoll(Gauge);

impl Drop for LongPoll {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::http::test_rig::Rig;
    use forge_shared::{JobType, QueueName, Status};
    use serde_json::json;

    fn count(status: Status, n: u64) -> JobCount {
        JobCount {
            queue: QueueName::new("a/b").unwrap(),
            kind: JobType::new("say \"hi\"").unwrap(),
            status,
            n,
        }
    }

    #[test]
    fn jobs_are_shown_by_queue_type_and_status_and_only_while_there_are_any() {
        let metrics = Metrics::new();
        let text = metrics.render(&[count(Status::Pending, 3)], Readings::default());
        assert!(text.contains(r#"forge_jobs{queue="a/b",type="say \"hi\"",status="pending"} 3"#), "{text}");
        let text = metrics.render(&[count(Status::Completed, 1)], Readings::default());
        assert!(text.contains("status=\"completed\"} 1") && !text.contains("status=\"pending\""), "{text}");
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn a_long_poll_is_counted_while_it_lasts() {
        let metrics = Metrics::new();
        let (one, two) = (metrics.long_poll(), metrics.long_poll());
        assert_eq!(metrics.long_polls(), 2);
        drop(one);
        assert!(metrics.render(&[], Readings::default()).contains("forge_long_polls 1\n"));
        drop(two);
        assert_eq!(metrics.long_polls(), 0);
    }

    #[test]
    fn a_batch_that_changed_nothing_is_no_commit() {
        let metrics = Metrics::new();
        metrics.committed(2, Duration::ZERO);
        metrics.committed(3, Duration::from_millis(1));
        let text = metrics.render(&[], Readings::default());
        assert!(
            text.contains("forge_batch_commands_sum 5.0\n")
                && text.contains("forge_batch_commands_count 2\n")
        );
        assert!(text.contains("forge_commit_seconds_count 1\n"), "{text}");
    }

    #[tokio::test]
    async fn a_hub_shows_what_it_does() {
        let rig = Rig::new().await;
        rig.enqueue("a").await;
        rig.enqueue("b").await;
        rig.claim("w").await;
        assert_eq!(
            rig.post("/api/jobs/claim", json!({ "worker_id": "w", "types": ["none"] })).await.status,
            204
        );
        let (_, _watching) = rig.open("/api/events").await;
        assert_eq!(rig.send("GET", "/metrics", &[], "").await.status, 401);
        let answer = rig.get("/metrics").await;
        assert!(answer.header("content-type").starts_with("application/openmetrics-text"));
        let text = std::str::from_utf8(&answer.body).unwrap();
        for line in [
            r#"forge_jobs{queue="default",type="t",status="pending"} 1"#,
            r#"forge_jobs{queue="default",type="t",status="assigned"} 1"#,
            "forge_claim_commands_total 2",
            "forge_claim_seconds_count 1",
            "forge_watchers 1",
            "forge_event_lag 0",
            "forge_long_polls 0",
            "forge_nodes 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
        }
        let bytes = text.lines().find_map(|line| line.strip_prefix("forge_database_bytes "));
        assert!(bytes.unwrap().parse::<u64>().unwrap() > 0);
    }
}
