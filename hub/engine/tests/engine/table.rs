//! What each input does to a job in each state, written down by hand.

use crate::states::{ASKS, Decided, STATES, Who, ask, caller, state};
use forge_engine::{
    command::Refusal,
    job::{Job, LeaseState},
};
use forge_shared::Status;

/// One row for each input, one column for each state. A cell is the next status (`P`ending,
/// `A`ssigned, `R`unning, `C`ompleted, `F`ailed, `Q`uarantined) and the state of the last lease
/// (`l`ive, `e`xpired, `c`ompleted, `f`ailed, `r`eleased, `n`one); `=` when it is accepted and
/// nothing changes; `x` when the job is removed; `L` when the lease is lost, `S` when the state
/// does not fit, `D` when the result differs.
const EXPECTED: &str = "
.                   due ahead lapsed lost lost0 late retry back asg asgmax run runmax stop done canc stopd exp qfail qperm qlost qcrash qtime qback kill
claim               Al  S     S      Al   Al    Al   S     Al   S   S      S   S      S    S    S    S     S   S     S     S     S      S     S     S
beat                L   L     L      Rl   Rl    L    L     L    Rl  Rl     Rl  Rl     Rl   L    L    L     L   L     L     L     L      L     L     L
beat_preparing      L   L     L      Rl   Al    L    L     L    Al  Al     Rl  Rl     Rl   L    L    L     L   L     L     L     L      L     L     L
beat_reporting      L   L     L      Rl   Rl    L    L     L    Rl  Rl     Rl  Rl     Rl   L    L    L     L   L     L     L     L      L     L     L
result              L   L     L      Cc   Cc    L    L     L    Cc  Cc     Cc  Cc     Cc   =    L    L     L   L     L     Cc    Cc     L     L     L
other_result        L   L     L      Cc   Cc    L    L     L    Cc  Cc     Cc  Cc     Cc   D    L    L     L   L     L     Cc    Cc     L     L     L
fail                L   L     L      Pf   Pf    =    =     L    Pf  Qf     Pf  Qf     Ff   L    L    =     L   =     =     Qf    Qf     =     L     L
fail_in             L   L     L      Pf   Pf    =    =     L    Pf  Qf     Pf  Qf     Ff   L    L    =     L   =     =     Qf    Qf     =     L     L
fail_permanent      L   L     L      Pf   Pf    =    =     L    Qf  Qf     Qf  Qf     Ff   L    L    =     L   =     =     Qf    Qf     =     L     L
fail_timeout        L   L     L      Pf   Pf    =    =     L    Qf  Qf     Qf  Qf     Ff   L    L    =     L   =     =     Qf    Qf     =     L     L
fail_timeout_retry  L   L     L      Pf   Pf    =    =     L    Pf  Qf     Pf  Qf     Ff   L    L    =     L   =     =     Qf    Qf     =     L     L
release             L   L     L      Pr   Pr    L    L     =    Pr  Pr     Pr  Pr     Fr   L    L    L     L   L     L     Qr    Qr     L     =     L
snooze              L   L     L      Pr   Pr    L    L     =    Pr  Pr     Pr  Pr     Fr   L    L    L     L   L     L     Qr    Qr     L     =     L
hub_release         L   L     L      Pr   Pr    L    L     =    Pr  Pr     Pr  Pr     Fr   L    L    L     L   L     L     Qr    Qr     L     =     L
progress            L   L     L      L    L     L    L     L    Al  Al     Rl  Rl     Rl   L    L    L     L   L     L     L     L      L     L     L
lease_not_over      =   =     =      =    =     =    =     =    =   =      =   =      =    =    =    =     =   =     =     =     =      =     =     =
lease_over          =   =     =      =    =     =    =     =    Pe  Qe     Pe  Qe     Fn   =    =    =     =   =     =     =     =      =     =     =
lease_over_now      =   =     =      =    =     =    =     =    Pe  Qe     Pe  Qe     Fn   =    =    =     =   =     =     =     =      =     =     =
runtime_not_over    =   =     =      =    =     =    =     =    =   =      =   =      =    =    =    =     =   =     =     =     =      =     =     =
runtime_over        =   =     =      =    =     =    =     =    =   =      Qf  Qf     Ff   =    =    =     =   =     =     =     =      =     =     =
runtime_over_retry  =   =     =      =    =     =    =     =    =   =      Pf  Qf     Ff   =    =    =     =   =     =     =     =      =     =     =
prepare_not_over    =   =     =      =    =     =    =     =    =   =      =   =      =    =    =    =     =   =     =     =     =      =     =     =
prepare_over        =   =     =      =    =     =    =     =    Pf  Qf     =   =      =    =    =    =     =   =     =     =     =      =     =     =
expire              =   =     Fn     =    =     =    =     =    =   =      =   =      =    =    =    =     =   =     =     =     =      =     =     =
delete_call         Fn  Fn    Fn     Fn   Fn    Fn   Fn    Fn   Fn  Fn     S   S      S    S    =    =     S   S     S     S     S      S     S     S
cancel              Fn  Fn    Fn     Fn   Fn    Fn   Fn    Fn   Fn  Fn     Rl  Rl     =    S    =    =     S   S     S     S     S      S     S     S
retry               S   S     S      S    S     S    S     S    S   S      S   S      S    S    Pn   Pn    Pn  Pn    Pn    Pn    Pn     Pn    Pn    Pn
run_now             =   Pn    =      =    =     =    Pf    =    S   S      S   S      S    S    S    S     S   S     S     S     S      S     S     S
kill                Qn  Qn    Qn     Qn   Qn    Qn   Qn    Qn   S   S      S   S      S    S    S    S     S   S     S     S     S      S     S     S
patch               Pn  Pn    Pn     Pe   Pe    Pf   Pf    Pr   S   S      S   S      S    S    S    S     S   S     S     S     S      S     S     S
patch_queue         Pn  Pn    Pn     Pe   Pe    Pf   Pf    Pr   S   S      S   S      S    S    S    S     S   S     S     S     S      S     S     S
replace             x   x     x      x    x     x    x     x    S   S      S   S      S    x    x    x     x   x     x     x     x      x     x     x
remove              S   S     S      S    S     S    S     S    S   S      S   S      S    x    x    x     x   x     x     x     x      x     x     x
resume              =   =     =      =    =     =    =     =    Al  Al     Rl  Rl     Rl   =    =    =     =   =     =     =     =      =     =     =
";

