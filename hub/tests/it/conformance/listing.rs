//! Finding jobs.

use crate::kit::*;
use forge_engine::{
    Command,
    command::{Action, Due, NewJob},
    job::Spec,
};
use forge_hub::store::{JobCount, Order, Page};
use forge_shared::{JobType, QueueName, Status, View, request::JobFilter};
use std::{collections::BTreeMap, sync::Arc};

fn page(rig: &Rig, limit: u32) -> Page {
    Page { limit, offset: 0, order: Order::NewestFirst, after: None, now_ms: rig.now() }
}

fn tagged(id: &str, tags: &[&str]) -> NewJob {
    let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    NewJob { spec: Spec { params: Arc::from("{}"), tags, ..Spec::default() }, ..new_job(id) }
}

/// One job in every state, each older than the next.
async fn one_of_each(rig: &Rig) {
    let add = async |job: NewJob| {
        rig.clock.pass(10);
        rig.add(vec![job]).await;
    };
    add(new_job("completed")).await;
    let job = rig.take_one("w1").await;
    rig.report(&job, completed("1")).await.unwrap();
    add(new_job("dead")).await;
    rig.act("dead", Action::Kill).await.unwrap();
    add(new_job("cancelled")).await;
    rig.act("cancelled", Action::Cancel { even_running: false }).await.unwrap();
    add(NewJob { expires_at: Some(rig.now() + 11), ..new_job("expired") }).await;
    rig.clock.pass(1);
    rig.reap().await;
    add(NewJob { max_attempts: 1, ..new_job("lost") }).await;
    rig.take_one("w1").await;
    rig.clock.pass(LEASE_MS);
    rig.reap().await;
    add(NewJob { backoff: Some(fixed(999_999)), ..new_job("retrying") }).await;
    let job = rig.take_one("w2").await;
    rig.report(&job, failed("broke badly")).await.unwrap();
    add(NewJob { queue: queue("ns/b"), ..new_job("running") }).await;
    let job = rig.take_one("w2").await;
    rig.done(beat(&job)).await;
    add(NewJob { kind: job_type("other"), ..new_job("assigned") }).await;
    rig.take_one("w3").await;
    add(NewJob { due: Due::After(999_999), ..tagged("scheduled", &["red", "blue"]) }).await;
    add(NewJob { queue: queue("ns/a"), ..tagged("pending", &["red"]) }).await;
}

/// The listing, the bulk search and the count must all agree.
async fn check(rig: &Rig, filter: JobFilter, expected: &[&str]) {
    let listed = rig.jobs(filter.clone(), page(rig, 100)).await.unwrap();
    let ids: Vec<&str> = listed.jobs.iter().map(|job| job.id.as_str()).collect();
    assert_eq!(ids, expected, "{filter:?}");
    assert_eq!(listed.next, None, "{filter:?}");
    assert_eq!(rig.count_matching(filter.clone()).await.unwrap(), expected.len() as u64, "{filter:?}");
    let matching = rig.matching(filter.clone(), 0, i64::MAX, 100).await.unwrap();
    let matching: Vec<&str> = matching.iter().rev().map(|(_, id)| id.as_str()).collect();
    assert_eq!(matching, expected, "{filter:?}");
}

pub(super) async fn every_filter_finds_its_jobs(rig: Rig) {
    one_of_each(&rig).await;
    let any = JobFilter::default;
    let all = [
        "pending",
        "scheduled",
        "assigned",
        "running",
        "retrying",
        "lost",
        "expired",
        "cancelled",
        "dead",
        "completed",
    ];
    check(&rig, any(), &all).await;
    let by_status: [(Status, &[&str]); 6] = [
        (Status::Pending, &["pending", "scheduled", "retrying"]),
        (Status::Assigned, &["assigned"]),
        (Status::Running, &["running"]),
        (Status::Completed, &["completed"]),
        (Status::Failed, &["expired", "cancelled"]),
        (Status::Quarantined, &["lost", "dead"]),
    ];
    for (status, expected) in by_status {
        check(&rig, JobFilter { status: Some(status), ..any() }, expected).await;
    }
    let by_view: [(View, &[&str]); 5] = [
        (View::Scheduled, &["scheduled"]),
        (View::Retrying, &["retrying"]),
        (View::Blocked, &[]),
        (View::Dead, &["lost", "dead"]),
        (View::Cancelled, &["cancelled"]),
    ];
    for (view, expected) in by_view {
        check(&rig, JobFilter { view: Some(view), ..any() }, expected).await;
    }
    let dead_and_pending = JobFilter { view: Some(View::Dead), status: Some(Status::Pending), ..any() };
    check(&rig, dead_and_pending, &[]).await;
    check(&rig, JobFilter { kind: Some(job_type("other")), ..any() }, &["assigned"]).await;
    check(&rig, JobFilter { queue: Some(queue("ns/a")), ..any() }, &["pending"]).await;
    check(&rig, JobFilter { tag: Some("red".to_owned()), ..any() }, &["pending", "scheduled"]).await;
    check(&rig, JobFilter { tag: Some("re".to_owned()), ..any() }, &[]).await;
    // A worker's jobs are those that show its name; a lease that ran out shows none.
    check(&rig, JobFilter { worker_id: Some(worker_id("w1")), ..any() }, &["completed"]).await;
    check(&rig, JobFilter { worker_id: Some(worker_id("w2")), ..any() }, &["running"]).await;
    let dead = rig.see("dead").await.created_at;
    check(&rig, JobFilter { until: Some(dead), ..any() }, &["completed"]).await;
    let around = JobFilter { since: Some(dead), until: Some(dead + 1), ..any() };
    check(&rig, around, &["dead"]).await;
    let both = JobFilter { tag: Some("red".to_owned()), status: Some(Status::Pending), ..any() };
    check(&rig, JobFilter { queue: Some(queue("ns/a")), ..both }, &["pending"]).await;
}

