//! Bulk actions: resumable, in chunks, never one long transaction. Where an operation stands is
//! stored after each chunk, so a restart goes on where it was; a chunk that is done twice finds
//! its jobs already changed.

use crate::{
    hub::{Denied, Hub},
    store::Operation,
};
use forge_engine::{Command, Reply, command::Action};
use forge_shared::{JobId, request::BulkAction};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

const CHUNK: u32 = 300;

/// Takes operations to run, and tells how far each is.
pub struct Operations {
    inbox: mpsc::UnboundedSender<Operation>,
    progress: watch::Sender<Option<Operation>>,
}

impl Operations {
    /// Starts with what an earlier run left unfinished.
    pub fn start(hub: Arc<Hub>, stop: CancellationToken) -> (Arc<Self>, impl Future<Output = ()> + Send) {
        let (inbox, mut waiting) = mpsc::unbounded_channel();
        let operations = Arc::new(Self { inbox, progress: watch::Sender::new(None) });
        let tell = operations.clone();
        let run = async move {
            match hub.store.unfinished_operations().await {
                Ok(left) => {
                    for operation in left {
                        tell.drive(&hub, operation, &stop).await;
                    }
                }
                Err(error) => tracing::warn!(%error, "unfinished bulk actions could not be read"),
            }
            loop {
                let operation = tokio::select! {
                    () = stop.cancelled() => return,
                    operation = waiting.recv() => operation,
                };
                let Some(operation) = operation else { return };
                tell.drive(&hub, operation, &stop).await;
            }
        };
        (operations, run)
    }

    /// Queues an operation that is already stored.
    pub fn add(&self, operation: Operation) {
        let _ = self.inbox.send(operation);
    }

    pub fn watch(&self) -> watch::Receiver<Option<Operation>> {
        self.progress.subscribe()
    }

    async fn drive(&self, hub: &Hub, mut operation: Operation, stop: &CancellationToken) {
        while !operation.done && !stop.is_cancelled() {
            if let Err(error) = chunk(hub, &mut operation).await {
                tracing::warn!(operation = operation.id, %error, "a bulk action stopped; it goes on after a restart");
                return;
            }
            self.progress.send_replace(Some(operation.clone()));
        }
        if operation.done {
            let Operation { id, matched, changed, skipped, .. } = &operation;
            tracing::info!(operation = id, matched, changed, skipped, "a bulk action is done");
        }
    }
}

async fn chunk(hub: &Hub, operation: &mut Operation) -> Result<(), Denied> {
    let jobs = hub.store.matching(operation.filter.clone(), operation.after, operation.upto, CHUNK).await?;
    if let Some((last, _)) = jobs.last() {
        operation.after = *last;
        operation.matched += jobs.len() as u64;
        let ids: Vec<JobId> = jobs.into_iter().map(|(_, id)| id).collect();
        let action = action(operation);
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
    Ok(hub.store.save_operation(operation.clone(), None).await?)
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
