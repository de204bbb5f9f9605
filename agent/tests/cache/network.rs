//! Servers that cut, stall, lie or refuse.

use std::time::Duration;

use forge_agent::cache::{CacheError, Limits};
use tokio::io::AsyncWriteExt;

use super::server::{Server, answer, cut, rest, send, whole};
use super::{cache, from, limits, names, open, sha256, solver};

#[tokio::test]
async fn solver_is_fetched_once_and_then_found() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(300_000, 1));
    let server = Server::serving(&body).await;
    let cache = cache(&dir);
    for _ in 0..3 {
        let held = cache.get(&sha256(&body).to_uppercase(), &from(server.url())).await.unwrap();
        assert_eq!(std::fs::read(held.path()).unwrap(), body);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].header("accept-encoding").as_deref(), Some("identity"));
    assert_eq!(requests[0].header("authorization"), None);
    assert_eq!(names(dir.path()), [sha256(&body)]);
}

#[tokio::test]
async fn checksum_off_by_a_digit_fails_and_leaves_no_file() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(1000, 1));
    let server = Server::serving(&body).await;
    let mut wrong = sha256(&body);
    let last = if wrong.ends_with('0') { "1" } else { "0" };
    wrong.replace_range(63.., last);
    let error = cache(&dir).get(&wrong, &from(server.url())).await.unwrap_err();
    assert_eq!(error.reason(), "solver_checksum_mismatch");
    assert!(error.to_string().contains(&sha256(&body)), "{error}");
    assert_eq!(server.requests().len(), 1, "a mismatch is for the hub to retry");
    assert_eq!(names(dir.path()), [""; 0]);
}

#[tokio::test]
async fn what_is_no_checksum_reaches_neither_disk_nor_network() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::serving(b"x").await;
    let error = cache(&dir).get("../../../etc/passwd", &from(server.url())).await.unwrap_err();
    assert_eq!(error.reason(), "solver_checksum_invalid");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn cut_download_goes_on_where_it_broke_off() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(200_000, 2));
    let served = body.clone();
    let server = Server::start("127.0.0.1", move |request, stream| {
        let bytes = match request.number {
            0 => cut(&served, 70_000, Some("\"v1\"")),
            1 => {
                let part = rest(&served, 70_000, "\"v1\"");
                part[..part.len() - 30_000].to_vec()
            }
            _ => rest(&served, 170_000, "\"v1\""),
        };
        send(stream, bytes)
    })
    .await;
    let held = cache(&dir).get(&sha256(&body), &from(server.url())).await.unwrap();
    assert_eq!(std::fs::read(held.path()).unwrap(), body);
    let asked: Vec<_> = server
        .requests()
        .iter()
        .map(|request| (request.header("range"), request.header("if-range")))
        .collect();
    let v1 = Some("\"v1\"".to_owned());
    assert_eq!(
        asked,
        [(None, None), (Some("bytes=70000-".into()), v1.clone()), (Some("bytes=170000-".into()), v1)]
    );
    assert_eq!(names(dir.path()), [sha256(&body)]);
}

#[tokio::test]
async fn next_agent_goes_on_from_what_the_last_one_left() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(200_000, 3));
    let served = body.clone();
    let server = Server::start("127.0.0.1", move |request, stream| {
        let first = request.number == 0;
        send(stream, if first { cut(&served, 90_000, Some("\"v\"")) } else { rest(&served, 90_000, "\"v\"") })
    })
    .await;
    let once = Limits { tries: 1, ..limits() };
    let broken = open(dir.path(), once, "http://127.0.0.1:9").get(&sha256(&body), &from(server.url())).await;
    assert!(matches!(broken, Err(CacheError::Unreachable { .. })), "{broken:?}");
    let held = cache(&dir).get(&sha256(&body), &from(server.url())).await.unwrap();
    assert_eq!(std::fs::read(held.path()).unwrap(), body);
    assert_eq!(server.requests()[1].header("range").as_deref(), Some("bytes=90000-"));
}

/// After a cut at 500 of 1000 bytes, the answers that come instead of the rest, and how often is asked.
async fn starts_over(tag: Option<&'static str>, second: fn(&[u8]) -> Vec<u8>, requests: usize) {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(1000, 4));
    let served = body.clone();
    let server = Server::start("127.0.0.1", move |request, stream| {
        let bytes = match request.number {
            0 => cut(&solver(1000, 99), 500, tag),
            1 => second(&served),
            _ => whole(&served),
        };
        send(stream, bytes)
    })
    .await;
    let held = cache(&dir).get(&sha256(&body), &from(server.url())).await.unwrap();
    assert_eq!(std::fs::read(held.path()).unwrap(), body);
    let seen = server.requests();
    assert_eq!(seen.len(), requests);
    assert_eq!(seen[1].header("range").is_some(), tag.is_some_and(|tag| tag.starts_with('"')));
    assert_eq!(names(dir.path()), [sha256(&body)]);
}

