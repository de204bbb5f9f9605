//! Many slots and several agents that want the same solver.

use std::sync::Arc;

use futures_util::future::{join_all, poll_immediate};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;

use super::server::{Server, answer, cut, rest, send, whole};
use super::{cache, from, limits, names, open, sha256, solver};

/// Sends half of the body, says so, and the rest when it may.
struct Gated {
    server: Server,
    halfway: Arc<Semaphore>,
    go_on: Arc<Semaphore>,
}

impl Gated {
    async fn start(body: &[u8]) -> Self {
        let (halfway, go_on) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (reached, gate, body) = (halfway.clone(), go_on.clone(), body.to_vec());
        let server = Server::start("127.0.0.1", move |request, mut stream| {
            let (reached, gate, body) = (reached.clone(), gate.clone(), body.clone());
            async move {
                let half = body.len() / 2;
                let offset = request.header("range").map_or(0, |range| {
                    range.trim_start_matches("bytes=").trim_end_matches('-').parse::<usize>().unwrap()
                });
                if offset > 0 {
                    return send(stream, rest(&body, offset, "\"v\"")).await;
                }
                stream.write_all(&cut(&body, half, Some("\"v\""))).await.unwrap();
                reached.add_permits(1);
                gate.acquire().await.unwrap().forget();
                send(stream, body[half..].to_vec()).await;
            }
        })
        .await;
        Self { server, halfway, go_on }
    }

    async fn is_halfway(&self) {
        self.halfway.acquire().await.unwrap().forget();
    }
}

#[tokio::test]
async fn many_slots_share_one_download() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(100_000, 30));
    let gated = Gated::start(&body).await;
    let (cache, sum, source) = (cache(&dir), sha256(&body), from(gated.server.url()));
    let slots = join_all((0..16).map(|_| cache.get(&sum, &source)));
    let release = async {
        gated.is_halfway().await;
        gated.go_on.add_permits(1);
    };
    let (got, ()) = tokio::join!(slots, release);
    for held in got {
        assert_eq!(std::fs::read(held.unwrap().path()).unwrap(), body);
    }
    assert_eq!(gated.server.requests().len(), 1);
}

#[tokio::test]
async fn slot_that_gives_up_does_not_stop_the_others() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(100_000, 31));
    let gated = Gated::start(&body).await;
    let (cache, sum, source) = (cache(&dir), sha256(&body), from(gated.server.url()));
    let mut first = Box::pin(cache.get(&sum, &source));
    assert!(poll_immediate(&mut first).await.is_none());
    let mut second = Box::pin(cache.get(&sum, &source));
    assert!(poll_immediate(&mut second).await.is_none());
    gated.is_halfway().await;
    drop(first);
    gated.go_on.add_permits(1);
    assert_eq!(std::fs::read(second.await.unwrap().path()).unwrap(), body);
    assert_eq!(gated.server.requests().len(), 1);
}

#[tokio::test]
async fn download_that_nobody_waits_for_ends_and_can_be_taken_up_again() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(100_000, 32));
    let gated = Gated::start(&body).await;
    let (cache, sum, source) = (cache(&dir), sha256(&body), from(gated.server.url()));
    let mut only = Box::pin(cache.get(&sum, &source));
    assert!(poll_immediate(&mut only).await.is_none());
    gated.is_halfway().await;
    drop(only);
    // The gate stays shut for the first connection: only a new one can bring the rest.
    gated.go_on.close();
    let held = cache.get(&sum, &source).await.unwrap();
    assert_eq!(std::fs::read(held.path()).unwrap(), body);
    assert_eq!(names(dir.path()), [sum]);
}

#[tokio::test]
async fn failure_reaches_everyone_and_the_next_get_tries_anew() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(1000, 33));
    let served = body.clone();
    let server = Server::start("127.0.0.1", move |request, stream| {
        send(stream, if request.number == 0 { answer("404 Not Found", &[], b"") } else { whole(&served) })
    })
    .await;
    let (cache, sum, source) = (cache(&dir), sha256(&body), from(server.url()));
    for outcome in join_all((0..4).map(|_| cache.get(&sum, &source))).await {
        assert_eq!(outcome.unwrap_err().reason(), "solver_unavailable");
    }
    cache.get(&sum, &source).await.unwrap();
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn another_source_is_tried_when_the_first_fails() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(1000, 34));
    let empty = Server::start("127.0.0.1", |_, stream| send(stream, answer("404 Not Found", &[], b""))).await;
    let full = Server::serving(&body).await;
    let (cache, sum) = (cache(&dir), sha256(&body));
    let (lost, found) = (from(empty.url()), from(full.url()));
    let (lost, found) = tokio::join!(cache.get(&sum, &lost), cache.get(&sum, &found));
    assert!(lost.is_err());
    assert_eq!(std::fs::read(found.unwrap().path()).unwrap(), body);
}

#[tokio::test]
async fn two_agents_on_one_folder_share_one_download() {
    let (dir, body) = (tempfile::tempdir().unwrap(), solver(100_000, 35));
    let gated = Gated::start(&body).await;
    let (sum, source) = (sha256(&body), from(gated.server.url()));
    let (one, other) = (cache(&dir), cache(&dir));
    let mut first = Box::pin(one.get(&sum, &source));
    assert!(poll_immediate(&mut first).await.is_none());
    gated.is_halfway().await;
    let third = cache(&dir);
    let release = async { gated.go_on.add_permits(1) };
    let (first, second, third, ()) =
        tokio::join!(first, other.get(&sum, &source), third.get(&sum, &source), release);
    for held in [first, second, third] {
        assert_eq!(std::fs::read(held.unwrap().path()).unwrap(), body);
    }
    assert_eq!(gated.server.requests().len(), 1);
    assert_eq!(names(dir.path()), [sum]);
}

#[tokio::test]
async fn solver_that_another_agent_uses_is_not_evicted() {
    let dir = tempfile::tempdir().unwrap();
    let small = super::Limits { total_max: 2500, ..limits() };
    let (one, other) = (
        open(dir.path(), small.clone(), "http://127.0.0.1:9"),
        open(dir.path(), small, "http://127.0.0.1:9"),
    );
    let bodies = [solver(1000, 36), solver(1000, 37), solver(1000, 38)];
    let mut held = Vec::new();
    for (body, agent) in bodies.iter().zip([&one, &other, &other]) {
        let server = Server::serving(body).await;
        held.push(agent.get(&sha256(body), &from(server.url())).await.unwrap());
        held.truncate(1);
    }
    let mut expect = [sha256(&bodies[0]), sha256(&bodies[2])];
    expect.sort();
    assert_eq!(names(dir.path()), expect);
    assert_eq!(std::fs::read(held[0].path()).unwrap(), bodies[0]);
}
