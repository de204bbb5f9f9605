//! Workers that register, send heartbeats for all they hold, and vanish.

use crate::fake::{Hub, act, enqueue, names};
use forge_engine::{
    Command, Refusal, Reply,
    command::{Action, Claim, Register, WorkerHeartbeat},
};
use forge_shared::{
    BootId, JobId, LeaseId, Phase, Status, WorkerId,
    event::EventKind,
    request::Holding,
    response::{LeaseAction, WorkerOrder},
};

fn boot(name: &str) -> Option<BootId> {
    (!name.is_empty()).then(|| BootId::trusted(name))
}

fn register(boot_name: &str, holding: Option<Vec<Holding>>) -> Command {
    Command::Register(Register {
        worker: WorkerId::trusted("w"),
        boot: boot(boot_name),
        holding,
        about: "{}".into(),
    })
}

fn beat(boot_name: &str, holding: Vec<Holding>) -> Command {
    Command::WorkerHeartbeat(WorkerHeartbeat {
        worker: WorkerId::trusted("w"),
        boot: boot(boot_name),
        holding,
        busy: Some(1),
        rss_kb: None,
        outbox: None,
    })
}

fn listed(hub: &Hub, ids: &[(&str, Phase)]) -> Vec<Holding> {
    ids.iter().map(|(id, phase)| Holding { lease_id: hub.lease(id), phase: *phase }).collect()
}

fn actions(answer: Result<Reply, Refusal>) -> Vec<LeaseAction> {
    match answer {
        Ok(Reply::Leases { leases, .. }) => leases.into_iter().map(|lease| lease.action).collect(),
        other => panic!("not the answer to a worker: {other:?}"),
    }
}

/// Worker `w` of boot `b1` holds these; those named `run...` run.
fn hub_with(ids: &[&str]) -> Hub {
    let mut hub = Hub::new();
    hub.one(register("b1", None)).unwrap();
    hub.run(vec![enqueue(ids)]);
    let claim = Claim { boot: boot("b1"), max: 100, ..hub.claim("w") };
    assert_eq!(names(&hub.one(Command::Claim(claim))), ids);
    for id in ids.iter().filter(|id| id.starts_with("run")) {
        let holder = hub.holder(id);
        hub.one(Command::Heartbeat { job: JobId::trusted(*id), holder, phase: Phase::Running }).unwrap();
    }
    hub
}

#[test]
fn a_new_process_keeps_what_it_lists_and_loses_the_rest() {
    let mut hub = hub_with(&["run-kept", "run-stopped", "run-lost", "kept", "lost", "cancelled"]);
    hub.one(act("run-stopped", Action::Cancel { even_running: true })).unwrap();
    let mut holding = listed(
        &hub,
        &[
            ("run-kept", Phase::Running),
            ("run-stopped", Phase::Running),
            ("kept", Phase::Preparing),
            ("cancelled", Phase::Running),
        ],
    );
    holding.push(Holding { lease_id: LeaseId::trusted("63-1-00"), phase: Phase::Running });
    holding.push(Holding { lease_id: LeaseId::trusted("nonsense"), phase: Phase::Reporting });
    hub.one(act("cancelled", Action::Cancel { even_running: true })).unwrap();
    use LeaseAction::{Cancel, Gone, Keep};
    assert_eq!(actions(hub.one(register("b2", Some(holding)))), [Keep, Cancel, Keep, Gone, Gone, Gone]);
    let after = |id: &str| (hub.job(id).status, hub.job(id).attempts);
    assert_eq!(after("run-kept"), (Status::Running, 1));
    assert_eq!(after("kept"), (Status::Assigned, 1));
    assert_eq!(after("lost"), (Status::Pending, 0), "it had not begun, so it is free");
    assert_eq!(after("run-lost"), (Status::Pending, 1));
    assert_eq!(hub.job("run-lost").fail_reason.as_deref(), Some("lease_expired"));
    assert_eq!(hub.job("run-lost").silent_expiries, 1);
}

#[test]
fn the_same_process_registering_again_loses_nothing() {
    let mut hub = hub_with(&["run", "waits"]);
    assert_eq!(actions(hub.one(register("b1", Some(vec![])))), []);
    assert_eq!([hub.job("run").status, hub.job("waits").status], [Status::Running, Status::Assigned]);
    hub.one(register("b2", None)).unwrap();
    assert_eq!([hub.job("run").status, hub.job("waits").status], [Status::Running, Status::Assigned]);
}

#[test]
fn a_result_ready_to_send_is_kept_after_its_lease_ran_out() {
    for max_attempts_used in [false, true] {
        let mut hub = hub_with(&["run-a"]);
        if max_attempts_used {
            hub.policy.crash_limit = 1;
        }
        hub.wait(60_000);
        hub.one(Command::Reap { jobs: vec![1], workers: vec![] }).unwrap();
        let holding = listed(&hub, &[("run-a", Phase::Reporting)]);
        assert_eq!(actions(hub.one(register("b2", Some(holding)))), [LeaseAction::Keep]);
        let report = crate::fake::completed("run-a", hub.holder("run-a"), "1");
        hub.one(Command::Report(vec![report])).unwrap();
        assert_eq!(hub.job("run-a").status, Status::Completed);
    }
}

