//! Claims that wait for a job.

use crate::fake::{Hub, START, act, enqueue, filter, names, new_job};
use forge_engine::{
    Command, Refusal, Reply,
    command::{Action, Claim, Due, NewJob, Register, Ticket},
};
use forge_shared::{BootId, JobType, WorkerId};

/// Lets a worker wait for jobs of some types.
fn park(hub: &mut Hub, worker: &str, types: &[&str]) -> Ticket {
    let claim = Claim { wait: true, filter: filter(types, &[]), ..hub.claim(worker) };
    let ticket = claim.ticket;
    let outcome = hub.run(vec![Command::Claim(claim)]);
    assert_eq!((outcome.replies.as_slice(), outcome.parked.as_slice()), (&[None][..], &[(0, ticket)][..]));
    ticket
}

fn of_type(id: &str, kind: &str) -> NewJob {
    NewJob { kind: JobType::trusted(kind), ..new_job(id) }
}

/// Runs a batch and tells who was served with what.
fn served(hub: &mut Hub, commands: Vec<Command>) -> Vec<(Ticket, Vec<String>)> {
    hub.run(commands).served.iter().map(|(ticket, answer)| (*ticket, names(answer))).collect()
}

#[test]
fn a_new_job_goes_to_the_first_who_waited_in_the_enqueues_own_batch() {
    let mut hub = Hub::new();
    let first = park(&mut hub, "w1", &[]);
    let second = park(&mut hub, "w2", &[]);
    assert_eq!(served(&mut hub, vec![enqueue(&["a"])]), [(first, vec!["a".to_owned()])]);
    assert_eq!(hub.waiting(), 1);
    assert_eq!(served(&mut hub, vec![enqueue(&["b", "c"])]), [(second, vec!["b".to_owned()])]);
    assert_eq!(hub.waiting(), 0);
    assert_eq!(hub.take("w3", 5), ["c"]);
}

#[test]
fn a_waiting_claim_is_passed_over_by_what_it_does_not_take() {
    let mut hub = Hub::new();
    let only_u = park(&mut hub, "w1", &["u"]);
    let any = park(&mut hub, "w2", &[]);
    let batch = vec![Command::Enqueue(vec![of_type("a", "t"), of_type("b", "u")])];
    let mut got = served(&mut hub, batch);
    got.sort();
    assert_eq!(got, [(only_u, vec!["b".to_owned()]), (any, vec!["a".to_owned()])]);
}

#[test]
fn one_job_answers_exactly_one_of_a_thousand_who_wait() {
    let mut hub = Hub::new();
    let claims = (0..1_000).map(|n| {
        let claim = hub.claim(&format!("w{n}"));
        Command::Claim(Claim { wait: true, ..claim })
    });
    let claims: Vec<Command> = claims.collect();
    assert_eq!(hub.run(claims).parked.len(), 1_000);
    assert_eq!(served(&mut hub, vec![enqueue(&["a"])]), [(Ticket(1), vec!["a".to_owned()])]);
    assert_eq!(hub.waiting(), 999);
}

#[test]
fn a_claim_called_off_is_answered_with_nothing_and_gets_nothing() {
    let mut hub = Hub::new();
    let ticket = park(&mut hub, "w1", &[]);
    let outcome = hub.run(vec![Command::CallOff(ticket), enqueue(&["a"])]);
    assert_eq!(outcome.served, [(ticket, Ok(Reply::Claimed(vec![])))]);
    assert_eq!(hub.waiting(), 0);
    assert_eq!(hub.run(vec![Command::CallOff(ticket)]).served, []);
    assert_eq!(hub.take("w2", 1), ["a"]);
}

#[test]
fn draining_answers_a_waiting_worker_at_once_and_keeps_work_from_it() {
    let mut hub = Hub::new();
    let worker = WorkerId::trusted("w1");
    let register = Register { worker: worker.clone(), boot: None, holding: None, about: "{}".into() };
    hub.one(Command::Register(register)).unwrap();
    let ticket = park(&mut hub, "w1", &[]);
    let drain = |draining| Command::Drain { worker: worker.clone(), draining };
    assert_eq!(hub.run(vec![drain(true)]).served, [(ticket, Ok(Reply::Claimed(vec![])))]);
    hub.run(vec![enqueue(&["a"])]);
    assert!(hub.take("w1", 1).is_empty());
    hub.restart_planner();
    assert!(hub.take("w1", 1).is_empty(), "draining survives a restart");
    hub.one(drain(false)).unwrap();
    assert_eq!(hub.take("w1", 1), ["a"]);
    assert_eq!(
        hub.one(Command::Drain { worker: WorkerId::trusted("nobody"), draining: true }),
        Err(Refusal::UnknownWorker)
    );
}