fn cell(after: &Job, decided: &Decided) -> String {
    match decided {
        Err(Refusal::LeaseLost) => "L".into(),
        Err(Refusal::WrongState { status, .. }) if *status == after.status => "S".into(),
        Err(Refusal::DifferentResult) => "D".into(),
        Err(other) => format!("{other:?}"),
        Ok(effect) if effect.deleted => "x".into(),
        Ok(effect) if !effect.changed => "=".into(),
        Ok(_) => {
            let status = match after.status {
                Status::Pending => 'P',
                Status::Assigned => 'A',
                Status::Running => 'R',
                Status::Completed => 'C',
                Status::Failed => 'F',
                Status::Quarantined => 'Q',
            };
            let lease = match after.lease.as_ref().map(|lease| lease.state) {
                None => 'n',
                Some(LeaseState::Live) => 'l',
                Some(LeaseState::Expired) => 'e',
                Some(LeaseState::Completed) => 'c',
                Some(LeaseState::Failed) => 'f',
                Some(LeaseState::Released) => 'r',
            };
            format!("{status}{lease}")
        }
    }
}

/// Calls back with every state, input and cell of the table.
fn for_every_pair(mut check: impl FnMut(&str, &str, &str)) {
    let mut lines = EXPECTED.trim().lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let rows: Vec<Vec<&str>> = lines.collect();
    assert_eq!(header[1..], STATES.each_ref().map(|state| state.key), "a column for each state");
    assert_eq!(rows.len(), ASKS.len(), "a row for each input");
    for (row, ask) in rows.iter().zip(&ASKS) {
        assert_eq!((row[0], row.len()), (ask.key, header.len()));
        for (state, expected) in header[1..].iter().zip(&row[1..]) {
            check(state, row[0], expected);
        }
    }
}

