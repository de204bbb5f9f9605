//! A store that is a few maps: it answers what the planner asks for, saves what it decides, and
//! after every batch counts everything again by hand.

use crate::states::plain_backoff;
use forge_engine::{
    Command, Ctx, Job, Now, Plan, Planner, Refusal, Reply,
    command::{
        Action, Claim, Completion, Due, FailureReport, Filter, Holder, NewJob, Outcome as Ended, Report,
        Ticket,
    },
    job::{Entry, Spec},
    lane::{LaneId, LaneKey, LaneRow},
    lifecycle::Policy,
    plan::{BecameDue, Changes, CountKey, Flow, Found, KnownKey, Loaded, Needs, Outcome, ViewKey},
    waiting::Waiting,
    worker::Worker,
};
use forge_shared::{
    FailureKind, JobId, JobType, LeaseId, QueueName, QueuePattern, Status, WorkerId,
    event::{Event, EventKind},
};
use std::{collections::BTreeMap, sync::Arc};

pub(crate) const START: Now = Now { wall_ms: 1_800_000_000_000, mono_ms: 1_000_000 };

pub(crate) type Answer = Result<Reply, Refusal>;

#[derive(Debug)]
pub(crate) struct Hub {
    planner: Planner,
    pub(crate) jobs: BTreeMap<i64, Job>,
    lane_of: BTreeMap<i64, LaneId>,
    keys: BTreeMap<Arc<str>, KnownKey>,
    completions: BTreeMap<i64, Completion>,
    pub(crate) workers: BTreeMap<WorkerId, Worker>,
    lanes: BTreeMap<LaneId, LaneRow>,
    counts: BTreeMap<CountKey, i64>,
    views: BTreeMap<ViewKey, i64>,
    settled_ms: i64,
    pub(crate) flow: Flow,
    pub(crate) events: Vec<Event>,
    pub(crate) entries: Vec<Entry>,
    next_job: i64,
    next_event: u64,
    pub(crate) now: Now,
    pub(crate) policy: Policy,
    batches: u64,
    tickets: u64,
    /// How often the planner asked for something in the last batch.
    pub(crate) rounds: usize,
}

impl Hub {
    pub(crate) fn new() -> Self {
        let loaded = Loaded { next_job: 1, next_event: 1, ..Loaded::default() };
        Self {
            planner: Planner::new(loaded, Waiting::default()),
            jobs: BTreeMap::new(),
            lane_of: BTreeMap::new(),
            keys: BTreeMap::new(),
            completions: BTreeMap::new(),
            workers: BTreeMap::new(),
            lanes: BTreeMap::new(),
            counts: BTreeMap::new(),
            views: BTreeMap::new(),
            settled_ms: 0,
            flow: Flow::default(),
            events: Vec::new(),
            entries: Vec::new(),
            next_job: 1,
            next_event: 1,
            now: START,
            policy: Policy { backoff: plain_backoff(), ..Policy::default() },
            batches: 0,
            tickets: 0,
            rounds: 0,
        }
    }

    pub(crate) fn wait(&mut self, ms: i64) {
        self.now.wall_ms += ms;
        self.now.mono_ms += ms;
    }

    /// Decides a batch and saves it.
    pub(crate) fn run(&mut self, commands: Vec<Command>) -> Outcome {
        self.plan(commands);
        let (changes, outcome) = self.planner.finish();
        self.save(changes);
        self.verify();
        self.batches += 1;
        outcome
    }

    pub(crate) fn one(&mut self, command: Command) -> Answer {
        self.run(vec![command]).replies.remove(0).expect("an answer at once")
    }

    /// Decides a batch that then cannot be saved; gives its commands back.
    pub(crate) fn fail_to_save(&mut self, commands: Vec<Command>) -> (Outcome, Vec<Command>) {
        self.plan(commands);
        let (_, outcome) = self.planner.finish();
        (outcome, self.abandon())
    }

    /// Gives a batch up while it is being decided.
    pub(crate) fn fail_to_load(&mut self, commands: Vec<Command>) -> Vec<Command> {
        self.plan(commands);
        self.abandon()
    }

