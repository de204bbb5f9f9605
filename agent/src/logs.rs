//! A running job's log on its way to the hub.
//!
//! What a solver writes waits in a window of bounded size. The hub appends by byte offset and
//! refuses holes, so the offsets are those of the stream as it is sent: when the hub is slower
//! than the solver, the oldest bytes that were never offered to it make room, and one line in
//! their place says how many they were.

mod progress;
#[cfg(test)]
mod tests;

pub use progress::Progress;

use bytes::{BufMut, Bytes, BytesMut};
use progress::ProgressLines;
use std::collections::VecDeque;

/// How much waits for the hub at most.
pub const WINDOW_BYTES_MAX: usize = 1 << 20;
/// Less would leave no room for a line about what is lost.
const WINDOW_BYTES_MIN: usize = 1 << 10;
/// How much is sent at once.
pub const CHUNK_BYTES_MAX: usize = 256 << 10;
/// How much of the end is kept for a failure's report, sent or not.
pub const TAIL_BYTES_MAX: usize = 64 << 10;

/// More than the longest line that stands for lost bytes.
const NOTE_BYTES_MAX: usize = 80;
/// How much room stays reserved while nothing waits.
const IDLE_BYTES: usize = 16 << 10;
/// How far behind the first byte to keep the end of its line is looked for.
const LINE_SEARCH_BYTES: usize = 4 << 10;

/// The log of one attempt.
pub struct Log {
    window_max: usize,
    chunk_max: usize,
    lines: ProgressLines,
    /// The offset of the first byte that the hub is not known to have.
    start: u64,
    /// Whether the byte before `start` ends a line.
    start_of_line: bool,
    /// What comes next in the stream. Its first `chunk_max` bytes may be on their way to the
    /// hub, or there already with the answer lost: they are never changed.
    ready: VecDeque<u8>,
    /// How many bytes are missing between `ready` and `behind`.
    lost: u64,
    /// Empty while nothing is lost.
    behind: VecDeque<u8>,
    tail: VecDeque<u8>,
}

impl Log {
    /// `max` is what the hub keeps of an attempt: more than that never waits here either.
    pub fn new(max: usize) -> Self {
        let window_max = max.clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX);
        Self {
            window_max,
            chunk_max: CHUNK_BYTES_MAX.min(window_max / 4),
            lines: ProgressLines::default(),
            start: 0,
            start_of_line: true,
            ready: VecDeque::new(),
            lost: 0,
            behind: VecDeque::new(),
            tail: VecDeque::new(),
        }
    }

    /// Takes what the solver wrote and answers the progress that is said in it.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Progress> {
        let mut found = Vec::new();
        let mut lines = std::mem::take(&mut self.lines);
        lines.split(bytes, |text| self.keep(text), |progress| found.push(progress));
        self.lines = lines;
        found
    }

    /// At the end of the stream: the last line may have no newline.
    pub fn finish(&mut self) -> Vec<Progress> {
        let mut found = Vec::new();
        let mut lines = std::mem::take(&mut self.lines);
        lines.end(|text| self.keep(text), |progress| found.push(progress));
        found
    }

    /// The last of the log, at most `max` bytes and [`TAIL_BYTES_MAX`]; sent or not.
    pub fn tail(&self, max: usize) -> String {
        let cut = self.tail.len().saturating_sub(max);
        let mut bytes: Vec<u8> = self.tail.iter().skip(cut).copied().collect();
        if cut > 0 || self.tail.len() == TAIL_BYTES_MAX {
            // The rest of a character whose beginning is cut off.
            let rest = bytes.iter().take(3).take_while(|byte| (0x80..0xC0).contains(*byte)).count();
            bytes.drain(..rest);
        }
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        // What stands for bytes that are not UTF-8 is longer than they were.
        if text.len() > max {
            let over = text.len() - max;
            let at = (over..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
            text.drain(..at);
        }
        text
    }

    /// The next bytes to send, and where in the log they start. The same again until
    /// [`sent_up_to`](Self::sent_up_to), only longer.
    pub fn unsent(&self) -> Option<(u64, Bytes)> {
        if self.ready.is_empty() {
            return None;
        }
        let length = self.ready.len().min(self.chunk_max);
        let mut chunk = BytesMut::with_capacity(length);
        let (front, back) = self.ready.as_slices();
        chunk.put_slice(&front[..front.len().min(length)]);
        chunk.put_slice(&back[..length - chunk.len()]);
        Some((self.start, chunk.freeze()))
    }

    /// The hub's log ends at `offset`: its answer to an append, stored or refused.
    pub fn sent_up_to(&mut self, offset: u64) {
        let ahead = offset.checked_sub(self.start);
        match ahead.map(|ahead| usize::try_from(ahead).unwrap_or(usize::MAX)) {
            Some(sent) if sent <= self.ready.len() => {
                if let Some(last) = self.ready.drain(..sent).next_back() {
                    self.start_of_line = last == b'\n';
                }
            }
            // The hub has bytes that are not of this stream: it goes on behind them.
            Some(_) => self.start_of_line = false,
            // A hub that crashed may have lost the last bytes that it had; they are gone here too.
            None => {
                let note = note(self.start - offset, true);
                for byte in note.into_bytes().into_iter().rev() {
                    self.ready.push_front(byte);
                }
            }
        }
        self.start = offset;
        self.close_gap();
        if self.ready.is_empty() {
            // A burst is over: its memory is given back.
            self.ready.shrink_to(IDLE_BYTES);
        }
    }

    fn keep(&mut self, text: &[u8]) {
        self.tail.extend(&text[text.len().saturating_sub(TAIL_BYTES_MAX)..]);
        let over = self.tail.len().saturating_sub(TAIL_BYTES_MAX);
        self.tail.drain(..over);

        // A single huge write is taken in pieces, so that the window is never far too long.
        for piece in text.chunks(self.window_max) {
            if self.lost > 0 { &mut self.behind } else { &mut self.ready }.extend(piece);
            self.make_room();
        }
    }

    fn make_room(&mut self) {
        let over = (self.ready.len() + self.behind.len()).saturating_sub(self.window_max);
        if over == 0 {
            return;
        }
        if self.lost == 0 {
            self.behind = self.ready.split_off(self.chunk_max.min(self.ready.len()));
        }
        // The rest of a line would read like a line of its own.
        let search = self.behind.iter().skip(over.saturating_sub(1)).take(LINE_SEARCH_BYTES);
        let rest = search.into_iter().position(|byte| *byte == b'\n').unwrap_or(0);
        let drop_bytes = (over + rest).min(self.behind.len());
        self.behind.drain(..drop_bytes);
        self.lost += drop_bytes as u64;
    }

    /// Once the line about the lost bytes fits into what is not changed any more, it is written.
    fn close_gap(&mut self) {
        if self.lost == 0 || self.ready.len() + NOTE_BYTES_MAX > self.chunk_max {
            return;
        }
        let start_of_line = self.ready.back().map_or(self.start_of_line, |last| *last == b'\n');
        self.ready.extend(note(self.lost, !start_of_line).as_bytes());
        self.ready.append(&mut self.behind);
        self.behind = VecDeque::new();
        self.lost = 0;
    }
}

fn note(lost: u64, inside_line: bool) -> String {
    let newline = if inside_line { "\n" } else { "" };
    format!("{newline}[forge-agent: {lost} bytes of log could not be sent]\n")
}
