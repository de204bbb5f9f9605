//! Chooses what a sequence does next: mostly what workers and people do, sometimes what they
//! should not.

use super::{job::Job, world::World};
use crate::kit::{failure, fixed, new_job};
use forge_engine::{
    Command, Now,
    command::{
        Action, Claim, Completion, Due, Filter, Holder, Idempotency, NewJob, Outcome, Register, Report,
        Ticket, WorkerHeartbeat,
    },
};
use forge_shared::{
    BootId, ClaimId, FailureKind, JobId, JobType, LeaseId, Phase, QueueName, QueuePattern, WorkerId,
    job::Progress, request::Holding,
};
use std::sync::Arc;

/// Numbers that look random and are the same for the same seed (splitmix64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.roll() % n
    }

    pub(super) fn within(&mut self, from: i64, to: i64) -> i64 {
        from + self.below((to - from + 1) as u64) as i64
    }

    pub(super) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

/// Makes the commands of one sequence. Its jobs, queues and workers carry its number, so that
/// many sequences share a database without meeting.
pub(super) struct Author {
    pub(super) number: usize,
    pub(super) dice: Dice,
    made: u32,
}

impl Author {
    pub(super) fn new(number: usize, seed: u64) -> Self {
        Self { number, dice: Dice(seed), made: 0 }
    }

    fn worker(&mut self) -> WorkerId {
        WorkerId::trusted(format!("w{}-{}", self.number, self.dice.below(3)))
    }

    fn queue(&mut self) -> QueueName {
        QueueName::trusted(format!("s{}/{}", self.number, self.dice.pick(&["a", "b"])))
    }

    fn kind(&mut self) -> JobType {
        JobType::trusted(*self.dice.pick(&["work", "work", "other"]))
    }

    fn boot(&mut self) -> Option<BootId> {
        let boot = self.dice.pick(&[None, None, Some("b1"), Some("b2"), Some("b3")]);
        boot.map(BootId::trusted)
    }

    /// The next command. `alone`: nothing else of this sequence is decided with it, so a claim
    /// may wait.
    pub(super) fn command(&mut self, world: &World, now: Now, ticket: Ticket, alone: bool) -> Command {
        match self.dice.below(116) {
            0..22 => self.enqueue(world, now),
            22..42 => Command::Claim(self.claim(ticket, false)),
            42..48 => Command::Claim(self.claim(ticket, alone)),
            48..50 => match world.waiting.keys().next() {
                Some(waiting) => Command::CallOff(*waiting),
                None => Command::Tick,
            },
            50..62 => {
                let (job, holder) = self.held(world);
                let phases = [Phase::Running, Phase::Running, Phase::Preparing, Phase::Reporting];
                Command::Heartbeat { job, holder, phase: *self.dice.pick(&phases) }
            }
            62..80 => {
                let reports = (0..1 + self.dice.below(2)).map(|_| self.report(world)).collect();
                Command::Report(reports)
            }
            80..83 => {
                let (job, holder) = self.held(world);
                Command::Release { job, holder }
            }
            83..85 => {
                let (job, holder) = self.held(world);
                Command::Snooze { job, holder, delay_ms: self.dice.within(0, 5_000) }
            }
            85..88 => {
                let (job, holder) = self.held(world);
                let progress = Progress { percent: Some(50.0), message: None, at: 0 };
                Command::Progress { job, holder, progress }
            }
            88..90 => {
                let (job, holder) = self.held(world);
                Command::CheckLease { job, holder }
            }
            90..101 => {
                let jobs = (0..1 + self.dice.below(2)).map(|_| self.any_id(world)).collect();
                Command::Act { jobs, action: self.action(now) }
            }
            101..104 => Command::Register(self.register(world)),
            104..108 => {
                let worker = self.worker();
                let holding = self.holding(world, &worker);
                let boot = self.boot();
                Command::WorkerHeartbeat(WorkerHeartbeat {
                    worker,
                    boot,
                    holding,
                    busy: None,
                    rss_kb: None,
                    outbox: None,
                })
            }
            108..110 => Command::Drain { worker: self.worker(), draining: self.dice.percent(40) },
            110..114 => Command::Reap { jobs: world.jobs.keys().copied().collect(), workers: vec![] },
            _ => {
                let some = |_: &&i64| self.dice.percent(30);
                Command::Prune { jobs: world.jobs.keys().filter(some).copied().collect() }
            }
        }
    }

    fn enqueue(&mut self, world: &World, now: Now) -> Command {
        let mut jobs: Vec<NewJob> = (0..1 + self.dice.below(3)).map(|_| self.new_job(now)).collect();
        if self.dice.percent(10) {
            jobs[0].id = Some(self.any_id(world));
        }
        if self.dice.percent(20) {
            jobs.truncate(1);
            let key = format!("k{}-{}", self.number, self.dice.below(4));
            jobs[0].idempotency = Some(Idempotency { key: key.into(), body: [self.dice.below(2) as u8; 32] });
        }
        Command::Enqueue(jobs)
    }

