//! A server of one solver that says exactly what a test tells it to, byte by byte.

use super::{Listening, header, read_head};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::watch,
};

const TAG: &str = "\"the-one-version\"";

/// What was asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Counts from 0.
    pub number: usize,
    /// Where the wanted range starts.
    pub from: Option<usize>,
}

/// What it says.
pub struct Reply {
    bytes: Vec<u8>,
    /// Stays silent then, instead of hanging up.
    then_stalls: bool,
}

impl Reply {
    /// All that was asked for, under a version that can be gone on from.
    pub fn whole(body: &[u8], asked: Asked) -> Self {
        Self::part(body, asked, body.len())
    }

    /// Announces all, and ends at this byte of the file.
    pub fn part(body: &[u8], asked: Asked, upto: usize) -> Self {
        let (from, length) = (asked.from.unwrap_or(0), body.len());
        let status = match asked.from {
            Some(from) => {
                format!("206 Partial Content\r\ncontent-range: bytes {from}-{}/{length}", length - 1)
            }
            None => "200 OK".to_owned(),
        };
        Self::new(&format!("{status}\r\netag: {TAG}\r\ncontent-length: {}", length - from), &body[from..upto])
    }

    /// A status line and headers of the test's own.
    pub fn new(head: &str, body: &[u8]) -> Self {
        let mut bytes = format!("HTTP/1.1 {head}\r\n\r\n").into_bytes();
        bytes.extend_from_slice(body);
        Self { bytes, then_stalls: false }
    }

    pub fn then_stalls(mut self) -> Self {
        self.then_stalls = true;
        self
    }
}

pub struct Origin {
    listening: Listening,
    asked: watch::Receiver<Vec<Asked>>,
}

impl Origin {
    pub async fn start(host: &str, reply: impl Fn(Asked) -> Reply + Send + Sync + 'static) -> Self {
        let (sender, asked) = watch::channel(Vec::new());
        let (sender, reply) = (Arc::new(sender), Arc::new(reply));
        let listening = Listening::start(host, move |stream| {
            let (sender, reply) = (sender.clone(), reply.clone());
            async move { serve(stream, &sender, &*reply).await }
        })
        .await;
        Self { listening, asked }
    }

    pub fn url(&self) -> String {
        format!("http://{}/solver", self.listening.address)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.borrow().clone()
    }
}

/// One request for each connection.
async fn serve(mut stream: TcpStream, seen: &watch::Sender<Vec<Asked>>, reply: &impl Fn(Asked) -> Reply) {
    let Some(head) = read_head(&mut stream).await else { return };
    let from = header(&head, "range")
        .and_then(|range| range.strip_prefix("bytes=")?.split('-').next()?.parse().ok());
    let asked = Asked { number: seen.borrow().len(), from };
    seen.send_modify(|seen| seen.push(asked));
    let Reply { bytes, then_stalls } = reply(asked);
    // The agent may have heard enough and hung up.
    let _ = stream.write_all(&bytes).await;
    if !then_stalls {
        let _ = stream.shutdown().await;
    }
    // Until the agent hangs up: closing with bytes unread would lose what was sent.
    let _ = stream.read(&mut [0; 16]).await;
}

/// A script of this length, and its checksum.
pub fn long_script(lines: &str, length: usize) -> (Vec<u8>, String) {
    let mut script = format!("#!/bin/sh\n{lines}\nexit\n").into_bytes();
    while script.len() < length {
        script.extend_from_slice(b"# not read any more\n");
    }
    let checksum = HEXLOWER.encode(&Sha256::digest(&script));
    (script, checksum)
}
