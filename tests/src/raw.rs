//! HTTP written by hand, for requests that no decent client would send.

use crate::hub::Answer;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::{net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// The hub closes what stalls within a few seconds; this allows for a slow machine.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Sends bytes as they are and reads what comes back until the hub closes or the answer is
/// complete. `None`: closed without an answer.
pub async fn exchange(address: SocketAddr, request: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).await.expect("connect to the hub");
    // The hub may refuse and close before it has read everything.
    let _ = stream.write_all(request).await;
    read_answer(&mut stream).await
}

/// Reads one answer from a connection that stays open.
pub async fn read_answer(stream: &mut TcpStream) -> Option<Answer> {
    let mut bytes = Vec::new();
    loop {
        if let Some(answer) = parse(&bytes) {
            return Some(answer);
        }
        let mut chunk = vec![0; 16 * 1024];
        match timeout(ANSWER_MAX, stream.read(&mut chunk)).await.expect("the hub answers or closes") {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&chunk[..n]),
        }
    }
}

/// A whole answer with a known length, if it is there.
fn parse(bytes: &[u8]) -> Option<Answer> {
    let head_end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..head_end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':')?;
        headers
            .append(HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_str(value.trim()).ok()?);
    }
    let length =
        headers.get("content-length").and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(0);
    let body = bytes.get(head_end + 4..head_end + 4 + length)?;
    Some(Answer { status, headers, body: body.to_vec() })
}
