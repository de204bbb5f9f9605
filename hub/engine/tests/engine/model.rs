//! Random commands: in batches and one at a time, against the plainest idea of a queue there is.

use crate::fake::{Hub, completed, failed, filter, names, new_job};
use forge_engine::{
    Command, Job, Reply,
    command::{Action, Claim, Due, Filter, Holder, NewJob, Ticket},
    plan::Outcome,
};
use forge_shared::{ClaimId, JobId, JobType, LeaseId, Phase, QueueName, Status, WorkerId};
use proptest::prelude::*;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

#[derive(Debug, Clone)]
enum Op {
    Enqueue { n: u8, lane: u8, priority: i16, delay: u8, expires: u8 },
    Claim { worker: u8, filter: u8, max: u32, claim_id: u8 },
    Job { job: u16, worker: u8, what: u8 },
    Reap,
    Prune,
}

/// What happens after an op.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    GoOn,
    EndBatch,
    Wait(i64),
    SetClockBack,
    Restart,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1..4u8, 0..9u8, -1..2i16, 0..4u8, 0..6u8).prop_map(|(n, lane, priority, delay, expires)| {
            Op::Enqueue { n, lane, priority, delay, expires }
        }),
        4 => (0..3u8, 0..7u8, 0..5u32, 0..4u8).prop_map(|(worker, filter, max, claim_id)| {
            Op::Claim { worker, filter, max, claim_id }
        }),
        8 => (any::<u16>(), 0..3u8, 0..14u8).prop_map(|(job, worker, what)| Op::Job { job, worker, what }),
        1 => Just(Op::Reap),
        1 => Just(Op::Prune),
    ]
}

fn then() -> impl Strategy<Value = Then> {
    prop_oneof![
        6 => Just(Then::GoOn),
        3 => Just(Then::EndBatch),
        2 => (1..3_000i64).prop_map(Then::Wait),
        1 => Just(Then::Wait(61_000)),
        1 => Just(Then::SetClockBack),
        1 => Just(Then::Restart),
    ]
}

fn steps(n: usize) -> impl Strategy<Value = Vec<(Op, Then)>> {
    prop::collection::vec((op(), then()), n)
}

const QUEUES: [&str; 3] = ["default", "ns/a", "ns/b"];
const TYPES: [&str; 3] = ["t", "u", "v"];

fn filter_of(n: u8) -> Arc<Filter> {
    match n {
        0 => filter(&["t"], &[]),
        1 => filter(&["u", "v"], &[]),
        2 => filter(&[], &["default"]),
        3 => filter(&[], &["ns/*"]),
        4 => filter(&["t", "v"], &["ns/b", "default"]),
        _ => filter(&[], &[]),
    }
}

fn worker_of(n: u8) -> WorkerId {
    WorkerId::trusted(format!("w{n}"))
}

/// Turns ops into commands; jobs are named after their numbers.
struct Maker {
    made: i64,
    tickets: u64,
    wall_ms: i64,
}

impl Maker {
    fn job(&mut self, lane: u8, priority: i16, delay: u8, expires: u8) -> NewJob {
        self.made += 1;
        NewJob {
            queue: QueueName::trusted(QUEUES[usize::from(lane) / 3]),
            kind: JobType::trusted(TYPES[usize::from(lane) % 3]),
            priority,
            max_attempts: 2,
            due: Due::After(i64::from(delay) * 700),
            expires_at: (expires == 0).then_some(self.wall_ms + 1_500),
            ..new_job(&format!("j{}", self.made))
        }
    }

    fn command(&mut self, op: &Op, wait: bool) -> Command {
        match *op {
            Op::Enqueue { n, lane, priority, delay, expires } => {
                Command::Enqueue((0..n).map(|_| self.job(lane, priority, delay, expires)).collect())
            }
            Op::Claim { worker, filter, max, claim_id } => {
                self.tickets += 1;
                Command::Claim(Claim {
                    ticket: Ticket(self.tickets),
                    worker: worker_of(worker),
                    boot: None,
                    claim_id: (claim_id < 2).then(|| ClaimId::trusted(format!("c{claim_id}"))),
                    filter: filter_of(filter),
                    max: if max == 0 { 300 } else { max },
                    wait,
                })
            }
            Op::Job { job, worker, what } => self.about_job(job, worker, what),
            Op::Reap => Command::Reap { jobs: (1..=self.made).collect(), workers: vec![] },
            Op::Prune => Command::Prune { jobs: (1..=self.made).filter(|seq| seq % 3 == 0).collect() },
        }
    }

