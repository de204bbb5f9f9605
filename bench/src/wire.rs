//! A client that costs next to nothing: it shares the machine with what it measures. HTTP/1.1
//! with kept-alive connections, one request at a time, answers of a known length.

use anyhow::{Context, bail};
use std::{io::Write as _, net::SocketAddr};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const READ_BYTES: usize = 16 * 1024;

pub struct Connection {
    stream: TcpStream,
    bytes: Vec<u8>,
    filled: usize,
    taken: usize,
}

/// An answer; the body lives until the next one is read.
pub struct Answer<'a> {
    pub status: u16,
    pub body: &'a [u8],
}

impl Connection {
    pub async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await.context("connect")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, bytes: vec![0; READ_BYTES], filled: 0, taken: 0 })
    }

    pub async fn call(&mut self, request: &[u8]) -> anyhow::Result<Answer<'_>> {
        self.send(request).await?;
        self.receive().await
    }

    pub async fn send(&mut self, request: &[u8]) -> anyhow::Result<()> {
        Ok(self.stream.write_all(request).await?)
    }

    pub async fn receive(&mut self) -> anyhow::Result<Answer<'_>> {
        self.bytes.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
        let (head_end, status, length) = loop {
            if let Some(end) = find(&self.bytes[..self.filled], b"\r\n\r\n") {
                let (status, length) = parse_head(&self.bytes[..end])?;
                break (end + 4, status, length);
            }
            self.read().await?;
        };
        while self.filled < head_end + length {
            self.read().await?;
        }
        self.taken = head_end + length;
        Ok(Answer { status, body: &self.bytes[head_end..head_end + length] })
    }

    /// Reads whatever comes and forgets it, for streams that have no end.
    pub async fn swallow(&mut self) -> anyhow::Result<usize> {
        Ok(self.stream.read(&mut self.bytes).await?)
    }

    async fn read(&mut self) -> anyhow::Result<()> {
        if self.filled == self.bytes.len() {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
        let n = self.stream.read(&mut self.bytes[self.filled..]).await?;
        if n == 0 {
            bail!("the connection was closed");
        }
        self.filled += n;
        Ok(())
    }
}

fn parse_head(head: &[u8]) -> anyhow::Result<(u16, usize)> {
    let digits = head.get(9..12).context("a status line")?;
    let status = std::str::from_utf8(digits)?.parse()?;
    let length = match field(head, b"content-length:") {
        Some(value) => std::str::from_utf8(value)?.trim().parse()?,
        None => 0,
    };
    Ok((status, length))
}

fn field<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    head.split(|&byte| byte == b'\n')
        .find(|line| line.len() > name.len() && line[..name.len()].eq_ignore_ascii_case(name))
        .map(|line| &line[name.len()..])
}

pub fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// The text after `"name":"` up to the next quote: enough for ids, which have none inside.
pub fn text_after<'a>(body: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let key = format!("\"{name}\":\"");
    let start = find(body, key.as_bytes())? + key.len();
    let end = body[start..].iter().position(|&byte| byte == b'"')?;
    Some(&body[start..start + end])
}

/// Writes a request into a buffer that is used again and again.
pub fn post(buffer: &mut Vec<u8>, token: &str, path: &str, body: &[u8]) {
    buffer.clear();
    write!(
        buffer,
        "POST {path} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .expect("writing to memory cannot fail");
    buffer.extend_from_slice(body);
}

pub fn get(buffer: &mut Vec<u8>, token: &str, path: &str) {
    buffer.clear();
    write!(buffer, "GET {path} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {token}\r\n\r\n")
        .expect("writing to memory cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_fields_are_read() {
        let head = b"HTTP/1.1 201 Created\r\nContent-Length: 17\r\nx: y";
        assert_eq!(parse_head(head).unwrap(), (201, 17));
        assert_eq!(parse_head(b"HTTP/1.1 204 No Content\r\nx: y").unwrap(), (204, 0));
        assert_eq!(text_after(br#"{"id":"a","lease_id":"b"}"#, "lease_id"), Some(&b"b"[..]));
        assert_eq!(text_after(br#"{"id":"a"}"#, "lease_id"), None);
    }
}
