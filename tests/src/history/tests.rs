//! The checker against recordings that are good, and against each kind that is not.

use super::*;

fn call(start: u64, request: Request, outcome: Outcome) -> Call {
    Call { start, end: start + 1, request, outcome }
}

fn enqueue(marker: &str, key: Option<&str>) -> Request {
    Request::Enqueue { marker: marker.to_owned(), key: key.map(str::to_owned) }
}

fn enqueued(job: &str) -> Outcome {
    Outcome::Enqueued { job: job.to_owned() }
}

fn claimed(job: &str, lease: &str, attempt: u64) -> Outcome {
    Outcome::Claimed(vec![Granted { job: job.to_owned(), lease: lease.to_owned(), attempt }])
}

fn heartbeat(job: &str, lease: &str) -> Request {
    Request::Heartbeat { job: job.to_owned(), lease: lease.to_owned() }
}

fn result(job: &str, lease: &str, result: &str) -> Request {
    Request::Result { job: job.to_owned(), lease: lease.to_owned(), result: result.to_owned() }
}

fn fail(job: &str, lease: &str, reason: &str) -> Request {
    Request::Fail { job: job.to_owned(), lease: lease.to_owned(), reason: reason.to_owned() }
}

fn seen(seq: u64, name: &str, job: &str, status: &str) -> Seen {
    let (job, status) = (Some(job.to_owned()), Some(status.to_owned()));
    Seen { epoch: 1, seq, name: name.to_owned(), job, status }
}

fn kept(id: &str, marker: &str, status: &str, attempt: u64, result: Option<&str>, reasons: &[&str]) -> Kept {
    Kept {
        id: id.to_owned(),
        marker: marker.to_owned(),
        status: status.to_owned(),
        attempt,
        result: result.map(str::to_owned),
        reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
    }
}

/// One job that fails once and is completed by its second lease.
fn good() -> History {
    History {
        calls: vec![
            call(0, enqueue("m", Some("k")), enqueued("j")),
            call(10, enqueue("m", Some("k")), enqueued("j")),
            call(20, Request::Claim, claimed("j", "l1", 1)),
            call(30, heartbeat("j", "l1"), Outcome::Done),
            call(40, fail("j", "l1", "r"), Outcome::Done),
            call(50, fail("j", "l1", "r"), Outcome::Done),
            call(60, Request::Claim, claimed("j", "l2", 2)),
            call(70, result("j", "l1", "stale"), Outcome::Refused(409)),
            call(80, result("j", "l2", "x"), Outcome::Unknown),
            call(90, result("j", "l2", "x"), Outcome::Done),
            call(100, enqueue("lost on the way", None), Outcome::Unknown),
        ],
        seen: Some(vec![
            seen(5, "job:created", "j", "pending"),
            seen(6, "job:assigned", "j", "assigned"),
            seen(7, "job:running", "j", "running"),
            seen(8, "job:failed", "j", "pending"),
            seen(9, "job:assigned", "j", "assigned"),
            seen(10, "job:completed", "j", "completed"),
        ]),
        kept: vec![kept("j", "m", "completed", 2, Some("x"), &["r"])],
    }
}

/// The good recording, spoilt, must show exactly this violation among what is found.
#[track_caller]
fn spoilt(spoil: impl FnOnce(&mut History), expected: Violation) {
    let mut history = good();
    spoil(&mut history);
    let found = check(&history);
    assert!(found.contains(&expected), "expected {expected}, found {found:?}");
}

fn watched(history: &mut History) -> &mut Vec<Seen> {
    history.seen.as_mut().expect("the good recording was watched")
}

#[test]
fn a_good_history_has_no_violations() {
    assert_eq!(check(&good()), []);
}

#[test]
fn an_unanswered_call_may_have_happened() {
    let mut history = good();
    history.kept.push(kept("k", "lost on the way", "pending", 0, None, &[]));
    watched(&mut history).push(seen(11, "job:created", "k", "pending"));
    assert_eq!(check(&history), []);
}

#[test]
fn a_lost_job_is_noticed() {
    spoilt(|history| history.kept.clear(), Violation::JobLost { job: "j".to_owned() });
    spoilt(|history| history.kept[0].marker = "?".to_owned(), Violation::JobChanged { job: "j".to_owned() });
}

