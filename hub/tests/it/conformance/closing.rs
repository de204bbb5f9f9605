//! The end of a store and the next beginning.

use crate::kit::*;
use forge_engine::{Command, Reply, command::Claim};
use forge_hub::store::{Error, Page};
use forge_shared::{Status, request::JobFilter};

pub(super) async fn reopening_keeps_everything(mut rig: Rig) {
    let run = rig.add_and_run(new_job("runs"), "w").await;
    let job = rig.add_and_take(new_job("fails"), "w").await;
    rig.report(&job, failed("broke")).await.unwrap();
    let job = rig.add_and_take(new_job("done"), "w").await;
    rig.report(&job, completed("{\"n\":1}")).await.unwrap();
    let all = async |rig: &Rig| {
        let page = Page { limit: 10, offset: 0, before: None, now_ms: rig.now() };
        let jobs = rig.jobs(JobFilter::default(), page).await.unwrap().jobs;
        (serde_json::to_string(&jobs).unwrap(), rig.all_events().await, rig.event_range().await.unwrap())
    };
    let before = all(&rig).await;
    rig.reopen().await;
    assert_eq!(all(&rig).await, before);
    rig.done(beat(&run)).await;
    assert_eq!(rig.add(vec![new_job("next")]).await[0].status, Status::Pending);
    assert_eq!(rig.last_job().await.unwrap(), 4, "numbers go on");
}

pub(super) async fn closing_finishes_what_was_accepted(mut rig: Rig) {
    let mut accepted = tokio::task::JoinSet::new();
    for n in 0..200 {
        let store = rig.store.clone();
        let command = Command::Enqueue(vec![new_job(&format!("job-{n}"))]);
        accepted.spawn(async move { store.submit(command, None).await });
    }
    let store = rig.store.clone();
    let claim = Claim { wait: true, filter: filter(&["nothing"], &[]), ..rig.claim_of("w", 1) };
    let waits = tokio::spawn(async move { store.submit(Command::Claim(claim), None).await });
    // All of them are sent before this task goes on.
    tokio::task::yield_now().await;
    rig.close().await;
    let mut answered = 0;
    while let Some(answer) = accepted.join_next().await {
        assert!(matches!(answer.unwrap().unwrap(), Ok(Reply::Enqueued(_))));
        answered += 1;
    }
    assert_eq!(waits.await.unwrap().unwrap(), Ok(Reply::Claimed(vec![])));
    rig.reopen().await;
    assert_eq!(rig.count_matching(JobFilter::default()).await.unwrap(), answered);
}

pub(super) async fn a_closed_store_says_so(rig: Rig) {
    rig.close().await;
    rig.close().await;
    let answer = rig.submit(Command::Tick, None).await;
    assert!(matches!(answer, Err(Error::Closed)), "{answer:?}");
    assert!(matches!(rig.job(&job_id("a")).await, Err(Error::Closed)));
    assert!(matches!(rig.tokens().await, Err(Error::Closed)));
    assert!(matches!(rig.ping().await, Err(Error::Closed)));
    let log = rig.read_log(&job_id("a"), 1, 0, 1).await;
    assert!(matches!(log, Err(Error::Closed)));
}
