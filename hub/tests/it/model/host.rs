//! Drives the store and the model side by side and compares them after every round.

use super::{
    job::{Job, Told},
    ops::{Author, Dice},
    world::{Expected, Served, World},
};
use crate::{
    kit::{Place, StepClock},
    sqlite::Folder,
};
use forge_engine::{Command, Now, Refusal, Reply, command::Ticket, lifecycle::Policy};
use forge_hub::{
    clock::Clock,
    events::Events,
    hub::Hub,
    metrics::Metrics,
    store::{Decided, Error, Store},
};
use forge_shared::{JobId, JobType, LeaseId, QueueName, Status, WorkerId};
use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

/// Commands shown when something is wrong.
const SHOWN: usize = 15;
/// An answer that takes longer will not come.
const PATIENCE: Duration = Duration::from_secs(30);
/// Rounds between recounts of everything.
const RECOUNT_EVERY: usize = 10;

type Asked = Pin<Box<dyn Future<Output = Result<Decided, Error>> + Send>>;

/// What was seen of a job the last time.
struct Seen {
    status: Status,
    attempt: u32,
    result: Option<String>,
}

struct Sequence {
    author: Author,
    world: World,
    waiting: BTreeMap<Ticket, Asked>,
    log: VecDeque<String>,
}

pub(super) struct Host {
    seed: usize,
    place: Folder,
    clock: Arc<StepClock>,
    store: Arc<dyn Store>,
    dice: Dice,
    sequences: Vec<Sequence>,
    /// The sequences before this one are over; their jobs stay.
    active: usize,
    next_job: i64,
    next_ticket: u64,
    last_event: u64,
    leases: HashSet<LeaseId>,
    seen: BTreeMap<i64, Seen>,
    touched: HashSet<JobId>,
    operations: usize,
}

impl Host {
    pub(super) async fn new(seed: usize) -> Self {
        let (place, clock) = (Folder::in_memory(), StepClock::new());
        let store = place.open(clock.clone()).await;
        Self {
            seed,
            place,
            clock,
            store,
            dice: Dice(seed as u64),
            sequences: Vec::new(),
            active: 0,
            next_job: 1,
            next_ticket: 1,
            last_event: 0,
            leases: HashSet::new(),
            seen: BTreeMap::new(),
            touched: HashSet::new(),
            operations: 0,
        }
    }

    /// Runs some sequences side by side to their end.
    pub(super) async fn run(&mut self, abreast: usize, rounds: usize) {
        self.active = self.sequences.len();
        for number in self.active..self.active + abreast {
            let author = Author::new(number, (self.seed * 1_000 + number) as u64);
            let world = World { hub_started: self.clock.now().mono_ms, ..World::default() };
            self.sequences.push(Sequence { author, world, waiting: BTreeMap::new(), log: VecDeque::new() });
        }
        for round in 0..rounds {
            self.let_something_happen().await;
            self.round().await;
            self.check_touched().await;
            if round % RECOUNT_EVERY == 0 {
                self.check_everything().await;
            }
        }
        self.restart().await;
        self.check_everything().await;
    }

    /// How many operations were done.
    pub(super) async fn finish(self) -> usize {
        self.store.close().await;
        self.operations
    }

    fn now(&self) -> Now {
        self.clock.now()
    }

    fn wrong(&self, number: usize, what: &str) -> ! {
        let log: Vec<&str> = self.sequences[number].log.iter().map(String::as_str).collect();
        panic!(
            "{what}\nsequence {number} of MODEL_SEED={}; its last commands:\n  {}",
            self.seed,
            log.join("\n  ")
        );
    }

    fn note(&mut self, number: usize, line: String) {
        let log = &mut self.sequences[number].log;
        log.push_back(line);
        if log.len() > SHOWN {
            log.pop_front();
        }
    }

    fn note_all(&mut self, line: &str) {
        for number in self.active..self.sequences.len() {
            self.note(number, line.to_owned());
        }
    }