    fn about_job(&self, job: u16, worker: u8, what: u8) -> Command {
        let name = format!("j{}", i64::from(job) % self.made.max(1) + 1);
        let job = JobId::trusted(name.as_str());
        let holder = Holder { worker: worker_of(worker), lease: None };
        let act = |action| Command::Act { jobs: vec![job.clone()], action };
        match what {
            0 => Command::Heartbeat { job, holder, phase: Phase::Running },
            1 => Command::Heartbeat { job, holder, phase: Phase::Preparing },
            2 => Command::Report(vec![completed(&name, holder, "1")]),
            3 => Command::Report(vec![failed(&name, holder, false)]),
            4 => Command::Report(vec![failed(&name, holder.clone(), true), completed(&name, holder, "2")]),
            5 => Command::Release { job, holder },
            6 => Command::Snooze { job, holder, delay_ms: 900 },
            7 => act(Action::Cancel { even_running: true }),
            8 => act(Action::Retry),
            9 => act(Action::RunNow),
            10 => act(Action::Kill),
            11 => act(Action::Delete),
            12 => act(Action::Patch { priority: Some(1), run_at: None, queue: None }),
            _ => {
                let queue = Some(QueueName::trusted(QUEUES[usize::from(worker)]));
                act(Action::Patch { priority: None, run_at: Some(self.wall_ms + 300), queue })
            }
        }
    }
}

/// The jobs a claim must get: looks at every job there is.
fn plain_choice(hub: &Hub, claim: &Claim) -> Vec<String> {
    let held = |job: &&Job| {
        let of_claim = |lease: &forge_engine::Lease| {
            lease.worker == claim.worker && claim.claim_id.is_some() && lease.claim_id == claim.claim_id
        };
        job.status.is_live() && job.lease.as_ref().is_some_and(of_claim)
    };
    let again: Vec<String> = hub.jobs.values().filter(held).map(|job| job.id.to_string()).collect();
    if !again.is_empty() {
        return again;
    }
    let now = hub.now.wall_ms;
    let claimable =
        |job: &&Job| job.is_due(now) && !job.is_expired(now) && claim.filter.takes(&job.queue, &job.kind);
    let mut jobs: Vec<&Job> = hub.jobs.values().filter(claimable).collect();
    jobs.sort_by_key(|job| (Reverse(job.priority), job.run_at, job.seq));
    jobs.iter().take(claim.max as usize).map(|job| job.id.to_string()).collect()
}

/// What must be equal however commands were grouped; the secret part of a lease differs.
fn comparable(hub: &Hub) -> Vec<Job> {
    let plain = |job: &Job| {
        let mut job = job.clone();
        if let Some(lease) = job.lease.as_mut() {
            let end = lease.id.as_str().rfind('-').unwrap();
            lease.id = LeaseId::trusted(&lease.id.as_str()[..end]);
        }
        job
    };
    hub.jobs.values().map(plain).collect()
}

fn claimed(outcome: &Outcome) -> Vec<Vec<String>> {
    let claims = outcome.replies.iter().flatten().filter(|reply| matches!(reply, Ok(Reply::Claimed(_))));
    claims.map(names).collect()
}

/// One hub gets the commands in batches, the other one at a time, and each single claim is
/// compared with the plain choice.
fn check(crowd: usize, steps: Vec<(Op, Then)>) {
    let (mut grouped, mut single) = (Hub::new(), Hub::new());
    let mut maker = Maker { made: 0, tickets: 0, wall_ms: single.now.wall_ms };
    let mut batch: Vec<Command> = vec![Command::Enqueue(
        (0..crowd).map(|n| maker.job((n % 3 == 0).into(), 0, 0, (n % 7) as u8)).collect(),
    )];
    let last = steps.len().saturating_sub(1);
    for (at, (op, then)) in steps.into_iter().enumerate() {
        batch.push(maker.command(&op, false));
        if then == Then::GoOn && at != last {
            continue;
        }
        let mut one_by_one = Vec::new();
        for command in batch.clone() {
            let expected = match &command {
                Command::Claim(claim) => Some(plain_choice(&single, claim)),
                _ => None,
            };
            let got = claimed(&single.run(vec![command]));
            assert_eq!(got.first(), expected.as_ref());
            one_by_one.extend(got);
        }
        assert_eq!(claimed(&grouped.run(std::mem::take(&mut batch))), one_by_one);
        assert_eq!(comparable(&grouped), comparable(&single));
        assert_eq!(grouped.events, single.events);
        match then {
            Then::GoOn | Then::EndBatch => {}
            Then::Wait(ms) => [&mut grouped, &mut single].into_iter().for_each(|hub| hub.wait(ms)),
            Then::SetClockBack => {
                [&mut grouped, &mut single].into_iter().for_each(|hub| hub.now.wall_ms -= 1_000);
            }
            Then::Restart => grouped.restart_planner(),
        }
        maker.wall_ms = single.now.wall_ms;
    }
}