    fn new_job(&mut self, now: Now) -> NewJob {
        self.made += 1;
        let due = match self.dice.below(10) {
            0 => Due::After(self.dice.within(1, 4_000)),
            1 => Due::At(now.wall_ms + self.dice.within(-5_000, 90_000)),
            _ => Due::Now,
        };
        let expires = self.dice.percent(15).then(|| now.wall_ms + self.dice.within(-10, 20_000));
        NewJob {
            kind: self.kind(),
            queue: self.queue(),
            priority: self.dice.within(-1, 1) as i16,
            max_attempts: self.dice.within(1, 4) as u32,
            max_runtime_ms: *self.dice.pick(&[None, Some(1_000), Some(100_000)]),
            due,
            expires_at: expires,
            backoff: Some(fixed(*self.dice.pick(&[0, 500, 3_000]))),
            ..new_job(&format!("s{}-{}", self.number, self.made))
        }
    }

    fn claim(&mut self, ticket: Ticket, wait: bool) -> Claim {
        let types = if self.dice.percent(20) { vec![self.kind()] } else { vec![] };
        let all = QueuePattern::trusted(format!("s{}/*", self.number));
        let queues = match self.dice.below(4) {
            0 => vec![QueuePattern::trusted(self.queue().as_str())],
            _ => vec![all],
        };
        let claim_id = self.dice.percent(25).then(|| ClaimId::trusted(*self.dice.pick(&["c1", "c2"])));
        Claim {
            ticket,
            worker: self.worker(),
            boot: self.boot(),
            claim_id,
            filter: Arc::new(Filter { types, queues }),
            max: self.dice.within(1, 3) as u32,
            wait,
        }
    }

    /// A job, mostly one that was claimed, and somebody who may or may not speak for it.
    fn held(&mut self, world: &World) -> (JobId, Holder) {
        let leased: Vec<&Job> = world.jobs.values().filter(|job| !job.leases.is_empty()).collect();
        let live: Vec<&Job> = leased.iter().copied().filter(|job| job.is_live()).collect();
        let from = if !live.is_empty() && self.dice.percent(60) { &live } else { &leased };
        if from.is_empty() || self.dice.percent(2) {
            return (self.any_id(world), Holder { worker: self.worker(), lease: None });
        }
        let job = *self.dice.pick(from);
        let (lease, worker) = match self.dice.below(10) {
            0 | 1 => self.dice.pick(&job.leases),
            _ => job.leases.last().expect("only jobs with leases"),
        };
        let holder = match self.dice.below(20) {
            0 => Holder { worker: self.worker(), lease: Some(lease.clone()) },
            1 | 2 => Holder { worker: worker.clone(), lease: None },
            _ => Holder { worker: worker.clone(), lease: Some(lease.clone()) },
        };
        (job.id.clone(), holder)
    }

    fn any_id(&mut self, world: &World) -> JobId {
        let ids: Vec<&JobId> = world.jobs.values().map(|job| &job.id).collect();
        if ids.is_empty() || self.dice.percent(2) {
            return JobId::trusted(format!("s{}-unknown", self.number));
        }
        (*self.dice.pick(&ids)).clone()
    }

    fn report(&mut self, world: &World) -> Report {
        let (job, holder) = self.held(world);
        let outcome = if self.dice.percent(55) {
            let hash = self.dice.pick(&[None, None, Some("h1"), Some("h2")]).map(str::to_owned);
            let result = Arc::from(*self.dice.pick(&["1", "1", "2"]));
            Outcome::Completed(Completion { result, hash, key: None, usage: None })
        } else {
            let mut failure = failure("it broke");
            failure.permanent = self.dice.percent(10);
            failure.retry_in_ms = self.dice.percent(20).then(|| self.dice.within(0, 2_000));
            if self.dice.percent(10) {
                failure.kind = FailureKind::Timeout;
            }
            Outcome::Failed(failure)
        };
        Report { job, holder, outcome }
    }

    fn action(&mut self, now: Now) -> Action {
        match self.dice.below(12) {
            0..3 => Action::Cancel { even_running: self.dice.percent(70) },
            3..7 => Action::Retry,
            7 => Action::RunNow,
            8 => Action::Kill,
            9 => Action::Delete,
            _ => Action::Patch {
                priority: self.dice.percent(50).then(|| self.dice.within(-2, 2) as i16),
                run_at: self.dice.percent(50).then(|| now.wall_ms + self.dice.within(-1_000, 3_000)),
                queue: self.dice.percent(50).then(|| self.queue()),
            },
        }
    }

    fn register(&mut self, world: &World) -> Register {
        let worker = self.worker();
        let holding = self.dice.percent(70).then(|| self.holding(world, &worker));
        Register { boot: self.boot(), holding, about: Arc::from("{\"worker_id\":\"w\"}"), worker }
    }

    /// What a worker says it has: most of what it ever had, some of it for longer than it should.
    fn holding(&mut self, world: &World, worker: &WorkerId) -> Vec<Holding> {
        let leases = world.jobs.values().flat_map(|job| &job.leases).filter(|(_, by)| by == worker);
        let mut all: Vec<LeaseId> = leases.map(|(id, _)| id.clone()).collect();
        all.retain(|_| self.dice.percent(80));
        let phases = [Phase::Preparing, Phase::Running, Phase::Running, Phase::Reporting];
        all.into_iter().map(|lease_id| Holding { lease_id, phase: *self.dice.pick(&phases) }).collect()
    }
}
