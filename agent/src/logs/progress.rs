//! Lines of progress among the lines of a log.

use serde::Deserialize;
use std::io::BufRead as _;

const MARK: &[u8] = b"FORGE_PROGRESS ";
/// A longer line is not held back to see whether it is progress.
const LINE_BYTES_MAX: usize = 32 << 10;
/// The hub refuses longer messages.
const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// How far a solver says that it is.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Progress {
    pub percent: Option<f64>,
    pub message: Option<String>,
}

/// Splits a stream into log text and progress. A line is held back only while it may still turn
/// out to be progress; every other byte goes on at once.
#[derive(Default)]
pub(super) struct ProgressLines {
    held: Vec<u8>,
    inside_text_line: bool,
}

impl ProgressLines {
    pub(super) fn split(
        &mut self,
        bytes: &[u8],
        mut text: impl FnMut(&[u8]),
        mut progress: impl FnMut(Progress),
    ) {
        // Ordinary lines that follow one another go on together, and nothing of them is copied.
        let mut text_from = 0;
        let mut at = 0;
        while at < bytes.len() {
            let (line, is_whole) = first_line(&bytes[at..]);
            let from = at;
            at += line.len();
            if self.inside_text_line || self.held.is_empty() && !may_be_progress(line) {
                self.inside_text_line = !is_whole;
                continue;
            }
            if text_from < from {
                text(&bytes[text_from..from]);
            }
            text_from = at;
            self.held.extend_from_slice(line);
            if is_whole {
                self.end(&mut text, &mut progress);
            } else if !may_be_progress(&self.held) || self.held.len() > LINE_BYTES_MAX {
                text(&std::mem::take(&mut self.held));
                self.inside_text_line = true;
            }
        }
        if text_from < bytes.len() {
            text(&bytes[text_from..]);
        }
    }

    /// What is held back is a whole line.
    pub(super) fn end(&mut self, mut text: impl FnMut(&[u8]), mut progress: impl FnMut(Progress)) {
        let line = std::mem::take(&mut self.held);
        match read(&line) {
            Some(found) => progress(found),
            None if line.is_empty() => {}
            None => text(&line),
        }
    }
}

/// With its newline, if that is there.
fn first_line(bytes: &[u8]) -> (&[u8], bool) {
    let mut rest = bytes;
    // The standard library's way to a byte is many times faster than a loop.
    let length = rest.skip_until(b'\n').expect("reading from memory never fails");
    let line = &bytes[..length];
    (line, line.ends_with(b"\n"))
}

fn may_be_progress(line: &[u8]) -> bool {
    if line.len() < MARK.len() { MARK.starts_with(line) } else { line.starts_with(MARK) }
}

fn read(line: &[u8]) -> Option<Progress> {
    let json = line.strip_prefix(MARK)?.trim_ascii();
    // An array would be read as the fields in their order.
    if !json.starts_with(b"{") {
        return None;
    }
    let mut progress: Progress = serde_json::from_slice(json).ok()?;
    let in_range = progress.percent.is_none_or(|percent| (0.0..=100.0).contains(&percent));
    if !in_range || (progress.percent.is_none() && progress.message.is_none()) {
        return None;
    }
    if let Some(message) = &mut progress.message {
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
    }
    Some(progress)
}
