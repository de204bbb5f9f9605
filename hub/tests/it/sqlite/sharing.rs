//! Several programs on one file, and writes that the database refuses.

use super::{Folder, Quiet, Sqlite};
use crate::kit::*;
use forge_engine::{Command, Refusal, Reply, command::Claim, lifecycle::Policy};
use forge_hub::store::{Error, Store, sqlite};
use forge_shared::{JobId, Status, request::JobFilter};
use rusqlite::Connection;
use std::{collections::HashSet, sync::Arc};
use tokio::task::JoinSet;

fn one_job(id: &str) -> Command {
    Command::Enqueue(vec![new_job(id)])
}

fn claim_one(worker: &str, ticket: u64) -> Command {
    Command::Claim(Claim {
        ticket: forge_engine::command::Ticket(ticket),
        worker: worker_id(worker),
        boot: None,
        claim_id: None,
        filter: Arc::default(),
        max: 1,
        wait: false,
    })
}

async fn submit(store: &dyn Store, command: Command) -> Reply {
    store.submit(command, None).await.expect("the store works").expect("nothing speaks against it")
}

/// Adds, claims and completes some jobs, as one program of several; answers what it claimed.
async fn work(store: Arc<dyn Store>, name: String, jobs: u64) -> Vec<JobId> {
    let mut done = Vec::new();
    for n in 0..jobs {
        submit(&*store, one_job(&format!("{name}-{n}"))).await;
        let job =
            claimed(submit(&*store, claim_one(&name, n)).await).pop().expect("one for each that was added");
        let report = forge_engine::command::Report {
            job: job.id.clone(),
            holder: holder(&job),
            outcome: completed("1"),
        };
        let reply = submit(&*store, Command::Report(vec![report])).await;
        assert!(
            matches!(reply, Reply::Reported(states) if states[0].is_ok()),
            "{} was claimed twice",
            job.id
        );
        done.push(job.id.clone());
    }
    done
}

#[tokio::test]
async fn stores_that_share_a_file_claim_no_job_twice_and_number_events_once() {
    const JOBS: u64 = 30;
    let rig = Rig::new(&Sqlite).await;
    let stores = [rig.store.clone(), rig.open_another().await, rig.open_another().await];
    let mut tasks = JoinSet::new();
    for (n, store) in stores.iter().cycle().take(12).enumerate() {
        tasks.spawn(work(store.clone(), format!("task-{n}"), JOBS));
    }
    let mut done = Vec::new();
    while let Some(some) = tasks.join_next().await {
        done.extend(some.unwrap());
    }
    let all = 12 * JOBS;
    assert_eq!(done.iter().collect::<HashSet<_>>().len() as u64, all);
    for store in &stores {
        let events = store.events_after(0, usize::MAX).await.unwrap();
        assert!(events.iter().map(|event| event.seq).eq(1..=all * 3));
        let counts = store.counts().await.unwrap();
        assert_eq!(
            counts.iter().map(|count| (count.status, count.n)).collect::<Vec<_>>(),
            [(Status::Completed, all)]
        );
        assert_eq!(store.last_job().await.unwrap() as u64, all);
    }
    for store in &stores {
        store.close().await;
    }
}

#[tokio::test]
async fn what_another_program_changed_is_seen_by_the_next_command() {
    let rig = Rig::new(&Sqlite).await;
    let other = rig.open_another().await;
    // Both have looked at the file.
    rig.done(Command::Tick).await;
    submit(&*other, Command::Tick).await;
    submit(&*other, one_job("a")).await;
    let job = rig.take_one("w").await;
    assert!(claimed(submit(&*other, claim_one("v", 1)).await).is_empty());
    rig.report(&job, completed("1")).await.unwrap();
    assert!(other.submit(one_job("a"), None).await.unwrap().is_err(), "the id is taken");
    assert_eq!(other.job(&job.id).await.unwrap().unwrap().status, Status::Completed);
    other.close().await;
    rig.add_ids(&["b"]).await;
}

#[tokio::test]
async fn programs_that_make_a_new_file_at_once_agree_on_it() {
    for _ in 0..20 {
        let folder = Arc::new(Folder::new());
        let mut opening = JoinSet::new();
        for _ in 0..4 {
            let (folder, clock) = (folder.clone(), StepClock::new());
            opening.spawn_blocking(move || folder.try_open(clock));
        }
        let mut epochs = HashSet::new();
        while let Some(store) = opening.join_next().await {
            let store = store.unwrap().unwrap_or_else(|error| panic!("{error:#}"));
            epochs.insert(store.event_range().await.unwrap().epoch);
            store.close().await;
        }
        assert_eq!(epochs.len(), 1);
    }
}

/// Another program forbids some writes.
fn forbid(folder: &Folder, trigger: &str) {
    let connection = Connection::open(folder.file()).unwrap();
    connection
        .execute_batch(&format!("CREATE TRIGGER {trigger} BEGIN SELECT RAISE(ABORT, 'forbidden'); END"))
        .unwrap();
}

