//! A slot and its supervisor, on real processes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use bytes::Bytes;
use forge_agent::runner::{Ended, Finished, Run, Settings, Slot};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const DEADLINE: Duration = Duration::from_secs(30);
/// Lets two processes get away, both deaf to SIGTERM: an orphan in a session of its own, whose pid goes to the
/// file $1, and a session with a child, whose leader's pid goes to $1.2.
const ESCAPE: &str = r#"
    export FILE="$1"
    setsid sh -c 'trap "" TERM HUP; sh -c "echo \$\$ > \$FILE.new; mv \$FILE.new \$FILE; exec sleep 600" &' &
    setsid sh -c 'trap "" TERM HUP; echo $$ > $FILE.2.new; mv $FILE.2.new $FILE.2; sleep 600; sleep 600' &
    while ! [ -e "$1" ] || ! [ -e "$1.2" ]; do sleep 0.01; done
"#;

struct Bench {
    root: TempDir,
    settings: Settings,
}

impl Bench {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let settings =
            Settings { grace: Duration::from_millis(300), ..Settings::new(root.path().join("work")) };
        Self { root, settings }
    }

    async fn slot(&self) -> Slot {
        let program = Path::new(env!("CARGO_BIN_EXE_forge-agent"));
        Slot::start_with(program, self.settings.clone()).await.expect("a supervisor")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn job_folder(&self) -> PathBuf {
        self.settings.work_root.join("job")
    }

    /// Runs one job in a slot of its own; gives back how it ended and its log.
    async fn run(&self, run: Run) -> (Finished, Vec<u8>) {
        let mut slot = self.slot().await;
        let (to, from) = mpsc::channel(1024);
        let finished = run_in(&mut slot, run, to).await;
        slot.close().await;
        (finished, collect(from).await)
    }

    async fn shell(&self, script: &str) -> (Finished, Vec<u8>) {
        self.run(shell(script)).await
    }
}

fn shell(script: &str) -> Run {
    program(&["/bin/sh", "-c", script, "sh"])
}

fn program(argv: &[&str]) -> Run {
    Run {
        argv: argv.iter().map(OsString::from).collect(),
        params: None,
        env: Vec::new(),
        name: "job".into(),
        memory_max: None,
        max_runtime: None,
        work_dir: None,
    }
}

async fn run_in(slot: &mut Slot, run: Run, log: mpsc::Sender<Bytes>) -> Finished {
    let never = CancellationToken::new();
    let running = slot.run(run, log, &never);
    tokio::time::timeout(DEADLINE, running).await.expect("an end in time").expect("a living supervisor")
}

async fn collect(mut from: mpsc::Receiver<Bytes>) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(text) = from.recv().await {
        all.extend_from_slice(&text);
    }
    all
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let give_up = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < give_up, "{what}: not in time");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A pid and when its process started, so that a later process of that pid is not taken for it.
#[derive(Clone, Debug)]
struct Watched(u32, String);

impl Watched {
    fn new(pid: u32) -> Self {
        Self(pid, start_time(pid).expect("it runs"))
    }

    fn lives(&self) -> bool {
        start_time(self.0).is_some_and(|time| time == self.1)
    }
}

fn start_time(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?;
    (state != "Z").then(|| fields.nth(18).map(str::to_owned)).flatten()
}

fn read_pid(file: &Path) -> Option<u32> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Starts a job that has let two processes escape and then does `then`; gives them back with the slot's stop
/// and the task that runs the job.
async fn with_escaped(
    bench: &Bench,
    then: &str,
) -> (Vec<Watched>, CancellationToken, tokio::task::JoinHandle<(Finished, Slot)>) {
    let pid_file = bench.path("escaped");
    let mut run =
        shell(&format!("{ESCAPE} echo ready >&2; while ! [ -e \"$1.go\" ]; do sleep 0.01; done; {then}"));
    run.argv.push(pid_file.clone().into());
    let mut slot = bench.slot().await;
    let (to, mut from) = mpsc::channel(16);
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { (slot.run(run, to, &stop).await.expect("a living supervisor"), slot) }
    });
    let ready = tokio::time::timeout(DEADLINE, from.recv()).await.expect("ready in time");
    assert_eq!(ready.as_deref(), Some(&b"ready\n"[..]));
    let second = PathBuf::from(format!("{}.2", pid_file.display()));
    let pids = [pid_file.as_path(), &second].map(|file| Watched::new(read_pid(file).expect("a pid")));
    fs::write(format!("{}.go", pid_file.display()), "").expect("write");
    (pids.to_vec(), stop, running)
}

