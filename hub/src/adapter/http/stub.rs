//! A store in memory that knows tokens, sessions and the audit log, and nothing else.

use async_trait::async_trait;
use bytes::Bytes;
use forge_engine::Command;
use forge_shared::{
    JobId, NodeId, WorkerId,
    event::Event,
    job::Attempt,
    request::JobFilter,
    response::{AuditEntry, Worker},
};
use std::{collections::BTreeMap, sync::Mutex};

use crate::store::*;

#[derive(Default)]
pub(super) struct StubStore {
    pub(super) tokens: Mutex<BTreeMap<String, TokenRecord>>,
    pub(super) sessions: Mutex<BTreeMap<[u8; 32], SessionRecord>>,
    pub(super) audit: Mutex<Vec<AuditEntry>>,
}

impl StubStore {
    fn note(&self, note: Option<AuditEntry>) {
        self.audit.lock().unwrap().extend(note);
    }
}

#[async_trait]
impl Store for StubStore {
    async fn tokens(&self) -> Result<Vec<TokenRecord>, Error> {
        Ok(self.tokens.lock().unwrap().values().cloned().collect())
    }
    async fn save_token(&self, token: TokenRecord, note: Option<AuditEntry>) -> Result<(), Error> {
        self.tokens.lock().unwrap().insert(token.id.clone(), token);
        self.note(note);
        Ok(())
    }
    async fn delete_token(&self, id: &str, note: AuditEntry) -> Result<bool, Error> {
        self.sessions.lock().unwrap().retain(|_, session| session.token_id.as_deref() != Some(id));
        self.note(Some(note));
        Ok(self.tokens.lock().unwrap().remove(id).is_some())
    }
    async fn sessions(&self) -> Result<Vec<SessionRecord>, Error> {
        Ok(self.sessions.lock().unwrap().values().cloned().collect())
    }
    async fn save_session(&self, session: SessionRecord) -> Result<(), Error> {
        self.sessions.lock().unwrap().insert(session.hash, session);
        Ok(())
    }
    async fn delete_session(&self, hash: [u8; 32]) -> Result<(), Error> {
        self.sessions.lock().unwrap().remove(&hash);
        Ok(())
    }
    async fn audit(&self, note: AuditEntry) -> Result<(), Error> {
        self.note(Some(note));
        Ok(())
    }
    async fn audit_log(&self, before: Option<i64>, max: u32) -> Result<Vec<(i64, AuditEntry)>, Error> {
        let log = self.audit.lock().unwrap();
        let numbered = log.iter().cloned().enumerate().map(|(number, entry)| (number as i64, entry)).rev();
        Ok(numbered
            .filter(|(number, _)| before.is_none_or(|before| *number < before))
            .take(max as usize)
            .collect())
    }
    async fn close(&self) {}

    async fn submit(&self, _command: Command, _note: Option<AuditEntry>) -> Result<Decided, Error> {
        unimplemented!("not needed here")
    }
    async fn job(&self, _id: &JobId) -> Result<Option<forge_shared::Job>, Error> {
        unimplemented!("not needed here")
    }
    async fn jobs_by_seq(&self, _seqs: Vec<i64>) -> Result<Vec<forge_shared::Job>, Error> {
        unimplemented!("not needed here")
    }
    async fn jobs(&self, _filter: JobFilter, _page: Page) -> Result<JobPage, Error> {
        unimplemented!("not needed here")
    }
    async fn matching(
        &self,
        _filter: JobFilter,
        _after: i64,
        _upto: i64,
        _max: u32,
    ) -> Result<Vec<(i64, JobId)>, Error> {
        unimplemented!("not needed here")
    }
    async fn count_matching(&self, _filter: JobFilter) -> Result<u64, Error> {
        unimplemented!("not needed here")
    }
    async fn attempts(&self, _id: &JobId) -> Result<Option<Vec<Attempt>>, Error> {
        unimplemented!("not needed here")
    }
    async fn counts(&self) -> Result<Vec<JobCount>, Error> {
        unimplemented!("not needed here")
    }
    async fn live_jobs_by_worker(&self) -> Result<BTreeMap<WorkerId, u64>, Error> {
        unimplemented!("not needed here")
    }
    async fn workers(&self) -> Result<Vec<Worker>, Error> {
        unimplemented!("not needed here")
    }
    async fn worker(&self, _id: &WorkerId) -> Result<Option<Worker>, Error> {
        unimplemented!("not needed here")
    }
    async fn overdue(&self, _now: forge_engine::Now, _max: u32) -> Result<Overdue, Error> {
        unimplemented!("not needed here")
    }
    async fn live_jobs(&self, _after: i64, _max: u32) -> Result<Vec<i64>, Error> {
        unimplemented!("not needed here")
    }
    async fn prunable(&self, _keep: Retention, _max: u32) -> Result<Vec<i64>, Error> {
        unimplemented!("not needed here")
    }
    async fn prune_events(&self, _before_ms: i64) -> Result<(), Error> {
        unimplemented!("not needed here")
    }
    async fn event_range(&self) -> Result<EventRange, Error> {
        unimplemented!("not needed here")
    }
    async fn events_after(&self, _seq: u64, _max: usize) -> Result<Vec<Event>, Error> {
        unimplemented!("not needed here")
    }
    async fn operation(&self, _id: &str) -> Result<Option<Operation>, Error> {
        unimplemented!("not needed here")
    }
    async fn save_operation(&self, _operation: Operation, _note: Option<AuditEntry>) -> Result<(), Error> {
        unimplemented!("not needed here")
    }
    async fn unfinished_operations(&self) -> Result<Vec<Operation>, Error> {
        unimplemented!("not needed here")
    }
    async fn nodes(&self) -> Result<Vec<NodeRecord>, Error> {
        unimplemented!("not needed here")
    }
    async fn save_node(&self, _node: NodeRecord) -> Result<(), Error> {
        unimplemented!("not needed here")
    }
    async fn save_snapshots(&self, _latest: Vec<(NodeId, i64, String)>) -> Result<(), Error> {
        unimplemented!("not needed here")
    }
    async fn append_log(
        &self,
        _job: &JobId,
        _attempt: u32,
        _offset: u64,
        _bytes: Bytes,
    ) -> Result<LogAppend, Error> {
        unimplemented!("not needed here")
    }
    async fn read_log(
        &self,
        _job: &JobId,
        _attempt: u32,
        _offset: u64,
        _max: usize,
    ) -> Result<LogSlice, Error> {
        unimplemented!("not needed here")
    }
    async fn delete_logs(&self, _jobs: Vec<JobId>) -> Result<(), Error> {
        unimplemented!("not needed here")
    }
    async fn ping(&self) -> Result<(), Error> {
        unimplemented!("not needed here")
    }
    fn figures(&self) -> Figures {
        unimplemented!("not needed here")
    }
}
