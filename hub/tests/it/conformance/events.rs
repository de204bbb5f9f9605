//! The event log.

use crate::kit::*;
use forge_engine::{Command, command::Action};
use forge_shared::event::EventKind;

pub(super) async fn events_are_numbered_without_gaps(mut rig: Rig) {
    let job = rig.add_and_run(new_job("a"), "w").await;
    rig.report(&job, completed("1")).await.unwrap();
    rig.reopen().await;
    rig.add_ids(&["b", "c"]).await;
    rig.act("b", Action::Kill).await.unwrap();
    rig.act("b", Action::Delete).await.unwrap();
    let events = rig.all_events().await;
    assert!(events.iter().map(|event| event.seq).eq(1..=events.len() as u64));
    let told: Vec<(EventKind, &str)> =
        events.iter().map(|event| (event.kind, event.job_id.as_ref().unwrap().as_str())).collect();
    use EventKind::*;
    let expected = [
        (JobCreated, "a"),
        (JobAssigned, "a"),
        (JobRunning, "a"),
        (JobCompleted, "a"),
        (JobCreated, "b"),
        (JobCreated, "c"),
        (JobQuarantined, "b"),
        (JobDeleted, "b"),
    ];
    assert_eq!(told, expected);
    let range = rig.event_range().await.unwrap();
    assert_eq!((range.first, range.last), (1, 8));
}

pub(super) async fn events_are_read_from_any_number_on(rig: Rig) {
    let ids: Vec<String> = (0..30).map(|n| format!("job-{n}")).collect();
    for some in ids.chunks(10) {
        // One commit of ten events.
        rig.add_ids(&some.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    for after in 0..=31 {
        let events = rig.events_after(after, usize::MAX).await.unwrap();
        assert!(events.iter().map(|event| event.seq).eq(after + 1..=30), "after {after}");
    }
    let mut cursor = 0;
    let mut rounds = 0;
    while let Some(last) = rig.events_after(cursor, 5).await.unwrap().last() {
        cursor = last.seq;
        rounds += 1;
    }
    assert_eq!((cursor, rounds), (30, 3), "at least what is asked for, whole commits");
}

pub(super) async fn a_refused_command_leaves_no_event(rig: Rig) {
    rig.add_ids(&["a"]).await;
    rig.refused(Command::Enqueue(vec![new_job("b"), new_job("a")])).await;
    rig.act("a", Action::Retry).await.unwrap_err();
    rig.act("a", Action::RunNow).await.unwrap();
    assert_eq!(rig.all_events().await.len(), 1, "what changes nothing tells nothing either");
}

pub(super) async fn a_new_store_has_an_empty_range_and_an_epoch(mut rig: Rig) {
    let range = rig.event_range().await.unwrap();
    assert_eq!((range.first, range.last), (1, 0));
    assert!(rig.all_events().await.is_empty());
    rig.reopen().await;
    assert_eq!(rig.event_range().await.unwrap(), range, "the epoch stays");
}
