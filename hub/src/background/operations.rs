//! Bulk actions: resumable, in chunks, never one long transaction. Where an operation stands is
//! stored after each chunk, so a restart goes on where it was; a chunk that is done twice finds
//! its jobs already changed.

use crate::{
    hub::{Denied, Hub},
    store::{self, Operation},
};
use forge_engine::{Command, Reply, command::Action};
use forge_shared::{JobId, request::BulkAction};
use std::{sync::Arc, time::Duration};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

const CHUNK: u32 = 300;

/// How long a bulk action rests when the store could not go on.
const REST: Duration = Duration::from_secs(1);

/// Takes operations to run, one after the other.
pub struct Operations {
    inbox: mpsc::UnboundedSender<Queued>,
}

struct Queued {
    operation: Operation,
    ended: oneshot::Sender<Operation>,
}

impl Operations {
    /// Starts with what an earlier run left unfinished.
    pub async fn start(
        hub: Arc<Hub>,
        stop: CancellationToken,
    ) -> Result<(Arc<Self>, impl Future<Output = ()> + Send + use<>), store::Error> {
        let (inbox, mut waiting) = mpsc::unbounded_channel();
        let operations = Arc::new(Self { inbox });
        for operation in hub.store.unfinished_operations().await? {
            // Whoever asked for it is gone.
            drop(operations.add(operation));
        }
        let run = async move {
            loop {
                let queued = tokio::select! {
                    () = stop.cancelled() => return,
                    queued = waiting.recv() => queued,
                };
                let Some(Queued { operation, ended }) = queued else { return };
                if let Some(operation) = drive(&hub, operation, &stop).await {
                    let _ = ended.send(operation);
                }
            }
        };
        Ok((operations, run))
    }

    /// Queues an operation that is already stored. The answer comes when it is done, and not at
    /// all when the hub stops first.
    pub fn add(&self, operation: Operation) -> oneshot::Receiver<Operation> {
        let (ended, answer) = oneshot::channel();
        let _ = self.inbox.send(Queued { operation, ended });
        answer
    }
}

/// `None` when the hub stops first; the operation goes on after a restart.
async fn drive(hub: &Hub, mut operation: Operation, stop: &CancellationToken) -> Option<Operation> {
    while !operation.done {
        if stop.is_cancelled() {
            return None;
        }
        match chunk(hub, &operation).await {
            Ok(further) => operation = further,
            Err(error) => {
                tracing::warn!(operation = operation.id, %error, "a bulk action rests and tries again");
                super::next_turn(REST, stop).await;
            }
        }
    }
    let Operation { id, matched, changed, skipped, .. } = &operation;
    tracing::info!(operation = id, matched, changed, skipped, "a bulk action is done");
    Some(operation)
}

/// One chunk. Returns where the operation stands after it.
async fn chunk(hub: &Hub, before: &Operation) -> Result<Operation, Denied> {
    let mut operation = before.clone();
    let jobs = hub.store.matching(operation.filter.clone(), operation.after, operation.upto, CHUNK).await?;
    if let Some((last, _)) = jobs.last() {
        operation.after = *last;
        operation.matched += jobs.len() as u64;
        let ids: Vec<JobId> = jobs.into_iter().map(|(_, id)| id).collect();
        let action = action(&operation);
        let removes = action == Action::Delete;
        let reply = hub.submit(Command::Act { jobs: ids.clone(), action }, None).await?;
        if let Reply::Acted(states) = reply {
            let changed: Vec<JobId> =
                ids.into_iter().zip(&states).filter(|(_, state)| state.is_ok()).map(|(id, _)| id).collect();
            operation.changed += changed.len() as u64;
            operation.skipped += (states.len() - changed.len()) as u64;
            if removes {
                hub.store.delete_logs(changed).await?;
            }
        }
    } else {
        operation.done = true;
    }
    hub.store.save_operation(operation.clone(), None).await?;
    Ok(operation)
}

fn action(operation: &Operation) -> Action {
    match operation.action {
        BulkAction::Retry => Action::Retry,
        BulkAction::Cancel => Action::Cancel { even_running: true },
        BulkAction::Kill => Action::Kill,
        BulkAction::Delete => Action::Delete,
        BulkAction::RunNow => Action::RunNow,
        BulkAction::SetPriority => Action::Patch { priority: operation.priority, run_at: None, queue: None },
    }
}
