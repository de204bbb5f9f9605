//! Claims that wait for a job.

use crate::kit::*;
use forge_engine::{
    Command, Job,
    command::{Action, Claim, Due, NewJob, Register, Ticket},
};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinHandle;

/// An answer that takes longer will not come.
const PATIENCE: Duration = Duration::from_secs(20);

type Waiter = JoinHandle<Vec<Arc<Job>>>;

/// Claims and waits; the store has the claim when this returns.
async fn wait(rig: &Rig, claim: Claim) -> (Ticket, Waiter) {
    let (ticket, store) = (claim.ticket, rig.store.clone());
    // The figure is set after a batch is answered, and before the next one is.
    rig.done(Command::Tick).await;
    let before = rig.figures().waiting_claims;
    let claim = Claim { wait: true, ..claim };
    let waiter = tokio::spawn(async move {
        claimed(store.submit(Command::Claim(claim), None).await.expect("it works").expect("it may"))
    });
    // The claim is sent before this, and the store decides in order.
    tokio::task::yield_now().await;
    rig.done(Command::Tick).await;
    rig.done(Command::Tick).await;
    assert_eq!(rig.figures().waiting_claims, before + 1, "it does not wait");
    (ticket, waiter)
}

async fn served(waiter: Waiter) -> Vec<String> {
    let jobs = tokio::time::timeout(PATIENCE, waiter).await.expect("the claim is answered").unwrap();
    jobs.iter().map(|job| job.id.to_string()).collect()
}

pub(super) async fn a_waiting_claim_is_served_by_the_commit_that_makes_a_job_claimable(rig: Rig) {
    let blocker = rig.add_and_take(new_job("given-back"), "other").await;
    rig.add(vec![NewJob { due: Due::After(9_000_000), ..new_job("later") }]).await;
    rig.add_ids(&["dead"]).await;
    rig.act("dead", Action::Kill).await.unwrap();
    let broken = rig.add_and_take(NewJob { backoff: Some(fixed(0)), ..new_job("again") }, "other").await;
    let wakers: [(Command, &str); 5] = [
        (Command::Enqueue(vec![new_job("new")]), "new"),
        (Command::Release { job: blocker.id.clone(), holder: holder(&blocker) }, "given-back"),
        (Command::Act { jobs: vec![job_id("later")], action: Action::RunNow }, "later"),
        (Command::Act { jobs: vec![job_id("dead")], action: Action::Retry }, "dead"),
        (
            Command::Report(vec![forge_engine::command::Report {
                job: broken.id.clone(),
                holder: holder(&broken),
                outcome: failed("broke"),
            }]),
            "again",
        ),
    ];
    for (command, id) in wakers {
        let (_, waiter) = wait(&rig, rig.claim_of("w", 1)).await;
        let events = rig.all_events().await.len() as u64;
        rig.done(command).await;
        // Handed over in the same commit: when the command is answered, the job is assigned.
        assert_eq!(rig.status(id).await, forge_shared::Status::Assigned, "{id}");
        assert_eq!(rig.events_after(events, 99).await.unwrap().len(), 2, "{id}");
        assert_eq!(served(waiter).await, [id]);
    }
}

pub(super) async fn first_come_is_first_served_among_those_who_fit(rig: Rig) {
    let only = |kind: &str| Claim { filter: filter(&[kind], &[]), ..rig.claim_of("w", 1) };
    let (_, wants_other) = wait(&rig, only("other")).await;
    let (_, first) = wait(&rig, rig.claim_of("w", 1)).await;
    let (_, second) = wait(&rig, rig.claim_of("w", 5)).await;
    rig.add_ids(&["a"]).await;
    assert_eq!(served(first).await, ["a"]);
    rig.add_ids(&["b", "c"]).await;
    assert_eq!(served(second).await, ["b", "c"]);
    rig.add(vec![NewJob { kind: job_type("other"), ..new_job("d") }]).await;
    assert_eq!(served(wants_other).await, ["d"]);
}