    /// Time, the reaper, restarts and whoever sets the clocks.
    async fn let_something_happen(&mut self) {
        match self.dice.below(100) {
            0..40 => self.pass(0, 3_000).await,
            40..46 => self.pass(20_000, 75_000).await,
            46 => self.pass(0, 40 * 60_000).await,
            47..52 => self.set_wall_clock().await,
            52..55 => self.restart().await,
            55..75 => self.reap().await,
            _ => {}
        }
    }

    async fn pass(&mut self, from_ms: i64, to_ms: i64) {
        let ms = self.dice.within(from_ms, to_ms);
        self.clock.pass(ms);
        self.note_all(&format!("-- {ms} ms pass"));
        self.tick().await;
    }

    /// A step of the wall clock makes jobs due or not, and may pass their expiry dates; it ends
    /// no lease.
    async fn set_wall_clock(&mut self) {
        self.reap().await;
        let step = *self.dice.pick(&[-3_600_000, -5_000, 5_000, 3_600_000, 86_400_000]);
        self.clock.step(step, 0);
        self.note_all(&format!("-- the wall clock is moved by {step} ms"));
        // Whoever waits may be served before anybody asks.
        self.tick().await;
        let live = self.live();
        self.reap().await;
        for (number, seq) in live {
            if !self.sequences[number].world.jobs[&seq].is_live() {
                self.wrong(number, &format!("a step of the wall clock ended the lease of job {seq}"));
            }
        }
    }

    fn live(&self) -> Vec<(usize, i64)> {
        let live = |(number, sequence): (usize, &Sequence)| {
            let jobs = sequence.world.jobs.values().filter(|job| job.is_live());
            jobs.map(|job| (number, job.seq)).collect::<Vec<_>>()
        };
        self.sequences.iter().enumerate().flat_map(live).collect()
    }

    /// Whoever waits gets what has become due.
    async fn tick(&mut self) {
        self.store.submit(Command::Tick, None).await.expect("the store works").expect("nothing to refuse");
        let now = self.now();
        for number in self.active..self.sequences.len() {
            let served = self.sequences[number].world.serve(now);
            self.check_served(number, served).await;
        }
        self.check_events().await;
    }

    /// The store must name every job that is overdue; the engine must end those and no others.
    async fn reap(&mut self) {
        let now = self.now();
        let overdue = self.store.overdue(now, 100_000).await.expect("the store works");
        for (number, sequence) in self.sequences.iter().enumerate() {
            for job in sequence.world.jobs.values().filter(|job| !job.is_terminal()) {
                let over = job.clone().reap(now, sequence.world.hub_started).is_some();
                if over && !overdue.jobs.contains(&job.seq) {
                    self.wrong(number, &format!("the store does not find that job {} is overdue", job.seq));
                }
            }
        }
        let command = Command::Reap { jobs: overdue.jobs.clone(), workers: overdue.workers };
        self.store.submit(command, None).await.expect("the store works").expect("nothing to refuse");
        for seq in overdue.jobs {
            let sequence = self.sequences.iter_mut().find(|sequence| sequence.world.jobs.contains_key(&seq));
            sequence.expect("only jobs that exist").world.reap(seq, now);
        }
        for number in self.active..self.sequences.len() {
            let served = self.sequences[number].world.serve(now);
            self.check_served(number, served).await;
        }
        self.note_all("-- the reaper");
        self.check_events().await;
    }