#[test]
fn a_key_that_makes_two_jobs_is_noticed() {
    spoilt(
        |history| {
            history.calls[1].outcome = enqueued("j2");
            history.kept.push(kept("j2", "m", "pending", 0, None, &[]));
        },
        Violation::KeyMadeTwo { key: "k".to_owned() },
    );
    spoilt(
        |history| history.kept.push(kept("j2", "m", "pending", 0, None, &[])),
        Violation::StoredTwice { marker: "m".to_owned() },
    );
}

#[test]
fn a_lost_or_changed_result_is_noticed() {
    let lost = || Violation::ResultLost { job: "j".to_owned() };
    spoilt(|history| history.kept[0].status = "pending".to_owned(), lost());
    spoilt(|history| history.kept[0].result = Some("stale".to_owned()), lost());
    spoilt(
        |history| history.kept[0].result = Some("made up".to_owned()),
        Violation::ResultFromNowhere { job: "j".to_owned() },
    );
}

#[test]
fn two_results_are_noticed() {
    spoilt(|history| history.calls[7].outcome = Outcome::Done, Violation::TwoResults { job: "j".to_owned() });
}

#[test]
fn a_lost_or_doubled_failure_is_noticed() {
    let (job, reason) = ("j".to_owned(), "r".to_owned());
    spoilt(
        |history| history.kept[0].reasons.clear(),
        Violation::FailureLost { job: job.clone(), reason: reason.clone() },
    );
    spoilt(|history| history.kept[0].reasons.push("r".to_owned()), Violation::FailureTwice { job, reason });
}

#[test]
fn two_leases_of_one_attempt_and_a_lost_claim_are_noticed() {
    spoilt(
        |history| history.calls.push(call(61, Request::Claim, claimed("j", "l3", 2))),
        Violation::TwoLeases { job: "j".to_owned(), attempt: 2 },
    );
    spoilt(|history| history.kept[0].attempt = 1, Violation::ClaimLost { job: "j".to_owned(), attempt: 2 });
}

#[test]
fn an_obeyed_stale_lease_is_noticed() {
    let stale = || Violation::StaleLease { job: "j".to_owned(), lease: "l1".to_owned() };
    spoilt(|history| history.calls[7].outcome = Outcome::Done, stale());
    // Superseded by the second claim.
    spoilt(|history| history.calls.push(call(75, heartbeat("j", "l1"), Outcome::Done)), stale());
    spoilt(|history| history.calls.push(call(75, fail("j", "l1", "r"), Outcome::Done)), stale());
    // Given up, though nobody else has it yet.
    spoilt(|history| history.calls.push(call(55, heartbeat("j", "l1"), Outcome::Done)), stale());
}

#[test]
fn overlapping_calls_prove_nothing() {
    let mut history = good();
    let overlapping = Call { start: 35, ..call(75, heartbeat("j", "l1"), Outcome::Done) };
    history.calls.push(overlapping);
    assert_eq!(check(&history), []);
}

#[test]
fn gaps_repeats_and_new_epochs_are_noticed() {
    spoilt(|history| drop(watched(history).remove(2)), Violation::EventGap { after: 6, got: 8 });
    spoilt(
        |history| {
            let again = watched(history)[5].clone();
            watched(history).push(again);
        },
        Violation::EventGap { after: 10, got: 10 },
    );
    spoilt(|history| watched(history)[5].epoch = 2, Violation::EpochChanged { from: 1, to: 2 });
}

#[test]
fn announcements_that_disagree_are_noticed() {
    let job = || "j".to_owned();
    spoilt(
        |history| drop(watched(history).pop()),
        Violation::EventMissing { job: job(), name: "job:completed" },
    );
    spoilt(
        |history| drop(watched(history).remove(0)),
        Violation::EventMissing { job: job(), name: "job:created" },
    );
    spoilt(
        |history| watched(history).push(seen(11, "job:completed", "j", "completed")),
        Violation::EventTwice { job: job(), name: "job:completed" },
    );
    spoilt(
        |history| watched(history).push(seen(11, "job:failed", "j", "failed")),
        Violation::StatusDiffers { job: job(), announced: "failed".to_owned(), kept: "completed".to_owned() },
    );
}
