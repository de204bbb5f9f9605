//! A batch as a whole: order, numbers, and what happens when it cannot be saved.

use crate::fake::{Hub, act, completed, enqueue, failed, names};
use forge_engine::{
    Command, Reply,
    command::{Action, Claim, Holder, Ticket},
    plan::Outcome,
};
use forge_shared::{JobId, Phase, Status, WorkerId, event::EventKind};

fn by_worker(worker: &str) -> Holder {
    Holder { worker: WorkerId::trusted(worker), lease: None }
}

fn waits(hub: &mut Hub, worker: &str) -> Command {
    Command::Claim(Claim { wait: true, ..hub.claim(worker) })
}

#[test]
fn commands_see_what_those_before_them_did() {
    let mut hub = Hub::new();
    let beat = Command::Heartbeat { job: JobId::trusted("a"), holder: by_worker("w"), phase: Phase::Running };
    let batch = vec![
        enqueue(&["a", "b"]),
        Command::Claim(hub.claim("w")),
        beat.clone(),
        Command::Report(vec![completed("a", by_worker("w"), "1")]),
        beat,
        act("b", Action::Cancel { even_running: false }),
        Command::Claim(hub.claim("w")),
        act("b", Action::Retry),
        Command::Claim(hub.claim("w2")),
    ];
    let outcome = hub.run(batch);
    let ok: Vec<bool> = outcome.replies.iter().map(|reply| reply.as_ref().unwrap().is_ok()).collect();
    assert_eq!(ok, [true, true, true, true, false, true, true, true, true]);
    assert_eq!(names(outcome.replies[6].as_ref().unwrap()), Vec::<String>::new());
    assert_eq!(names(outcome.replies[8].as_ref().unwrap()), ["b"]);
    assert_eq!([hub.job("a").status, hub.job("b").status], [Status::Completed, Status::Assigned]);
}

#[test]
fn a_job_made_and_removed_in_one_batch_leaves_only_its_events() {
    let mut hub = Hub::new();
    let batch = vec![
        enqueue(&["a"]),
        Command::Claim(hub.claim("w")),
        Command::Report(vec![failed("a", by_worker("w"), true)]),
        act("a", Action::Delete),
    ];
    hub.run(batch);
    assert!(hub.jobs.is_empty() && hub.entries.is_empty());
    use EventKind::{JobAssigned, JobCreated, JobDeleted, JobFailed, JobQuarantined};
    let kinds: Vec<EventKind> = hub.events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [JobCreated, JobAssigned, JobFailed, JobQuarantined, JobDeleted]);
}

#[test]
fn events_are_numbered_without_gaps_whatever_is_refused_or_lost() {
    let mut hub = Hub::new();
    hub.run(vec![enqueue(&["a"]), enqueue(&["a"]), act("none", Action::Kill)]);
    hub.fail_to_save(vec![enqueue(&["x", "y"])]);
    hub.fail_to_load(vec![enqueue(&["x", "y"])]);
    hub.run(vec![act("a", Action::Kill), act("a", Action::Kill), enqueue(&["b"])]);
    let numbers: Vec<u64> = hub.events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(hub.jobs.keys().copied().collect::<Vec<_>>(), [1, 2], "nor do lost jobs use up numbers");
}

fn same(a: &Outcome, b: &Outcome) -> bool {
    a.replies == b.replies && a.parked == b.parked && a.served == b.served
}

#[test]
fn a_batch_that_could_not_be_saved_gives_the_same_answers_when_it_is_run_again() {
    let mut hub = Hub::new();
    hub.run(vec![enqueue(&["a", "b"])]);
    let first = waits(&mut hub, "w1");
    let claims: Vec<Command> = (0..2).map(|_| Command::Claim(hub.claim("w"))).collect();
    hub.run(claims);
    hub.run(vec![first]);
    let batch = vec![
        waits(&mut hub, "w2"),
        enqueue(&["c"]),
        Command::Report(vec![completed("a", by_worker("w"), "1"), failed("b", by_worker("w"), false)]),
        Command::CallOff(Ticket(99)),
    ];
    let (lost, batch) = hub.fail_to_save(batch);
    assert_eq!(hub.job("a").status, Status::Assigned);
    let batch = hub.fail_to_load(batch);
    let saved = hub.run(batch);
    assert!(same(&lost, &saved), "{lost:?}\n{saved:?}");
}

#[test]
fn claims_that_waited_before_a_lost_batch_still_wait_and_its_own_do_not() {
    for finished in [true, false] {
        let mut hub = Hub::new();
        let (first, second) = (waits(&mut hub, "w1"), waits(&mut hub, "w2"));
        hub.run(vec![first, second]);
        let batch =
            vec![Command::CallOff(Ticket(1)), waits(&mut hub, "w3"), enqueue(&["a"]), waits(&mut hub, "w4")];
        if finished {
            let (outcome, _) = hub.fail_to_save(batch);
            assert_eq!(outcome.served.len(), 2);
        } else {
            hub.fail_to_load(batch);
        }
        assert_eq!(hub.waiting(), 2, "finished: {finished}");
        let served = hub.run(vec![enqueue(&["b", "c", "d"])]).served;
        let tickets: Vec<Ticket> = served.iter().map(|(ticket, _)| *ticket).collect();
        assert_eq!(tickets, [Ticket(1), Ticket(2)], "finished: {finished}");
    }
}

#[test]
fn the_reaper_checks_again_and_counts_what_it_changed() {
    let mut hub = Hub::new();
    hub.hand_out("w", &["a", "b"]);
    let reap = || Command::Reap { jobs: vec![1, 2, 99], workers: vec![] };
    hub.wait(59_999);
    assert_eq!(hub.one(reap()), Ok(Reply::Count(0)));
    let beat =
        Command::Heartbeat { job: JobId::trusted("b"), holder: hub.holder("b"), phase: Phase::Running };
    hub.wait(1);
    let replies = hub.run(vec![beat, reap()]).replies;
    assert_eq!(replies[1], Some(Ok(Reply::Count(1))), "a heartbeat just before it counts");
    assert_eq!([hub.job("a").status, hub.job("b").status], [Status::Pending, Status::Running]);
    hub.wait(86_400_000);
    assert_eq!(hub.one(Command::Resume { jobs: vec![1, 2] }), Ok(Reply::Count(1)));
    assert_eq!(hub.one(reap()), Ok(Reply::Count(0)), "what the hub could not hear is not held against it");
}

#[test]
fn a_batch_that_changes_nothing_asks_for_no_write_of_jobs() {
    let mut hub = Hub::new();
    hub.hand_out("w", &["a"]);
    let events = hub.events.len();
    let outcome = hub.run(vec![Command::Tick, act("none", Action::Kill), Command::CallOff(Ticket(7))]);
    assert_eq!(outcome.replies.len(), 3);
    assert_eq!((hub.events.len(), hub.jobs.len()), (events, 1));
}