    /// Stops and starts as the hub does, maybe after a reboot: the monotonic clock may be anywhere.
    async fn restart(&mut self) {
        self.store.close().await;
        for number in self.active..self.sequences.len() {
            for (ticket, asked) in std::mem::take(&mut self.sequences[number].waiting) {
                let answer = self.answer(number, asked).await;
                if answer != Ok(Reply::Claimed(vec![])) {
                    self.wrong(number, &format!("a closing store answers {ticket:?} with {answer:?}"));
                }
            }
        }
        let reboot = *self.dice.pick(&[0, 0, -86_400_000, 86_400_000, 4_000_000_000]);
        let down = self.dice.within(0, 600_000);
        self.clock.step(down, down + reboot);
        self.store = self.place.open(self.clock.clone()).await;
        let now = self.now();
        let events = Arc::new(Events::new(self.store.event_range().await.expect("the store works")));
        let hub = Hub::new(
            self.store.clone(),
            events,
            self.clock.clone(),
            Arc::new(Metrics::new()),
            Policy::default(),
        );
        let extended = hub.extend_leases().await.expect("leases are extended");
        assert_eq!(extended, self.live().len() as u64, "every live lease is extended");
        self.sequences.iter_mut().for_each(|sequence| sequence.world.restart(now));
        self.note_all("-- the hub starts again");
        let live = self.live();
        self.reap().await;
        // A preparation that was too long already is ended; no lease is.
        for (number, seq) in live {
            let job = &self.sequences[number].world.jobs[&seq];
            if !job.is_live() && job.history.last() != Some(&("timeout", job.attempt)) {
                self.wrong(number, &format!("a restart ended the lease of job {seq}"));
            }
        }
    }

    /// Every sequence does something; the store gets it all at once.
    async fn round(&mut self) {
        let now = self.now();
        let mut asked = Vec::new();
        for number in self.active..self.sequences.len() {
            // With somebody waiting, what is decided together would make a difference.
            let waits = !self.sequences[number].world.waiting.is_empty();
            let commands = if waits { 1 } else { *self.dice.pick(&[1, 1, 1, 2, 3]) };
            for _ in 0..commands {
                let ticket = Ticket(self.next_ticket);
                self.next_ticket += 1;
                let Sequence { author, world, .. } = &mut self.sequences[number];
                let command = author.command(world, now, ticket, commands == 1);
                self.touched.extend(named(&command));
                asked.push((number, command.clone(), ask(self.store.clone(), command).await));
            }
        }
        self.operations += asked.len();
        for (number, command, answer) in asked {
            let world = &mut self.sequences[number].world;
            let (expected, served) = world.apply(&command, now, &mut self.next_job);
            self.note(number, format!("{} {} {command:?}", now.wall_ms, now.mono_ms));
            match (&command, expected) {
                (Command::Claim(claim), Expected::Waits) => {
                    self.sequences[number].waiting.insert(claim.ticket, answer);
                }
                (_, expected) => {
                    let got = self.answer(number, answer).await;
                    self.check_answer(number, &expected, got);
                }
            }
            self.check_served(number, served).await;
        }
        for number in self.active..self.sequences.len() {
            for asked in self.sequences[number].waiting.values_mut() {
                if let Poll::Ready(answer) = look(asked).await {
                    self.wrong(number, &format!("a claim should still wait, but got {answer:?}"));
                }
            }
        }
        self.check_events().await;
    }