#[tokio::test]
async fn standard_output_is_the_result_and_standard_error_the_log() {
    let (finished, log) = Bench::new().shell("echo result; echo note >&2").await;
    assert_eq!(finished.ended, Ended::Exited(0));
    assert_eq!(text(&finished.stdout), "result\n");
    assert_eq!(text(&log), "note\n");
}

#[tokio::test]
async fn exit_codes_and_signals_are_told_apart() {
    let bench = Bench::new();
    assert_eq!(bench.shell("exit 3").await.0.ended, Ended::Exited(3));
    assert_eq!(bench.shell("kill -SEGV $$").await.0.ended, Ended::Signaled(11));
}

#[tokio::test]
async fn bytes_that_are_not_text_pass_unchanged() {
    let (finished, log) = Bench::new().shell(r"printf 'a\377\000b'; printf '\376\n' >&2").await;
    assert_eq!(finished.stdout.as_ref(), b"a\xff\0b");
    assert_eq!(log, b"\xfe\n");
}

const SHOW_PARAMS: &str =
    r#"cat | cksum; cksum < "$FORGE_PARAMS_FILE"; echo "$#"; echo "$1"; printf %s "$2" | cksum"#;

#[tokio::test]
async fn small_parameters_arrive_in_all_three_ways() {
    let params = Bytes::from_static(br#"{"n": 7, "text": "it's \" $HOME"}"#);
    let run = Run { params: Some(params), ..shell(SHOW_PARAMS) };
    let (finished, _) = Bench::new().run(run).await;
    let stdout = text(&finished.stdout);
    let lines: Vec<_> = stdout.lines().collect();
    let &[stdin, file, count, flag, argument] = lines.as_slice() else { panic!("{stdout}") };
    assert!(stdin.ends_with(" 33"), "{stdin}");
    assert_eq!((stdin, stdin), (file, argument));
    assert_eq!((count, flag), ("2", "--params"));
}

#[tokio::test]
async fn parameters_too_long_for_an_argument_arrive_in_the_other_two() {
    for (length, arguments) in [((128 << 10) - 1, "2"), (128 << 10, "0"), (300_000, "0"), (1 << 20, "0")] {
        let params = Bytes::from(format!("\"{}\"", "x".repeat(length - 2)));
        let run = Run { params: Some(params), ..shell(SHOW_PARAMS) };
        let (finished, log) = Bench::new().run(run).await;
        assert_eq!(finished.ended, Ended::Exited(0), "{}", text(&log));
        let stdout = text(&finished.stdout);
        let lines: Vec<_> = stdout.lines().collect();
        assert!(lines[0].ends_with(&format!(" {length}")), "{stdout}");
        assert_eq!(lines[0], lines[1]);
        assert_eq!(lines[2], arguments);
    }
}

#[tokio::test]
async fn parameters_that_nobody_reads_harm_nobody() {
    let run = Run { params: Some(Bytes::from(vec![b'1'; 1 << 20])), ..program(&["/bin/true"]) };
    assert_eq!(Bench::new().run(run).await.0.ended, Ended::Exited(0));
}

#[tokio::test]
async fn the_environment_holds_what_is_allowed_and_the_jobs_own() {
    // Cargo sets many variables for a test; none of them is on the list.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let bench = Bench::new();
    let mut run = shell("env");
    run.env = vec![("FORGE_JOB_ID".into(), "j1".into()), ("FORGE_ATTEMPT".into(), "2".into())];
    run.params = Some(Bytes::from_static(b"{}"));
    let (finished, _) = bench.run(run).await;
    let stdout = text(&finished.stdout);
    let has = |line: &str| stdout.lines().any(|found| found == line);
    assert!(has("FORGE_JOB_ID=j1") && has("FORGE_ATTEMPT=2"), "{stdout}");
    assert!(has(&format!("FORGE_WORK_DIR={}", bench.job_folder().display())), "{stdout}");
    assert!(has(&format!("FORGE_PARAMS_FILE={}/params.json", bench.job_folder().display())), "{stdout}");
    assert!(stdout.lines().any(|line| line.starts_with("PATH=")), "{stdout}");
    assert!(!stdout.lines().any(|line| line.starts_with("CARGO") || line.starts_with("NEXTEST")), "{stdout}");
}

#[tokio::test]
async fn the_supervisor_itself_does_not_know_the_agents_environment() {
    let slot = Bench::new().slot().await;
    let pid = slot.supervisor_pid().expect("it runs");
    assert_eq!(fs::read(format!("/proc/{pid}/environ")).expect("read"), b"");
    slot.close().await;
}

#[tokio::test]
async fn the_solver_starts_with_limits_no_blocked_signals_and_only_its_own_files() {
    let script = "ulimit -c; ulimit -n; ls /proc/$$/fd; exec grep SigBlk /proc/self/status";
    let mut bench = Bench::new();
    bench.settings.open_files = 77;
    let (finished, log) = bench.shell(script).await;
    assert_eq!(text(&log), "");
    assert_eq!(text(&finished.stdout), "0\n77\n0\n1\n2\nSigBlk:\t0000000000000000\n");
}

#[tokio::test]
async fn the_working_folder_is_fresh_and_goes_away() {
    let bench = Bench::new();
    fs::create_dir_all(bench.job_folder().join("left/from/before")).expect("create");
    let (finished, _) = bench.shell("pwd; ls; mkdir -p a/b; touch a/b/c; chmod -R a-w .").await;
    assert_eq!(text(&finished.stdout), format!("{}\n", bench.job_folder().display()));
    assert!(!bench.job_folder().exists());
    assert!(bench.settings.work_root.exists());
}

#[tokio::test]
async fn the_working_folder_stays_when_asked_to() {
    let mut bench = Bench::new();
    bench.settings.keep_work = true;
    let run = Run { params: Some(Bytes::from_static(b"{}")), ..shell("echo kept > file") };
    bench.run(run).await;
    assert_eq!(fs::read_to_string(bench.job_folder().join("file")).expect("kept"), "kept\n");
    assert_eq!(fs::read_to_string(bench.job_folder().join("params.json")).expect("kept"), "{}");
}

#[tokio::test]
async fn a_working_folder_of_the_caller_is_used_and_left_alone() {
    let bench = Bench::new();
    let work_dir = bench.path("own");
    fs::create_dir(&work_dir).expect("create");
    let params = Some(Bytes::from_static(b"{}"));
    let run = Run { work_dir: Some(work_dir.clone()), params, ..shell("pwd; ls; touch made") };
    let (finished, _) = bench.run(run).await;
    assert_eq!(text(&finished.stdout), format!("{}\n", work_dir.display()));
    assert!(work_dir.join("made").exists());
    assert!(!bench.job_folder().exists());
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let bench = Bench::new();
    let plain = bench.path("plain");
    fs::write(&plain, "#!/bin/sh\n").expect("write");
    let plain = plain.to_str().expect("UTF-8");
    for (run, reason) in [
        (program(&["/no/such/program"]), "No such file"),
        (program(&["no-such-program"]), "No such file"),
        (program(&[plain]), "Permission denied"),
        (program(&[]), "no program"),
        (Run { work_dir: Some("/no/such/folder".into()), ..program(&["true"]) }, "/no/such/folder"),
        (Run { name: "../job".into(), ..program(&["true"]) }, "../job"),
    ] {
        let (finished, _) = bench.run(run).await;
        let Ended::NotStarted(why) = &finished.ended else { panic!("{:?}", finished.ended) };
        assert!(why.contains(reason), "{why}");
        assert!(!bench.job_folder().exists());
    }
}

#[tokio::test]
async fn a_solver_that_takes_too_long_is_ended() {
    let run = Run { max_runtime: Some(Duration::from_millis(100)), ..shell("echo begun; exec sleep 600") };
    let (finished, _) = Bench::new().run(run).await;
    assert_eq!(finished.ended, Ended::TimedOut);
    assert_eq!(text(&finished.stdout), "begun\n");
    assert!((100..5000).contains(&finished.usage.wall_ms), "{:?}", finished.usage);
}

#[tokio::test]
async fn a_solver_may_use_its_grace() {
    let mut bench = Bench::new();
    bench.settings.grace = DEADLINE;
    let script = "trap 'sleep 0.05; echo saved; exit 0' TERM; echo begun; while :; do sleep 0.01; done";
    let run = Run { max_runtime: Some(Duration::from_millis(200)), ..shell(script) };
    let (finished, _) = bench.run(run).await;
    assert_eq!(finished.ended, Ended::TimedOut);
    assert_eq!(text(&finished.stdout), "begun\nsaved\n");
}

#[tokio::test]
async fn a_solver_deaf_to_the_request_is_killed_after_its_grace() {
    let script = "trap '' TERM; while :; do sleep 0.01; done";
    let run = Run { max_runtime: Some(Duration::from_millis(50)), ..shell(script) };
    let (finished, _) = Bench::new().run(run).await;
    assert_eq!(finished.ended, Ended::TimedOut);
    assert!(finished.usage.wall_ms >= 350, "{:?}", finished.usage);
}

#[tokio::test]
async fn nothing_is_left_after_a_stop() {
    let bench = Bench::new();
    let (escaped, stop, running) = with_escaped(&bench, "sleep 600").await;
    assert!(escaped.iter().all(Watched::lives));
    stop.cancel();
    let (finished, slot) = running.await.expect("no panic");
    assert_eq!(finished.ended, Ended::Stopped);
    assert!(!escaped.iter().any(Watched::lives));
    assert!(!bench.job_folder().exists());
    slot.close().await;
}

#[tokio::test]
async fn nothing_is_left_after_a_normal_end() {
    let bench = Bench::new();
    let (escaped, _, running) = with_escaped(&bench, "echo done; exit 4").await;
    let (finished, slot) = running.await.expect("no panic");
    assert_eq!(finished.ended, Ended::Exited(4));
    assert_eq!(text(&finished.stdout), "done\n");
    assert!(!escaped.iter().any(Watched::lives));
    slot.close().await;
}

#[tokio::test]
async fn nothing_is_left_after_the_agent_died() {
    let bench = Bench::new();
    let (mut all, _, running) = with_escaped(&bench, "trap '' TERM; sleep 600").await;
    // All that the supervisor can notice of the agent's end is that its pipes end, and so they do here.
    running.abort();
    assert!(running.await.is_err());
    let supervisor = start_of_tree(&mut all);
    until("the end of all", || !all.iter().any(Watched::lives)).await;
    assert!(!supervisor.lives());
    assert!(!bench.job_folder().exists());
}

#[tokio::test]
async fn nothing_is_left_after_the_agent_was_killed() {
    let bench = Bench::new();
    let mut agent = tokio::process::Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "agent_that_is_killed", "--ignored", "--nocapture"])
        .env("TMPDIR", bench.root.path())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("a second process");
    let mut lines = BufReader::new(agent.stdout.take().expect("it was asked for")).lines();
    let escaped: Vec<_> = loop {
        let line = lines.next_line().await.expect("read").expect("a line with the pids");
        if let Some((_, pids)) = line.split_once("escaped:") {
            break pids.split_whitespace().map(|pid| Watched::new(pid.parse().expect("a pid"))).collect();
        }
    };
    assert_eq!(escaped.len(), 3);
    agent.kill().await.expect("kill");
    until("the end of all", || !escaped.iter().any(Watched::lives)).await;
}

