//! What a new machine needs: the installer, and the programs it fetches. Whoever reaches the hub
//! may have them: they are no secret, and a machine has no token to show before it has an agent.
//! What they do needs a token.

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use forge_shared::response::{Download, ErrorBody};
use std::{io, str::FromStr, sync::Arc};
use tokio::task::spawn_blocking;
use tokio_util::io::ReaderStream;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    app::App,
    error::{ApiError, ApiResult},
    json::Json,
    query::PathId,
    range,
};
use crate::downloads::LIST;

/// How much of a file is in memory for one reader.
const PIECE_BYTES: usize = 64 << 10;
const INSTALLER: &str = include_str!("../../../../deploy/install.sh");
/// The line of the installer that the address of this hub is written into.
const NO_ADDRESS: &str = "\nserved_by=''\n";
/// Names of hosts are not longer.
const HOST_BYTES_MAX: usize = 253 + 6;

pub fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::default().routes(routes!(installer)).routes(routes!(list)).routes(routes!(fetch))
}

/// The installer for agents and queuectl
#[utoipa::path(
    get, path = "/install.sh", operation_id = "installer", tag = "downloads",
    responses((status = 200, description = "A shell script; `sh install.sh --help` tells how to use it", content_type = "text/x-shellscript")),
    security(()),
)]
async fn installer(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let script = match own_address(&headers, app.speaks_tls) {
        Some(address) => INSTALLER.replacen(NO_ADDRESS, &format!("\nserved_by='{address}'\n"), 1),
        None => INSTALLER.to_owned(),
    };
    // It has the caller's idea of this hub's name in it, so nobody else may be given it.
    let headers =
        [(header::CONTENT_TYPE, "text/x-shellscript; charset=utf-8"), (header::CACHE_CONTROL, "no-store")];
    (headers, script).into_response()
}

/// How the caller reached this hub, where that is certain: over TLS, its own or as the proxy in
/// front says, or on this very machine. Elsewhere a guess could send the token unencrypted to a hub that is
/// reached by TLS, and the installer asks.
fn own_address(headers: &HeaderMap, speaks_tls: bool) -> Option<String> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let is_v6 = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .is_some_and(|name| std::net::Ipv6Addr::from_str(name).is_ok());
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-.".contains(&letter);
    let is_name = !name.is_empty() && name.bytes().all(is_plain);
    if host.len() > HOST_BYTES_MAX || !is_port || !(is_v6 || is_name) {
        return None;
    }
    if speaks_tls || headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https") {
        return Some(format!("https://{host}"));
    }
    let is_here = name == "localhost" || name == "[::1]" || name.starts_with("127.");
    is_here.then(|| format!("http://{host}"))
}

/// What can be downloaded
#[utoipa::path(
    get, path = "/api/downloads", operation_id = "list_downloads", tag = "downloads",
    responses((status = 200, description = "The programs that `make dist` built for this hub; none when it has not run", body = Vec<Download>)),
    security(()),
)]
async fn list(State(app): State<Arc<App>>) -> ApiResult<Json<Vec<Download>>> {
    let downloads = app.downloads.clone();
    Ok(Json(on_disk(move || downloads.all()).await?))
}

/// Fetch a program
///
/// `SHA256SUMS` is the list of all with their checksums, for `sha256sum --check`.
#[utoipa::path(
    get, path = "/downloads/{name}", operation_id = "download", tag = "downloads",
    params(
        ("name" = String, Path, description = "As listed, such as forge-agent-linux-x86_64, or SHA256SUMS"),
        ("If-None-Match" = Option<String>, Header, description = "The ETag that the caller has"),
    ),
    responses(
        (status = 200, description = "All of it; the ETag is its sha256", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 304, description = "The caller has it"),
        (status = 404, description = "Not among what `make dist` built", body = ErrorBody),
    ),
    security(()),
)]
async fn fetch(
    State(app): State<Arc<App>>,
    PathId(Name(name)): PathId<Name>,
    method: Method,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let downloads = app.downloads.clone();
    if name == LIST {
        let list = on_disk(move || downloads.list()).await?.ok_or_else(none)?;
        return Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], list).into_response());
    }
    let found = on_disk(move || downloads.open(&name)).await?;
    let (file, download) = found.ok_or_else(none)?;
    let etag =
        HeaderValue::try_from(format!("\"{}\"", download.sha256)).expect("hex digits fit into a header");
    if range::caller_has(&headers, &etag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response());
    }
    let body = match method {
        Method::HEAD => Body::empty(),
        _ => Body::from_stream(ReaderStream::with_capacity(tokio::fs::File::from_std(file), PIECE_BYTES)),
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_LENGTH, HeaderValue::from(download.bytes)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::ETAG, etag),
    ];
    Ok((headers, body).into_response())
}

/// Any text: whether it names something is looked up.
struct Name(String);

impl FromStr for Name {
    type Err = forge_shared::Invalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

fn none() -> ApiError {
    let why = "there is no such download. Whoever runs the hub builds them with `make dist` and names their \
               folder in DOWNLOADS_DIR; /api/downloads lists what there is";
    ApiError::new(StatusCode::NOT_FOUND, "no_such_download", why)
}

async fn on_disk<T: Send + 'static>(look: impl FnOnce() -> io::Result<T> + Send + 'static) -> ApiResult<T> {
    let found = spawn_blocking(look).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    found.map_err(|error| {
        tracing::error!(%error, "the downloads could not be read");
        let why = "the downloads could not be read; see the hub's log";
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "downloads_failed", why)
    })
}

