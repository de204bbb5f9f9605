//! Tokens, sessions, audit, operations, nodes and logs.

use crate::kit::*;
use bytes::Bytes;
use forge_hub::store::{LogAppend, NodeRecord, Operation, SessionRecord, TokenRecord};
use forge_shared::{
    NodeId, Status,
    request::{BulkAction, JobFilter, Scope},
    response::AuditEntry,
};

fn note(action: &str) -> AuditEntry {
    let (actor, action) = ("admin".to_owned(), action.to_owned());
    AuditEntry { ts: START, actor, action, target: "it".to_owned(), detail: Some("why".to_owned()) }
}

fn token(id: &str, n: u8) -> TokenRecord {
    TokenRecord {
        id: id.to_owned(),
        name: "a name".to_owned(),
        scope: Scope::Worker,
        hash: [n; 32],
        worker_id: None,
        created_at: START + i64::from(n),
        last_used_at: None,
    }
}

fn session(n: u8, token_id: Option<&str>, created_at: i64) -> SessionRecord {
    let token_id = token_id.map(str::to_owned);
    SessionRecord { hash: [n; 32], token_id, created_at, expires_at: created_at + 100 }
}

pub(super) async fn tokens_are_kept_replaced_and_deleted_with_their_sessions(mut rig: Rig) {
    rig.save_token(token("a", 1), Some(note("token.create"))).await.unwrap();
    for (scope, n) in Scope::ALL.into_iter().zip(2..) {
        rig.save_token(TokenRecord { scope, ..token(scope.as_str(), n) }, None).await.unwrap();
    }
    let used =
        TokenRecord { worker_id: Some(worker_id("w")), last_used_at: Some(START + 9), ..token("a", 1) };
    rig.save_token(used, None).await.unwrap();
    rig.save_session(session(1, Some("a"), START)).await.unwrap();
    rig.save_session(session(2, Some("admin"), START)).await.unwrap();
    rig.reopen().await;
    let tokens = rig.tokens().await.unwrap();
    let ids: Vec<&str> = tokens.iter().map(|token| token.id.as_str()).collect();
    assert_eq!(ids, ["a", "producer", "worker", "viewer", "admin"]);
    assert!(tokens[1..].iter().all(|token| token.scope.as_str() == token.id));
    assert_eq!((tokens[0].worker_id.clone(), tokens[0].hash), (Some(worker_id("w")), [1; 32]));
    assert_eq!(tokens[0].last_used_at, Some(START + 9));
    assert!(rig.delete_token("a", note("token.delete")).await.unwrap());
    assert!(!rig.delete_token("a", note("token.delete")).await.unwrap());
    let left: Vec<_> = rig.sessions().await.unwrap().into_iter().map(|session| session.hash).collect();
    assert_eq!(left, [[2; 32]]);
    let log = rig.audit_log(None, 10).await.unwrap();
    let actions: Vec<&str> = log.iter().map(|(_, entry)| entry.action.as_str()).collect();
    assert_eq!(actions, ["token.delete", "token.create"]);
}

pub(super) async fn sessions_end(rig: Rig) {
    rig.save_session(session(1, None, START)).await.unwrap();
    rig.save_session(session(2, None, START)).await.unwrap();
    rig.delete_session([1; 32]).await.unwrap();
    rig.delete_session([9; 32]).await.unwrap();
    assert_eq!(rig.sessions().await.unwrap().len(), 1);
    // Whoever comes later sweeps out what is over.
    rig.save_session(session(3, None, START + 101)).await.unwrap();
    let left = rig.sessions().await.unwrap();
    assert_eq!(left.iter().map(|session| session.hash).collect::<Vec<_>>(), [[3; 32]]);
    assert_eq!((left[0].created_at, left[0].expires_at), (START + 101, START + 201));
}

pub(super) async fn the_audit_log_is_read_newest_first(mut rig: Rig) {
    for n in 0..5 {
        rig.audit(note(&n.to_string())).await.unwrap();
    }
    rig.reopen().await;
    let first = rig.audit_log(None, 3).await.unwrap();
    assert_eq!(first[0].1, note("4"));
    let before = first.last().unwrap().0;
    let rest = rig.audit_log(Some(before), 3).await.unwrap();
    let all = first.iter().chain(&rest).map(|(_, entry)| entry.action.as_str());
    assert_eq!(all.collect::<Vec<_>>(), ["4", "3", "2", "1", "0"]);
}