#[tokio::test]
#[ignore = "runs until it is killed, by the test before this one"]
async fn agent_that_is_killed() {
    let bench = Bench::new();
    let (mut all, _stop, running) = with_escaped(&bench, "sleep 600").await;
    start_of_tree(&mut all);
    // A second supervisor must not hold the pipes of the first one.
    let _other = bench.slot().await;
    let pids: Vec<_> = all.iter().map(|process| process.0.to_string()).collect();
    println!("escaped: {}", pids.join(" "));
    running.await.expect("no panic");
}

/// Adds the supervisor, which is the parent of the first process, and gives it back.
fn start_of_tree(all: &mut Vec<Watched>) -> Watched {
    let parent = |pid: u32| -> u32 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        let fields = &stat[stat.rfind(')').expect("a name") + 1..];
        fields.split_ascii_whitespace().nth(1).and_then(|pid| pid.parse().ok()).expect("a parent")
    };
    let supervisor = Watched::new(parent(all[0].0));
    let name = fs::read_to_string(format!("/proc/{}/comm", supervisor.0)).expect("it runs");
    assert_eq!(name, "forge-supervise\n", "an orphan belongs to the supervisor");
    all.push(supervisor.clone());
    supervisor
}

#[tokio::test]
async fn processes_that_fork_to_get_away_are_caught() {
    // They give up by themselves, so that a defect does not leave them running.
    let script = r#"exec perl -MPOSIX -e '
        $SIG{TERM} = $SIG{HUP} = "IGNORE";
        my $end = time + 20;
        for (1..8) { last unless fork }
        while (time < $end) { my $child = fork; exit 0 if $child; POSIX::setsid() }'"#;
    let mut bench = Bench::new();
    bench.settings.grace = Duration::from_millis(20);
    let run = Run { max_runtime: Some(Duration::from_millis(200)), ..shell(script) };
    let mut slot = bench.slot().await;
    let (to, _from) = mpsc::channel(16);
    let started = Instant::now();
    run_in(&mut slot, run, to).await;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let pid = slot.supervisor_pid().expect("it runs");
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("read");
    assert_eq!(children, "");
    slot.close().await;
}

