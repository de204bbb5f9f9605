//! Decides a batch of commands over one working set.
//!
//! What a command needs cannot all be known up front, so planning goes in rounds: [`Planner::step`]
//! either asks for more ([`Plan::Need`]) or is done. Commands are decided in arrival order, each
//! seeing the effects of those before it; waiting claims are served before new ones and at the
//! end, from whatever has become claimable. The planner keeps lanes, counters and workers between
//! batches; a store that cannot save a batch must throw the planner away ([`Planner::abandon`])
//! and load a new one.
#![allow(clippy::result_large_err, reason = "`Err(Needs)` is the ordinary answer while a batch loads")]

mod changes;
mod claims;
mod jobs;
mod needs;
mod set;
mod workers;

pub use changes::{Changes, CountKey, Flow, Inserted, ViewKey};
pub use needs::{BecameDue, Found, KnownKey, Needs};

use crate::{
    claim::Entropy,
    command::{Claim, Command, Refusal, Reply, Ticket},
    job::Job,
    lane::{LaneKey, LaneRow, Lanes},
    lifecycle::Policy,
    waiting::Waiting,
    worker::Worker,
};
use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};
use forge_shared::{View, WorkerId};
use set::WorkingSet;

/// The time of a decision. Leases and runtimes go by the monotonic clock, so that a clock step
/// expires nothing; due times and expiry dates go by the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now {
    pub wall_ms: i64,
    pub mono_ms: i64,
}

/// What comes with a batch.
#[derive(Debug, Clone)]
pub struct Ctx {
    pub now: Now,
    /// Monotonic time at which this hub started.
    pub started_ms: i64,
    pub entropy: [u8; 32],
    pub policy: Policy,
}

/// What a planner starts from.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    pub lanes: Vec<LaneRow>,
    pub counts: Vec<(CountKey, i64)>,
    pub views: Vec<(ViewKey, i64)>,
    pub settled_ms: i64,
    pub next_job: i64,
    pub next_event: u64,
}

#[derive(Debug)]
pub enum Plan {
    /// Load this, call [`Planner::supply`], then step again.
    Need(Needs),
    Done,
}

/// How many workers are remembered between batches.
const WORKERS_KNOWN_MAX: usize = 10_000;

#[derive(Debug)]
pub struct Planner {
    lanes: Lanes,
    waiting: Waiting,
    workers: BTreeMap<WorkerId, Option<Worker>>,
    counts: BTreeMap<CountKey, i64>,
    views: BTreeMap<ViewKey, i64>,
    /// A job becomes due without a write, so what is scheduled is counted as of this time, which
    /// every batch moves on to its own.
    settled_ms: i64,
    next_job: i64,
    next_event: u64,
    batch: Batch,
}

/// What is true only while one batch is decided.
#[derive(Debug)]
struct Batch {
    ctx: Ctx,
    entropy: Entropy,
    set: WorkingSet,
    changes: Changes,
    commands: Vec<Command>,
    position: usize,
    first_needs: Option<Needs>,
    outcome: Outcome,
    /// Jobs taken out of their lanes for the claim being decided, not loaded yet.
    picked: Vec<i64>,
    /// Jobs leased to the claim being decided.
    taken: Vec<Arc<Job>>,
    /// Lanes from which waiting claims are being served.
    stirred: Vec<LaneKey>,
    serving: Option<Ticket>,
    /// Claims that began to wait in this batch.
    parked: Vec<Ticket>,
    /// Waiting claims answered in this batch, to be put back if it fails.
    answered: Vec<Claim>,
    refills: Vec<crate::lane::HeadsWanted>,
}

/// The answers of a batch.
#[derive(Debug, Default)]
pub struct Outcome {
    /// By position; `None` for a claim that now waits.
    pub replies: Vec<Option<Result<Reply, Refusal>>>,
    /// Which positions wait, and under which ticket.
    pub parked: Vec<(usize, Ticket)>,
    /// Answers to claims that waited.
    pub served: Vec<(Ticket, Result<Reply, Refusal>)>,
}

impl Planner {
    pub fn new(loaded: Loaded, waiting: Waiting) -> Self {
        Self {
            lanes: Lanes::load(loaded.lanes),
            waiting,
            workers: BTreeMap::new(),
            counts: loaded.counts.into_iter().collect(),
            views: loaded.views.into_iter().collect(),
            settled_ms: loaded.settled_ms,
            next_job: loaded.next_job,
            next_event: loaded.next_event,
            batch: Batch::new(Vec::new(), None),
        }
    }

    /// Starts a batch.
    pub fn begin(&mut self, ctx: Ctx, commands: Vec<Command>) {
        if self.workers.len() > WORKERS_KNOWN_MAX {
            self.workers.clear();
        }
        let now_ms = ctx.now.wall_ms;
        self.lanes.advance(now_ms);
        self.batch = Batch::new(commands, Some(ctx));
        let mut needs = Needs::default();
        for command in &self.batch.commands {
            self.needs_of(command, &mut needs);
        }
        needs.tidy();
        if self.has_jobs_ahead() && self.settled_ms < now_ms {
            needs.became_due = Some((self.settled_ms, now_ms));
        }
        self.batch.first_needs = (!needs.is_empty()).then_some(needs);
    }

