//! Server-sent events, cut out of the bytes that carry them.

/// One message. Comments are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) id: Option<String>,
    pub(super) event: Option<String>,
    pub(super) data: String,
}

/// Turns bytes into messages, however they are cut.
#[derive(Debug, Default)]
pub(super) struct Parser {
    rest: Vec<u8>,
    message: Message,
    begun: bool,
}

impl Parser {
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Message> {
        self.rest.extend_from_slice(bytes);
        let mut messages = Vec::new();
        let mut from = 0;
        while let Some(length) = self.rest[from..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.rest[from..from + length]).into_owned();
            from += length + 1;
            messages.extend(self.line(line.trim_end_matches('\r')));
        }
        self.rest.drain(..from);
        messages
    }

    fn line(&mut self, line: &str) -> Option<Message> {
        if line.is_empty() {
            let message = std::mem::take(&mut self.message);
            return std::mem::take(&mut self.begun).then_some(message);
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
            _ => return None,
        }
        self.begun = true;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_any_cut() {
        let text = "id: 1-7\nevent: job:created\ndata: {\"a\":\"ä\"}\n\n: alive\n\nid: 1-9\n\ndata: x\r\ndata: y\r\n\r\n";
        let text = text.as_bytes();
        for cut in 0..text.len() {
            let mut parser = Parser::default();
            let mut messages = parser.push(&text[..cut]);
            messages.extend(parser.push(&text[cut..]));
            assert_eq!(messages.len(), 3, "cut at {cut}");
            let Message { id, event, data } = &messages[0];
            assert_eq!((id.as_deref(), event.as_deref()), (Some("1-7"), Some("job:created")));
            assert_eq!(data, "{\"a\":\"ä\"}");
            assert_eq!(messages[1], Message { id: Some("1-9".to_owned()), ..Message::default() });
            assert_eq!(messages[2].data, "x\ny");
        }
    }
}
