//! Where a redirect may lead, and where the token goes.

use forge_agent::cache::{CacheError, Source};

use super::server::{Server, send, whole};
use super::{TOKEN, cache, from, limits, open, sha256, solver};

const PUBLIC: &str = "127.0.0.2";

#[tokio::test]
async fn public_server_cannot_redirect_to_a_private_address() {
    let dir = tempfile::tempdir().unwrap();
    let private = Server::serving(b"x").await;
    let port = private.address.port();
    for target in [
        private.url(),
        format!("http://localhost:{port}/solver"),
        format!("http://[::ffff:127.0.0.1]:{port}/solver"),
        format!("http://0x7f000001:{port}/solver"),
        format!("http://user:pass@127.1:{port}/solver"),
    ] {
        let public = Server::redirecting(PUBLIC, target.clone()).await;
        let error = cache(&dir).get(&sha256(b"x"), &from(public.url())).await.unwrap_err();
        assert!(matches!(error, CacheError::Forbidden(_)), "{target}: {error:?}");
        assert_eq!(error.reason(), "solver_url_forbidden");
    }
    assert!(private.requests().is_empty());
}

#[tokio::test]
async fn detour_over_a_second_public_server_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let private = Server::serving(b"x").await;
    let second = Server::redirecting(PUBLIC, private.url()).await;
    let first = Server::redirecting("127.0.0.1", second.url()).await;
    let error = cache(&dir).get(&sha256(b"x"), &from(first.url())).await.unwrap_err();
    assert!(matches!(error, CacheError::Forbidden(_)), "{error:?}");
    assert_eq!(second.requests().len(), 1);
    assert!(private.requests().is_empty());
}

#[tokio::test]
async fn other_redirects_are_followed() {
    let dir = tempfile::tempdir().unwrap();
    let body = solver(1000, 20);
    let answer = whole(&body);
    let public = Server::start(PUBLIC, move |_, stream| send(stream, answer.clone())).await;
    let from_public = Server::redirecting(PUBLIC, public.url()).await;
    let from_private = Server::redirecting("127.0.0.1", from_public.url()).await;
    cache(&dir).get(&sha256(&body), &from(from_private.url())).await.unwrap();

    let private = Server::serving(b"y").await;
    let on_lan =
        Server::redirecting("127.0.0.1", format!("http://localhost:{}/y", private.address.port())).await;
    cache(&dir).get(&sha256(b"y"), &from(on_lan.url())).await.unwrap();
    assert_eq!(private.requests()[0].path, "/y");
}

#[tokio::test]
async fn only_http_is_spoken_and_circles_end() {
    let dir = tempfile::tempdir().unwrap();
    for target in ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x"] {
        let server = Server::redirecting("127.0.0.1", target.into()).await;
        let error = cache(&dir).get(&sha256(b"x"), &from(server.url())).await.unwrap_err();
        assert!(matches!(error, CacheError::Forbidden(_)), "{target}: {error:?}");
        let error = cache(&dir).get(&sha256(b"x"), &from(target.into())).await.unwrap_err();
        assert!(matches!(error, CacheError::Forbidden(_)), "{target}: {error:?}");
    }
    let circle = Server::redirecting("127.0.0.1", "/solver".into()).await;
    let error = cache(&dir).get(&sha256(b"x"), &from(circle.url())).await.unwrap_err();
    assert!(matches!(error, CacheError::Forbidden(_)), "{error:?}");
    assert_eq!(circle.requests().len(), 6);
}

#[tokio::test]
async fn hub_gets_the_token_and_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let bearer = Some(format!("Bearer {TOKEN}"));
    let hub = Server::serving(b"of the hub").await;
    let cache = open(dir.path(), limits(), &hub.base());
    cache.get(&sha256(b"of the hub"), &Source::Hub).await.unwrap();
    let request = &hub.requests()[0];
    assert_eq!(request.path, format!("/api/solvers/{}", sha256(b"of the hub")));
    assert_eq!(request.header("authorization"), bearer);

    let dir = tempfile::tempdir().unwrap();
    let cache = open(dir.path(), limits(), &hub.base());
    cache.get(&sha256(b"of the hub"), &from(hub.url())).await.unwrap();
    assert_eq!(hub.requests()[1].header("authorization"), bearer, "a solver_url on the hub");

    let stranger = Server::redirecting("127.0.0.1", hub.url()).await;
    let error = cache.get(&sha256(b"other"), &from(stranger.url())).await.unwrap_err();
    assert_eq!(error.reason(), "solver_checksum_mismatch");
    assert_eq!(stranger.requests()[0].header("authorization"), None);
    assert_eq!(hub.requests()[2].header("authorization"), None, "a stranger led there");
}

#[tokio::test]
async fn hub_that_redirects_does_not_hand_on_the_token() {
    let dir = tempfile::tempdir().unwrap();
    let store = Server::serving(b"stored").await;
    let target = store.url();
    let hub = Server::redirecting("127.0.0.1", target).await;
    let cache = open(dir.path(), limits(), &hub.base());
    cache.get(&sha256(b"stored"), &Source::Hub).await.unwrap();
    assert!(hub.requests()[0].header("authorization").is_some());
    assert_eq!(store.requests()[0].header("authorization"), None);
}

#[test]
fn token_shows_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let text = format!("{:?}", cache(&dir));
    assert!(!text.contains(TOKEN), "{text}");
}
