//! Reads what strace recorded and judges whether answers waited for the disk.
//!
//! A line is one moment. A system call that was interrupted by another thread's takes two lines,
//! `<unfinished ...>` where it began and `resumed` where it ended, so "ended before the other
//! began" can be read off the line numbers.

use std::{collections::HashMap, fmt};

/// One system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Syscall {
    pub name: String,
    /// What its first argument refers to: a path, or a socket with its addresses.
    pub file: String,
    /// The rest of the line: data and result.
    pub rest: String,
    pub start: usize,
    pub end: usize,
}

/// Reads the output of `strace -f -yy`.
pub fn parse(text: &str) -> Vec<Syscall> {
    let mut open: HashMap<&str, Syscall> = HashMap::new();
    let mut calls = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some((pid, line)) = line.trim_start().split_once(' ') else { continue };
        let line = line.trim_start();
        if let Some(resumed) = line.strip_prefix("<... ") {
            if let Some(mut call) = open.remove(pid) {
                call.end = at;
                call.rest.push_str(resumed.split_once('>').map_or("", |(_, rest)| rest));
                calls.push(call);
            }
            continue;
        }
        let Some((name, rest)) = line.split_once('(') else { continue };
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            continue;
        }
        let call =
            Syscall { name: name.to_owned(), file: file_of(rest), rest: rest.to_owned(), start: at, end: at };
        if line.ends_with("<unfinished ...>") {
            open.insert(pid, call);
        } else {
            calls.push(call);
        }
    }
    calls.sort_by_key(|call| call.start);
    calls
}

/// `7</tmp/x-wal>, ...` and `9<TCP:[127.0.0.1:1->127.0.0.1:2]>, ...`: what stands between the
/// outer angle brackets. The arrow inside a socket is no closing one.
fn file_of(arguments: &str) -> String {
    let Some((fd, rest)) = arguments.split_once('<') else { return String::new() };
    if !fd.bytes().all(|byte| byte.is_ascii_digit()) {
        return String::new();
    }
    let mut before = ' ';
    for (at, letter) in rest.char_indices() {
        if letter == '>' && before != '-' {
            return rest[..at].to_owned();
        }
        before = letter;
    }
    String::new()
}

impl Syscall {
    fn is_wal(&self) -> bool {
        self.file.split(' ').next().is_some_and(|path| path.ends_with("-wal"))
    }

    fn writes(&self) -> bool {
        matches!(self.name.as_str(), "write" | "writev" | "pwrite64" | "pwritev" | "pwritev2")
    }

    fn syncs(&self) -> bool {
        matches!(self.name.as_str(), "fdatasync" | "fsync") && self.rest.contains("= 0")
    }

    fn receives(&self) -> bool {
        matches!(self.name.as_str(), "read" | "readv" | "recvfrom" | "recvmsg") && !self.rest.contains("= -1")
    }

    fn sends(&self) -> bool {
        matches!(self.name.as_str(), "write" | "writev" | "sendto" | "sendmsg")
    }
}

/// An answer that left too early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TooEarly {
    /// Nothing was written to the log between the request and its answer.
    NotWritten { line: usize },
    /// It was written, but not synced.
    NotSynced { line: usize },
}

impl fmt::Display for TooEarly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What was found on one connection that sent writes one after the other.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SyncOrder {
    /// How many 2xx answers were judged.
    pub answers: usize,
    pub too_early: Vec<TooEarly>,
}

/// Looks at every POST that came from the client's `port` and got a 2xx: between the read that
/// brought it and the write of its answer, the write-ahead log was written and then synced.
pub fn sync_order(calls: &[Syscall], port: u16) -> SyncOrder {
    let peer = format!("->127.0.0.1:{port}]");
    let socket: Vec<&Syscall> = calls.iter().filter(|call| call.file.contains(&peer)).collect();
    let mut order = SyncOrder::default();
    let mut request: Option<&Syscall> = None;
    for call in socket {
        if call.receives() && call.rest.contains("\"POST ") {
            request = Some(call);
        } else if call.sends() && call.rest.contains("\"HTTP/1.1 ") {
            let Some(request) = request.take() else { continue };
            if call.rest.contains("\"HTTP/1.1 2") {
                order.answers += 1;
                order.too_early.extend(judge(calls, request, call));
            }
        }
    }
    order
}

