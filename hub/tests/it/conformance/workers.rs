//! Workers and all that one holds.

use crate::kit::*;
use forge_engine::{
    Command, Job, Refusal, Reply,
    command::{Action, Claim, Register, WorkerHeartbeat},
};
use forge_shared::{
    BootId, Phase, Status,
    request::Holding,
    response::{LeaseAction, WorkerOrder, WorkerState},
};
use std::sync::Arc;

fn boot(name: &str) -> Option<BootId> {
    Some(BootId::new(name).unwrap())
}

fn held(job: &Job, phase: Phase) -> Holding {
    Holding { lease_id: job.lease.as_ref().unwrap().id.clone(), phase }
}

fn register(worker: &str, boot: Option<BootId>, holding: Option<Vec<Holding>>) -> Command {
    let about = Arc::from(format!("{{\"worker_id\":\"{worker}\",\"cores\":4,\"tags\":[\"gpu\"]}}"));
    Command::Register(Register { worker: worker_id(worker), boot, holding, about })
}

fn heartbeat(worker: &str, boot: Option<BootId>, holding: Vec<Holding>) -> Command {
    let (busy, rss_kb, outbox) = (Some(1), Some(u64::MAX), Some(0));
    Command::WorkerHeartbeat(WorkerHeartbeat {
        worker: worker_id(worker),
        boot,
        holding,
        busy,
        rss_kb,
        outbox,
    })
}

/// What the worker is told to do with each lease, and itself.
async fn told(rig: &Rig, command: Command) -> (Vec<LeaseAction>, WorkerOrder) {
    match rig.done(command).await {
        Reply::Leases { leases, order } => (leases.iter().map(|lease| lease.action).collect(), order),
        other => panic!("not an answer to a worker: {other:?}"),
    }
}

async fn state(rig: &Rig, worker: &str) -> WorkerState {
    rig.worker(&worker_id(worker)).await.unwrap().expect("it is registered").state
}

