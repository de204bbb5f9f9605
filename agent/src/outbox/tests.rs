use super::*;
use forge_shared::WorkerId;
use serde_json::value::RawValue;
use std::{os::unix::fs::PermissionsExt, process::Command as Program};
use tempfile::TempDir;

fn report(number: usize) -> Outcome {
    report_of(number, &"x".repeat(number % 7))
}

fn report_of(number: usize, text: &str) -> Outcome {
    Outcome::Report(Report {
        job_id: JobId::new(format!("job-{number}")).unwrap(),
        worker_id: WorkerId::new("w").unwrap(),
        lease_id: Some(LeaseId::new(format!("lease-{number}")).unwrap()),
        result: Some(RawValue::from_string(format!("{{\"n\":{number},\"text\":\"{text}\"}}")).unwrap()),
        result_hash: None,
        idempotency_key: None,
        reason: None,
        kind: Default::default(),
        permanent: false,
        retry_in_ms: None,
        error_class: None,
        backtrace: None,
        usage: None,
    })
}

fn jobs(outbox: &Outbox) -> Vec<String> {
    outbox.pending().iter().map(|(_, outcome)| outcome.job_id().to_string()).collect()
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == extension))
        .collect();
    found.sort();
    found
}

fn damaged(dir: &Path) -> Vec<Vec<u8>> {
    files(dir, "damaged").iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Puts reports 1 to `count` one after the other; answers where each starts, and the end.
async fn fill(dir: &Path, count: usize) -> Vec<usize> {
    let outbox = Outbox::open(dir).unwrap();
    let mut ends = vec![0];
    for number in 1..=count {
        outbox.put(report(number), false).await.unwrap();
        ends.push(fs::metadata(segment_path(dir, 1)).unwrap().len() as usize);
    }
    ends
}

#[tokio::test]
async fn outcomes_survive_a_restart_in_their_order() {
    let dir = TempDir::new().unwrap();
    let outbox = Outbox::open(dir.path()).unwrap();
    outbox.put(report(1), false).await.unwrap();
    let release =
        Outcome::Release { job_id: JobId::new("job-2").unwrap(), lease_id: LeaseId::new("lease-2").unwrap() };
    outbox.put(release, false).await.unwrap();
    outbox.put(report_of(3, &"r".repeat(9 << 20)), false).await.unwrap();
    let before = serde_json::to_string(&*outbox.pending()[2].1).unwrap();
    drop(outbox);

    let outbox = Outbox::open(dir.path()).unwrap();
    assert_eq!(jobs(&outbox), ["job-1", "job-2", "job-3"]);
    assert!(serde_json::to_string(&*outbox.pending()[2].1).unwrap() == before);
    let leases: Vec<_> = outbox.leases().iter().map(ToString::to_string).collect();
    assert_eq!(leases, ["lease-1", "lease-2", "lease-3"]);
    outbox.changed().await;

    outbox.put(report(4), false).await.unwrap();
    drop(outbox);
    let outbox = Outbox::open(dir.path()).unwrap();
    assert_eq!(jobs(&outbox), ["job-1", "job-2", "job-3", "job-4"]);
}

#[tokio::test]
async fn removed_outcomes_do_not_come_back() {
    let dir = TempDir::new().unwrap();
    fill(dir.path(), 4).await;
    let outbox = Outbox::open(dir.path()).unwrap();
    outbox.put(report(5), false).await.unwrap();
    let ids: Vec<_> = outbox.pending().iter().map(|(id, _)| *id).collect();
    outbox.remove(&[ids[1]]).await;
    outbox.remove(&[ids[1]]).await;
    outbox.remove(&[ids[4]]).await;
    assert_eq!(jobs(&outbox), ["job-1", "job-3", "job-4"]);
    drop(outbox);

    let outbox = Outbox::open(dir.path()).unwrap();
    assert_eq!(jobs(&outbox), ["job-1", "job-3", "job-4"]);
    for (id, _) in outbox.pending() {
        outbox.remove(&[id]).await;
    }
    assert!(outbox.is_empty());
    drop(outbox);
    assert!(Outbox::open(dir.path()).unwrap().is_empty());
    assert_eq!(files(dir.path(), "outcomes"), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn space_of_sent_outcomes_is_given_back() {
    let dir = TempDir::new().unwrap();
    let outbox = Outbox::open(dir.path()).unwrap();
    let kept = outbox.put(report(0), false).await.unwrap();
    for number in 1..=6 {
        let id = outbox.put(report_of(number, &"r".repeat(8 << 20)), false).await.unwrap();
        outbox.remove(&[id]).await;
    }
    // The first segment holds what is kept; of the later ones only the last may be left.
    assert!(files(dir.path(), "outcomes").len() <= 2);
    outbox.remove(&[kept]).await;
    let bytes: u64 = files(dir.path(), "outcomes").iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!(bytes < 1 << 20, "{bytes} bytes are left");
}

#[tokio::test]
async fn torn_tail_loses_only_the_entry_that_was_being_written() {
    let dir = TempDir::new().unwrap();
    let starts = fill(dir.path(), 3).await;
    let whole = fs::read(segment_path(dir.path(), 1)).unwrap();
    for cut in starts[2]..starts[3] {
        let torn = TempDir::new().unwrap();
        fs::write(segment_path(torn.path(), 1), &whole[..cut]).unwrap();
        let outbox = Outbox::open(torn.path()).unwrap();
        assert_eq!(jobs(&outbox), ["job-1", "job-2"], "cut at {cut}");
        outbox.put(report(9), false).await.unwrap();
        drop(outbox);

        let expected: Vec<_> =
            [&whole[starts[2]..cut]].into_iter().filter(|it| !it.is_empty()).map(<[u8]>::to_vec).collect();
        assert_eq!(damaged(torn.path()), expected, "cut at {cut}");
        let outbox = Outbox::open(torn.path()).unwrap();
        assert_eq!(jobs(&outbox), ["job-1", "job-2", "job-9"], "cut at {cut}");
        assert_eq!(damaged(torn.path()), expected, "set aside once, cut at {cut}");
    }
}

#[tokio::test]
async fn damage_in_the_middle_is_set_aside_and_the_rest_is_kept() {
    let dir = TempDir::new().unwrap();
    let starts = fill(dir.path(), 3).await;
    let whole = fs::read(segment_path(dir.path(), 1)).unwrap();
    for at in starts[1]..starts[2] {
        if at == starts[1] + record::STATE {
            continue;
        }
        let broken = TempDir::new().unwrap();
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        fs::write(segment_path(broken.path(), 1), &bytes).unwrap();
        for _ in 0..2 {
            let outbox = Outbox::open(broken.path()).unwrap();
            assert_eq!(jobs(&outbox), ["job-1", "job-3"], "damaged at {at}");
            assert_eq!(damaged(broken.path()), [&bytes[starts[1]..starts[2]]], "damaged at {at}");
        }
        let outbox = Outbox::open(broken.path()).unwrap();
        for (id, _) in outbox.pending() {
            outbox.remove(&[id]).await;
        }
        drop(outbox);
        assert!(Outbox::open(broken.path()).unwrap().is_empty());
        assert_eq!(damaged(broken.path()).len(), 1, "what was set aside stays");
    }
}

#[tokio::test]
async fn foreign_and_empty_files_are_left_alone() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("notes.txt"), "hello").unwrap();
    fs::write(segment_path(dir.path(), 7), "").unwrap();
    let outbox = Outbox::open(dir.path()).unwrap();
    outbox.put(report(1), false).await.unwrap();
    assert_eq!(files(dir.path(), "outcomes"), [segment_path(dir.path(), 8)]);
    assert!(dir.path().join("notes.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_puts_are_all_kept() {
    let dir = TempDir::new().unwrap();
    let outbox = Outbox::open(dir.path()).unwrap();
    let puts: Vec<_> = (0..64)
        .map(|number| {
            let outbox = outbox.clone();
            tokio::spawn(async move { outbox.put(report(number), false).await.unwrap() })
        })
        .collect();
    let mut ids = Vec::new();
    for put in puts {
        ids.push(put.await.unwrap());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 64);
    assert_eq!(outbox.len(), 64);
    drop(outbox);

    let mut kept = jobs(&Outbox::open(dir.path()).unwrap());
    kept.sort_by_key(|job| job[4..].parse::<usize>().unwrap());
    assert_eq!(kept, (0..64).map(|number| format!("job-{number}")).collect::<Vec<_>>());
}

#[tokio::test]
async fn putting_wakes_whoever_waits_for_it() {
    let dir = TempDir::new().unwrap();
    let outbox = Outbox::open(dir.path()).unwrap();
    let waiting = tokio::spawn({
        let outbox = outbox.clone();
        async move {
            outbox.changed().await;
            outbox.len()
        }
    });
    outbox.put(report(1), false).await.unwrap();
    assert_eq!(waiting.await.unwrap(), 1);
}

#[tokio::test]
async fn put_that_expects_others_is_kept_with_and_without_them() {
    let dir = TempDir::new().unwrap();
    let outbox = Outbox::open(dir.path()).unwrap();
    let (first, second) = tokio::join!(outbox.put(report(1), true), outbox.put(report(2), false));
    first.and(second).unwrap();
    outbox.put(report(3), true).await.unwrap();
    drop(outbox);
    assert_eq!(jobs(&Outbox::open(dir.path()).unwrap()), ["job-1", "job-2", "job-3"]);
}

#[tokio::test]
async fn put_that_nobody_waits_for_is_kept() {
    let dir = TempDir::new().unwrap();
    let outbox = Outbox::open(dir.path()).unwrap();
    {
        let put = std::pin::pin!(outbox.put(report(1), false));
        assert!(futures_util::poll!(put).is_pending());
    }
    drop(outbox);
    assert_eq!(jobs(&Outbox::open(dir.path()).unwrap()), ["job-1"]);
}

#[tokio::test]
async fn two_agents_cannot_share_an_outbox() {
    let dir = TempDir::new().unwrap();
    let first = Outbox::open(dir.path()).unwrap();
    let refusal = Outbox::open(dir.path()).err().unwrap().to_string();
    assert!(refusal.contains("another agent uses the outbox"), "{refusal}");
    drop(first);
    Outbox::open(dir.path()).unwrap();
}

#[tokio::test]
async fn only_the_owner_can_read_what_is_kept() {
    let dir = TempDir::new().unwrap();
    let inside = dir.path().join("deep/outbox");
    fill(&inside, 2).await;
    let mut cut = fs::read(segment_path(&inside, 1)).unwrap();
    cut.pop();
    fs::write(segment_path(&inside, 1), cut).unwrap();
    drop(Outbox::open(&inside).unwrap());

    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inside), 0o700);
    assert_eq!(files(&inside, "damaged").len(), 1);
    for entry in fs::read_dir(&inside).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
#[ignore = "prints what keeping outcomes costs"]
fn cost_of_putting() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let dir = TempDir::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let outbox = Outbox::open(dir.path()).unwrap();
    for (senders, each) in [(1, 200), (64, 100), (500, 20)] {
        let start = std::time::Instant::now();
        runtime.block_on(async {
            let puts = (0..senders).map(|_| {
                let outbox = outbox.clone();
                tokio::spawn(async move {
                    for number in 0..each {
                        let id = outbox.put(report(number), false).await.unwrap();
                        outbox.remove(&[id]).await;
                    }
                })
            });
            futures_util::future::join_all(puts).await;
        });
        let rate = f64::from(senders) * each as f64 / start.elapsed().as_secs_f64();
        println!("{senders} at once: {rate:.0} outcomes a second");
    }
}

struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let dir = TempDir::new().unwrap();
        let mounted = Program::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(dir.path())
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        mounted.then_some(Self(dir))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Program::new("umount").arg(self.0.path()).status();
        assert!(unmounted.unwrap().success());
    }
}