fn judge(calls: &[Syscall], request: &Syscall, answer: &Syscall) -> Option<TooEarly> {
    let between = |call: &&Syscall| call.start > request.end && call.end < answer.start && call.is_wal();
    let Some(written) = calls.iter().filter(between).find(|call| call.writes()) else {
        return Some(TooEarly::NotWritten { line: answer.start });
    };
    let synced = calls.iter().filter(between).any(|call| call.syncs() && call.start > written.end);
    (!synced).then_some(TooEarly::NotSynced { line: answer.start })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = r#"7 recvfrom(9<TCP:[127.0.0.1:1->127.0.0.1:2]>, "POST /api/jobs HTTP/1.1\r\n", 8192, 0, NULL, NULL) = 80"#;
    const WRITE: &str = r#"8 pwrite64(5</d/x.sqlite-wal>, "\0", 4096, 32) = 4096"#;
    const SYNC: &str = "8 fdatasync(5</d/x.sqlite-wal>) = 0";
    const ANSWER: &str = r#"7 sendto(9<TCP:[127.0.0.1:1->127.0.0.1:2]>, "HTTP/1.1 201 Created\r\n", 90, MSG_NOSIGNAL, NULL, 0) = 90"#;

    #[track_caller]
    fn found(lines: &[&str], answers: usize, too_early: &[TooEarly]) {
        let order = sync_order(&parse(&lines.join("\n")), 2);
        assert_eq!(order, SyncOrder { answers, too_early: too_early.to_vec() });
    }

    #[test]
    fn written_then_synced_then_answered_is_good() {
        found(&[REQUEST, WRITE, SYNC, ANSWER, REQUEST, WRITE, SYNC, ANSWER], 2, &[]);
    }

    #[test]
    fn an_answer_before_the_write_is_too_early() {
        found(&[REQUEST, ANSWER, WRITE, SYNC], 1, &[TooEarly::NotWritten { line: 1 }]);
        found(&[WRITE, SYNC, REQUEST, ANSWER], 1, &[TooEarly::NotWritten { line: 3 }]);
    }

    #[test]
    fn an_answer_without_or_before_the_sync_is_too_early() {
        found(&[REQUEST, WRITE, ANSWER], 1, &[TooEarly::NotSynced { line: 2 }]);
        found(&[REQUEST, SYNC, WRITE, ANSWER], 1, &[TooEarly::NotSynced { line: 3 }]);
        let begun = "8 fdatasync(5</d/x.sqlite-wal> <unfinished ...>";
        let ended = "8 <... fdatasync resumed>) = 0";
        found(&[REQUEST, WRITE, begun, ANSWER, ended], 1, &[TooEarly::NotSynced { line: 3 }]);
        found(&[REQUEST, WRITE, begun, ended, ANSWER], 1, &[]);
    }

    #[test]
    fn another_file_s_sync_does_not_count() {
        let other = "8 fdatasync(6</d/x.sqlite>) = 0";
        found(&[REQUEST, WRITE, other, ANSWER], 1, &[TooEarly::NotSynced { line: 3 }]);
    }

    #[test]
    fn refusals_and_other_connections_are_not_judged() {
        let refused = ANSWER.replace("201 Created", "400 Bad Request");
        let other = ANSWER.replace(":2]", ":3]");
        found(&[REQUEST, &refused], 0, &[]);
        found(&[REQUEST, &other], 0, &[]);
    }

    #[test]
    fn a_request_read_in_two_lines_is_one() {
        let begun = r#"7 recvfrom(9<TCP:[127.0.0.1:1->127.0.0.1:2]>,  <unfinished ...>"#;
        let ended = r#"7 <... recvfrom resumed>"POST /api/jobs HTTP/1.1\r\n", 8192, 0, NULL, NULL) = 80"#;
        found(&[begun, ended, WRITE, SYNC, ANSWER], 1, &[]);
        found(&[begun, WRITE, SYNC, ended, ANSWER], 1, &[TooEarly::NotWritten { line: 4 }]);
    }
}