pub(super) async fn operations_are_resumed_until_they_are_done(mut rig: Rig) {
    let filter = JobFilter { status: Some(Status::Pending), q: Some("x".to_owned()), ..JobFilter::default() };
    let operation = |id: &str, created_at| Operation {
        id: id.to_owned(),
        action: BulkAction::SetPriority,
        priority: Some(-3),
        filter: filter.clone(),
        after: 7,
        upto: 99,
        matched: 5,
        changed: 4,
        skipped: 1,
        done: false,
        created_at,
    };
    rig.save_operation(operation("second", 2), Some(note("bulk"))).await.unwrap();
    rig.save_operation(operation("first", 1), None).await.unwrap();
    rig.reopen().await;
    let left = rig.unfinished_operations().await.unwrap();
    assert_eq!(left.iter().map(|left| left.id.as_str()).collect::<Vec<_>>(), ["first", "second"]);
    let found = rig.operation("second").await.unwrap().unwrap();
    assert_eq!((found.action, found.priority), (BulkAction::SetPriority, Some(-3)));
    assert_eq!((found.after, found.upto, found.filter.clone()), (7, 99, filter.clone()));
    assert_eq!((found.matched, found.changed, found.skipped, found.created_at), (5, 4, 1, 2));
    rig.save_operation(Operation { done: true, after: 99, ..found }, None).await.unwrap();
    assert_eq!(rig.unfinished_operations().await.unwrap().len(), 1);
    assert!(rig.operation("second").await.unwrap().unwrap().done);
    assert!(rig.operation("third").await.unwrap().is_none());
    assert_eq!(rig.audit_log(None, 9).await.unwrap().len(), 1);
}

pub(super) async fn nodes_keep_their_newest_snapshot(mut rig: Rig) {
    let id = |name: &str| NodeId::new(name).unwrap();
    let node = |name: &str, last_seen, latest: Option<&str>| NodeRecord {
        id: id(name),
        name: format!("node {name}"),
        last_seen,
        latest: latest.map(str::to_owned),
    };
    rig.save_node(node("b", 10, Some("{\"first\":1}"))).await.unwrap();
    rig.save_node(node("a", 10, None)).await.unwrap();
    let newer = vec![(id("b"), 20, "{\"second\":2}".to_owned()), (id("unknown"), 20, "{}".to_owned())];
    rig.save_snapshots(newer).await.unwrap();
    rig.reopen().await;
    let row =
        |node: &NodeRecord| (node.id.to_string(), node.name.clone(), node.last_seen, node.latest.clone());
    let nodes: Vec<_> = rig.nodes().await.unwrap().iter().map(row).collect();
    assert_eq!(nodes, [row(&node("a", 10, None)), row(&node("b", 20, Some("{\"second\":2}")))]);
    // A first push after a name was forgotten is newer than the old snapshot.
    rig.save_node(node("b", 30, Some("{\"third\":3}"))).await.unwrap();
    let nodes = rig.nodes().await.unwrap();
    assert_eq!(nodes[1].latest.as_deref(), Some("{\"third\":3}"));
}

pub(super) async fn logs_are_appended_read_and_deleted(mut rig: Rig) {
    let job = job_id("a");
    let append = async |rig: &Rig, attempt, offset, bytes: &'static [u8]| {
        rig.append_log(&job, attempt, offset, Bytes::from_static(bytes)).await.unwrap()
    };
    assert_eq!(append(&rig, 1, 0, b"hello ").await, LogAppend::Stored(6));
    assert_eq!(append(&rig, 1, 6, b"world").await, LogAppend::Stored(11));
    assert_eq!(append(&rig, 1, 4, b"o world!").await, LogAppend::Stored(12), "a resend adds what is new");
    assert_eq!(append(&rig, 1, 99, b"hole").await, LogAppend::Gap(12));
    assert_eq!(append(&rig, 2, 0, b"again").await, LogAppend::Stored(5));
    rig.reopen().await;
    let read = async |rig: &Rig, attempt, offset, max| {
        let slice = rig.read_log(&job, attempt, offset, max).await.unwrap();
        (slice.offset, String::from_utf8(slice.bytes).unwrap(), slice.end)
    };
    assert_eq!(read(&rig, 1, 0, 100).await, (0, "hello world!".to_owned(), 12));
    assert_eq!(read(&rig, 1, 6, 5).await, (6, "world".to_owned(), 12));
    assert_eq!(read(&rig, 1, 50, 5).await, (12, String::new(), 12));
    assert_eq!(read(&rig, 2, 0, 100).await, (0, "again".to_owned(), 5));
    assert_eq!(read(&rig, 3, 0, 100).await, (0, String::new(), 0));
    rig.delete_logs(vec![job.clone()]).await.unwrap();
    assert_eq!(read(&rig, 2, 0, 100).await, (0, String::new(), 0));
}

pub(super) async fn a_store_that_works_answers_a_ping_and_shows_figures(rig: Rig) {
    rig.ping().await.unwrap();
    assert!(rig.figures().database_bytes > 0);
    assert_eq!(rig.figures().waiting_claims, 0);
}