#[test]
fn a_heartbeat_renews_what_it_lists_and_gives_back_what_it_does_not() {
    let mut hub = hub_with(&["run-a", "run-b", "c"]);
    for (after_ms, given_back) in [(20_000, false), (1, true)] {
        hub.wait(after_ms);
        let holding = listed(&hub, &[("run-a", Phase::Running)]);
        assert_eq!(actions(hub.one(beat("b1", holding))), [LeaseAction::Keep]);
        for id in ["run-b", "c"] {
            let expected = if given_back { (Status::Pending, 0) } else { (hub.job(id).status, 1) };
            assert_eq!((hub.job(id).status, hub.job(id).attempts), expected, "{id}");
        }
    }
    let until = hub.job("run-a").lease.as_ref().unwrap().until_ms;
    assert_eq!(until, hub.now.mono_ms + 60_000);
}

#[test]
fn a_heartbeat_gives_back_nothing_of_another_process_and_a_replaced_one_is_told_to_drain() {
    let mut hub = hub_with(&["run-old"]);
    hub.one(register("b2", None)).unwrap();
    hub.wait(30_000);
    assert_eq!(actions(hub.one(beat("b2", vec![]))), []);
    assert_eq!(hub.job("run-old").status, Status::Running);
    let holding = listed(&hub, &[("run-old", Phase::Running)]);
    let Ok(Reply::Leases { leases, order }) = hub.one(beat("b1", holding)) else { panic!() };
    assert_eq!((leases[0].action, order), (LeaseAction::Keep, WorkerOrder::Drain), "its lease stays valid");
}

#[test]
fn a_worker_nobody_knows_is_asked_to_register() {
    let mut hub = Hub::new();
    assert_eq!(hub.one(beat("b1", vec![])), Err(Refusal::UnknownWorker));
    assert_eq!(hub.one(Command::Forget(WorkerId::trusted("w"))), Err(Refusal::UnknownWorker));
    hub.one(register("b1", None)).unwrap();
    assert!(hub.one(beat("b1", vec![])).is_ok());
    hub.one(Command::Forget(WorkerId::trusted("w"))).unwrap();
    assert!(hub.workers.is_empty());
    assert_eq!(hub.one(beat("b1", vec![])), Err(Refusal::UnknownWorker));
}

fn lost(hub: &mut Hub) -> bool {
    let reap = Command::Reap { jobs: vec![], workers: vec![WorkerId::trusted("w")] };
    hub.one(reap) == Ok(Reply::Count(1))
}

#[test]
fn a_worker_is_lost_after_a_lease_time_of_silence_and_found_when_it_speaks() {
    let mut hub = Hub::new();
    hub.one(register("b1", None)).unwrap();
    hub.wait(60_000);
    assert!(!lost(&mut hub));
    hub.wait(1);
    assert!(lost(&mut hub));
    assert!(!lost(&mut hub), "once");
    hub.take("w", 1);
    assert!(!hub.workers[&WorkerId::trusted("w")].lost);
    let told = hub.events.iter().filter(|event| event.kind == EventKind::WorkerLost).count();
    assert_eq!(told, 1);
}

#[test]
fn a_new_planner_does_not_take_a_worker_for_lost_that_was_just_heard_of() {
    let mut hub = Hub::new();
    hub.one(register("b1", None)).unwrap();
    hub.wait(30_000);
    hub.restart_planner();
    assert!(!lost(&mut hub));
    hub.wait(30_001);
    assert!(lost(&mut hub));
}

#[test]
fn a_worker_heard_of_again_is_written_down_only_now_and_then() {
    let mut hub = Hub::new();
    hub.one(register("b1", None)).unwrap();
    let heard = |hub: &Hub| hub.workers[&WorkerId::trusted("w")].last_heartbeat;
    let first = heard(&hub);
    hub.wait(4_999);
    hub.take("w", 1);
    assert_eq!(heard(&hub), first);
    hub.wait(1);
    hub.take("w", 1);
    assert_ne!(heard(&hub), first);
}

#[test]
fn what_a_vanished_worker_held_is_free_at_once_and_only_that() {
    let mut hub = hub_with(&["run-1", "assigned"]);
    hub.run(vec![enqueue(&["other"])]);
    let claim = Command::Claim(hub.claim("v"));
    hub.one(claim).unwrap();
    let gone = || Command::Vanished(vec![WorkerId::trusted("w"), WorkerId::trusted("nobody")]);
    assert_eq!(hub.one(gone()).unwrap(), Reply::Count(2));
    for id in ["run-1", "assigned"] {
        assert_eq!((hub.job(id).status, hub.job(id).attempts), (Status::Pending, 1), "{id}");
    }
    assert_eq!(hub.job("other").status, Status::Assigned);
    assert_eq!(hub.one(gone()).unwrap(), Reply::Count(0), "it holds nothing any more");
}
