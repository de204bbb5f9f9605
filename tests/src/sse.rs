//! Reads server-sent events.

use anyhow::{Context, bail};
use futures_util::StreamExt;
use reqwest::Client;
use serde_json::Value;
use std::{pin::Pin, time::Duration};

type Bytes = Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<Vec<u8>>> + Send>>;

/// One message. A comment (keep-alive) is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    pub id: Option<String>,
    pub event: Option<String>,
    pub data: String,
}

impl Message {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error} in {:?}", self.data))
    }

    /// The epoch and the number of an id `<epoch>-<seq>`.
    pub fn position(&self) -> Option<(u64, u64)> {
        let (epoch, seq) = self.id.as_deref()?.split_once('-')?;
        Some((epoch.parse().ok()?, seq.parse().ok()?))
    }
}

/// Turns bytes into messages, however they are cut.
#[derive(Debug, Default)]
pub struct Parser {
    rest: Vec<u8>,
    message: Message,
    started: bool,
}

impl Parser {
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Message> {
        let mut messages = Vec::new();
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\r', '\n']);
            if line.is_empty() {
                if std::mem::take(&mut self.started) {
                    messages.push(std::mem::take(&mut self.message));
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "id" => self.message.id = Some(value.to_owned()),
                "event" => self.message.event = Some(value.to_owned()),
                "data" => {
                    if !self.message.data.is_empty() {
                        self.message.data.push('\n');
                    }
                    self.message.data.push_str(value);
                }
                _ => continue,
            }
            self.started = true;
        }
        messages
    }
}

pub struct Stream {
    bytes: Bytes,
    parser: Parser,
    ready: std::collections::VecDeque<Message>,
}

impl Stream {
    pub async fn open(client: &Client, url: &str, last_id: Option<&str>) -> anyhow::Result<Self> {
        let mut request = client.get(url).header("accept", "text/event-stream");
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.context("connect")?;
        if response.status() != 200 {
            bail!("the stream answered {}", response.status());
        }
        let kind =
            response.headers().get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            bail!("the stream's content type is {kind:?}");
        }
        let bytes = response.bytes_stream().map(|chunk| chunk.map(|bytes| bytes.to_vec())).boxed();
        Ok(Self { bytes, parser: Parser::default(), ready: Default::default() })
    }

    /// The next message; `None` when the hub ended the stream.
    pub async fn next(&mut self) -> anyhow::Result<Option<Message>> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            match self.bytes.next().await {
                Some(chunk) => self.ready.extend(self.parser.push(&chunk?)),
                None => return Ok(None),
            }
        }
    }

    /// The next message that has data, within `max`.
    pub async fn within(&mut self, max: Duration) -> Message {
        let wanted = async {
            loop {
                match self.next().await.expect("read the stream") {
                    Some(message) if message.data.is_empty() => {}
                    Some(message) => return message,
                    None => panic!("the stream ended"),
                }
            }
        };
        tokio::time::timeout(max, wanted).await.unwrap_or_else(|_| panic!("no message within {max:?}"))
    }

    /// The next message with this event name, skipping others.
    pub async fn until(&mut self, event: &str) -> Message {
        loop {
            let message = self.within(Duration::from_secs(10)).await;
            if message.event.as_deref() == Some(event) {
                return message;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_any_cut() {
        let text = b": hello\n\nid: 1-7\nevent: job:created\ndata: {\"a\":1}\n\nid: 1-9\n\ndata: x\r\ndata: y\r\n\r\n";
        for cut in 0..text.len() {
            let mut parser = Parser::default();
            let mut messages = parser.push(&text[..cut]);
            messages.extend(parser.push(&text[cut..]));
            assert_eq!(messages.len(), 3, "cut at {cut}");
            assert_eq!(messages[0].position(), Some((1, 7)));
            assert_eq!(messages[0].event.as_deref(), Some("job:created"));
            assert_eq!(messages[1], Message { id: Some("1-9".to_owned()), ..Message::default() });
            assert_eq!(messages[2].data, "x\ny");
        }
    }
}