#[tokio::test]
async fn file_that_changed_meanwhile_is_fetched_whole() {
    starts_over(Some("\"old\""), whole, 2).await;
}

#[tokio::test]
async fn part_without_a_version_is_fetched_whole() {
    starts_over(None, whole, 2).await;
}

#[tokio::test]
async fn part_with_a_weak_version_is_fetched_whole() {
    starts_over(Some("W/\"old\""), whole, 2).await;
}

#[tokio::test]
async fn range_that_starts_elsewhere_is_not_used() {
    starts_over(Some("\"old\""), |body| rest(body, 400, "\"old\""), 3).await;
}

#[tokio::test]
async fn range_of_another_version_is_not_used() {
    starts_over(Some("\"old\""), |body| rest(body, 500, "\"new\""), 3).await;
}

#[tokio::test]
async fn range_past_the_end_is_not_asked_twice() {
    starts_over(Some("\"old\""), |_| answer("416 Range Not Satisfiable", &[], b""), 3).await;
}

#[tokio::test]
async fn last_modified_serves_as_a_version() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(1000, 5));
    let served = body.clone();
    const DATE: &str = "Wed, 21 Oct 2015 07:28:00 GMT";
    let server = Server::start("127.0.0.1", move |request, stream| {
        let first = [("content-length", "1000".to_owned()), ("last-modified", DATE.to_owned())];
        let range = [("content-range", "bytes 10-999/1000".to_owned()), ("content-length", "990".to_owned())];
        send(
            stream,
            match request.number {
                0 => answer("200 OK", &first, &served[..10]),
                _ => answer("206 Partial Content", &range, &served[10..]),
            },
        )
    })
    .await;
    cache(&dir).get(&sha256(&body), &from(server.url())).await.unwrap();
    assert_eq!(server.requests()[1].header("if-range").as_deref(), Some(DATE));
}

#[tokio::test]
async fn server_that_stalls_is_given_up() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(1000, 6));
    let served = body.clone();
    let server = Server::start("127.0.0.1", move |request, mut stream| {
        let answer = if request.number == 0 { cut(&served, 400, None) } else { Vec::new() };
        async move {
            stream.write_all(&answer).await.unwrap();
            std::future::pending::<()>().await;
        }
    })
    .await;
    let impatient = Limits { stall: Duration::from_millis(400), tries: 2, ..limits() };
    let cache = open(dir.path(), impatient, "http://127.0.0.1:9");
    let error = cache.get(&sha256(&body), &from(server.url())).await.unwrap_err();
    assert!(matches!(error, CacheError::Stalled { .. }), "{error:?}");
    assert_eq!(error.reason(), "solver_unavailable");
    assert_eq!(server.requests().len(), 2);
    assert_eq!(names(dir.path()), [""; 0]);
}

#[tokio::test]
async fn server_that_drips_runs_into_the_total_timeout() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(100_000, 7));
    let served = body.clone();
    let server = Server::start("127.0.0.1", move |_, mut stream| {
        let served = served.clone();
        async move {
            stream.write_all(&cut(&served, 0, Some("\"v\""))).await.unwrap();
            let mut drip = tokio::time::interval(Duration::from_millis(5));
            for byte in served {
                drip.tick().await;
                if stream.write_all(&[byte]).await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
    let hurried = Limits { total: Duration::from_millis(1500), ..limits() };
    let cache = open(dir.path(), hurried, "http://127.0.0.1:9");
    let error = cache.get(&sha256(&body), &from(server.url())).await.unwrap_err();
    assert!(matches!(error, CacheError::TooSlow { .. }), "{error:?}");
    let sum = sha256(&body);
    assert_eq!(names(dir.path()), [format!("{sum}.from"), format!("{sum}.part")], "kept to go on from");
}

#[tokio::test]
async fn server_that_announces_more_than_it_sends_is_given_up() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(1000, 8));
    let lie = cut(&body, 900, None);
    let server = Server::start("127.0.0.1", move |_, stream| send(stream, lie.clone())).await;
    let error = cache(&dir).get(&sha256(&body), &from(server.url())).await.unwrap_err();
    assert!(matches!(error, CacheError::Unreachable { .. }), "{error:?}");
    assert_eq!(server.requests().len(), 3);
    assert_eq!(names(dir.path()), [""; 0]);
}

#[tokio::test]
async fn announced_length_does_not_matter_once_the_checksum_is_right() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(1000, 13));
    let lie = answer("200 OK", &[("content-length", "2000".into())], &body);
    let server = Server::start("127.0.0.1", move |_, stream| send(stream, lie.clone())).await;
    let held = cache(&dir).get(&sha256(&body), &from(server.url())).await.unwrap();
    assert_eq!(std::fs::read(held.path()).unwrap(), body);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn server_that_announces_less_than_it_sends_is_a_mismatch() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(1000, 9));
    let lie = answer("200 OK", &[("content-length", "900".into())], &body);
    let server = Server::start("127.0.0.1", move |_, stream| send(stream, lie.clone())).await;
    let error = cache(&dir).get(&sha256(&body), &from(server.url())).await.unwrap_err();
    assert_eq!(error.reason(), "solver_checksum_mismatch");
    assert_eq!(names(dir.path()), [""; 0]);
}