/// Every claim waits; after each batch nobody may be left who could have been served.
fn check_waiting(steps: Vec<(Op, Then)>) {
    let mut hub = Hub::new();
    let mut maker = Maker { made: 0, tickets: 0, wall_ms: hub.now.wall_ms };
    let mut waiting: BTreeMap<Ticket, Claim> = BTreeMap::new();
    let mut leases: BTreeSet<LeaseId> = BTreeSet::new();
    let mut batch = Vec::new();
    for (op, then) in steps {
        let command = maker.command(&op, true);
        if let Command::Claim(claim) = &command {
            waiting.insert(claim.ticket, claim.clone());
        }
        batch.push(command);
        if then == Then::GoOn {
            continue;
        }
        if then == Then::Restart {
            // This one is lost at first, and must come to the same the second time.
            let (lost, again) = hub.fail_to_save(std::mem::take(&mut batch));
            let saved = hub.run(again.clone());
            assert_eq!(
                (&lost.replies, &lost.parked, &lost.served),
                (&saved.replies, &saved.parked, &saved.served)
            );
            settle(&mut waiting, &mut leases, &again, saved);
        } else {
            let commands = std::mem::take(&mut batch);
            let outcome = hub.run(commands.clone());
            settle(&mut waiting, &mut leases, &commands, outcome);
        }
        assert_eq!(hub.waiting(), waiting.len());
        let now = hub.now.wall_ms;
        for job in hub.jobs.values().filter(|job| job.is_due(now) && !job.is_expired(now)) {
            let idle = waiting.values().find(|claim| claim.filter.takes(&job.queue, &job.kind));
            assert!(idle.is_none(), "{idle:?} could have {job:?}");
        }
        match then {
            Then::Wait(ms) => hub.wait(ms),
            Then::SetClockBack => hub.now.wall_ms -= 1_000,
            _ => {}
        }
        maker.wall_ms = hub.now.wall_ms;
    }
}

/// Notes who was answered, and that nobody was passed over by somebody who came later.
fn settle(
    waiting: &mut BTreeMap<Ticket, Claim>,
    leases: &mut BTreeSet<LeaseId>,
    commands: &[Command],
    outcome: Outcome,
) {
    for (command, reply) in commands.iter().zip(&outcome.replies) {
        if let (Command::Claim(claim), Some(_)) = (command, reply) {
            waiting.remove(&claim.ticket);
        }
    }
    for (ticket, _) in &outcome.served {
        waiting.remove(ticket).expect("only who waits is served, and once");
    }
    for (ticket, answer) in outcome.served {
        let Ok(Reply::Claimed(jobs)) = answer else { panic!("{answer:?}") };
        assert!(!jobs.is_empty());
        for job in jobs {
            assert_eq!(job.status, Status::Assigned);
            assert!(leases.insert(job.lease.as_ref().unwrap().id.clone()), "handed out twice: {job:?}");
            let older = waiting.range(..ticket).find(|(_, claim)| claim.filter.takes(&job.queue, &job.kind));
            assert!(older.is_none(), "{ticket:?} was served before {older:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn batches_and_single_commands_choose_what_a_look_at_every_job_would(steps in steps(60)) {
        check(0, steps);
    }

    #[test]
    fn nobody_waits_for_what_is_there_and_nobody_is_overtaken(steps in steps(60)) {
        check_waiting(steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lanes_longer_than_memory_are_handed_out_in_the_same_order(steps in steps(40)) {
        check(1_700, steps);
    }
}