pub(super) async fn a_waiting_claim_is_served_when_a_job_becomes_due(rig: Rig) {
    rig.add(vec![NewJob { due: Due::After(60_000), ..new_job("later") }]).await;
    let (_, waiter) = wait(&rig, rig.claim_of("w", 1)).await;
    rig.clock.pass(59_999);
    rig.done(Command::Tick).await;
    assert!(!waiter.is_finished());
    rig.clock.pass(1);
    rig.done(Command::Tick).await;
    assert_eq!(served(waiter).await, ["later"]);
}

pub(super) async fn a_claim_waits_without_anybody_asking_until_a_job_is_due(rig: Rig) {
    // The store wakes by itself; only its clock is ours.
    rig.add(vec![NewJob { due: Due::After(30), ..new_job("soon") }]).await;
    let (_, waiter) = wait(&rig, rig.claim_of("w", 1)).await;
    rig.clock.pass(30);
    assert_eq!(served(waiter).await, ["soon"]);
}

pub(super) async fn a_waiting_claim_can_be_called_off(rig: Rig) {
    let (ticket, waiter) = wait(&rig, rig.claim_of("w", 1)).await;
    rig.done(Command::CallOff(ticket)).await;
    assert!(served(waiter).await.is_empty());
    rig.done(Command::CallOff(ticket)).await;
    rig.add_ids(&["a"]).await;
    assert_eq!(rig.take_ids(rig.claim_of("w", 1)).await, ["a"], "nobody else took it");
}

pub(super) async fn draining_answers_the_claims_that_wait(rig: Rig) {
    let about = Arc::from("{\"worker_id\":\"w\"}");
    let register = Register { worker: worker_id("w"), boot: None, holding: None, about };
    rig.done(Command::Register(register)).await;
    let (_, waiter) = wait(&rig, rig.claim_of("w", 1)).await;
    rig.done(Command::Drain { worker: worker_id("w"), draining: true }).await;
    assert!(served(waiter).await.is_empty());
    rig.add_ids(&["a"]).await;
    assert!(rig.take(rig.claim_of("w", 1)).await.is_empty(), "it takes nothing new");
    rig.done(Command::Drain { worker: worker_id("w"), draining: false }).await;
    assert_eq!(rig.take_ids(rig.claim_of("w", 1)).await, ["a"]);
}

/// A store keeps only the first entries of a lane in memory. When they all go, without a claim
/// that would look further, whoever waits must still learn of those behind them.
pub(super) async fn cancelled_heads_do_not_hide_what_is_scheduled_behind_them(mut rig: Rig) {
    const JOBS: i64 = 2_000;
    let ids: Vec<String> = (0..JOBS).map(|n| format!("job-{n:05}")).collect();
    let jobs = ids.iter().zip(0..).map(|(id, n)| NewJob { due: Due::After(10_000 + n), ..new_job(id) });
    rig.add(jobs.collect()).await;
    rig.reopen().await;
    let (_, waiter) = wait(&rig, rig.claim_of("w", 1)).await;
    let (last, first) = ids.split_last().unwrap();
    for some in first.chunks(500) {
        let jobs = some.iter().map(|id| job_id(id)).collect();
        rig.done(Command::Act { jobs, action: Action::Cancel { even_running: false } }).await;
    }
    rig.clock.pass(10_000 + JOBS);
    rig.done(Command::Tick).await;
    assert_eq!(served(waiter).await, [last.as_str()]);
}

pub(super) async fn one_job_serves_one_of_a_thousand(rig: Rig) {
    let mut waiters = tokio::task::JoinSet::new();
    for n in 0..1_000 {
        let (store, claim) = (rig.store.clone(), Claim { wait: true, ..rig.claim_of(&format!("w{n}"), 1) });
        waiters.spawn(async move { store.submit(Command::Claim(claim), None).await });
    }
    while rig.figures().waiting_claims < 1_000 {
        tokio::task::yield_now().await;
        rig.done(Command::Tick).await;
    }
    rig.add_ids(&["a"]).await;
    assert_eq!(rig.see("a").await.attempt, 1);
    rig.done(Command::Tick).await;
    assert_eq!(rig.figures().waiting_claims, 999);
    rig.close().await;
    let mut jobs = 0;
    while let Some(answer) = waiters.join_next().await {
        jobs += claimed(answer.unwrap().unwrap().unwrap()).len();
    }
    assert_eq!(jobs, 1);
}