pub(super) async fn a_registered_worker_is_listed_with_what_it_said(mut rig: Rig) {
    rig.done(register("b", boot("1"), None)).await;
    rig.done(register("a", None, None)).await;
    rig.add_ids(&["job"]).await;
    rig.take_one("b").await;
    rig.done(heartbeat("b", boot("1"), vec![])).await;
    rig.reopen().await;
    let workers = rig.workers().await.unwrap();
    assert_eq!(workers.iter().map(|worker| worker.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let worker = &workers[1];
    assert_eq!((worker.cores, worker.ram_gb, worker.slots), (4, 1.0, 1));
    assert_eq!((worker.tags.as_slice(), worker.boot_id.clone()), (&["gpu".to_owned()][..], boot("1")));
    assert_eq!((worker.registered_at, worker.last_heartbeat), (START, Some(START)));
    assert_eq!((worker.jobs, worker.busy, worker.outbox), (1, Some(1), Some(0)));
    assert!(rig.worker(&worker_id("nobody")).await.unwrap().is_none());
    assert_eq!(rig.refused(heartbeat("nobody", None, vec![])).await, Refusal::UnknownWorker);
}

pub(super) async fn a_heartbeat_for_all_leases_renews_and_releases(rig: Rig) {
    rig.done(register("w", None, None)).await;
    rig.add_ids(&["kept", "stopped", "forgotten", "late"]).await;
    let late = rig.take_one("w").await;
    assert_eq!(late.id.as_str(), "kept");
    rig.clock.pass(LEASE_MS);
    rig.reap().await;
    let jobs = rig.take(rig.claim_of("w", 3)).await;
    let lists =
        vec![held(&jobs[0], Phase::Running), held(&jobs[1], Phase::Running), held(&late, Phase::Running)];
    // The answer to a claim may still be on its way: a young lease need not be listed.
    rig.clock.pass(20_000);
    use LeaseAction::*;
    let answer = told(&rig, heartbeat("w", None, lists.clone())).await;
    assert_eq!(answer, (vec![Keep, Keep, Gone], WorkerOrder::Run));
    rig.act("stopped", Action::Cancel { even_running: true }).await.unwrap();
    rig.clock.pass(1);
    let answer = told(&rig, heartbeat("w", None, lists)).await;
    assert_eq!(answer, (vec![Keep, Cancel, Gone], WorkerOrder::Run));
    assert_eq!(rig.status("kept").await, Status::Running);
    assert_eq!(rig.status("forgotten").await, Status::Pending);
    rig.clock.pass(LEASE_MS - 1);
    assert_eq!(rig.reap().await, 0, "what was listed was renewed");
}

pub(super) async fn a_new_process_takes_over_the_name(mut rig: Rig) {
    rig.add_ids(&["a", "b"]).await;
    rig.done(register("w", boot("old"), None)).await;
    let claim = |rig: &Rig, name: &str| Claim { boot: boot(name), ..rig.claim_of("w", 1) };
    let job = rig.take(claim(&rig, "old")).await.remove(0);
    rig.done(register("w", boot("new"), None)).await;
    rig.reopen().await;
    assert_eq!(rig.refused(Command::Claim(claim(&rig, "old"))).await, Refusal::SupersededBoot);
    assert_eq!(rig.refused(register("w", boot("old"), None)).await, Refusal::SupersededBoot);
    let answer = told(&rig, heartbeat("w", boot("old"), vec![held(&job, Phase::Running)])).await;
    assert_eq!(answer, (vec![LeaseAction::Keep], WorkerOrder::Drain), "its leases stay valid");
    rig.report(&job, completed("1")).await.unwrap();
    assert_eq!(rig.take(claim(&rig, "new")).await.len(), 1);
}

pub(super) async fn what_an_earlier_process_held_is_given_back(rig: Rig) {
    rig.done(register("w", boot("1"), None)).await;
    rig.add_ids(&["assigned", "running", "listed", "reported"]).await;
    let jobs = rig.take(Claim { boot: boot("1"), ..rig.claim_of("w", 4) }).await;
    rig.done(beat(&jobs[1])).await;
    let lists = vec![held(&jobs[2], Phase::Running), held(&jobs[3], Phase::Reporting)];
    let answer = told(&rig, register("w", boot("2"), Some(lists))).await;
    assert_eq!(answer, (vec![LeaseAction::Keep, LeaseAction::Keep], WorkerOrder::Run));
    let given_back = rig.see("assigned").await;
    assert_eq!((given_back.status, given_back.attempts), (Status::Pending, 0));
    let expired = rig.see("running").await;
    assert_eq!((expired.status, expired.attempts), (Status::Pending, 1));
    assert_eq!(rig.status("listed").await, Status::Running);
}

pub(super) async fn a_silent_worker_is_lost_and_found_again(rig: Rig) {
    rig.done(register("w", None, None)).await;
    rig.clock.pass(LEASE_MS);
    rig.reap().await;
    assert_eq!(state(&rig, "w").await, WorkerState::Online);
    rig.clock.pass(1);
    rig.reap().await;
    assert_eq!(state(&rig, "w").await, WorkerState::Lost);
    assert_eq!(rig.reap().await, 0, "it is lost once");
    rig.take(rig.claim_of("w", 1)).await;
    assert_eq!(state(&rig, "w").await, WorkerState::Online);
}

pub(super) async fn a_step_of_the_wall_clock_loses_no_worker(rig: Rig) {
    rig.done(register("w", None, None)).await;
    for step in [3_600_000, -7_200_000] {
        rig.clock.step(step, 0);
        rig.reap().await;
        assert_eq!(state(&rig, "w").await, WorkerState::Online, "{step}");
    }
}

pub(super) async fn draining_survives_reopening(mut rig: Rig) {
    rig.done(register("w", None, None)).await;
    rig.done(Command::Drain { worker: worker_id("w"), draining: true }).await;
    rig.reopen().await;
    assert_eq!(state(&rig, "w").await, WorkerState::Draining);
    assert_eq!(told(&rig, heartbeat("w", None, vec![])).await.1, WorkerOrder::Drain);
    let nobody = Command::Drain { worker: worker_id("nobody"), draining: true };
    assert_eq!(rig.refused(nobody).await, Refusal::UnknownWorker);
}

pub(super) async fn a_forgotten_worker_is_gone(mut rig: Rig) {
    rig.done(register("w", None, None)).await;
    rig.done(Command::Forget(worker_id("w"))).await;
    for _ in 0..2 {
        assert!(rig.workers().await.unwrap().is_empty());
        assert_eq!(rig.refused(Command::Forget(worker_id("w"))).await, Refusal::UnknownWorker);
        rig.reopen().await;
    }
}
