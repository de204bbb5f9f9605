use super::*;
use crate::store::EventBatch;
use std::time::Duration;
use tempfile::TempDir;

struct Quiet;

impl Observer for Quiet {
    fn committed(&self, _: EventBatch) {}
    fn batch(&self, _: usize, _: Duration) {}
}

const SMALL: Limits = Limits { log_bytes: 1000, chunk_bytes: 100 };

fn job(id: &str) -> JobId {
    JobId::new(id).unwrap()
}

fn open(folder: &TempDir, limits: Limits) -> SideFile {
    SideFile::open(&folder.path().join("fleet.side.sqlite"), limits, Arc::new(Quiet)).unwrap()
}

fn raw(folder: &TempDir) -> Connection {
    Connection::open(folder.path().join("fleet.side.sqlite")).unwrap()
}

fn text(n: usize) -> Bytes {
    (0..n).map(|i| b'a' + (i % 26) as u8).collect()
}

async fn append(file: &SideFile, offset: u64, bytes: &[u8]) -> LogAppend {
    file.append_log(&job("j"), 1, offset, Bytes::copy_from_slice(bytes)).await.unwrap()
}

async fn read(file: &SideFile, offset: u64, max: usize) -> (u64, Vec<u8>, u64) {
    let slice = file.read_log(&job("j"), 1, offset, max).await.unwrap();
    (slice.offset, slice.bytes, slice.end)
}

#[test]
fn the_side_file_stands_beside_the_main_one() {
    let beside = |main: &str| path_beside(Path::new(main)).to_str().unwrap().to_owned();
    assert_eq!(beside("/data/forge-fleet.sqlite"), "/data/forge-fleet.side.sqlite");
    assert_eq!(beside("fleet"), "fleet.side");
    assert_eq!(beside("a.b/fleet.db"), "a.b/fleet.side.db");
}

#[tokio::test]
async fn appends_follow_each_other_and_a_hole_is_refused() {
    let folder = TempDir::new().unwrap();
    let file = open(&folder, SMALL);
    assert_eq!(append(&file, 5, b"x").await, LogAppend::Gap(0));
    assert_eq!(append(&file, 0, b"hello").await, LogAppend::Stored(5));
    assert_eq!(append(&file, 6, b"x").await, LogAppend::Gap(5));
    assert_eq!(append(&file, u64::MAX, b"x").await, LogAppend::Gap(5));
    assert_eq!(append(&file, 5, b" world").await, LogAppend::Stored(11));
    assert_eq!(read(&file, 0, 100).await, (0, b"hello world".to_vec(), 11));
    assert_eq!(read(&file, 4, 3).await, (4, b"o w".to_vec(), 11));
    assert_eq!(read(&file, 11, 3).await, (11, vec![], 11));
    assert_eq!(read(&file, 99, 3).await, (11, vec![], 11));
}

#[tokio::test]
async fn resent_bytes_are_stored_once() {
    let folder = TempDir::new().unwrap();
    let file = open(&folder, SMALL);
    append(&file, 0, b"hello").await;
    assert_eq!(append(&file, 0, b"hello").await, LogAppend::Stored(5));
    assert_eq!(append(&file, 2, b"llo there").await, LogAppend::Stored(11));
    assert_eq!(append(&file, 0, b"").await, LogAppend::Stored(11));
    assert_eq!(read(&file, 0, 100).await, (0, b"hello there".to_vec(), 11));
}

