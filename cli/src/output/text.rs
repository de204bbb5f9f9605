//! Text from jobs and machines on a terminal: made harmless, measured and cut in the columns that
//! it really takes.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Ends a text that was cut.
const CUT: char = '…';

/// Spells out what would drive the terminal, or make text look like another.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Control characters, and those without a shape that turn the direction of text around or hide in it.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The beginning of a text that fits, and a sign that there is more.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let mut shown: String = text
        .chars()
        .take_while(|c| {
            let needed = c.width().unwrap_or(0);
            let fits = needed <= room;
            room = room.saturating_sub(needed);
            fits
        })
        .collect();
    if columns > 0 {
        shown.push(CUT);
    }
    shown
}

/// Both ends of a text that does not fit: names that begin alike still differ.
pub(crate) fn cut_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns || columns < 5 {
        return cut(text, columns);
    }
    let tail: String = text.chars().rev().take((columns - 1) / 2).collect();
    let tail: String = tail.chars().rev().collect();
    // A tail of wide characters leaves less to the head, and perhaps nothing.
    cut(text, columns.saturating_sub(width(&tail)).max(1)) + &tail
}

/// Fills a text that is not longer up with spaces.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let spaces = columns.saturating_sub(width(text));
    format!("{text}{:spaces$}", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_speaks_to_the_terminal() {
        assert_eq!(visible("echo \u{1b}[31mred\n"), r"echo \u{1b}[31mred\n");
        assert_eq!(visible("\u{9b}2J\u{7}"), r"\u{9b}2J\u{7}");
        assert_eq!(visible("safe\u{202e}exe.txt"), r"safe\u{202e}exe.txt");
        assert_eq!(visible("größe 日本"), "größe 日本");
    }

    #[test]
    fn text_is_cut_where_it_takes_too_many_columns() {
        for (text, columns, shown) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ] {
            assert_eq!(cut(text, columns), shown, "{text} in {columns}");
            assert!(width(&cut(text, columns)) <= columns);
        }
        assert_eq!(pad("日", 4), "日  ");
        assert_eq!(cut_middle("0123456789abcdef", 9), "0123…cdef");
        assert_eq!(cut_middle("0123456789abcdef", 16), "0123456789abcdef");
    }
}
