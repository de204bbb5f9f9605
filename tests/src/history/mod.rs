//! What every client asked and was told while hubs were being killed, and the judgement on it.
//!
//! Clients number the start and the end of each call from one shared counter, so "before" means
//! that one call had ended when the other began. A call without an end got no answer: it may have
//! happened or not, and the checker holds nothing against either.

mod check;
#[cfg(test)]
mod tests;

pub use check::check;

use std::{
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

/// What a client asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `marker` is in the job's params and in no other's.
    Enqueue {
        marker: String,
        key: Option<String>,
    },
    Claim,
    Heartbeat {
        job: String,
        lease: String,
    },
    Result {
        job: String,
        lease: String,
        result: String,
    },
    /// `reason` is in no other failure.
    Fail {
        job: String,
        lease: String,
        reason: String,
    },
    Release {
        job: String,
        lease: String,
    },
}

/// What it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The connection broke or the hub was gone.
    Unknown,
    Enqueued {
        job: String,
    },
    Claimed(Vec<Granted>),
    Done,
    Refused(u16),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    pub job: String,
    pub lease: String,
    pub attempt: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub start: u64,
    pub end: u64,
    pub request: Request,
    pub outcome: Outcome,
}

/// One event as the watcher got it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub epoch: u64,
    pub seq: u64,
    pub name: String,
    pub job: Option<String>,
    pub status: Option<String>,
}

/// A job as the database has it in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub id: String,
    pub marker: String,
    pub status: String,
    pub attempt: u64,
    pub result: Option<String>,
    pub reasons: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub struct History {
    pub calls: Vec<Call>,
    /// `None` when nobody watched.
    pub seen: Option<Vec<Seen>>,
    pub kept: Vec<Kept>,
}

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Violation {
    /// An acknowledged job is not there.
    JobLost { job: String },
    /// A job has other params than were acknowledged.
    JobChanged { job: String },
    /// One idempotency key made two jobs.
    KeyMadeTwo { key: String },
    /// One enqueue left two jobs.
    StoredTwice { marker: String },
    /// An acknowledged result is not the job's.
    ResultLost { job: String },
    /// Two results of one job were acknowledged.
    TwoResults { job: String },
    /// Nobody ever sent the result that the job has.
    ResultFromNowhere { job: String },
    /// An acknowledged failure is not in the job's history.
    FailureLost { job: String, reason: String },
    /// One failure was recorded twice.
    FailureTwice { job: String, reason: String },
    /// An acknowledged claim left no trace in the job's attempt number.
    ClaimLost { job: String, attempt: u64 },
    /// Two claims got the same attempt of a job.
    TwoLeases { job: String, attempt: u64 },
    /// A lease was obeyed after a later one had been granted or after it had been given up.
    StaleLease { job: String, lease: String },
    /// The watcher's numbers jump or repeat.
    EventGap { after: u64, got: u64 },
    /// The event log began anew although nobody restored a database.
    EpochChanged { from: u64, to: u64 },
    /// Something acknowledged was never announced.
    EventMissing { job: String, name: &'static str },
    /// A job was announced as created or completed twice.
    EventTwice { job: String, name: &'static str },
    /// The last announced status is not the job's.
    StatusDiffers { job: String, announced: String, kept: String },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Collects calls from many clients.
#[derive(Debug, Default)]
pub struct Recorder {
    clock: AtomicU64,
    calls: Mutex<Vec<Call>>,
}

impl Recorder {
    pub fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Notes a call that began at `start` and ends now.
    pub fn note(&self, start: u64, request: Request, outcome: Outcome) {
        let end = self.tick();
        self.calls.lock().expect("no client panicked").push(Call { start, end, request, outcome });
    }

    pub fn calls_made(&self) -> usize {
        self.calls.lock().expect("no client panicked").len()
    }

    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().expect("no client panicked").clone()
    }
}
