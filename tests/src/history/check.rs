//! The judgement: one function for each promise, all over the same recording.

use super::{Call, Granted, History, Kept, Outcome, Request, Seen, Violation};
use std::collections::{BTreeMap, BTreeSet};

/// Every promise that was broken; empty is good.
pub fn check(history: &History) -> Vec<Violation> {
    let kept: BTreeMap<&str, &Kept> = history.kept.iter().map(|job| (job.id.as_str(), job)).collect();
    let mut found = BTreeSet::new();
    jobs_are_kept(history, &kept, &mut found);
    results_are_kept_once(history, &kept, &mut found);
    failures_are_kept_once(history, &kept, &mut found);
    claims_are_exclusive(history, &kept, &mut found);
    stale_leases_are_refused(history, &mut found);
    if let Some(seen) = &history.seen {
        numbers_have_no_gaps(seen, &mut found);
        announcements_agree(history, seen, &mut found);
    }
    found.into_iter().collect()
}

type Found = BTreeSet<Violation>;
type KeptById<'a> = BTreeMap<&'a str, &'a Kept>;

fn jobs_are_kept(history: &History, kept: &KeptById<'_>, found: &mut Found) {
    let mut by_key: BTreeMap<&str, &str> = BTreeMap::new();
    for call in &history.calls {
        let (Request::Enqueue { marker, key }, Outcome::Enqueued { job }) = (&call.request, &call.outcome)
        else {
            continue;
        };
        match kept.get(job.as_str()) {
            None => drop(found.insert(Violation::JobLost { job: job.clone() })),
            Some(there) if there.marker != *marker => {
                found.insert(Violation::JobChanged { job: job.clone() });
            }
            Some(_) => {}
        }
        if let Some(key) = key
            && by_key.insert(key, job).is_some_and(|earlier| earlier != job)
        {
            found.insert(Violation::KeyMadeTwo { key: key.clone() });
        }
    }
    // A producer sends each marker under one key, or once. More jobs than that were made twice.
    let mut markers = BTreeSet::new();
    for job in &history.kept {
        if !markers.insert(&job.marker) {
            found.insert(Violation::StoredTwice { marker: job.marker.clone() });
        }
    }
}

fn results_are_kept_once(history: &History, kept: &KeptById<'_>, found: &mut Found) {
    let mut acknowledged: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    let mut sent: BTreeSet<(&str, &str)> = BTreeSet::new();
    for call in &history.calls {
        let Request::Result { job, lease, result } = &call.request else { continue };
        sent.insert((job, result));
        if call.outcome != Outcome::Done {
            continue;
        }
        let first = *acknowledged.entry(job).or_insert((lease, result));
        if first != (lease.as_str(), result.as_str()) {
            found.insert(Violation::TwoResults { job: job.clone() });
        }
        let there = kept.get(job.as_str());
        if there.is_none_or(|there| there.status != "completed" || there.result.as_ref() != Some(result)) {
            found.insert(Violation::ResultLost { job: job.clone() });
        }
    }
    for job in &history.kept {
        if let Some(result) = &job.result
            && !sent.contains(&(&job.id, result))
        {
            found.insert(Violation::ResultFromNowhere { job: job.id.clone() });
        }
    }
}

fn failures_are_kept_once(history: &History, kept: &KeptById<'_>, found: &mut Found) {
    for call in &history.calls {
        let (Request::Fail { job, reason, .. }, Outcome::Done) = (&call.request, &call.outcome) else {
            continue;
        };
        if kept.get(job.as_str()).is_none_or(|there| !there.reasons.contains(reason)) {
            found.insert(Violation::FailureLost { job: job.clone(), reason: reason.clone() });
        }
    }
    for job in &history.kept {
        let mut reasons = BTreeSet::new();
        for reason in &job.reasons {
            if !reasons.insert(reason) {
                found.insert(Violation::FailureTwice { job: job.id.clone(), reason: reason.clone() });
            }
        }
    }
}

fn grants(history: &History) -> impl Iterator<Item = (&Call, &Granted)> {
    history.calls.iter().flat_map(|call| {
        let granted = match &call.outcome {
            Outcome::Claimed(granted) => granted.as_slice(),
            _ => &[],
        };
        granted.iter().map(move |granted| (call, granted))
    })
}

