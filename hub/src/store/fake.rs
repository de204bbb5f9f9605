//! A store for tests of what stands on one: nodes and audit notes in memory, logs in a real side
//! file, one job whose state the test sets. Everything else is out of its reach.

use super::{
    sqlite::side::{Limits, SideFile},
    *,
};
use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};
use tempfile::TempDir;

pub(crate) struct FakeStore {
    pub(crate) nodes: Mutex<BTreeMap<NodeId, NodeRecord>>,
    pub(crate) node_saves: Mutex<Vec<(NodeId, String)>>,
    pub(crate) failing: AtomicBool,
    pub(crate) audits: Mutex<Vec<AuditEntry>>,
    pub(crate) job: Mutex<Option<forge_shared::Job>>,
    /// The only holder whose lease is alive.
    pub(crate) holder: Mutex<Option<WorkerId>>,
    side: SideFile,
    _folder: TempDir,
}

impl FakeStore {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let side = SideFile::open(&folder.path().join("side.sqlite"), Limits::default()).unwrap();
        Self {
            nodes: Mutex::default(),
            node_saves: Mutex::default(),
            failing: AtomicBool::new(false),
            audits: Mutex::default(),
            job: Mutex::default(),
            holder: Mutex::default(),
            side,
            _folder: folder,
        }
    }

    /// Sets the one job.
    pub(crate) fn set_job(&self, id: &str, status: &str, attempt: u32) {
        let job = serde_json::json!({
            "id": id, "type": "t", "queue": "default", "params": {}, "status": status, "priority": 0,
            "created_at": 1, "run_at": 1, "attempt": attempt, "attempts": attempt, "max_attempts": 3,
            "cancel_requested": false, "fail_history": [], "tags": [],
        });
        *self.job.lock().unwrap() = Some(serde_json::from_value(job).unwrap());
    }

    fn check(&self) -> Result<(), Error> {
        if self.failing.load(Ordering::SeqCst) { Err(Error::Busy) } else { Ok(()) }
    }
}

fn out_of_reach<T>() -> Result<T, Error> {
    unimplemented!("the fake store does not do this")
}

