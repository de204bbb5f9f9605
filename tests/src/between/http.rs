//! HTTP as far as agents speak it: one request after the other on a connection, bodies of a known length.

use super::{header, read_head};
use reqwest::{Client, Method};
use std::{future::Future, net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

/// Longer than any call that waits for something to happen.
const ANSWER_MAX: Duration = Duration::from_secs(90);

/// Headers that mean something to a hub or to an agent.
const TELLING: [&str; 8] = [
    "authorization",
    "content-type",
    "etag",
    "if-range",
    "range",
    "retry-after",
    "user-agent",
    "x-node-name",
];

#[derive(Debug)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub body: Vec<u8>,
    pub headers: Vec<(&'static str, String)>,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// Answers until either side has enough; `None` hangs up.
pub(super) async fn serve<F>(stream: TcpStream, answer: impl Fn(Asked) -> F)
where
    F: Future<Output = Option<Reply>>,
{
    let mut stream = BufReader::new(stream);
    while let Some(asked) = read(&mut stream).await {
        let Some(Reply { status, headers, body }) = answer(asked).await else { return };
        let mut bytes = format!("HTTP/1.1 {status} -\r\n").into_bytes();
        for (name, value) in headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
        bytes.extend_from_slice(&body);
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let head = read_head(stream).await?;
    let length = header(&head, "content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let mut words = head.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers = TELLING.iter().filter_map(|name| Some((*name, header(&head, name)?.to_owned()))).collect();
    Some(Asked { method, path, body, headers })
}

/// What the hub says to it; `None` when it is not there.
pub(super) async fn forward(client: &Client, hub: SocketAddr, asked: &Asked) -> Option<Reply> {
    let method = Method::from_bytes(asked.method.as_bytes()).ok()?;
    let mut request = client.request(method, format!("http://{hub}{}", asked.path)).body(asked.body.clone());
    for (name, value) in &asked.headers {
        request = request.header(*name, value);
    }
    let answer = request.timeout(ANSWER_MAX).send().await.ok()?;
    let status = answer.status().as_u16();
    let said = |name: &&'static str| {
        let value = answer.headers().get(*name)?.to_str().ok()?;
        Some((*name, value.to_owned()))
    };
    let headers = TELLING.iter().filter_map(said).collect();
    let body = answer.bytes().await.ok()?.to_vec();
    Some(Reply { status, headers, body })
}
