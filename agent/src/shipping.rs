//! Carries a running job's log and progress to the hub, without ever holding the job up.

use crate::{
    hub::{Failed, Hub, LogAnswer},
    logs::{Log, Progress},
};
use bytes::Bytes;
use forge_shared::{JobId, LeaseId};
use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{Instant, MissedTickBehavior},
};

/// What one attempt's log may have at the hub.
const LOG_BYTES_MAX: usize = 16 << 20;
/// How far the hub's copy is behind while the job runs.
const SEND_EVERY: Duration = Duration::from_secs(1);
/// How long a finished job's outcome waits for the last of its log: the hub takes no more of it
/// afterwards.
const FLUSH_MAX: Duration = Duration::from_secs(3);

/// The log of one attempt on its way.
pub struct Shipping {
    log: Arc<Mutex<Log>>,
    read: watch::Receiver<bool>,
    task: JoinHandle<()>,
}

impl Shipping {
    pub fn start(hub: Hub, job: JobId, lease: LeaseId, pieces: mpsc::Receiver<Bytes>) -> Self {
        let log = Arc::new(Mutex::new(Log::new(LOG_BYTES_MAX)));
        let (all_read, read) = watch::channel(false);
        let carrier = Carrier { hub, job, lease, log: log.clone(), progress: None, closed: false };
        Self { log, read, task: tokio::spawn(carrier.carry(pieces, all_read)) }
    }

    /// Waits until everything that the job wrote has been taken in.
    pub async fn all_read(&self) {
        let _ = self.read.clone().wait_for(|read| *read).await;
    }

    /// The last of the log.
    pub fn tail(&self, bytes: usize) -> String {
        lock(&self.log).tail(bytes)
    }

    /// Waits until the hub has the whole log, or for as long as it is worth waiting.
    pub async fn flushed(self) {
        let _ = self.task.await;
    }
}

struct Carrier {
    hub: Hub,
    job: JobId,
    lease: LeaseId,
    log: Arc<Mutex<Log>>,
    progress: Option<Progress>,
    /// The hub takes no more of this attempt.
    closed: bool,
}

type Sending = Pin<Box<dyn Future<Output = Result<LogAnswer, Failed>> + Send>>;

impl Carrier {
    async fn carry(mut self, mut pieces: mpsc::Receiver<Bytes>, all_read: watch::Sender<bool>) {
        let mut tick = tokio::time::interval_at(Instant::now() + SEND_EVERY, SEND_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut sending: Option<Sending> = None;
        loop {
            tokio::select! {
                piece = pieces.recv() => match piece {
                    Some(piece) => {
                        let found = lock(&self.log).push(&piece);
                        self.note(found);
                    }
                    None => break,
                },
                _ = tick.tick() => {
                    self.send_progress();
                    if sending.is_none() {
                        sending = self.next_piece();
                    }
                }
                answer = async { sending.as_mut().expect("checked below").await }, if sending.is_some() => {
                    sending = None;
                    // More of it goes out at once; what failed waits for the next turn.
                    if self.answered(answer) {
                        sending = self.next_piece();
                    }
                }
            }
        }
        let found = lock(&self.log).finish();
        self.note(found);
        all_read.send_replace(true);
        let flush = async {
            if let Some(answer) = sending
                && !self.answered(answer.await)
            {
                return;
            }
            while let Some(piece) = self.next_piece() {
                if !self.answered(piece.await) {
                    return;
                }
            }
        };
        if tokio::time::timeout(FLUSH_MAX, flush).await.is_err() {
            tracing::debug!("the last of a log did not reach the hub in time");
        }
    }

    /// Only the newest progress counts.
    fn note(&mut self, found: Vec<Progress>) {
        if let Some(newest) = found.into_iter().next_back() {
            self.progress = Some(newest);
        }
    }

    fn send_progress(&mut self) {
        let Some(progress) = self.progress.take().filter(|_| !self.closed) else { return };
        let (hub, job, lease) = (self.hub.clone(), self.job.clone(), self.lease.clone());
        tokio::spawn(async move {
            if let Err(error) = hub.progress(&job, &lease, &progress).await {
                tracing::debug!(job.id = %job, %error, "a progress report was lost");
            }
        });
    }

    fn next_piece(&self) -> Option<Sending> {
        if self.closed {
            return None;
        }
        let (offset, bytes) = lock(&self.log).unsent()?;
        let (hub, job, lease) = (self.hub.clone(), self.job.clone(), self.lease.clone());
        Some(Box::pin(async move { hub.log(&job, &lease, offset, bytes).await }))
    }

    /// Whether to go on at once.
    fn answered(&mut self, answer: Result<LogAnswer, Failed>) -> bool {
        match answer {
            Ok(LogAnswer::Continue(offset)) => {
                lock(&self.log).sent_up_to(offset);
                true
            }
            Ok(LogAnswer::Closed) => {
                self.closed = true;
                false
            }
            Err(error) => {
                tracing::debug!(job.id = %self.job, %error, "a piece of log was not taken");
                false
            }
        }
    }
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}
