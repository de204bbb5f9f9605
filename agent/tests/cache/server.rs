//! A server that says exactly what a test tells it to, byte by byte.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Counts from 0.
    pub(crate) number: usize,
    pub(crate) path: String,
    head: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Calls `answer` for each connection's only request. The connection ends when it returns.
    pub(crate) async fn start<F>(
        host: &str,
        answer: impl Fn(Request, TcpStream) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind((host, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let Some(head) = read_head(&mut stream).await else { continue };
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                let request = {
                    let mut seen = seen.lock().unwrap();
                    let request = Request { number: seen.len(), path, head };
                    seen.push(request.clone());
                    request
                };
                tokio::spawn(answer(request, stream));
            }
        });
        Self { address, requests, task }
    }

    /// The same whole answer, always.
    pub(crate) async fn serving(body: &[u8]) -> Self {
        let answer = whole(body);
        Self::start("127.0.0.1", move |_, stream| send(stream, answer.clone())).await
    }

    pub(crate) async fn redirecting(host: &str, to: String) -> Self {
        let answer = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
        Self::start(host, move |_, stream| send(stream, answer.clone().into_bytes())).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/solver", self.address)
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

pub(crate) async fn send(mut stream: TcpStream, bytes: Vec<u8>) {
    // The agent may have heard enough and hung up.
    let _ = stream.write_all(&bytes).await;
    let _ = stream.shutdown().await;
    // Closing with bytes unread would reset the connection and lose what was sent.
    let _ = stream.read(&mut [0; 16]).await;
}

pub(crate) fn answer(status: &str, headers: &[(&str, String)], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status}\r\n").into_bytes();
    for (name, value) in headers {
        bytes.extend(format!("{name}: {value}\r\n").into_bytes());
    }
    bytes.extend(b"\r\n");
    bytes.extend(body);
    bytes
}

pub(crate) fn whole(body: &[u8]) -> Vec<u8> {
    answer("200 OK", &[("content-length", body.len().to_string())], body)
}

/// Announces everything, sends `sent` bytes of it.
pub(crate) fn cut(body: &[u8], sent: usize, tag: Option<&str>) -> Vec<u8> {
    let mut headers = vec![("content-length", body.len().to_string())];
    headers.extend(tag.map(|tag| ("etag", tag.to_owned())));
    answer("200 OK", &headers, &body[..sent])
}

pub(crate) fn rest(body: &[u8], from: usize, tag: &str) -> Vec<u8> {
    let range = format!("bytes {from}-{}/{}", body.len() - 1, body.len());
    let length = (body.len() - from).to_string();
    let headers = [("content-range", range), ("content-length", length), ("etag", tag.to_owned())];
    answer("206 Partial Content", &headers, &body[from..])
}
