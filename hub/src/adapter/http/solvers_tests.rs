use super::{
    server::{self, Front, ServerLimits},
    test_rig::*,
};
use crate::solvers::Solvers;
use axum::body::Body;
use bytes::Bytes;
use data_encoding::HEXLOWER;
use futures_util::stream;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::{convert::Infallible, path::Path, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const SOLVER: &str = "0123456789abcdef";

fn path_of(body: &[u8]) -> String {
    format!("/api/solvers/{}", HEXLOWER.encode(&Sha256::digest(body)))
}

/// Files anywhere below, whatever their names.
fn files(folder: &Path) -> usize {
    let count = |entry: std::io::Result<std::fs::DirEntry>| match entry.unwrap().path() {
        path if path.is_dir() => files(&path),
        _ => 1,
    };
    std::fs::read_dir(folder).unwrap().map(count).sum()
}

async fn check(rig: &Rig, headers: &[(&str, &str)], status: u16, body: &str, range: &str) {
    let answer = rig.admin("GET", &path_of(SOLVER.as_bytes()), headers, Body::empty()).await;
    assert_eq!(answer.status, status, "{headers:?}");
    assert_eq!(answer.header("content-range"), range, "{headers:?}");
    if status < 400 {
        assert_eq!(answer.body, body, "{headers:?}");
        assert_eq!(answer.header("etag"), format!("\"{}\"", &path_of(SOLVER.as_bytes())[13..]));
    }
}

#[tokio::test]
async fn an_uploaded_solver_is_served_listed_and_deleted() {
    let rig = Rig::new().await;
    let path = path_of(SOLVER.as_bytes());
    let first =
        rig.admin("PUT", &path.to_uppercase().replace("/API/SOLVERS", "/api/solvers"), &[], SOLVER).await;
    assert_eq!(first.status, 201);
    assert_eq!((&first.value()["bytes"], &first.value()["sha256"]), (&json!(16), &json!(path[13..])));
    let again = rig.admin("PUT", &path, &[], SOLVER).await;
    assert_eq!((again.status, again.value()), (200, first.value()));
    assert_eq!(rig.get("/api/solvers").await.value(), json!([first.value()]));

    let whole = rig.get(&path).await;
    assert_eq!((whole.status, &whole.body[..]), (200, SOLVER.as_bytes()));
    for (name, value) in
        [("content-length", "16"), ("accept-ranges", "bytes"), ("content-type", "application/octet-stream")]
    {
        assert_eq!(whole.header(name), value);
    }
    let head = rig.admin("HEAD", &path, &[("range", "bytes=0-1")], Body::empty()).await;
    assert_eq!((head.status, head.body.len(), head.header("content-length")), (200, 0, "16"));

    let delete = async || rig.admin("DELETE", &path, &[], Body::empty()).await.status;
    assert_eq!(delete().await, 204);
    assert_eq!(delete().await, 404);
    assert_eq!(rig.get(&path).await.status, 404);
    let notes = rig.store.audit_log(None, 10).await.unwrap();
    let actions: Vec<_> = notes.iter().map(|(_, note)| (&*note.action, &*note.target)).collect();
    let name = &path[13..];
    assert_eq!(actions, [("solver.delete", name), ("solver.put", name), ("solver.put", name)]);
}

#[tokio::test]
async fn ranges_and_conditions_are_honoured() {
    let rig = Rig::new().await;
    let path = path_of(SOLVER.as_bytes());
    rig.admin("PUT", &path, &[], SOLVER).await;
    let etag = format!("\"{}\"", &path[13..]);
    check(&rig, &[("range", "bytes=4-7")], 206, "4567", "bytes 4-7/16").await;
    check(&rig, &[("range", "bytes=14-")], 206, "ef", "bytes 14-15/16").await;
    check(&rig, &[("range", "bytes=-1")], 206, "f", "bytes 15-15/16").await;
    check(&rig, &[("range", "bytes=16-")], 416, "", "bytes */16").await;
    check(&rig, &[("range", "bytes=0-1,4-5")], 200, SOLVER, "").await;
    check(&rig, &[("range", "bytes=4-7"), ("if-range", &etag)], 206, "4567", "bytes 4-7/16").await;
    check(&rig, &[("range", "bytes=4-7"), ("if-range", "\"old\"")], 200, SOLVER, "").await;
    check(&rig, &[("if-none-match", &etag), ("range", "bytes=4-7")], 304, "", "").await;
    check(&rig, &[("if-none-match", "\"old\"")], 200, SOLVER, "").await;
}

#[tokio::test]
async fn a_body_that_does_not_hash_to_its_name_leaves_nothing() {
    let rig = Rig::new().await;
    let answer = rig.admin("PUT", &path_of(b"other"), &[], SOLVER).await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.value()["code"], "checksum_mismatch");
    assert!(answer.value()["error"].as_str().unwrap().contains(&path_of(SOLVER.as_bytes())[13..]));
    assert_eq!(files(&rig.solver_folder()), 0);
    assert_eq!(rig.get(&path_of(b"other")).await.status, 404);
    assert!(rig.store.audit_log(None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn names_that_are_not_checksums_are_refused() {
    let rig = Rig::new().await;
    for name in ["abc", &"g".repeat(64), "..%2F..%2Fetc%2Fpasswd"] {
        for method in ["GET", "PUT", "DELETE"] {
            let answer = rig.admin(method, &format!("/api/solvers/{name}"), &[], "").await;
            assert_eq!((answer.status, &answer.value()["field"]), (400, &json!("sha256")), "{name}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let folder = tempfile::TempDir::new().unwrap();
    let small = Arc::new(Solvers::open(folder.path(), 10).unwrap());
    let rig = Rig::adjusted(|app| app.solvers = small).await;
    let path = path_of(SOLVER.as_bytes());
    let announced = rig.admin("PUT", &path, &[("content-length", "16")], SOLVER).await;
    let pieces =
        stream::iter([&SOLVER[..8], &SOLVER[8..]].map(|piece| Ok::<_, Infallible>(Bytes::from(piece))));
    let streamed = rig.admin("PUT", &path, &[], Body::from_stream(pieces)).await;
    for answer in [announced, streamed] {
        assert_eq!((answer.status, &answer.value()["code"]), (413, &json!("too_large")));
    }
    assert_eq!(files(folder.path()), 0);
}

#[tokio::test]
async fn a_body_that_stalls_is_given_up() {
    let rig = Rig::adjusted(|app| app.body_idle = Duration::from_millis(5)).await;
    let stalled = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
    let answer = rig.admin("PUT", &path_of(b"x"), &[], stalled).await;
    assert_eq!((answer.status, &answer.value()["code"]), (408, &json!("body_stalled")));
    assert_eq!(files(&rig.solver_folder()), 0);
}

#[tokio::test]
async fn a_caller_that_hangs_up_leaves_nothing() {
    let rig = Rig::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = rig.router.clone();
    let stop = rig.app.stop.clone();
    let server =
        tokio::spawn(server::serve(listener, router, Front::default(), ServerLimits::default(), stop));
    let mut socket = TcpStream::connect(address).await.unwrap();
    let path = path_of(SOLVER.as_bytes());
    let head = format!(
        "PUT {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN}\r\ncontent-length: 16\r\nexpect: 100-continue\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    // The hub asks for the body only after the upload has begun.
    let mut go_on = [0; 25];
    socket.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(b"01234567").await.unwrap();
    drop(socket);
    rig.app.solvers.settled().await;
    assert_eq!(files(&rig.solver_folder()), 0);
    rig.app.stop.cancel();
    server.await.unwrap();
}
