//! The hub is killed again and again under load; afterwards everything it acknowledged is there.

use forge_tests::{
    history::{self, History, Outcome},
    hub::{Hub, Options},
    load::{Load, Place},
    turn,
};
use std::time::Duration;

const KILLS: usize = 100;
const PRODUCERS: usize = 4;
const WORKERS: usize = 5;
/// Load between a start and the next kill, in ms; a different length each time, so that kills
/// meet every phase of a commit.
const LOAD_MS: std::ops::Range<u64> = 100..260;

async fn kill_under_load(options: Options, kills: usize) -> anyhow::Result<History> {
    let mut hub = Hub::start(options).await;
    let load = Load::start(&hub, PRODUCERS, WORKERS).await;
    for killed in 0..kills {
        let spread = LOAD_MS.end - LOAD_MS.start;
        let pause = LOAD_MS.start + (killed as u64).wrapping_mul(97) % spread;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        // The clients learn of the death from their broken connections, not from us.
        hub.kill9().await;
        load.place(Place::Down);
        hub.restart().await;
        load.place(Place::At(hub.address()));
    }
    load.finish(&hub).await
}

/// A run in which nothing happened would prove nothing.
fn assert_busy(history: &History, kills: usize) {
    let count =
        |wanted: fn(&Outcome) -> bool| history.calls.iter().filter(|call| wanted(&call.outcome)).count();
    let done = count(|outcome| matches!(outcome, Outcome::Done));
    let enqueued = count(|outcome| matches!(outcome, Outcome::Enqueued { .. }));
    let broken = count(|outcome| matches!(outcome, Outcome::Unknown));
    let refused = count(|outcome| matches!(outcome, Outcome::Refused(409)));
    let events = history.seen.as_ref().map_or(0, Vec::len);
    println!(
        "{kills} kills: {enqueued} enqueues and {done} reports acknowledged, {broken} calls cut off, \
         {refused} stale leases refused, {} jobs, {events} events",
        history.kept.len(),
    );
    assert!(enqueued > 10 * kills, "the producers were idle: {enqueued}");
    assert!(done > 5 * kills, "the workers were idle: {done}");
    assert!(broken > kills / 2, "the kills hit nobody: {broken}");
    assert!(refused > kills / 2, "nobody tried a stale lease: {refused}");
    let strange: Vec<_> = history
        .calls
        .iter()
        .filter(|call| matches!(call.outcome, Outcome::Refused(code) if code != 409 && code != 503 && code != 429))
        .take(5)
        .collect();
    assert!(strange.is_empty(), "refused for no good reason: {strange:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_the_hub_is_killed() {
    let _turn = turn::alone().await;
    let history = kill_under_load(Options::default(), KILLS).await.expect("the run itself works");
    assert_busy(&history, KILLS);
    let violations = history::check(&history);
    assert!(
        violations.is_empty(),
        "{} promises broken: {:#?}",
        violations.len(),
        &violations[..violations.len().min(20)]
    );
}