pub(super) async fn text_is_searched_in_ids_types_tags_and_reasons(rig: Rig) {
    rig.add(vec![
        tagged("abc-1", &["say \"hi\"", "größe"]),
        NewJob { kind: job_type("render.image"), ..new_job("xyz") },
        new_job("xabc"),
    ])
    .await;
    let taken = rig.take(rig.claim_of("w", 3)).await;
    rig.report(&taken[2], failed("Disk 100% full")).await.unwrap();
    let cases: [(&str, &[&str]); 10] = [
        ("abc", &["abc-1"]),
        ("er.im", &["xyz"]),
        ("100% f", &["xabc"]),
        ("say \"h", &["abc-1"]),
        ("größ", &["abc-1"]),
        ("_bc", &[]),
        ("%", &["xabc"]),
        ("[", &[]),
        (",", &[]),
        ("' OR 1 --", &[]),
    ];
    for (q, expected) in cases {
        check(&rig, JobFilter { q: Some(q.to_owned()), ..JobFilter::default() }, expected).await;
    }
}

pub(super) async fn pages_by_cursor_and_by_offset_cover_everything_once(rig: Rig) {
    let ids: Vec<String> = (0..25).map(|n| format!("job-{n:02}")).collect();
    rig.add_ids(&ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let newest_first: Vec<&str> = ids.iter().rev().map(String::as_str).collect();
    let (mut by_cursor, mut by_offset) = (Vec::new(), Vec::new());
    let mut after = None;
    loop {
        let found = rig.jobs(JobFilter::default(), Page { after, ..page(&rig, 10) }).await.unwrap();
        by_cursor.extend(found.jobs.into_iter().map(|job| job.id.to_string()));
        // What is added meanwhile does not move the pages.
        rig.add(vec![NewJob { id: None, ..new_job("unused") }]).await;
        after = found.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(by_cursor, newest_first);
    let only = JobFilter { q: Some("job-".to_owned()), ..JobFilter::default() };
    for offset in [0, 10, 20, 30] {
        let found = rig.jobs(only.clone(), Page { offset, ..page(&rig, 10) }).await.unwrap();
        assert_eq!(found.next.is_some(), offset < 15, "{offset}");
        by_offset.extend(found.jobs.into_iter().map(|job| job.id.to_string()));
    }
    assert_eq!(by_offset, newest_first);
}

pub(super) async fn waiting_jobs_are_listed_by_when_they_are_due(rig: Rig) {
    let now = rig.now();
    // Two at the same time, and none in the order in which they were added.
    let due = [50, 10, 30, 10, 40, 20, 90, 70];
    let later = |n: usize, minutes: i64| NewJob {
        due: Due::At(now + minutes * 60_000),
        queue: queue(if n < 6 { "a" } else { "b" }),
        ..new_job(&format!("job-{n}"))
    };
    rig.add(due.iter().enumerate().map(|(n, minutes)| later(n, *minutes)).collect()).await;
    rig.add_ids(&["due"]).await;
    let taken = rig.take_one("w").await;
    rig.report(&taken, failed("broke")).await.unwrap();
    let scheduled = JobFilter { view: Some(View::Scheduled), ..JobFilter::default() };
    let soonest = |filter: JobFilter| {
        let rig = &rig;
        async move {
            let (mut ids, mut after) = (Vec::new(), None);
            loop {
                let next = Page { order: Order::SoonestFirst, after, ..page(rig, 3) };
                let found = rig.jobs(filter.clone(), next).await.unwrap();
                ids.extend(found.jobs.into_iter().map(|job| job.id.to_string()));
                after = found.next;
                if after.is_none() {
                    return ids.join(" ");
                }
            }
        }
    };
    assert_eq!(
        soonest(scheduled.clone()).await,
        "job-1 job-3 job-5 job-2 job-4 job-0 job-7 job-6",
        "in pages of three, those of the same time apart"
    );
    let in_b = JobFilter { queue: Some(queue("b")), ..scheduled };
    assert_eq!(soonest(in_b).await, "job-7 job-6");
    let retrying = JobFilter { view: Some(View::Retrying), ..JobFilter::default() };
    assert_eq!(soonest(retrying).await, "due");
}

pub(super) async fn a_rare_status_is_found_among_many_jobs(rig: Rig) {
    let ids: Vec<String> = (0..300).map(|n| format!("job-{n:03}")).collect();
    rig.add_ids(&ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for job in rig.take(rig.claim_of("w", 298)).await {
        rig.report(&job, completed("1")).await.unwrap();
    }
    let taken = rig.take_one("w2").await;
    let status = |status| JobFilter { status: Some(status), ..JobFilter::default() };
    check(&rig, status(Status::Assigned), &["job-298"]).await;
    check(&rig, status(Status::Pending), &["job-299"]).await;
    rig.report(&taken, failed("broke")).await.unwrap();
    let retrying = JobFilter { view: Some(View::Retrying), ..JobFilter::default() };
    check(&rig, retrying, &["job-298"]).await;
    rig.act("job-298", Action::Kill).await.unwrap();
    check(&rig, status(Status::Quarantined), &["job-298"]).await;
}

pub(super) async fn a_page_ends_early_when_it_grows_too_large(rig: Rig) {
    let params: Arc<str> = format!("\"{}\"", "x".repeat(1 << 20)).into();
    for n in 0..12 {
        let spec = Spec { params: params.clone(), ..Spec::default() };
        rig.add(vec![NewJob { spec, ..new_job(&format!("job-{n:02}")) }]).await;
    }
    let (mut after, mut pages) = (None, Vec::new());
    loop {
        let found = rig.jobs(JobFilter::default(), Page { after, ..page(&rig, 100) }).await.unwrap();
        pages.push(found.jobs.len());
        after = found.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(pages.iter().sum::<usize>(), 12);
    assert!(pages.len() > 1 && pages.iter().all(|jobs| *jobs <= 9), "{pages:?}");
}

pub(super) async fn bulk_work_finds_matching_jobs_oldest_first(rig: Rig) {
    rig.add_ids(&["a", "b", "c", "d"]).await;
    rig.act("b", Action::Kill).await.unwrap();
    let pending = JobFilter { status: Some(Status::Pending), ..JobFilter::default() };
    let upto = rig.last_job().await.unwrap();
    rig.add_ids(&["too-late"]).await;
    let ids = |found: Vec<(i64, forge_shared::JobId)>| -> Vec<String> {
        found.into_iter().map(|(_, id)| id.to_string()).collect()
    };
    let first = rig.matching(pending.clone(), 0, upto, 2).await.unwrap();
    let after = first.last().unwrap().0;
    assert_eq!(ids(first), ["a", "c"]);
    assert_eq!(ids(rig.matching(pending, after, upto, 2).await.unwrap()), ["d"]);
}

pub(super) async fn counters_equal_a_recount(mut rig: Rig) {
    one_of_each(&rig).await;
    rig.act("pending", Action::Patch { priority: None, run_at: None, queue: Some(queue("moved")) })
        .await
        .unwrap();
    rig.act("dead", Action::Delete).await.unwrap();
    for _ in 0..2 {
        let mut recount: BTreeMap<(QueueName, JobType, Status), u64> = BTreeMap::new();
        for job in rig.jobs(JobFilter::default(), page(&rig, 100)).await.unwrap().jobs {
            *recount.entry((job.queue, job.kind, job.status)).or_default() += 1;
        }
        let counts = rig.counts().await.unwrap().into_iter();
        let counts = counts.map(|JobCount { queue, kind, status, n }| ((queue, kind, status), n));
        assert_eq!(counts.collect::<BTreeMap<_, _>>(), recount);
        rig.reopen().await;
    }
}

pub(super) async fn live_jobs_are_listed_by_number_and_by_worker(rig: Rig) {
    rig.add_ids(&["a", "b", "c", "d"]).await;
    let first = rig.take(rig.claim_of("w1", 2)).await;
    rig.done(beat(&first[1])).await;
    rig.take_one("w2").await;
    let by_worker = BTreeMap::from([(worker_id("w1"), 2), (worker_id("w2"), 1)]);
    assert_eq!(rig.live_jobs_by_worker().await.unwrap(), by_worker);
    assert_eq!(rig.live_jobs(0, 2).await.unwrap(), [1, 2]);
    assert_eq!(rig.live_jobs(2, 2).await.unwrap(), [3]);
    let seqs = first.iter().map(|job| job.seq).chain([99]).collect();
    let jobs = rig.jobs_by_seq(seqs).await.unwrap();
    assert_eq!(jobs.iter().map(|job| job.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

pub(super) async fn unknown_jobs_are_not_found(rig: Rig) {
    let id = job_id("nothing");
    assert!(rig.job(&id).await.unwrap().is_none());
    assert!(rig.attempts(&id).await.unwrap().is_none());
    assert_eq!(rig.last_job().await.unwrap(), 0);
    let unknown = forge_engine::Refusal::UnknownJob;
    assert_eq!(rig.act("nothing", Action::Retry).await, Err(unknown.clone()));
    let by = forge_engine::command::Holder { worker: worker_id("w"), lease: None };
    assert_eq!(rig.refused(Command::Release { job: id, holder: by }).await, unknown);
}