    async fn answer(&self, number: usize, asked: Asked) -> Decided {
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(answer) => answer.expect("the store works"),
            Err(_) => self.wrong(number, "a command was never answered"),
        }
    }

    async fn check_served(&mut self, number: usize, served: Served) {
        for (ticket, expected) in served {
            let asked = self.sequences[number].waiting.remove(&ticket).expect("it waits");
            let got = self.answer(number, asked).await;
            self.note(number, format!("   served {ticket:?}"));
            self.check_answer(number, &expected, got);
        }
    }

    fn check_answer(&mut self, number: usize, expected: &Expected, got: Decided) {
        match (expected, got) {
            (Expected::Reply(expected), got) => {
                let got = without_words(got);
                if *expected != got {
                    self.wrong(number, &format!("expected {expected:?}\nbut got  {got:?}"));
                }
            }
            (Expected::Jobs(seqs), Ok(Reply::Claimed(jobs))) => {
                if !jobs.iter().map(|job| &job.seq).eq(seqs) {
                    self.wrong(number, &format!("expected jobs {seqs:?} but got {jobs:#?}"));
                }
                for job in jobs {
                    let lease = job.lease.as_ref().expect("a claimed job has a lease");
                    let known = self.sequences[number].world.jobs[&job.seq].lease.clone();
                    let known = known.and_then(|lease| lease.id);
                    // A repeated claim answers with the lease it made; all others are new.
                    if known.as_ref() != Some(&lease.id) && !self.leases.insert(lease.id.clone()) {
                        self.wrong(number, "a lease was given out twice");
                    }
                    self.sequences[number].world.learn(job.seq, &lease.id);
                }
            }
            (expected, got) => self.wrong(number, &format!("expected {expected:?}\nbut got  {got:?}")),
        }
    }

    /// Numbers without gaps, and exactly the events of what was decided, in order.
    async fn check_events(&mut self) {
        let events = self.store.events_after(self.last_event, usize::MAX).await.expect("the store works");
        let mut told: BTreeMap<usize, Vec<Told>> = BTreeMap::new();
        for event in events {
            assert_eq!(event.seq, self.last_event + 1, "an event is missing");
            self.last_event = event.seq;
            let (Some(id), Some(status)) = (event.job_id, event.status) else { continue };
            let number = sequence_of(&id);
            let attempts = event.attempt.zip(event.attempts).expect("a job's event counts attempts");
            self.touched.insert(id.clone());
            told.entry(number).or_default().push((event.kind, id, status, attempts.0, attempts.1));
        }
        for number in 0..self.sequences.len() {
            let expected = std::mem::take(&mut self.sequences[number].world.told);
            let got = told.remove(&number).unwrap_or_default();
            if expected != got {
                self.wrong(number, &format!("expected events {expected:?}\nbut got         {got:?}"));
            }
        }
    }

    /// The jobs that commands named or events told of since the last look.
    async fn check_touched(&mut self) {
        let touched = std::mem::take(&mut self.touched).into_iter().filter_map(|id| {
            let number = sequence_of(&id);
            let job = self.sequences[number].world.jobs.values().find(|job| job.id == id)?;
            Some((number, job.seq))
        });
        let touched = touched.collect();
        self.check_jobs(touched).await;
    }

    async fn check_everything(&mut self) {
        let mut all = Vec::new();
        let mut held: BTreeMap<WorkerId, u64> = BTreeMap::new();
        for (number, sequence) in self.sequences.iter().enumerate() {
            for job in sequence.world.jobs.values() {
                all.push((number, job.seq));
                if let Some(lease) = job.lease.as_ref().filter(|_| job.is_live()) {
                    *held.entry(lease.worker.clone()).or_default() += 1;
                }
            }
        }
        self.check_jobs(all).await;
        assert_eq!(self.store.live_jobs_by_worker().await.expect("the store works"), held);
        let range = self.store.event_range().await.expect("the store works");
        assert_eq!((range.first, range.last), (1, self.last_event), "the range holds every event");
        self.check_counts().await;
    }

    /// Every accepted job is there, as the model says.
    async fn check_jobs(&mut self, all: Vec<(usize, i64)>) {
        let seqs = all.iter().map(|(_, seq)| *seq).collect();
        let found = self.store.jobs_by_seq(seqs).await.expect("the store works");
        for ((number, seq), found) in all.iter().zip(&found) {
            let job = &self.sequences[*number].world.jobs[seq];
            if let Some(what) = difference(job, found) {
                self.wrong(*number, &format!("{what}\nexpected {job:#?}\nbut found {found:#?}"));
            }
            self.check_promises(*number, *seq, found);
        }
        assert_eq!(found.len(), all.len(), "every accepted job is there");
    }

    /// What holds whatever the model thinks.
    fn check_promises(&mut self, number: usize, seq: i64, found: &forge_shared::Job) {
        let now = Seen {
            status: found.status,
            attempt: found.attempt,
            result: found.result.as_ref().map(|result| result.get().to_owned()),
        };
        let Some(before) = self.seen.insert(seq, now) else { return };
        let now = &self.seen[&seq];
        let kept = before.status != Status::Completed || now.status == Status::Completed;
        let same_result = before.result.is_none() || before.result == now.result;
        if !kept || !same_result || now.attempt < before.attempt {
            self.wrong(number, &format!("job {seq} was completed, or counted, twice"));
        }
    }

    async fn check_counts(&self) {
        let mut expected: BTreeMap<(QueueName, JobType, Status), u64> = BTreeMap::new();
        for job in self.sequences.iter().flat_map(|sequence| sequence.world.jobs.values()) {
            *expected.entry((job.queue.clone(), job.kind.clone(), job.status)).or_default() += 1;
        }
        let counts = self.store.counts().await.expect("the store works");
        let counts = counts.into_iter().map(|count| ((count.queue, count.kind, count.status), count.n));
        assert_eq!(counts.collect::<BTreeMap<_, _>>(), expected, "counters equal a recount");
    }
}

