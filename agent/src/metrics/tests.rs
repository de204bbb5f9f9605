use super::*;
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::mpsc;

fn snapshot(timestamp: i64) -> Snapshot {
    Snapshot {
        timestamp,
        cpu: 0.0,
        cpu_cores: Vec::new(),
        memory: Memory { percent: 0.0, used: 0.0, total: 0.0 },
        disk: DiskRate { read: 0.0, write: 0.0 },
        network: NetworkRate { rx: 0.0, tx: 0.0 },
        load: Load { avg1: 0.0, avg5: 0.0, avg15: 0.0 },
        gpus: None,
    }
}

fn timestamps(batch: &[Snapshot]) -> Vec<i64> {
    batch.iter().map(|snapshot| snapshot.timestamp).collect()
}

#[test]
fn measurements_of_this_machine_are_in_range() {
    let mut meter = Meter::new();
    for _ in 0..3 {
        let snapshot = meter.measure();
        assert!(snapshot.timestamp > 1_600_000_000_000);
        assert!(!snapshot.cpu_cores.is_empty());
        for share in snapshot.cpu_cores.iter().chain([&snapshot.cpu, &snapshot.memory.percent]) {
            assert!((0.0..=100.0).contains(share), "{share}");
        }
        assert!(snapshot.memory.used > 0.0 && snapshot.memory.used <= snapshot.memory.total);
        let (disk, network, load) = (&snapshot.disk, &snapshot.network, &snapshot.load);
        for rate in [disk.read, disk.write, network.rx, network.tx, load.avg1, load.avg5, load.avg15] {
            assert!(rate.is_finite() && rate >= 0.0, "{rate}");
        }
        assert_ne!(snapshot.gpus, Some(Vec::new()));
    }
}

#[test]
fn machine_is_described() {
    let machine = Machine::detect();
    assert!(machine.cores >= 1 && machine.ram_gb > 0.0, "{machine:?}");
    assert_eq!((machine.os.as_str(), machine.arch.as_str()), (std::env::consts::OS, std::env::consts::ARCH));
    assert!(!machine.hostname.is_empty());
}

#[test]
fn own_memory_is_known_on_linux() {
    assert_eq!(own_rss_kb().is_some_and(|rss| rss > 0), cfg!(target_os = "linux"));
}

#[test]
fn rates_are_differences_over_time_and_never_negative() {
    let start = Instant::now();
    let mib = |read: u64, written: u64, received: u64, sent: u64| Totals {
        read: read << 20,
        written: written << 20,
        received: received << 20,
        sent: sent << 20,
    };
    let last = Counted { at: start, totals: mib(1, 10, 100, 1_000) };
    let now = Counted { at: start + Duration::from_secs(2), totals: mib(2, 14, 50, 1_000) };
    let (disk, network) = rates(last, now);
    assert_eq!(disk, DiskRate { read: 0.5, write: 2.0 });
    assert_eq!(network, NetworkRate { rx: 0.0, tx: 0.0 });
    assert_eq!(rates(last, last).0, DiskRate { read: 0.0, write: 0.0 });
}

#[cfg(target_os = "linux")]
#[test]
fn only_hardware_is_counted() {
    let disks = "\
 254       0 vda 10 1 100 5 20 2 200 9 0 7 8 0 0 0 0 0 0
 254       1 vda1 10 1 100 5 20 2 200 9 0 7 8 0 0 0 0 0 0
 253       0 dm-0 10 1 100 5 20 2 200 9 0 7 8
   8       0 sda 1 0 3 0 1 0 4 0 0 0 0
   8      16 sdb
";
    let physical = |name: &str| ["vda", "sda", "eth0"].contains(&name);
    assert_eq!(counters::linux::sum_disks(disks, physical), (103 * 512, 204 * 512));

    let interfaces = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop
    lo: 5000 1 0 0 0 0 0 0 5000 1 0 0 0 0 0 0
  eth0:404 14774 0 0 0 0 0 0 763 8881 0 0 0 0 0 0
 veth1: 10 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0
";
    assert_eq!(counters::linux::sum_interfaces(interfaces, physical), (404, 763));
    assert_eq!(counters::linux::sum_interfaces(interfaces, |_| false), (414, 783), "as in a container");
    assert_eq!(counters::linux::sum_interfaces("", physical), (0, 0));
}

#[test]
fn backlog_keeps_the_newest_in_order() {
    let mut backlog = Backlog::default();
    for timestamp in 0..200 {
        backlog.push(snapshot(timestamp));
    }
    let batch = backlog.take_batch();
    assert_eq!(timestamps(&batch), (20..200).collect::<Vec<_>>());
    assert!(backlog.is_empty());

    backlog.push(snapshot(200));
    backlog.push(snapshot(201));
    backlog.put_back(batch);
    assert_eq!(backlog.len(), BACKLOG_MAX);
    assert_eq!(timestamps(&backlog.take_batch()), (22..202).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_the_hub_missed_is_sent_with_the_next_snapshot() {
    let (batches, mut sent) = mpsc::unbounded_channel();
    let stop = CancellationToken::new();
    let calls = Arc::new(AtomicUsize::new(0));
    let send = {
        let calls = Arc::clone(&calls);
        async move |batch: Vec<Snapshot>| {
            batches.send(batch).unwrap();
            calls.fetch_add(1, Ordering::Relaxed) >= 2
        }
    };
    let pushing = tokio::spawn(push_loop(Meter::new(), Duration::from_millis(5), send, stop.clone()));
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(sent.recv().await.unwrap());
    }
    stop.cancel();
    pushing.await.unwrap();

    assert_eq!(seen[0].len(), 1);
    assert_eq!(seen[1][..seen[0].len()], seen[0]);
    assert_eq!(seen[2][..seen[1].len()], seen[1]);
    assert!(seen[2].len() >= 3);
    assert!(!seen[2].contains(&seen[3][0]), "delivered once");
}

#[tokio::test]
async fn measuring_goes_on_while_a_send_hangs() {
    let (batches, mut sent) = mpsc::unbounded_channel();
    let stop = CancellationToken::new();
    let release = Arc::new(tokio::sync::Notify::new());
    let send = {
        let release = Arc::clone(&release);
        async move |batch: Vec<Snapshot>| {
            let first = batches.send(batch).is_ok();
            release.notified().await;
            first
        }
    };
    let pushing = tokio::spawn(push_loop(Meter::new(), Duration::from_millis(2), send, stop.clone()));
    assert_eq!(sent.recv().await.unwrap().len(), 1);
    let mut ticks = tokio::time::interval(Duration::from_millis(2));
    for _ in 0..20 {
        ticks.tick().await;
    }
    release.notify_one();
    assert!(sent.recv().await.unwrap().len() > 1);
    stop.cancel();
    pushing.await.unwrap();
}

#[test]
#[ignore = "prints what measuring costs"]
fn cost_of_measuring() {
    const ROUNDS: i64 = 200;
    let mut meter = Meter::new();
    let cpu_us = || {
        let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
        let time = usage.user_time() + usage.system_time();
        time.num_microseconds()
    };
    let start = cpu_us();
    for _ in 0..ROUNDS {
        std::hint::black_box(meter.measure());
    }
    println!("{} us of CPU time each; {:?} kB resident", (cpu_us() - start) / ROUNDS, own_rss_kb());
}