#[test]
fn a_newer_process_of_the_same_name_sends_the_older_ones_waiting_claim_away() {
    let mut hub = Hub::new();
    let register = |boot: &str| {
        let boot = Some(BootId::trusted(boot));
        Command::Register(Register {
            worker: WorkerId::trusted("w1"),
            boot,
            holding: None,
            about: "{}".into(),
        })
    };
    hub.one(register("b1")).unwrap();
    let claim = Claim { wait: true, boot: Some(BootId::trusted("b1")), ..hub.claim("w1") };
    let ticket = claim.ticket;
    hub.run(vec![Command::Claim(claim)]);
    assert_eq!(hub.run(vec![register("b2")]).served, [(ticket, Err(Refusal::SupersededBoot))]);
    assert_eq!(hub.one(register("b1")), Err(Refusal::SupersededBoot));
}

#[test]
fn whatever_makes_a_job_claimable_wakes_who_waits() {
    type Reach = fn(&mut Hub) -> Command;
    let reached: [(&str, Reach); 5] = [
        ("released", |hub| Command::Release { job: hub.job("a").id.clone(), holder: hub.holder("a") }),
        ("lease over", |hub| {
            hub.wait(60_000);
            Command::Reap { jobs: vec![1], workers: vec![] }
        }),
        ("retried", |hub| {
            hub.run(vec![Command::Report(vec![crate::fake::failed("a", hub.holder("a"), true)])]);
            act("a", Action::Retry)
        }),
        ("run now", |hub| {
            hub.run(vec![Command::Report(vec![crate::fake::failed("a", hub.holder("a"), false)])]);
            act("a", Action::RunNow)
        }),
        ("due at last", |hub| {
            hub.run(vec![Command::Report(vec![crate::fake::failed("a", hub.holder("a"), false)])]);
            hub.wait(4_000);
            Command::Tick
        }),
    ];
    for (how, make) in reached {
        let mut hub = Hub::new();
        hub.hand_out("w1", &["a"]);
        let ticket = park(&mut hub, "w2", &[]);
        let command = make(&mut hub);
        assert_eq!(served(&mut hub, vec![command]), [(ticket, vec!["a".to_owned()])], "{how}");
    }
}

#[test]
fn the_planner_tells_when_a_scheduled_job_is_due_while_somebody_waits() {
    let mut hub = Hub::new();
    let later = NewJob { due: Due::After(5_000), ..new_job("a") };
    hub.run(vec![Command::Enqueue(vec![later])]);
    assert_eq!(hub.next_due(), None, "nobody waits");
    let ticket = park(&mut hub, "w1", &[]);
    assert_eq!(hub.next_due(), Some(START.wall_ms + 5_000));
    hub.wait(4_999);
    assert_eq!(served(&mut hub, vec![Command::Tick]), []);
    hub.wait(1);
    assert_eq!(served(&mut hub, vec![Command::Tick]), [(ticket, vec!["a".to_owned()])]);
}

#[test]
fn a_waiting_claim_that_finds_nothing_holds_up_nobody_behind_it() {
    let mut hub = Hub::new();
    let later = NewJob { due: Due::After(50_000), ..of_type("a", "t") };
    let soon = NewJob { due: Due::After(5_000), ..of_type("b", "u") };
    hub.run(vec![Command::Enqueue(vec![later, soon])]);
    park(&mut hub, "w1", &["t"]);
    let second = park(&mut hub, "w2", &["u"]);
    // A new planner has to look into both lanes before it can tell.
    hub.restart_planner();
    hub.wait(5_000);
    assert_eq!(served(&mut hub, vec![Command::Tick]), [(second, vec!["b".to_owned()])]);
}

#[test]
fn whoever_waited_goes_before_whoever_comes_in_the_same_batch() {
    let mut hub = Hub::new();
    let first = park(&mut hub, "w1", &[]);
    let newcomer = Command::Claim(hub.claim("w2"));
    let outcome = hub.run(vec![enqueue(&["a", "b"]), newcomer]);
    assert_eq!(names(outcome.replies[1].as_ref().unwrap()), ["b"]);
    assert_eq!(outcome.served.len(), 1);
    assert_eq!((outcome.served[0].0, names(&outcome.served[0].1)), (first, vec!["a".to_owned()]));
}