fn decided(state_key: &str, ask_key: &str, who: Who) -> (Job, Job, Decided) {
    let before = state(state_key);
    let mut after = before.clone();
    let decided = (ask(ask_key).run)(&mut after, &caller(&before, who));
    (before, after, decided)
}

#[test]
fn every_input_in_every_state_does_what_the_table_says() {
    let mut wrong = Vec::new();
    for_every_pair(|state, ask, expected| {
        let (_, after, decided) = decided(state, ask, Who::Holder);
        let got = cell(&after, &decided);
        if got != expected {
            wrong.push(format!("{ask} on {state}: expected {expected}, got {got}"));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_worker_that_names_no_lease_is_as_good_as_one_that_does() {
    for_every_pair(|state, ask, expected| {
        let (_, after, decided) = decided(state, ask, Who::WorkerOnly);
        assert_eq!(cell(&after, &decided), expected, "{ask} on {state}");
    });
}

#[test]
fn an_old_lease_or_another_worker_changes_nothing() {
    for_every_pair(|state, key, _| {
        for who in [Who::OldLease, Who::OtherWorker] {
            let (before, after, decided) = decided(state, key, who);
            if ask(key).held {
                assert_eq!(decided, Err(Refusal::LeaseLost), "{key} on {state} by {who:?}");
                assert_eq!(before, after, "{key} on {state} by {who:?}");
            }
        }
    });
}

#[test]
fn a_refusal_and_a_repeat_leave_the_job_untouched() {
    for_every_pair(|state, ask, _| {
        let (before, after, decided) = decided(state, ask, Who::Holder);
        if !decided.as_ref().is_ok_and(|effect| effect.changed) {
            assert_eq!(before, after, "{ask} on {state}");
        }
        if let Ok(effect) = &decided
            && !effect.changed
        {
            assert_eq!(*effect, forge_engine::lifecycle::Effect::default(), "{ask} on {state}");
        }
    });
}

#[test]
fn finished_jobs_change_only_by_retry_removal_or_word_from_a_lease_that_ran_out() {
    for_every_pair(|state, ask, _| {
        let (before, after, decided) = decided(state, ask, Who::Holder);
        let ran_out = before.lease.as_ref().is_some_and(|lease| lease.state == LeaseState::Expired);
        let allowed = ["retry", "remove"].contains(&ask) || (ran_out && before.status == Status::Quarantined);
        if before.status.is_terminal() && !allowed {
            assert_eq!(before, after, "{ask} on {state}");
        }
        let completes = decided.is_ok_and(|effect| effect.completed);
        assert_eq!(completes, before.status != after.status && after.status == Status::Completed);
    });
}

#[test]
fn whatever_happens_the_job_stays_consistent() {
    for_every_pair(|state, ask, _| {
        let (before, after, decided) = decided(state, ask, Who::Holder);
        let context = format!("{ask} on {state}: {after:?}");
        assert!(after.attempt >= before.attempt, "{context}");
        assert_eq!(after.attempt - before.attempt, u32::from(ask == "claim" && decided.is_ok()), "{context}");
        assert!(after.history_len >= before.history_len, "{context}");
        assert!(after.attempts <= after.attempt && after.given_back <= 100, "{context}");
        let live = after.lease.as_ref().is_some_and(|lease| lease.state == LeaseState::Live);
        assert_eq!(live, after.status.is_live(), "{context}");
        assert_eq!(after.finished_at.is_some(), after.status.is_terminal(), "{context}");
        assert_eq!(after.worker().is_some() && after.status.is_live(), after.status.is_live(), "{context}");
        assert!(after.status == Status::Running || !after.cancel_requested, "{context}");
        assert_eq!(
            after.status == Status::Completed,
            after.lease.as_ref().is_some_and(|lease| lease.state == LeaseState::Completed),
            "{context}"
        );
    });
}