/// Hands a command to the store at once; the answer may come later.
async fn ask(store: Arc<dyn Store>, command: Command) -> Asked {
    let mut asked: Asked = Box::pin(async move { store.submit(command, None).await });
    match look(&mut asked).await {
        Poll::Ready(answer) => Box::pin(std::future::ready(answer)),
        Poll::Pending => asked,
    }
}

async fn look(asked: &mut Asked) -> Poll<Result<Decided, Error>> {
    std::future::poll_fn(|context| Poll::Ready(asked.as_mut().poll(context))).await
}

/// Ids begin with the number of their sequence.
fn sequence_of(id: &JobId) -> usize {
    let number = id.as_str()[1..].split('-').next().and_then(|number| number.parse().ok());
    number.expect("every id of the model has a number")
}

/// The jobs that a command is about.
fn named(command: &Command) -> Vec<JobId> {
    match command {
        Command::Heartbeat { job, .. }
        | Command::Release { job, .. }
        | Command::Snooze { job, .. }
        | Command::Progress { job, .. }
        | Command::CheckLease { job, .. } => vec![job.clone()],
        Command::Report(reports) => reports.iter().map(|report| report.job.clone()).collect(),
        Command::Act { jobs, .. } => jobs.clone(),
        _ => vec![],
    }
}

/// The wording of a refusal is not the model's business.
fn without_words(decided: Decided) -> Decided {
    let wordless = |refusal| match refusal {
        Refusal::WrongState { status, .. } => Refusal::WrongState { status, action: "" },
        other => other,
    };
    match decided {
        Ok(Reply::Acted(states)) => {
            Ok(Reply::Acted(states.into_iter().map(|state| state.map_err(wordless)).collect()))
        }
        other => other.map_err(wordless),
    }
}

/// What a stored job has that the model's does not.
fn difference(job: &Job, found: &forge_shared::Job) -> Option<&'static str> {
    let ends: Vec<u32> = job
        .history
        .iter()
        .filter(|(outcome, _)| !matches!(*outcome, "released" | "snoozed"))
        .map(|(_, attempt)| *attempt)
        .collect();
    let id: &JobId = &found.id;
    let result = found.result.as_ref().map(|result| result.get());
    let checks = [
        ("another job", job.id == *id),
        ("status", job.status == found.status),
        ("queue", job.queue == found.queue && job.kind == found.kind),
        ("priority", job.priority == found.priority),
        ("run_at", job.run_at == found.run_at),
        ("expires_at", job.expires_at == found.expires_at),
        ("attempts", (job.attempt, job.attempts) == (found.attempt, found.attempts)),
        ("cancel_requested", job.cancelling == found.cancel_requested),
        ("fail_reason", job.reason == found.fail_reason),
        ("worker_id", job.worker() == found.worker_id.as_ref()),
        ("result", job.result.as_ref().map(|stored| &*stored.result) == result),
        ("finished_at", job.is_terminal() == found.finished_at.is_some()),
        ("fail_history", found.fail_history.iter().map(|failure| failure.attempt).eq(ends)),
    ];
    checks.into_iter().find(|(_, same)| !same).map(|(what, _)| what)
}
