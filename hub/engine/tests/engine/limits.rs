//! No loop is endless: whatever workers do or fail to do, a job ends.

use crate::states::{ASKS, Who, caller, decide, decide_under, lease, new_job, plain_backoff, state};
use forge_engine::{
    job::Job,
    lifecycle::{GIVE_BACKS_MAX, Input, Policy},
};
use forge_shared::Status;
use proptest::prelude::*;

/// Claims a job over and over; its workers vanish every time. Tells how often it was claimed.
fn claims_until_it_ends(mut job: Job, policy: &Policy) -> u32 {
    let before = job.attempt;
    while !job.status.is_terminal() {
        let input = match job.status {
            Status::Pending => Input::Claim(lease(job.attempt + 1, 0)),
            _ => Input::LeaseOver { at_once: true },
        };
        assert!(decide_under(policy, &mut job, input, 0).unwrap().changed);
        assert!(job.attempt - before <= 1_000, "this does not end: {job:?}");
    }
    assert_eq!(job.status, Status::Quarantined);
    job.attempt - before
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_job_whose_workers_only_vanish_is_set_aside_at_the_first_limit(max in 1..9u32, crash_limit in 1..9u32) {
        let policy = Policy { crash_limit, ..Policy::default() };
        prop_assert_eq!(claims_until_it_ends(new_job(max), &policy), max.min(crash_limit));
    }

    #[test]
    fn any_sequence_of_inputs_but_a_persons_retry_claims_a_job_a_bounded_number_of_times(
        max in 1..6u32,
        crash_limit in 1..6u32,
        picks in prop::collection::vec(0..ASKS.len() * 2, 0..400),
    ) {
        let policy = Policy { crash_limit, backoff: plain_backoff(), ..Policy::default() };
        let mut job = new_job(max);
        for pick in picks {
            if job.status == Status::Pending {
                decide(&mut job, Input::RunNow, 0).unwrap();
            }
            // Half of the time the job is claimed as soon as it can be.
            let ask = if pick < ASKS.len() { &ASKS[pick] } else { &ASKS[0] };
            if ["retry", "patch_queue"].contains(&ask.key) {
                continue;
            }
            let holder = caller(&job, Who::Holder);
            let before = job.clone();
            let decided = (ask.run)(&mut job, &holder);
            prop_assert!(decided.is_ok() || job == before);
            prop_assert!(job.given_back <= GIVE_BACKS_MAX);
            prop_assert!(job.attempts <= max, "never more than its budget");
            prop_assert!(job.attempt <= max + GIVE_BACKS_MAX);
        }
        if !job.status.is_terminal() {
            if job.status == Status::Pending {
                decide(&mut job, Input::RunNow, 0).unwrap();
            }
            prop_assert!(job.cancel_requested || claims_until_it_ends(job, &policy) <= max);
        }
    }
}

#[test]
fn a_budget_is_given_back_a_hundred_times_and_then_spent() {
    let mut job = new_job(3);
    let mut claims = 0;
    while !job.status.is_terminal() {
        let new_lease = lease(job.attempt + 1, 0);
        decide(&mut job, Input::Claim(new_lease), 0).unwrap();
        claims += 1;
        let holder = caller(&job, Who::Holder);
        let input = if claims % 2 == 0 {
            Input::Release { holder: Some(&holder) }
        } else {
            Input::Snooze { holder: &holder, delay_ms: 0 }
        };
        decide(&mut job, input, 0).unwrap();
    }
    assert_eq!((claims, job.given_back, job.attempts), (103, GIVE_BACKS_MAX, 3));
    assert_eq!(job.fail_reason.as_deref(), Some("give_back_limit"));
    decide(&mut job, Input::Retry, 0).unwrap();
    assert_eq!((job.attempts, job.given_back), (0, GIVE_BACKS_MAX), "a retry gives attempts, not give-backs");
}

#[test]
fn any_word_from_a_worker_starts_the_count_of_crashes_again() {
    let policy = Policy::default();
    for (key, expected) in [("late", 0), ("lost", 1), ("retry", 0), ("back", 0)] {
        assert_eq!(state(key).silent_expiries, expected, "{key}");
    }
    let back_again = |mut job: Job| {
        let holder = caller(&job, Who::Holder);
        let phase = forge_shared::Phase::Running;
        decide_under(&policy, &mut job, Input::Heartbeat { holder: &holder, phase }, 0).unwrap();
        job.silent_expiries
    };
    assert_eq!(back_again(state("lost")), 0, "it was only out of reach");
}
