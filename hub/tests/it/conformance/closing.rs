//! The end of a store and the next beginning.

use crate::kit::*;
use forge_engine::{Command, Reply, command::Claim};
use forge_hub::store::{Decided, Error, Order, Page};
use forge_shared::{Status, request::JobFilter};
use futures_util::future::{BoxFuture, MaybeDone, maybe_done};
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

pub(super) async fn reopening_keeps_everything(mut rig: Rig) {
    let run = rig.add_and_run(new_job("runs"), "w").await;
    let job = rig.add_and_take(new_job("fails"), "w").await;
    rig.report(&job, failed("broke")).await.unwrap();
    let job = rig.add_and_take(new_job("done"), "w").await;
    rig.report(&job, completed("{\"n\":1}")).await.unwrap();
    let all = async |rig: &Rig| {
        let page = Page { limit: 10, offset: 0, order: Order::NewestFirst, after: None, now_ms: rig.now() };
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

type Submission = Pin<Box<MaybeDone<BoxFuture<'static, Result<Decided, Error>>>>>;

/// A command that the store has, whether it is answered yet or not.
async fn sent(rig: &Rig, command: Command) -> Submission {
    let store = rig.store.clone();
    let submit: BoxFuture<'static, _> = Box::pin(async move { store.submit(command, None).await });
    let mut submission = Box::pin(maybe_done(submit));
    poll_fn(|context| {
        let _ = submission.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
    submission
}

pub(super) async fn closing_finishes_what_was_accepted(mut rig: Rig) {
    let mut accepted = Vec::new();
    for n in 0..200 {
        accepted.push(sent(&rig, Command::Enqueue(vec![new_job(&format!("job-{n}"))])).await);
    }
    let claim = Claim { wait: true, filter: filter(&["nothing"], &[]), ..rig.claim_of("w", 1) };
    let mut waits = sent(&rig, Command::Claim(claim)).await;
    rig.close().await;
    let mut answered = 0;
    for mut submission in accepted {
        submission.as_mut().await;
        let answer = submission.as_mut().take_output().unwrap().unwrap();
        assert!(matches!(answer, Ok(Reply::Enqueued(_))));
        answered += 1;
    }
    waits.as_mut().await;
    assert_eq!(waits.as_mut().take_output().unwrap().unwrap(), Ok(Reply::Claimed(vec![])));
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
