//! A job's log on the screen: its last lines, made harmless.

use crate::output::text::visible;

/// Lines kept; older ones are dropped.
const LINES_MAX: usize = 10_000;
/// A line that does not end is shown in pieces of this many bytes.
const LINE_BYTES_MAX: usize = 8 << 10;
const TAB: &str = "    ";

#[derive(Debug, Default)]
pub(super) struct Log {
    lines: Vec<String>,
    /// What came after the last line's end.
    rest: Vec<u8>,
    pub(super) is_over: bool,
    /// Lines above the last one at which the screen ends.
    pub(super) above: usize,
    /// Characters that the screen starts after.
    pub(super) left: usize,
}

impl Log {
    pub(super) fn append(&mut self, bytes: &[u8]) {
        let before = self.len();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.rest.len() > LINE_BYTES_MAX {
                let line = std::mem::take(&mut self.rest);
                self.lines.push(shown(&line));
            }
        }
        // Whoever reads further up goes on seeing the same lines.
        if self.above > 0 {
            self.above += self.len() - before;
        }
        let excess = self.lines.len().saturating_sub(LINES_MAX);
        self.lines.drain(..excess);
        self.above = self.above.min(self.len().saturating_sub(1));
    }

    fn len(&self) -> usize {
        self.lines.len() + usize::from(!self.rest.is_empty())
    }

    /// Down, or up when negative, on a screen of this height.
    pub(super) fn scroll(&mut self, lines: isize, height: usize) {
        let highest = self.len().saturating_sub(height);
        self.above = self.above.saturating_add_signed(-lines).min(highest);
    }

    /// The lines on a screen of this height.
    pub(super) fn screen(&self, height: usize) -> Vec<String> {
        let rest = (!self.rest.is_empty()).then(|| shown(&self.rest));
        let end = self.len().saturating_sub(self.above).max(height.min(self.len()));
        let all = self.lines.iter().cloned().chain(rest);
        let lines = all.take(end).skip(end.saturating_sub(height));
        lines.map(|line| line.chars().skip(self.left).collect()).collect()
    }
}

/// What a terminal would show of a line in the end, without its colours.
fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\n', '\r']);
    // A progress bar draws over itself.
    let text = text.rsplit('\r').next().unwrap_or_default();
    visible(&without_styles(text).replace('\t', TAB))
}

/// Leaves out `ESC [ … letter`.
fn without_styles(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.find(|c: char| ('\u{40}'..='\u{7e}').contains(&c)) {
            Some(end) => kept.push_str(&part[end + 1..]),
            None => kept.push_str(part),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_text_and_nothing_else() {
        let mut log = Log::default();
        log.append(b"\x1b[31mred\x1b[0m\n10%\r50%\r100%\r\na\tb \x1b]0;title\x07\nhal");
        log.append(b"f \xff\n");
        let lines = ["red", "100%", r"a    b \u{1b}]0;title\u{7}", "half \u{fffd}"];
        assert_eq!(log.screen(10), lines);
    }

    #[test]
    fn the_end_is_followed_until_somebody_reads_further_up() {
        let mut log = Log::default();
        for n in 0..10 {
            log.append(format!("{n}\n").as_bytes());
        }
        assert_eq!(log.screen(3), ["7", "8", "9"]);
        log.scroll(-4, 3);
        assert_eq!(log.screen(3), ["3", "4", "5"]);
        log.append(b"10\n11");
        assert_eq!(log.screen(3), ["3", "4", "5"], "what is read stays");
        log.scroll(-100, 3);
        assert_eq!(log.screen(3), ["0", "1", "2"]);
        log.scroll(100, 3);
        assert_eq!(log.screen(3), ["9", "10", "11"]);
    }

    #[test]
    fn a_log_without_end_takes_no_more_than_its_share() {
        let mut log = Log::default();
        for _ in 0..3 * LINES_MAX {
            log.append(b"x\n");
        }
        log.append(&[b'y'; 3 * LINE_BYTES_MAX]);
        assert!(log.len() <= LINES_MAX + 1 && log.rest.len() <= 3 * LINE_BYTES_MAX);
    }
}