    fn abandon(&mut self) -> Vec<Command> {
        let (waiting, commands) = self.take_planner().abandon();
        self.planner = Planner::new(self.loaded(), waiting);
        commands
    }

    /// Starts a new planner from what is stored; claims that wait go on waiting.
    pub(crate) fn restart_planner(&mut self) {
        let waiting = self.take_planner().into_waiting();
        self.planner = Planner::new(self.loaded(), waiting);
    }

    fn take_planner(&mut self) -> Planner {
        std::mem::replace(&mut self.planner, Planner::new(Loaded::default(), Waiting::default()))
    }

    fn loaded(&self) -> Loaded {
        Loaded {
            lanes: self.lanes.values().cloned().collect(),
            counts: self.counts.clone().into_iter().collect(),
            views: self.views.clone().into_iter().collect(),
            settled_ms: self.settled_ms,
            next_job: self.next_job,
            next_event: self.next_event,
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.planner.waiting()
    }

    pub(crate) fn next_due(&self) -> Option<i64> {
        self.planner.next_due()
    }

    fn plan(&mut self, commands: Vec<Command>) {
        let mut entropy = [0; 32];
        entropy[..8].copy_from_slice(&self.batches.to_le_bytes());
        self.planner.begin(Ctx { now: self.now, started_ms: 0, entropy, policy: self.policy }, commands);
        self.rounds = 0;
        while let Plan::Need(needs) = self.planner.step() {
            self.rounds += 1;
            assert!(self.rounds < 1_000, "the planner keeps asking for {needs:?}");
            let found = self.find(&needs);
            self.planner.supply(&needs, found);
        }
    }

    fn find(&self, needs: &Needs) -> Found {
        let keys: Vec<(Arc<str>, KnownKey)> =
            needs.keys.iter().filter_map(|key| Some((key.clone(), self.keys.get(key)?.clone()))).collect();
        let live_of: Vec<(WorkerId, Vec<i64>)> =
            needs.live_of.iter().map(|worker| (worker.clone(), self.live_of(worker))).collect();
        let by_id = |id: &JobId| self.jobs.values().find(|job| job.id == *id).map(|job| job.seq);
        let mut seqs = needs.jobs.clone();
        seqs.extend(needs.ids.iter().filter_map(by_id));
        seqs.extend(keys.iter().map(|(_, known)| known.job));
        seqs.extend(live_of.iter().flat_map(|(_, jobs)| jobs));
        Found {
            jobs: seqs.iter().filter_map(|seq| self.jobs.get(seq).cloned()).collect(),
            keys,
            workers: needs.workers.iter().filter_map(|id| self.workers.get(id).cloned()).collect(),
            live_of,
            completions: needs
                .completions
                .iter()
                .filter_map(|job| Some((*job, self.completions.get(job)?.clone())))
                .collect(),
            heads: needs
                .heads
                .iter()
                .map(|want| self.heads(want.lane, want.after, want.max as usize))
                .collect(),
            became_due: needs.became_due.map(|times| self.became_due(times)).unwrap_or_default(),
        }
    }

    /// Half of the time asked for at a time, so that settling in steps is seen to work too.
    fn became_due(&self, (from, to): (i64, i64)) -> BecameDue {
        let upto_ms = if from < START.wall_ms { to } else { i64::midpoint(from, to).max(from + 1) };
        let mut jobs: BTreeMap<ViewKey, u64> = BTreeMap::new();
        for job in self.jobs.values().filter(|job| job.run_at > from && job.run_at <= upto_ms) {
            if let Some(view) = job.counted_view(from).filter(|_| job.status == Status::Pending) {
                *jobs.entry((view, job.queue.clone())).or_default() += 1;
            }
        }
        BecameDue { jobs: jobs.into_iter().collect(), upto_ms }
    }

    fn live_of(&self, worker: &WorkerId) -> Vec<i64> {
        let holds = |job: &&Job| {
            job.status.is_live() && job.lease.as_ref().is_some_and(|lease| lease.worker == *worker)
        };
        self.jobs.values().filter(holds).map(|job| job.seq).collect()
    }

    fn heads(&self, lane: LaneId, after: (i64, i64), max: usize) -> Vec<(i64, i64)> {
        let mut entries: Vec<(i64, i64)> = self
            .lane_of
            .iter()
            .filter(|(_, id)| **id == lane)
            .map(|(seq, _)| (self.jobs[seq].run_at, *seq))
            .filter(|entry| *entry > after)
            .collect();
        entries.sort_unstable();
        entries.truncate(max);
        entries
    }

    fn save(&mut self, changes: Changes) {
        for (seq, id) in changes.deleted {
            let job = self.jobs.remove(&seq).expect("only stored jobs are removed");
            assert_eq!(job.id, id);
            self.lane_of.remove(&seq);
            self.keys.retain(|_, known| known.job != seq);
        }
        let inserted = changes.inserted.into_iter().map(|new| {
            if let Some(idempotency) = new.idempotency {
                let known = KnownKey { job: new.job.seq, body: idempotency.body };
                assert_eq!(self.keys.insert(idempotency.key, known), None, "a key is used once");
            }
            assert!(new.job.seq >= self.next_job, "numbers only grow");
            (new.job, new.lane)
        });
        for (job, lane) in inserted.chain(changes.updated).collect::<Vec<_>>() {
            match lane {
                Some(lane) => self.lane_of.insert(job.seq, lane),
                None => self.lane_of.remove(&job.seq),
            };
            self.jobs.insert(job.seq, job);
        }
        for row in changes.lanes {
            if row.n == 0 {
                self.lanes.remove(&row.id)
            } else {
                self.lanes.insert(row.id, row)
            };
        }
        for (key, n) in changes.counts {
            if n == 0 {
                self.counts.remove(&key)
            } else {
                self.counts.insert(key, n)
            };
        }
        for (key, n) in changes.views {
            if n == 0 {
                self.views.remove(&key)
            } else {
                self.views.insert(key, n)
            };
        }
        self.settled_ms = changes.settled_ms;
        for flow in changes.flow.values() {
            self.flow.completed += flow.completed;
            self.flow.failed += flow.failed;
            self.flow.failed_attempts += flow.failed_attempts;
        }
        self.completions.extend(changes.completions);
        self.entries.extend(changes.entries);
        for worker in changes.workers {
            self.workers.insert(worker.id.clone(), worker);
        }
        for id in changes.forgotten {
            self.workers.remove(&id);
        }
        self.events.extend(changes.events);
        self.next_job = changes.next_job;
        self.next_event = changes.next_event;
    }

    /// Counts again what the planner keeps count of.
    fn verify(&self) {
        let mut counts: BTreeMap<CountKey, i64> = BTreeMap::new();
        let mut views: BTreeMap<ViewKey, i64> = BTreeMap::new();
        let mut lanes: BTreeMap<LaneKey, u64> = BTreeMap::new();
        for job in self.jobs.values() {
            *counts.entry((job.queue.clone(), job.kind.clone(), job.status)).or_default() += 1;
            if let Some(view) = job.counted_view(self.settled_ms) {
                *views.entry((view, job.queue.clone())).or_default() += 1;
            }
            let lane = self.lane_of.get(&job.seq).map(|id| &self.lanes[id].key);
            let key = LaneKey { queue: job.queue.clone(), kind: job.kind.clone(), priority: job.priority };
            let pending = job.status == Status::Pending;
            assert_eq!(lane, pending.then_some(&key), "a pending job stands in its own lane: {job:?}");
            if pending {
                *lanes.entry(key).or_default() += 1;
            }
        }
        assert_eq!(self.counts, counts);
        assert_eq!(self.views, views);
        let told =
            |wanted: fn(&Event) -> bool| self.events.iter().filter(|event| wanted(event)).count() as u64;
        let flow = Flow {
            completed: told(|event| event.kind == EventKind::JobCompleted),
            failed: told(|event| match event.kind {
                EventKind::JobFailed => event.status == Some(Status::Failed),
                kind => kind == EventKind::JobQuarantined,
            }),
            failed_attempts: self.flow.failed_attempts,
        };
        assert_eq!(self.flow, flow, "what ended is counted once");
        // The history of a job that is removed in the batch that made it is never kept.
        let kept = self.entries.iter().filter(|entry| entry.is_failure()).count() as u64;
        assert!(kept <= flow.failed_attempts, "every failed attempt is counted");
        let rows: BTreeMap<LaneKey, u64> = self.lanes.values().map(|row| (row.key.clone(), row.n)).collect();
        assert_eq!(rows, lanes);
        assert!(self.events.iter().map(|event| event.seq).eq(1..self.next_event), "numbers without gaps");
    }

    pub(crate) fn job(&self, id: &str) -> &Job {
        self.jobs.values().find(|job| job.id.as_str() == id).unwrap_or_else(|| panic!("no job '{id}'"))
    }

    pub(crate) fn lease(&self, id: &str) -> LeaseId {
        self.job(id).lease.as_ref().expect("it was claimed").id.clone()
    }

    pub(crate) fn holder(&self, id: &str) -> Holder {
        let lease = self.job(id).lease.as_ref().expect("it was claimed");
        Holder { worker: lease.worker.clone(), lease: Some(lease.id.clone()) }
    }

    pub(crate) fn claim(&mut self, worker: &str) -> Claim {
        self.tickets += 1;
        Claim {
            ticket: Ticket(self.tickets),
            worker: WorkerId::trusted(worker),
            boot: None,
            claim_id: None,
            filter: Arc::default(),
            max: 1,
            wait: false,
        }
    }

    /// Claims up to `max` jobs and names those it got.
    pub(crate) fn take(&mut self, worker: &str, max: u32) -> Vec<String> {
        let claim = Claim { max, ..self.claim(worker) };
        names(&self.one(Command::Claim(claim)))
    }

    /// Adds one job for each name, and has it claimed.
    pub(crate) fn hand_out(&mut self, worker: &str, ids: &[&str]) {
        self.run(vec![enqueue(ids)]);
        assert_eq!(self.take(worker, ids.len() as u32), ids);
    }
}

pub(crate) fn names(answer: &Answer) -> Vec<String> {
    match answer {
        Ok(Reply::Claimed(jobs)) => jobs.iter().map(|job| job.id.to_string()).collect(),
        other => panic!("not the answer to a claim: {other:?}"),
    }
}

pub(crate) fn new_job(id: &str) -> NewJob {
    NewJob {
        id: Some(JobId::new(id).expect("a valid id")),
        kind: JobType::trusted("t"),
        queue: QueueName::default_queue(),
        priority: 0,
        max_attempts: 3,
        max_runtime_ms: Some(300_000),
        due: Due::Now,
        expires_at: None,
        backoff: None,
        idempotency: None,
        spec: Spec::default(),
    }
}

pub(crate) fn enqueue(ids: &[&str]) -> Command {
    Command::Enqueue(ids.iter().map(|id| new_job(id)).collect())
}

pub(crate) fn filter(types: &[&str], queues: &[&str]) -> Arc<Filter> {
    Arc::new(Filter {
        types: types.iter().map(|kind| JobType::trusted(*kind)).collect(),
        queues: queues.iter().map(|queue| QueuePattern::new(queue).expect("a valid pattern")).collect(),
    })
}

pub(crate) fn completed(id: &str, holder: Holder, result: &str) -> Report {
    let completion = Completion { result: result.into(), hash: None, key: None, usage: None };
    Report { job: JobId::trusted(id), holder, outcome: Ended::Completed(completion) }
}

pub(crate) fn failed(id: &str, holder: Holder, permanent: bool) -> Report {
    let failure = FailureReport {
        reason: "it broke".into(),
        kind: FailureKind::Error,
        permanent,
        retry_in_ms: None,
        error_class: None,
        backtrace: None,
        usage: None,
    };
    Report { job: JobId::trusted(id), holder, outcome: Ended::Failed(failure) }
}

pub(crate) fn act(id: &str, action: Action) -> Command {
    Command::Act { jobs: vec![JobId::trusted(id)], action }
}