#[async_trait]
impl Store for FakeStore {
    async fn submit(&self, command: Command, _note: Option<AuditEntry>) -> Result<Decided, Error> {
        let Command::CheckLease { job, holder } = command else { return out_of_reach() };
        let Some(found) = self.job(&job).await? else { return Ok(Err(Refusal::UnknownJob)) };
        if self.holder.lock().unwrap().as_ref() != Some(&holder.worker) {
            return Ok(Err(Refusal::LeaseLost));
        }
        Ok(Ok(Reply::Alive { cancel: false, attempt: found.attempt }))
    }
    async fn job(&self, id: &JobId) -> Result<Option<forge_shared::Job>, Error> {
        Ok(self.job.lock().unwrap().clone().filter(|job| job.id == *id))
    }
    async fn jobs_by_seq(&self, _seqs: Vec<i64>) -> Result<Vec<forge_shared::Job>, Error> {
        out_of_reach()
    }
    async fn jobs(&self, _filter: JobFilter, _page: Page) -> Result<JobPage, Error> {
        out_of_reach()
    }
    async fn matching(&self, _: JobFilter, _: i64, _: i64, _: u32) -> Result<Vec<(i64, JobId)>, Error> {
        out_of_reach()
    }
    async fn count_matching(&self, _filter: JobFilter) -> Result<u64, Error> {
        out_of_reach()
    }
    async fn attempts(&self, _id: &JobId) -> Result<Option<Vec<Attempt>>, Error> {
        out_of_reach()
    }
    async fn counts(&self) -> Result<Vec<JobCount>, Error> {
        out_of_reach()
    }
    async fn live_jobs_by_worker(&self) -> Result<BTreeMap<WorkerId, u64>, Error> {
        out_of_reach()
    }
    async fn workers(&self) -> Result<Vec<Worker>, Error> {
        out_of_reach()
    }
    async fn worker(&self, _id: &WorkerId) -> Result<Option<Worker>, Error> {
        out_of_reach()
    }
    async fn overdue(&self, _now: forge_engine::Now, _max: u32) -> Result<Overdue, Error> {
        out_of_reach()
    }
    async fn live_jobs(&self, _after: i64, _max: u32) -> Result<Vec<i64>, Error> {
        out_of_reach()
    }
    async fn prunable(&self, _keep: Retention, _max: u32) -> Result<Vec<i64>, Error> {
        out_of_reach()
    }
    async fn prune_events(&self, _before_ms: i64) -> Result<(), Error> {
        out_of_reach()
    }
    async fn event_range(&self) -> Result<EventRange, Error> {
        out_of_reach()
    }
    async fn events_after(&self, _seq: u64, _max: usize) -> Result<Vec<Event>, Error> {
        out_of_reach()
    }
    async fn tokens(&self) -> Result<Vec<TokenRecord>, Error> {
        out_of_reach()
    }
    async fn save_token(&self, _token: TokenRecord, _note: Option<AuditEntry>) -> Result<(), Error> {
        out_of_reach()
    }
    async fn delete_token(&self, _id: &str, _note: AuditEntry) -> Result<bool, Error> {
        out_of_reach()
    }
    async fn sessions(&self) -> Result<Vec<SessionRecord>, Error> {
        out_of_reach()
    }
    async fn save_session(&self, _session: SessionRecord) -> Result<(), Error> {
        out_of_reach()
    }
    async fn delete_session(&self, _hash: [u8; 32]) -> Result<(), Error> {
        out_of_reach()
    }
    async fn audit(&self, note: AuditEntry) -> Result<(), Error> {
        self.audits.lock().unwrap().push(note);
        Ok(())
    }
    async fn audit_log(&self, _before: Option<i64>, _max: u32) -> Result<Vec<(i64, AuditEntry)>, Error> {
        out_of_reach()
    }
    async fn operation(&self, _id: &str) -> Result<Option<Operation>, Error> {
        out_of_reach()
    }
    async fn save_operation(&self, _: Operation, _: Option<AuditEntry>) -> Result<(), Error> {
        out_of_reach()
    }
    async fn unfinished_operations(&self) -> Result<Vec<Operation>, Error> {
        out_of_reach()
    }
    async fn nodes(&self) -> Result<Vec<NodeRecord>, Error> {
        Ok(self.nodes.lock().unwrap().values().cloned().collect())
    }
    async fn save_node(&self, node: NodeRecord) -> Result<(), Error> {
        self.check()?;
        self.node_saves.lock().unwrap().push((node.id.clone(), node.name.clone()));
        self.nodes.lock().unwrap().insert(node.id.clone(), node);
        Ok(())
    }
    async fn save_snapshots(&self, latest: Vec<(NodeId, i64, String)>) -> Result<(), Error> {
        self.check()?;
        let mut nodes = self.nodes.lock().unwrap();
        for (id, last_seen, json) in latest {
            let node = nodes.get_mut(&id).expect("a node is saved before its snapshots");
            node.last_seen = last_seen;
            node.latest = Some(json);
        }
        Ok(())
    }
    async fn append_log(
        &self,
        job: &JobId,
        attempt: u32,
        offset: u64,
        bytes: Bytes,
    ) -> Result<LogAppend, Error> {
        self.side.append_log(job, attempt, offset, bytes).await
    }
    async fn read_log(&self, job: &JobId, attempt: u32, offset: u64, max: usize) -> Result<LogSlice, Error> {
        self.side.read_log(job, attempt, offset, max).await
    }
    async fn delete_logs(&self, jobs: Vec<JobId>) -> Result<(), Error> {
        self.side.delete_logs(jobs).await
    }
    async fn ping(&self) -> Result<(), Error> {
        self.side.ping().await
    }
    fn figures(&self) -> Figures {
        Figures::default()
    }
    async fn close(&self) {
        self.side.close().await;
    }
}