#[tokio::test]
async fn a_write_that_fails_does_not_hurt_its_neighbours() {
    let folder = Folder::new();
    let store: Arc<dyn Store> = folder.try_open(StepClock::new()).unwrap();
    submit(&*store, one_job("first")).await;
    let first = claimed(submit(&*store, claim_one("w", 1)).await).remove(0);
    forbid(&folder, "no_bad BEFORE INSERT ON jobs WHEN NEW.id LIKE 'bad%'");
    forbid(&folder, "no_result BEFORE INSERT ON results WHEN NEW.result = '0'");
    let mut asked = JoinSet::new();
    let mut ask = |name: &'static str, command: Command| {
        let store = store.clone();
        asked.spawn(async move { (name, store.submit(command, None).await) });
    };
    let waits = Claim {
        wait: true,
        ..match claim_one("waits", 2) {
            Command::Claim(claim) => claim,
            _ => unreachable!("it is a claim"),
        }
    };
    ask("waits", Command::Claim(waits));
    for (name, id) in [("good", "good-1"), ("bad", "bad-1"), ("good", "good-2"), ("bad", "bad-2")] {
        ask(name, one_job(id));
    }
    let report = |result| {
        let report = forge_engine::command::Report {
            job: first.id.clone(),
            holder: holder(&first),
            outcome: completed(result),
        };
        Command::Report(vec![report])
    };
    ask("bad", report("0"));
    ask("good", report("1"));
    while let Some(answer) = asked.join_next().await {
        match answer.unwrap() {
            ("bad", answer) => {
                assert!(
                    matches!(&answer, Err(Error::Database(why)) if why.contains("forbidden")),
                    "{answer:?}"
                );
            }
            ("waits", answer) => {
                assert_eq!(claimed(answer.unwrap().unwrap())[0].id.as_str(), "good-1");
            }
            (_, answer) => assert!(answer.as_ref().is_ok_and(Result::is_ok), "{answer:?}"),
        }
    }
    let result = store.job(&first.id).await.unwrap().unwrap().result.unwrap();
    assert_eq!(result.get(), "1");
    assert_eq!(store.count_matching(JobFilter::default()).await.unwrap(), 3);
    let events = store.events_after(0, usize::MAX).await.unwrap();
    assert!(
        events.iter().map(|event| event.seq).eq(1..=events.len() as u64),
        "a failed commit uses no number"
    );
    assert_eq!(events.len(), 6);
    assert_eq!(store.last_job().await.unwrap(), 3, "nor a job's");
    let next = claimed(submit(&*store, claim_one("w", 3)).await);
    assert_eq!(next[0].id.as_str(), "good-2");
    store.close().await;
}

#[tokio::test]
async fn a_failed_record_leaves_the_store_working() {
    let folder = Folder::new();
    let store = folder.try_open(StepClock::new()).unwrap();
    forbid(&folder, "no_notes BEFORE INSERT ON audit");
    let note = forge_shared::response::AuditEntry {
        ts: START,
        actor: "admin".to_owned(),
        action: "kill".to_owned(),
        target: "a".to_owned(),
        detail: None,
    };
    assert!(matches!(store.audit(note.clone()).await, Err(Error::Database(_))));
    assert!(matches!(store.submit(one_job("a"), Some(note)).await, Err(Error::Database(_))));
    assert!(store.job(&job_id("a")).await.unwrap().is_none(), "no note, no job");
    submit(&*store, one_job("a")).await;
    store.ping().await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn a_file_locked_by_another_program_makes_a_caller_come_back() {
    let folder = Folder::new();
    let store = folder.try_open(StepClock::new()).unwrap();
    let other = Connection::open(folder.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = store.submit(one_job("a"), None).await;
    assert!(matches!(answer, Err(Error::Busy)), "{answer:?}");
    other.execute_batch("ROLLBACK").unwrap();
    submit(&*store, one_job("a")).await;
    store.close().await;
}

#[tokio::test]
async fn a_store_that_joins_another_replaces_jobs_and_shares_logs() {
    let (folder, clock) = (Folder::new(), StepClock::new());
    let join = || sqlite::join(&folder.file(), clock.clone(), Policy::default(), Arc::new(Quiet));
    // Whoever comes first makes the file.
    let joined = join().expect("it opens");
    let store = folder.try_open(clock.clone()).expect("it opens");
    let replace = || Command::Replace { job: Box::new(new_job("a")), spent: 1 };
    submit(&*joined, replace()).await;
    submit(&*joined, replace()).await;
    let id = JobId::trusted("a");
    let job = store.job(&id).await.unwrap().expect("it is there");
    assert_eq!((job.attempts, store.counts().await.unwrap()[0].n), (1, 1));
    joined.append_log(&id, 1, 0, "hello".into()).await.unwrap();
    assert_eq!(store.read_log(&id, 1, 0, 100).await.unwrap().bytes, b"hello");
    joined.close().await;

    let again = join().expect("it opens");
    assert_eq!(claimed(submit(&*again, claim_one("w", 1)).await).len(), 1);
    let refused = store.submit(replace(), None).await.unwrap();
    assert!(matches!(refused, Err(Refusal::WrongState { status: Status::Assigned, .. })), "{refused:?}");
    let gone = Command::Vanished(vec![worker_id("w")]);
    assert_eq!(submit(&*store, gone).await, Reply::Count(1));
    assert_eq!(again.job(&id).await.unwrap().map(|job| job.status), Some(Status::Pending));
}

#[tokio::test]
async fn a_watch_sees_what_others_commit_and_when_the_next_job_is_due() {
    let folder = Folder::new();
    let store = folder.try_open(StepClock::new()).expect("it opens");
    let mut watch = sqlite::Watch::open(&folder.file()).expect("it opens");
    assert!(watch.changed().unwrap(), "the first look is news");
    assert!(!watch.changed().unwrap());
    assert_eq!(watch.next_due().unwrap(), None);
    submit(&*store, one_job("a")).await;
    assert!(watch.changed().unwrap());
    assert_eq!(watch.next_due().unwrap(), Some(START));
    submit(&*store, claim_one("w", 1)).await;
    assert!(watch.changed().unwrap());
    assert_eq!(watch.next_due().unwrap(), None);
    assert!(!watch.changed().unwrap());
}