#[tokio::test]
async fn attempts_have_logs_of_their_own() {
    let folder = TempDir::new().unwrap();
    let file = open(&folder, SMALL);
    append(&file, 0, b"one").await;
    assert_eq!(file.append_log(&job("j"), 2, 0, text(4)).await.unwrap(), LogAppend::Stored(4));
    assert_eq!(file.read_log(&job("j"), 2, 0, 100).await.unwrap().bytes, text(4));
    assert_eq!(file.read_log(&job("other"), 1, 7, 100).await.unwrap().end, 0);
    file.delete_logs(vec![job("j"), job("nobody")]).await.unwrap();
    assert_eq!(read(&file, 0, 100).await, (0, vec![], 0));
    let rows: i64 = raw(&folder).query_row("SELECT count(*) FROM log_chunk", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn only_the_tail_of_a_long_log_is_kept() {
    let folder = TempDir::new().unwrap();
    let file = open(&folder, SMALL);
    let whole = text(5000);
    append(&file, 0, &whole[..1500]).await;
    assert_eq!(read(&file, 0, 9999).await, (500, whole[500..1500].to_vec(), 1500));
    let mut at = 1500;
    while at < 5000 {
        let next = (at + 7).min(5000);
        assert_eq!(append(&file, at as u64, &whole[at..next]).await, LogAppend::Stored(next as u64));
        at = next;
    }
    let (first, kept, end) = read(&file, 0, 9999).await;
    assert_eq!(end, 5000);
    assert!((4000..4100).contains(&first), "starts at {first}");
    assert_eq!(kept, whole[first as usize..]);
}

#[tokio::test]
async fn one_append_longer_than_the_limit_keeps_its_end() {
    let folder = TempDir::new().unwrap();
    let file = open(&folder, Limits { log_bytes: 50, chunk_bytes: 100 });
    let whole = text(330);
    append(&file, 0, &whole).await;
    assert_eq!(read(&file, 0, 9999).await, (300, whole[300..].to_vec(), 330));
}

#[tokio::test]
async fn a_chatty_log_has_few_rows() {
    let folder = TempDir::new().unwrap();
    let file = open(&folder, Limits { log_bytes: 1 << 20, chunk_bytes: 1000 });
    let whole = text(20_000);
    for at in (0..whole.len()).step_by(10) {
        append(&file, at as u64, &whole[at..at + 10]).await;
    }
    assert_eq!(read(&file, 0, usize::MAX).await, (0, whole.to_vec(), 20_000));
    let rows: i64 = raw(&folder).query_row("SELECT count(*) FROM log_chunk", [], |row| row.get(0)).unwrap();
    assert!(rows <= 50, "{rows} rows");
}

#[tokio::test]
async fn what_was_answered_is_there_after_reopening() {
    let folder = TempDir::new().unwrap();
    let file = open(&folder, SMALL);
    append(&file, 0, b"kept").await;
    let node = NodeId::new("n1").unwrap();
    file.save_snapshots(vec![(node.clone(), 10, "{\"a\":1}".to_owned())]).await.unwrap();
    file.save_snapshots(vec![(node.clone(), 9, "{\"old\":1}".to_owned())]).await.unwrap();
    file.ping().await.unwrap();
    assert!(file.bytes() > 0);
    file.close().await;
    assert!(matches!(file.ping().await, Err(Error::Closed)));
    assert!(matches!(file.read_log(&job("j"), 1, 0, 9).await, Err(Error::Closed)));

    let file = open(&folder, SMALL);
    assert_eq!(read(&file, 0, 9).await.1, b"kept");
    assert_eq!(file.latest_snapshots().await.unwrap(), vec![(node, 10, "{\"a\":1}".to_owned())]);
    assert_eq!(append(&file, 4, b"!").await, LogAppend::Stored(5));
}

#[tokio::test]
async fn waiting_writes_are_all_answered() {
    let folder = TempDir::new().unwrap();
    let file = Arc::new(open(&folder, SMALL));
    let tasks: Vec<_> = (0..300u32)
        .map(|n| {
            let file = Arc::clone(&file);
            tokio::spawn(async move { file.append_log(&job(&format!("j{n}")), 1, 0, text(20)).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap().unwrap(), LogAppend::Stored(20));
    }
}

#[tokio::test]
async fn a_closing_file_commits_what_it_accepted() {
    let folder = TempDir::new().unwrap();
    let file = open(&folder, SMALL);
    let answers: Vec<_> = (0..50u32)
        .map(|n| {
            let inbox = file.inbox.read().unwrap();
            let work = Work::Append { job: job("j"), attempt: n, offset: 0, bytes: text(9) };
            inbox.as_ref().unwrap().send(work).unwrap()
        })
        .collect();
    file.close().await;
    for answer in answers {
        assert!(answer.await.unwrap().is_ok());
    }
}

#[test]
fn a_newer_version_is_refused() {
    let folder = TempDir::new().unwrap();
    drop(open(&folder, SMALL));
    raw(&folder).pragma_update(None, "user_version", 99).unwrap();
    let refused =
        SideFile::open(&folder.path().join("fleet.side.sqlite"), SMALL, Arc::new(Quiet)).err().unwrap();
    assert!(matches!(refused, OpenError::Newer { found: 99, .. }), "{refused}");
}

#[test]
fn a_file_of_another_program_is_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    raw(&folder).execute_batch("CREATE TABLE theirs (x)").unwrap();
    let path = folder.path().join("fleet.side.sqlite");
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(SideFile::open(&path, SMALL, Arc::new(Quiet)), Err(OpenError::NotOurs(_))));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_damaged_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("fleet.side.sqlite");
    std::fs::write(&path, "this is a letter, and a long one, but no database at all".repeat(90)).unwrap();
    assert!(matches!(SideFile::open(&path, SMALL, Arc::new(Quiet)), Err(OpenError::Damaged { .. })));

    std::fs::remove_file(&path).unwrap();
    drop(open(&folder, SMALL));
    raw(&folder).execute_batch("DROP TABLE snapshot").unwrap();
    assert!(matches!(SideFile::open(&path, SMALL, Arc::new(Quiet)), Err(OpenError::Damaged { .. })));
}

#[tokio::test]
async fn older_file_is_copied_then_upgraded() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("fleet.side.sqlite");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(include_str!("migrations/0001_logs_and_snapshots.sql")).unwrap();
    old.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    old.execute("INSERT INTO snapshot VALUES ('n', 4, '{}')", []).unwrap();
    drop(old);
    let side = open(&folder, SMALL);
    assert_eq!(side.latest_snapshots().await.unwrap().len(), 1);
    let copy = folder.path().join(format!("fleet.side.sqlite.before-v{VERSION}"));
    let kept = Connection::open(copy).unwrap();
    assert!(kept.prepare("SELECT * FROM history").is_err());
    assert_eq!(kept.query_row("SELECT last_seen FROM snapshot", [], |row| row.get::<_, i64>(0)).unwrap(), 4);
}