#[tokio::test]
async fn a_process_whose_first_thread_has_ended_is_still_asked_to_end() {
    let end_this_thread = libc::SYS_exit;
    let script = format!(
        "import ctypes, threading, time; \
         threading.Thread(target=time.sleep, args=(600,)).start(); \
         ctypes.CDLL(None).syscall({end_this_thread}, 0)"
    );
    let mut bench = Bench::new();
    bench.settings.grace = DEADLINE * 2;
    let run = Run { max_runtime: Some(Duration::from_millis(500)), ..program(&["python3", "-c", &script]) };
    let (finished, log) = bench.run(run).await;
    assert_eq!(finished.ended, Ended::TimedOut, "{}", text(&log));
}

#[tokio::test]
async fn a_flood_on_standard_error_neither_blocks_nor_fills_memory() {
    let bench = Bench::new();
    let mut slot = bench.slot().await;
    // Nobody reads the log.
    let (to, mut from) = mpsc::channel(4);
    let finished = run_in(&mut slot, shell("head -c 200M /dev/zero >&2; echo done"), to).await;
    assert_eq!(finished.ended, Ended::Exited(0));
    assert_eq!(text(&finished.stdout), "done\n");
    let status = fs::read_to_string(format!("/proc/{}/status", slot.supervisor_pid().expect("it runs")));
    let status = status.expect("read");
    let peak_kb: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok())
        .expect("a peak");
    assert!(peak_kb < 32 << 10, "{peak_kb} kB");

    let mut seen = 0;
    let mut last = Bytes::new();
    while let Some(piece) = from.recv().await {
        seen += piece.len();
        last = piece;
    }
    let dropped = (200 << 20) - (seen - last.len());
    assert_eq!(text(&last), format!("\nforge: {dropped} bytes of the log were dropped here\n"));
    slot.close().await;
}