fn claims_are_exclusive(history: &History, kept: &KeptById<'_>, found: &mut Found) {
    let mut leases: BTreeMap<(&str, u64), &str> = BTreeMap::new();
    for (_, granted) in grants(history) {
        let Granted { job, lease, attempt } = granted;
        if leases.insert((job, *attempt), lease).is_some_and(|other| other != lease) {
            found.insert(Violation::TwoLeases { job: job.clone(), attempt: *attempt });
        }
        if kept.get(job.as_str()).is_none_or(|there| there.attempt < *attempt) {
            found.insert(Violation::ClaimLost { job: job.clone(), attempt: *attempt });
        }
    }
}

fn stale_leases_are_refused(history: &History, found: &mut Found) {
    let attempts: BTreeMap<&str, u64> =
        grants(history).map(|(_, granted)| (granted.lease.as_str(), granted.attempt)).collect();
    // For each job, when a claim of each attempt had been answered.
    let mut granted_by: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for (call, granted) in grants(history) {
        granted_by.entry(&granted.job).or_default().push((granted.attempt, call.end));
    }
    // When its holder had been told that a lease was given up.
    let mut given_up: BTreeMap<&str, u64> = BTreeMap::new();
    for call in &history.calls {
        if let (Request::Fail { lease, .. } | Request::Release { lease, .. }, Outcome::Done) =
            (&call.request, &call.outcome)
        {
            let end = given_up.entry(lease).or_insert(call.end);
            *end = call.end.min(*end);
        }
    }
    for call in &history.calls {
        if call.outcome != Outcome::Done {
            continue;
        }
        let (job, lease, is_failure) = match &call.request {
            Request::Heartbeat { job, lease }
            | Request::Result { job, lease, .. }
            | Request::Release { job, lease } => (job, lease, false),
            Request::Fail { job, lease, .. } => (job, lease, true),
            Request::Enqueue { .. } | Request::Claim => continue,
        };
        let attempt = attempts.get(lease.as_str()).copied().unwrap_or(0);
        let superseded = granted_by
            .get(job.as_str())
            .is_some_and(|grants| grants.iter().any(|&(later, end)| later > attempt && end < call.start));
        // Reporting the same failure again may be answered as the first time.
        let ended = !is_failure && given_up.get(lease.as_str()).is_some_and(|&end| end < call.start);
        if superseded || ended {
            found.insert(Violation::StaleLease { job: job.clone(), lease: lease.clone() });
        }
    }
}

fn numbers_have_no_gaps(seen: &[Seen], found: &mut Found) {
    for pair in seen.windows(2) {
        if pair[0].epoch != pair[1].epoch {
            found.insert(Violation::EpochChanged { from: pair[0].epoch, to: pair[1].epoch });
        } else if pair[1].seq != pair[0].seq + 1 {
            found.insert(Violation::EventGap { after: pair[0].seq, got: pair[1].seq });
        }
    }
}

fn announcements_agree(history: &History, seen: &[Seen], found: &mut Found) {
    let mut last: BTreeMap<&str, &str> = BTreeMap::new();
    let mut once: BTreeSet<(&str, &'static str)> = BTreeSet::new();
    for event in seen {
        let Some(job) = &event.job else { continue };
        if let Some(status) = &event.status {
            last.insert(job, status);
        }
        for name in ["job:created", "job:completed"] {
            if event.name == name && !once.insert((job, name)) {
                found.insert(Violation::EventTwice { job: job.clone(), name });
            }
        }
    }
    for call in &history.calls {
        let (job, name) = match (&call.request, &call.outcome) {
            (_, Outcome::Enqueued { job }) => (job, "job:created"),
            (Request::Result { job, .. }, Outcome::Done) => (job, "job:completed"),
            _ => continue,
        };
        if !once.contains(&(job, name)) {
            found.insert(Violation::EventMissing { job: job.clone(), name });
        }
    }
    for job in &history.kept {
        match last.get(job.id.as_str()) {
            None => drop(found.insert(Violation::EventMissing { job: job.id.clone(), name: "job:created" })),
            Some(announced) if **announced != job.status => {
                let (announced, kept) = ((*announced).to_owned(), job.status.clone());
                found.insert(Violation::StatusDiffers { job: job.id.clone(), announced, kept });
            }
            Some(_) => {}
        }
    }
}
