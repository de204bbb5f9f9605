//! Thousands of sequences of commands on the real store, with restarts and steps of the clocks
//! between them, compared step by step with a naive model ([`world::World`]).
//!
//! Many sequences share a database and go in rounds, one to three commands each, so that the
//! store decides them in batches; a sequence has its own jobs, queues and workers. Set
//! `MODEL_SEQUENCES` for more or fewer of them, and `MODEL_SEED` to run one database again.

mod host;
mod job;
mod ops;
mod world;

use host::Host;
use std::sync::atomic::{AtomicUsize, Ordering};

const SEQUENCES: usize = 3_000;
const OPERATIONS: usize = 100;
/// Sequences that go side by side.
const ABREAST: usize = 25;
/// Sequences on one database.
const PER_DATABASE: usize = 100;
const THREADS: usize = 2;

fn setting(name: &str) -> Option<usize> {
    std::env::var(name).ok().map(|text| text.parse().expect("a whole number"))
}

fn run_database(seed: usize, sequences: usize) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut host = Host::new(seed).await;
        let mut left = sequences;
        while left > 0 {
            let abreast = left.min(ABREAST);
            host.run(abreast, OPERATIONS).await;
            left -= abreast;
        }
        host.finish().await
    })
}

#[test]
fn the_store_keeps_its_promises_in_every_sequence() {
    if let Some(seed) = setting("MODEL_SEED") {
        run_database(seed, PER_DATABASE);
        return;
    }
    let sequences = setting("MODEL_SEQUENCES").unwrap_or(SEQUENCES);
    let databases = sequences.div_ceil(PER_DATABASE);
    let (next, operations) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= databases {
                        return;
                    }
                    let here = PER_DATABASE.min(sequences - seed * PER_DATABASE);
                    operations.fetch_add(run_database(seed, here), Ordering::Relaxed);
                }
            });
        }
    });
    let operations = operations.into_inner();
    assert!(operations >= sequences * OPERATIONS, "only {operations} operations were done");
    println!("{sequences} sequences, {operations} operations");
}