#[tokio::test]
async fn a_result_beyond_the_limit_ends_the_solver() {
    let mut bench = Bench::new();
    bench.settings.stdout_max = 100_000;
    let (finished, _) = bench.shell("exec cat /dev/zero").await;
    assert_eq!(finished.ended, Ended::OutputTooLarge);
    assert_eq!(finished.stdout.len(), 100_000);
    let (finished, _) = bench.shell("head -c 100001 /dev/zero").await;
    assert_eq!(finished.ended, Ended::OutputTooLarge);
    let (finished, _) = bench.shell("head -c 100000 /dev/zero").await;
    assert_eq!(finished.ended, Ended::Exited(0));
    assert_eq!(finished.stdout.len(), 100_000);
}

#[tokio::test]
async fn a_solver_cannot_take_more_memory_than_its_job_requires() {
    let take = "exec perl -e '$x = \"x\" x (256 << 20); print length $x'";
    let bench = Bench::new();
    let (finished, _) = bench.shell(take).await;
    assert_eq!(finished.ended, Ended::Exited(0));
    let (finished, log) = bench.run(Run { memory_max: Some(64 << 20), ..shell(take) }).await;
    assert_ne!(finished.ended, Ended::Exited(0));
    assert!(text(&log).to_lowercase().contains("memory"), "{}", text(&log));
}