#[tokio::test]
async fn announced_size_over_the_limit_is_refused_before_the_body() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(1000, 10));
    let head = answer("200 OK", &[("content-length", ((1 << 20) + 1).to_string())], b"");
    let server = Server::start("127.0.0.1", move |_, mut stream| {
        let head = head.clone();
        async move {
            stream.write_all(&head).await.unwrap();
            std::future::pending::<()>().await;
        }
    })
    .await;
    let error = cache(&dir).get(&sha256(&body), &from(server.url())).await.unwrap_err();
    assert_eq!(error.reason(), "solver_too_large");
    assert_eq!(server.requests().len(), 1);
    assert_eq!(names(dir.path()), [""; 0]);
}

#[tokio::test]
async fn chunks_over_the_limit_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start("127.0.0.1", move |_, mut stream| async move {
        let mut bytes = answer("200 OK", &[("transfer-encoding", "chunked".into())], b"");
        // Without an end, as a server that wants to fill the disk would do it.
        while stream.write_all(&bytes).await.is_ok() {
            bytes = b"1000\r\n".to_vec();
            bytes.extend(solver(0x1000, 11));
            bytes.extend(b"\r\n");
        }
    })
    .await;
    let error = cache(&dir).get(&sha256(b"whatever"), &from(server.url())).await.unwrap_err();
    assert_eq!(error.reason(), "solver_too_large");
    assert_eq!(names(dir.path()), [""; 0]);
}

#[tokio::test]
async fn chunked_solver_of_fitting_size_is_fine() {
    let dir = tempfile::tempdir().unwrap();
    let bytes =
        answer("200 OK", &[("transfer-encoding", "chunked".into())], b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    let server = Server::start("127.0.0.1", move |_, stream| send(stream, bytes.clone())).await;
    let held = cache(&dir).get(&sha256(b"abcde"), &from(server.url())).await.unwrap();
    assert_eq!(std::fs::read(held.path()).unwrap(), b"abcde");
}

#[tokio::test]
async fn missing_solver_is_not_asked_for_again() {
    let dir = tempfile::tempdir().unwrap();
    let server =
        Server::start("127.0.0.1", |_, stream| send(stream, answer("404 Not Found", &[], b"no"))).await;
    let error = cache(&dir).get(&sha256(b"x"), &from(server.url())).await.unwrap_err();
    assert!(matches!(error, CacheError::Refused { status: 404, .. }), "{error:?}");
    assert_eq!(error.reason(), "solver_unavailable");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn server_in_trouble_is_asked_again() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(1000, 12));
    let served = body.clone();
    let server = Server::start("127.0.0.1", move |request, stream| {
        let trouble = answer("503 Service Unavailable", &[], b"later");
        send(stream, if request.number == 0 { trouble } else { whole(&served) })
    })
    .await;
    cache(&dir).get(&sha256(&body), &from(server.url())).await.unwrap();
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn server_that_is_not_there_is_named_without_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{closed}/solver?signature=secret");
    let error = cache(&dir).get(&sha256(b"x"), &from(url)).await.unwrap_err();
    assert!(matches!(error, CacheError::Unreachable { .. }), "{error:?}");
    let text = format!("{error} {error:?}");
    assert!(text.contains(&closed.to_string()) && !text.contains("secret"), "{text}");
}
