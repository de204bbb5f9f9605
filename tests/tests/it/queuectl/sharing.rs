//! Many processes on one `queue.db`.

use forge_tests::queuectl::Queue;
use serde_json::json;
use std::{collections::BTreeSet, fs};

#[test]
fn each_of_ten_thousand_jobs_runs_exactly_once() {
    const PROCESSES: usize = 8;
    const JOBS_EACH: usize = 1_250;
    let queue = Queue::in_memory();
    queue.start(PROCESSES);
    let adding = |process: usize| {
        let line = |n| {
            let id = format!("p{process}-{n}");
            json!({"id": id, "command": format!("echo {id} >> runs")}).to_string()
        };
        let lines: Vec<String> = (0..JOBS_EACH).map(line).collect();
        // Some one by one, as people do, and the rest in one go.
        let (single, rest) = lines.split_at(10);
        let mut said: Vec<_> = single.iter().map(|job| queue.run(&["enqueue", job])).collect();
        said.push(queue.run_with(&["enqueue", "-"], &rest.join("\n")));
        said
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..PROCESSES).map(|process| scope.spawn(move || adding(process))).collect();
        for said in threads.into_iter().flat_map(|thread| thread.join().expect("it ends")) {
            assert_eq!((said.code, said.stderr.as_str()), (0, ""));
        }
    });
    let all = PROCESSES * JOBS_EACH;
    queue.until_all_completed(all as u64);
    let runs = queue.lines("runs");
    assert_eq!(runs.len(), all, "each ran exactly once");
    assert_eq!(runs.into_iter().collect::<BTreeSet<_>>().len(), all);
    let trouble = fs::read_to_string(queue.path("queuectl_runtime/workers.log")).expect("a log");
    assert_eq!(trouble, "", "nobody had to hear of a locked database");
}