#[tokio::test]
async fn each_run_of_a_slot_has_its_own_usage() {
    let bench = Bench::new();
    let mut slot = bench.slot().await;
    let mut usages = Vec::new();
    for script in ["exec perl -e '$x = \"x\" x (100 << 20); 1 for 1..3000000'", "true"] {
        let (to, _from) = mpsc::channel(16);
        let finished = run_in(&mut slot, shell(script), to).await;
        assert_eq!(finished.ended, Ended::Exited(0));
        usages.push(finished.usage);
    }
    let [large, small] = usages[..] else { panic!("two runs") };
    assert!(large.peak_kb > 100 << 10 && large.cpu_ms > 10, "{large:?}");
    assert!(small.peak_kb < 50 << 10 && small.cpu_ms < large.cpu_ms, "{small:?}");
    slot.close().await;
}

#[tokio::test]
async fn the_supervisor_is_deaf_to_signals_meant_for_the_agent() {
    let bench = Bench::new();
    let mut slot = bench.slot().await;
    let supervisor = slot.supervisor_pid().expect("it runs");
    // The shell's parent is the supervisor.
    let (to, _from) = mpsc::channel(16);
    let script = "kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; kill -QUIT $PPID; echo $PPID";
    let finished = run_in(&mut slot, shell(script), to).await;
    assert_eq!(text(&finished.stdout), format!("{supervisor}\n"));
    let (to, _from) = mpsc::channel(16);
    assert_eq!(run_in(&mut slot, shell("exit 5"), to).await.ended, Ended::Exited(5));
    assert_eq!(slot.supervisor_pid(), Some(supervisor));
    slot.close().await;
}

#[tokio::test]
async fn a_lost_supervisor_is_an_error_and_takes_the_solver_with_it() {
    let bench = Bench::new();
    let mut slot = bench.slot().await;
    let (to, mut from) = mpsc::channel(16);
    let pid_file = bench.path("solver");
    let mut run = shell(r#"echo $$ > "$1.new"; mv "$1.new" "$1"; kill -KILL $PPID; exec sleep 600"#);
    run.argv.push(pid_file.clone().into());
    assert!(slot.run(run, to, &CancellationToken::new()).await.is_err());
    assert_eq!(from.recv().await, None);
    let solver = read_pid(&pid_file).expect("a pid");
    until("the end of the solver", || start_time(solver).is_none()).await;
    let (to, _from) = mpsc::channel(16);
    assert!(slot.run(shell("true"), to, &CancellationToken::new()).await.is_err());
    slot.close().await;
}

#[tokio::test]
async fn a_stop_before_the_start_starts_nothing() {
    let bench = Bench::new();
    let mut slot = bench.slot().await;
    let stop = CancellationToken::new();
    stop.cancel();
    let (to, _from) = mpsc::channel(16);
    let finished =
        slot.run(shell("touch \"$FORGE_WORK_DIR/../ran\""), to, &stop).await.expect("a living supervisor");
    assert_eq!(finished.ended, Ended::Stopped);
    assert!(!bench.settings.work_root.join("ran").exists());
    slot.close().await;
}

#[tokio::test]
async fn an_idle_supervisor_leaves_when_its_input_ends() {
    let slot = Bench::new().slot().await;
    let supervisor = Watched::new(slot.supervisor_pid().expect("it runs"));
    drop(slot);
    until("the end of the supervisor", || !supervisor.lives()).await;
}