#[tokio::test]
async fn full_disk_is_said_and_harms_nothing() {
    let Some(disk) = SmallDisk::mount("1m") else {
        println!("SKIPPED: mounting a small file system is not allowed here");
        return;
    };
    let dir = disk.0.path().join("outbox");
    let outbox = Outbox::open(&dir).unwrap();
    outbox.put(report(1), false).await.unwrap();
    let kept = outbox.put(report_of(2, &"a".repeat(300 << 10)), false).await.unwrap();
    let error = outbox.put(report_of(3, &"b".repeat(900 << 10)), false).await.unwrap_err();
    assert!(matches!(error, OutboxError::Full { .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains(dir.to_str().unwrap()) && said.contains("free some space"), "{said}");
    assert_eq!(jobs(&outbox), ["job-1", "job-2"]);

    let ballast = disk.0.path().join("ballast");
    let mut filler = File::create(&ballast).unwrap();
    while filler.write(&[0; 4096]).is_ok_and(|written| written > 0) {}
    let small = outbox.put(report_of(4, &"c".repeat(8 << 10)), false).await;
    assert!(matches!(small, Err(OutboxError::Full { .. })));
    outbox.remove(&[kept]).await;

    fs::remove_file(&ballast).unwrap();
    drop(filler);
    outbox.put(report_of(5, &"d".repeat(8 << 10)), false).await.unwrap();
    drop(outbox);
    let outbox = Outbox::open(&dir).unwrap();
    assert_eq!(jobs(&outbox), ["job-1", "job-5"]);
    assert_eq!(damaged(&dir), Vec::<Vec<u8>>::new());
}