#[cfg(test)]
mod tests {
    use super::{super::test_rig::Rig, *};
    use crate::downloads::Downloads;
    use std::{fs, path::Path};
    use tempfile::TempDir;

    /// A folder as `make dist` leaves it, with something else beside.
    fn built() -> TempDir {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("forge-agent-linux-x86_64"), "the agent").unwrap();
        fs::write(folder.path().join("notes.txt"), "not meant for others").unwrap();
        let lines = format!("{}  forge-agent-linux-x86_64\n{}  gone\n", "a".repeat(64), "b".repeat(64));
        fs::write(folder.path().join(LIST), lines).unwrap();
        folder
    }

    async fn serving(folder: &Path) -> Rig {
        let folder = folder.to_owned();
        Rig::adjusted(move |app| app.downloads = Downloads::new(folder)).await
    }

    #[tokio::test]
    async fn what_was_built_is_fetched_without_a_token_and_asked_for_again_by_its_checksum() {
        let folder = built();
        let rig = serving(folder.path()).await;
        let path = "/downloads/forge-agent-linux-x86_64";
        let answer = rig.send("GET", path, &[], "").await;
        assert_eq!((answer.status, &answer.body[..]), (200, &b"the agent"[..]));
        assert_eq!(answer.header("content-length"), "9");
        assert_eq!(answer.header("content-type"), "application/octet-stream");
        let tag = answer.header("etag");
        assert_eq!(tag, format!("\"{}\"", "a".repeat(64)));
        let same = rig.send("GET", path, &[("if-none-match", tag)], "").await;
        assert_eq!((same.status, same.body.len()), (304, 0));
        let head = rig.send("HEAD", path, &[], "").await;
        assert_eq!((head.status, head.body.len(), head.header("content-length")), (200, 0, "9"));
        let list = rig.send("GET", "/downloads/SHA256SUMS", &[], "").await;
        assert!(list.body.starts_with(b"aaaa") && list.header("content-type").starts_with("text/plain"));
        let all = rig.send("GET", "/api/downloads", &[], "").await.value();
        assert_eq!(all.as_array().unwrap().len(), 1, "{all}");
        assert_eq!((&all[0]["name"], &all[0]["bytes"]), (&"forge-agent-linux-x86_64".into(), &9.into()));
    }

    #[tokio::test]
    async fn nothing_else_is_there_however_it_is_asked_for() {
        let folder = built();
        fs::write(folder.path().parent().unwrap().join("outside"), "").unwrap();
        let rig = serving(folder.path()).await;
        for name in [
            "notes.txt",
            "gone",
            "..%2Foutside",
            "..%2f..%2fetc%2fpasswd",
            "%2Fetc%2Fpasswd",
            ".",
            "%00",
            "forge-agent-linux-x86_64%00",
            "./forge-agent-linux-x86_64".replace('/', "%2F").as_str(),
        ] {
            let answer = rig.send("GET", &format!("/downloads/{name}"), &[], "").await;
            assert_eq!(answer.status, 404, "{name}");
        }
    }

    #[tokio::test]
    async fn a_hub_without_downloads_says_how_to_get_them() {
        let folder = TempDir::new().unwrap();
        let rig = serving(&folder.path().join("none")).await;
        assert_eq!(rig.send("GET", "/api/downloads", &[], "").await.value(), serde_json::json!([]));
        for name in [LIST, "forge-agent-linux-x86_64"] {
            let answer = rig.send("GET", &format!("/downloads/{name}"), &[], "").await;
            assert_eq!((answer.status, answer.code().as_str()), (404, "no_such_download"));
            assert!(answer.value()["error"].as_str().unwrap().contains("make dist"));
        }
    }

    #[tokio::test]
    async fn the_installer_knows_the_hub_only_where_that_is_certain() {
        let rig = Rig::new().await;
        let address = async |headers: &[(&str, &str)]| {
            let script = rig.send("GET", "/install.sh", headers, "").await;
            assert_eq!((script.status, script.header("cache-control")), (200, "no-store"));
            let script = String::from_utf8(script.body.to_vec()).unwrap();
            assert!(script.starts_with("#!/bin/sh\n"));
            let line = script.lines().find_map(|line| line.strip_prefix("served_by='")).unwrap();
            line.strip_suffix('\'').unwrap().to_owned()
        };
        let tls = ("x-forwarded-proto", "https");
        assert_eq!(address(&[("host", "hub.example.com"), tls]).await, "https://hub.example.com");
        assert_eq!(address(&[("host", "[2001:db8::1]:8443"), tls]).await, "https://[2001:db8::1]:8443");
        assert_eq!(address(&[("host", "127.0.0.1:3000")]).await, "http://127.0.0.1:3000");
        assert_eq!(address(&[("host", "localhost")]).await, "http://localhost");
        assert_eq!(address(&[("host", "hub.example.com")]).await, "", "it may be reached by https");
        for host in ["a'; rm -rf /; '", "hub.example.com:99999", "$(id)", "[::1", "a b", "", "[zz]"] {
            assert_eq!(address(&[("host", host), tls]).await, "", "{host}");
        }
    }
}