    /// Decides as far as what is known allows.
    pub fn step(&mut self) -> Plan {
        if let Some(needs) = self.batch.first_needs.take() {
            return Plan::Need(needs);
        }
        while self.batch.position < self.batch.commands.len() {
            let at = self.batch.position;
            let command = core::mem::replace(&mut self.batch.commands[at], Command::Tick);
            match self.decide(&command) {
                Ok(reply) => {
                    if reply.is_none()
                        && let Command::Claim(claim) = &command
                    {
                        self.batch.outcome.parked.push((at, claim.ticket));
                        self.batch.parked.push(claim.ticket);
                        self.waiting.add(claim.clone());
                    }
                    self.batch.commands[at] = command;
                    self.batch.outcome.replies.push(reply);
                    self.batch.position += 1;
                }
                Err(needs) => {
                    self.batch.commands[at] = command;
                    self.batch.refills.clone_from(&needs.heads);
                    return Plan::Need(needs);
                }
            }
        }
        match self.serve_waiting() {
            Ok(()) => Plan::Done,
            Err(needs) => {
                self.batch.refills.clone_from(&needs.heads);
                Plan::Need(needs)
            }
        }
    }

    /// Ends a batch: what to save, and what to answer once it is saved.
    pub fn finish(&mut self) -> (Changes, Outcome) {
        let mut changes = core::mem::take(&mut self.batch.changes);
        core::mem::take(&mut self.batch.set).drain_into(&mut changes, &self.lanes);
        changes.lanes = self.lanes.take_touched();
        changes.counts = core::mem::take(&mut changes.counted)
            .into_iter()
            .map(|key| {
                let n = self.counts.get(&key).copied().unwrap_or(0);
                if n == 0 {
                    self.counts.remove(&key);
                }
                (key, n)
            })
            .collect();
        changes.views = core::mem::take(&mut changes.counted_views)
            .into_iter()
            .map(|key| {
                let n = self.views.get(&key).copied().unwrap_or(0);
                if n == 0 {
                    self.views.remove(&key);
                }
                (key, n)
            })
            .collect();
        changes.settled_ms = self.settled_ms;
        changes.at_ms = self.batch.ctx.now.wall_ms;
        changes.next_job = self.next_job;
        changes.next_event = self.next_event;
        (changes, core::mem::take(&mut self.batch.outcome))
    }

    /// Gives up a batch that could not be saved. What waited before it still waits; what it
    /// decided is forgotten. Returns its commands as well, to be tried again.
    pub fn abandon(self) -> (Waiting, Vec<Command>) {
        let mut waiting = self.waiting;
        for ticket in &self.batch.parked {
            waiting.remove(*ticket);
        }
        for claim in self.batch.answered {
            if !self.batch.parked.contains(&claim.ticket) {
                waiting.add(claim);
            }
        }
        (waiting, self.batch.commands)
    }

    /// For a planner whose knowledge is stale: all of it that outlives the file's contents.
    pub fn into_waiting(self) -> Waiting {
        self.waiting
    }

    fn has_jobs_ahead(&self) -> bool {
        let first = self.views.first_key_value();
        first.is_some_and(|((view, _), _)| matches!(view, View::Scheduled | View::Retrying))
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// When somebody who waits could be served without another command.
    pub fn next_due(&self) -> Option<i64> {
        if self.waiting.is_empty() { None } else { self.lanes.next_due() }
    }

    fn decide(&mut self, command: &Command) -> Result<Option<Result<Reply, Refusal>>, Needs> {
        let reply = match command {
            Command::Enqueue(jobs) => self.enqueue(jobs),
            Command::Replace { job, spent } => self.replace(job, *spent),
            Command::Claim(claim) => return self.claim(claim),
            Command::Vanished(workers) => Ok(self.vanish(workers)),
            Command::CallOff(ticket) => {
                self.answer_waiting(*ticket, Ok(Reply::Claimed(Vec::new())));
                Ok(Reply::Done)
            }
            Command::Heartbeat { job, holder, phase } => self.heartbeat(job, holder, *phase),
            Command::Report(reports) => return self.report(reports).map(|reply| Some(Ok(reply))),
            Command::Release { job, holder } => self.release(job, holder, None),
            Command::Snooze { job, holder, delay_ms } => self.release(job, holder, Some(*delay_ms)),
            Command::Progress { job, holder, progress } => self.progress(job, holder, progress),
            Command::CheckLease { job, holder } => self.check_lease(job, holder),
            Command::Act { jobs, action } => Ok(self.act(jobs, action)),
            Command::Register(register) => self.register(register),
            Command::WorkerHeartbeat(heartbeat) => self.worker_heartbeat(heartbeat),
            Command::Drain { worker, draining } => self.drain(worker, *draining),
            Command::Forget(worker) => self.forget(worker),
            Command::Reap { jobs, workers } => Ok(self.reap(jobs, workers)),
            Command::Resume { jobs } => Ok(self.resume(jobs)),
            Command::Prune { jobs } => Ok(self.prune(jobs)),
            Command::Tick => Ok(Reply::Done),
        };
        Ok(Some(reply))
    }
}

impl Batch {
    fn new(commands: Vec<Command>, ctx: Option<Ctx>) -> Self {
        let ctx = ctx.unwrap_or(Ctx {
            now: Now { wall_ms: 0, mono_ms: 0 },
            started_ms: 0,
            entropy: [0; 32],
            policy: Policy::default(),
        });
        Self {
            entropy: Entropy::new(ctx.entropy),
            ctx,
            set: WorkingSet::default(),
            changes: Changes::default(),
            commands,
            position: 0,
            first_needs: None,
            outcome: Outcome::default(),
            picked: Vec::new(),
            taken: Vec::new(),
            stirred: Vec::new(),
            serving: None,
            parked: Vec::new(),
            answered: Vec::new(),
            refills: Vec::new(),
        }
    }
}
