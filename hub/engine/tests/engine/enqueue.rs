//! Adding jobs: all or none, and the same key twice.

use crate::fake::{Hub, START, act, enqueue, new_job};
use forge_engine::{
    Command, Refusal, Reply,
    command::{Action, Due, Enqueued, Idempotency, NewJob},
};
use forge_shared::{JobId, Status};

fn keyed(id: &str, key: &str, body: u8) -> NewJob {
    NewJob { idempotency: Some(Idempotency { key: key.into(), body: [body; 32] }), ..new_job(id) }
}

fn in_batch(index: usize, refusal: Refusal) -> Result<Reply, Refusal> {
    Err(Refusal::InBatch { index, refusal: Box::new(refusal) })
}

fn answers(hub: &mut Hub, jobs: Vec<NewJob>) -> Vec<(String, bool)> {
    match hub.one(Command::Enqueue(jobs)) {
        Ok(Reply::Enqueued(jobs)) => jobs.into_iter().map(|job| (job.id.to_string(), job.created)).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_taken_id_refuses_all_and_names_its_index() {
    let mut hub = Hub::new();
    hub.run(vec![enqueue(&["a"])]);
    let taken =
        |index| in_batch(index, Refusal::IdTaken { id: JobId::trusted(if index == 2 { "a" } else { "b" }) });
    assert_eq!(hub.one(enqueue(&["b", "c", "a"])), taken(2));
    assert_eq!(hub.one(enqueue(&["b", "b"])), taken(1));
    assert_eq!(hub.jobs.len(), 1);
    assert_eq!(hub.events.len(), 1, "a refused call leaves no event");
}

#[test]
fn an_id_is_taken_from_the_moment_of_its_command_and_free_after_its_removal() {
    let mut hub = Hub::new();
    let batch = vec![
        enqueue(&["a"]),
        enqueue(&["a"]),
        act("a", Action::Cancel { even_running: false }),
        act("a", Action::Delete),
        enqueue(&["a"]),
    ];
    let replies = hub.run(batch).replies;
    assert!(replies[0].as_ref().unwrap().is_ok());
    assert!(replies[1].as_ref().unwrap().is_err());
    assert!(replies[4].as_ref().unwrap().is_ok());
    assert_eq!((hub.jobs.len(), hub.job("a").status, hub.job("a").seq), (1, Status::Pending, 2));
    // Stored in one batch, removed and added again in the next.
    hub.run(vec![act("a", Action::Kill), act("a", Action::Delete), enqueue(&["a"])]);
    assert_eq!(hub.job("a").seq, 3);
}

#[test]
fn a_job_takes_the_place_of_another_unless_somebody_works_on_it() {
    let mut hub = Hub::new();
    let replace = |spent| {
        let Command::Enqueue(mut jobs) = enqueue(&["a"]) else { unreachable!("it is one") };
        Command::Replace { job: Box::new(jobs.remove(0)), spent }
    };
    hub.one(replace(0)).unwrap();
    assert_eq!((hub.job("a").seq, hub.job("a").attempts), (1, 0), "nobody had the id");
    hub.one(replace(2)).unwrap();
    assert_eq!((hub.jobs.len(), hub.job("a").seq, hub.job("a").attempts), (1, 2, 2));
    let claim = Command::Claim(hub.claim("w"));
    hub.one(claim).unwrap();
    let refused = hub.one(replace(0)).unwrap_err();
    assert!(matches!(refused, Refusal::WrongState { status: Status::Assigned, .. }), "{refused}");
    assert_eq!((hub.jobs.len(), hub.job("a").seq, hub.job("a").attempts), (1, 2, 3));
}

#[test]
fn the_same_key_with_the_same_body_answers_with_the_first_job() {
    let mut hub = Hub::new();
    let first = |created| vec![("a".to_owned(), created)];
    assert_eq!(answers(&mut hub, vec![keyed("a", "k", 1)]), first(true));
    assert_eq!(answers(&mut hub, vec![keyed("b", "k", 1)]), first(false));
    hub.restart_planner();
    assert_eq!(answers(&mut hub, vec![keyed("c", "k", 1)]), first(false));
    let twice = answers(&mut hub, vec![keyed("x", "k2", 1), keyed("y", "k2", 1), keyed("z", "k", 1)]);
    assert_eq!(twice, [("x".into(), true), ("x".into(), false), ("a".into(), false)]);
    assert_eq!(hub.jobs.len(), 2);
    hub.take("w", 1);
    let again = hub.one(Command::Enqueue(vec![keyed("b", "k", 1)]));
    let known = Enqueued { id: JobId::trusted("a"), status: Status::Assigned, created: false };
    assert_eq!(again, Ok(Reply::Enqueued(vec![known])), "and tells what has become of it");
}

#[test]
fn the_same_key_with_a_different_body_is_refused() {
    let mut hub = Hub::new();
    answers(&mut hub, vec![keyed("a", "k", 1)]);
    let reused = |id: Option<&str>| Refusal::KeyReused { id: id.map(JobId::trusted) };
    assert_eq!(
        hub.one(Command::Enqueue(vec![new_job("b"), keyed("c", "k", 2)])),
        in_batch(1, reused(Some("a")))
    );
    let within = vec![keyed("b", "k2", 1), keyed("c", "k2", 2)];
    assert_eq!(hub.one(Command::Enqueue(within)), in_batch(1, reused(None)));
    assert_eq!(hub.jobs.len(), 1);
    let batch =
        vec![Command::Enqueue(vec![keyed("b", "k3", 1)]), Command::Enqueue(vec![keyed("c", "k3", 2)])];
    assert_eq!(hub.run(batch).replies[1], Some(in_batch(0, reused(Some("b")))));
}

#[test]
fn a_key_lives_as_long_as_its_job() {
    let mut hub = Hub::new();
    answers(&mut hub, vec![keyed("a", "k", 1)]);
    let batch = vec![
        act("a", Action::Kill),
        Command::Prune { jobs: vec![1, 77] },
        Command::Enqueue(vec![keyed("b", "k", 2)]),
    ];
    let replies = hub.run(batch).replies;
    assert_eq!(replies[1], Some(Ok(Reply::Count(1))));
    assert!(replies[2].as_ref().unwrap().is_ok());
    assert_eq!(answers(&mut hub, vec![keyed("c", "k", 2)]), [("b".to_owned(), false)]);
}

#[test]
fn jobs_without_an_id_get_one_each_in_time_order() {
    let mut hub = Hub::new();
    let nameless = || NewJob { id: None, ..new_job("x") };
    let mut ids: Vec<String> =
        answers(&mut hub, vec![nameless(), nameless()]).into_iter().map(|(id, _)| id).collect();
    hub.wait(1);
    ids.extend(answers(&mut hub, vec![nameless()]).into_iter().map(|(id, _)| id));
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    assert!(ids.iter().all(|id| id.len() == 32));
}

#[test]
fn a_job_is_due_when_it_says_and_never_before_it_was_made() {
    let cases = [
        (Due::Now, 0),
        (Due::At(START.wall_ms - 5), 0),
        (Due::At(START.wall_ms + 5), 5),
        (Due::After(9), 9),
        (Due::After(-9), 0),
        (Due::After(i64::MAX), i64::MAX - START.wall_ms),
    ];
    for (due, expected) in cases {
        let mut hub = Hub::new();
        hub.run(vec![Command::Enqueue(vec![NewJob { due, ..new_job("a") }])]);
        assert_eq!(hub.job("a").run_at - START.wall_ms, expected, "{due:?}");
    }
}
