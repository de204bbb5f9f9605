//! Columns for people. Their widths come from the first rows, so that a long list need not be
//! complete before it is shown. What does not fit the terminal is cut, of the widest columns first. The
//! first one names the thing and is to be copied: rather than to cut it, columns are left out.

use super::{
    Out, Output, Record, plain,
    text::{cut, pad, visible, width},
    tone::Tone,
};
use jiff::Timestamp;
use serde_json::Value;
use std::io::{self, Write};

/// Rows that decide how wide the columns are.
const ROWS_MEASURED: usize = 100;
const BETWEEN: &str = "  ";
/// No column becomes narrower than this, unless there is nothing else left: less tells nothing.
const NARROWEST: usize = 8;
/// Fields whose word has a colour.
const STATES: [&str; 2] = ["state", "status"];

/// What the table is shown on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Screen {
    /// How many characters fit into a line, if lines are limited at all.
    pub(super) width: Option<usize>,
    pub(super) colours: bool,
}

impl Screen {
    pub(super) fn of_stdout() -> Self {
        use std::io::IsTerminal as _;
        if !io::stdout().is_terminal() {
            return Self::default();
        }
        let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let measured = || ratatui::crossterm::terminal::size().ok().map(|(columns, _)| columns.into());
        let width = named.or_else(measured).filter(|columns| *columns > 0);
        Self { width, colours: super::tone::is_wanted() }
    }
}

pub(super) struct Table {
    out: Out,
    columns: &'static [&'static str],
    screen: Screen,
    kept: Vec<Vec<String>>,
    /// 0 for a column that is left out.
    widths: Option<Vec<usize>>,
    /// Times are shortened; seen from now.
    today: Option<String>,
}

impl Table {
    pub(super) fn new(out: Out, columns: &'static [&'static str], screen: Screen) -> Self {
        Self { out, columns, screen, kept: Vec::new(), widths: None, today: None }
    }

    fn cells(&self, record: &Record) -> Vec<String> {
        self.columns.iter().map(|column| visible(&readable(record.get(column)))).collect()
    }

    /// Measures, and prints the header and what was kept back.
    fn begin(&mut self) -> io::Result<()> {
        let header: Vec<String> =
            self.columns.iter().map(|column| column.to_uppercase().replace('_', " ")).collect();
        let mut rows = std::mem::take(&mut self.kept);
        let mut natural = natural_widths(&header, &rows);
        if self.screen.width.is_some_and(|width| line_width(&natural) > width) {
            self.today = Some(Timestamp::now().to_string());
            rows.iter_mut().for_each(|row| self.shorten(row));
            natural = natural_widths(&header, &rows);
        }
        let is_state = |at: usize| STATES.contains(&self.columns[at]);
        self.widths = Some(fitted(natural, is_state, self.screen.width));
        self.line(&header, false)?;
        rows.iter().try_for_each(|row| self.line(row, true))
    }

    fn shorten(&self, row: &mut [String]) {
        if let Some(today) = &self.today {
            row.iter_mut()
                .for_each(|cell| *cell = short_time(cell, today).unwrap_or_else(|| std::mem::take(cell)));
        }
    }

    fn line(&mut self, cells: &[String], is_row: bool) -> io::Result<()> {
        let line = line(self.columns, self.widths.as_deref().unwrap_or_default(), cells, self.screen, is_row);
        writeln!(self.out, "{line}")
    }
}

fn line(columns: &[&str], widths: &[usize], cells: &[String], screen: Screen, is_row: bool) -> String {
    let shown: Vec<usize> =
        (0..cells.len()).filter(|at| widths.get(*at).is_some_and(|width| *width > 0)).collect();
    let last = shown.iter().rposition(|at| !cells[*at].is_empty()).unwrap_or(0);
    let cell = |(place, at): (usize, &usize)| {
        let cell = &cells[*at];
        // On paper there is always room for one long cell.
        let cut = if screen.width.is_some() { cut(cell, widths[*at]) } else { cell.clone() };
        let padded = if place == last { cut } else { pad(&cut, widths[*at]) };
        let tone = Tone::of(cell).filter(|_| is_row && screen.colours && STATES.contains(&columns[*at]));
        tone.map_or(padded.clone(), |tone| tone.paint(&padded))
    };
    shown.iter().take(last + 1).enumerate().map(cell).collect::<Vec<_>>().join(BETWEEN)
}

/// A value as people read it; words without the brackets of a list.
fn readable(value: Option<&Value>) -> String {
    let words = value.and_then(Value::as_array).filter(|list| list.iter().all(Value::is_string));
    match words {
        Some(words) => words.iter().map(|word| plain(Some(word))).collect::<Vec<_>>().join(", "),
        None => plain(value),
    }
}

fn natural_widths(header: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let widest = |at: usize| {
        let cells = rows.iter().map(|row| &row[at]).chain([&header[at]]);
        cells.map(|cell| width(cell)).max().unwrap_or(0)
    };
    (0..header.len()).map(widest).collect()
}

fn line_width(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + BETWEEN.len() * widths.len().saturating_sub(1)
}

/// Of a time in ISO 8601 with milliseconds, what differs from now: the time of today, else the day, else
/// the month.
fn short_time(cell: &str, now: &str) -> Option<String> {
    const LIKE: &[u8] = b"0000-00-00T00:00:00.000Z";
    let fits = |(found, like): (u8, &u8)| if *like == b'0' { found.is_ascii_digit() } else { found == *like };
    let is_time = cell.len() == LIKE.len() && cell.bytes().zip(LIKE).all(fits);
    let same = |length: usize| now.get(..length) == cell.get(..length);
    let shown = match is_time {
        false => None,
        true if same("0000-00-00".len()) => cell.get("0000-00-00T".len().."0000-00-00T00:00:00".len()),
        true if same("0000".len()) => cell.get("0000-".len().."0000-00-00".len()),
        true => cell.get(.."0000-00".len()),
    };
    shown.map(str::to_owned)
}

/// Widths that fit together into a line; 0 for what has to be left out. A state is shown whole.
fn fitted(mut widths: Vec<usize>, is_state: impl Fn(usize) -> bool, screen: Option<usize>) -> Vec<usize> {
    let Some(screen) = screen else { return widths };
    let natural = widths.clone();
    let least =
        |at: usize, narrowest: usize| if is_state(at) && narrowest > 1 { natural[at] } else { narrowest };
    let room = |shown: usize| screen.saturating_sub(BETWEEN.len() * shown.saturating_sub(1));
    loop {
        let shown: Vec<usize> = (0..widths.len()).filter(|at| widths[*at] > 0).collect();
        let narrowest =
            |at: &usize| if *at == 0 { widths[*at] } else { widths[*at].min(least(*at, NARROWEST)) };
        let [_, .., before_last, _] = shown[..] else { break };
        if shown.iter().map(narrowest).sum::<usize>() <= room(shown.len()) {
            break;
        }
        // The last one is a text that tells why the row is there, or what it does.
        widths[before_last] = 0;
    }
    let room = room(widths.iter().filter(|width| **width > 0).count());
    // From the right, so that of two equally wide columns the left one keeps more.
    let widest = |widths: &[usize], from: usize, narrowest: usize| {
        let wide = widths.iter().enumerate().skip(from).filter(|(at, width)| **width > least(*at, narrowest));
        wide.max_by_key(|(_, width)| **width).map(|(at, _)| at)
    };
    for (from, narrowest) in [(1, NARROWEST), (0, NARROWEST), (0, 1)] {
        while widths.iter().sum::<usize>() > room
            && let Some(at) = widest(&widths, from, narrowest)
        {
            widths[at] -= 1;
        }
    }
    widths
}

impl Output for Table {
    /// Fields below each other.
    fn one(&mut self, record: &Record) -> io::Result<()> {
        let shown = record.0.iter().filter(|(_, value)| !value.is_null());
        let names = shown.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in shown {
            let value = visible(&readable(Some(value)));
            let tone = Tone::of(&value).filter(|_| self.screen.colours && STATES.contains(name));
            let value = tone.map_or(value.clone(), |tone| tone.paint(&value));
            writeln!(self.out, "{name:<names$}{BETWEEN}{value}")?;
        }
        self.out.flush()
    }

    fn item(&mut self, record: &Record) -> io::Result<()> {
        let mut cells = self.cells(record);
        if self.widths.is_some() {
            self.shorten(&mut cells);
            return self.line(&cells, true);
        }
        self.kept.push(cells);
        if self.kept.len() < ROWS_MEASURED { Ok(()) } else { self.begin() }
    }

    fn end(&mut self) -> io::Result<()> {
        if self.widths.is_none() {
            self.begin()?;
        }
        self.out.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_columns_shrink_others_are_left_out_and_the_first_one_stays_whole() {
        for (natural, screen, expected) in [
            (vec![4, 9, 50], None, vec![4, 9, 50]),
            (vec![4, 9, 50], Some(80), vec![4, 9, 50]),
            (vec![4, 9, 50], Some(40), vec![4, 9, 23]),
            (vec![32, 9, 24, 60], Some(80), vec![32, 9, 17, 16]),
            (vec![32, 9, 24, 60], Some(62), vec![32, 8, 8, 8]),
            (vec![32, 9, 24, 60], Some(60), vec![32, 9, 0, 15]),
            (vec![32, 9, 24, 60], Some(50), vec![32, 0, 0, 16]),
            (vec![32, 9, 24, 60], Some(40), vec![30, 0, 0, 8]),
            (vec![32, 9, 24, 60], Some(10), vec![4, 0, 0, 4]),
            (vec![32, 12, 12, 12, 8, 6, 24, 40], Some(80), vec![32, 10, 10, 10, 0, 0, 0, 10]),
        ] {
            let fits = fitted(natural.clone(), |_| false, screen);
            assert_eq!(fits, expected, "{natural:?} in {screen:?}");
        }
    }

    #[test]
    fn times_are_shortened_to_what_differs_from_now() {
        let now = "2026-11-16T18:10:43.545123Z";
        for (cell, shown) in [
            ("2026-11-16T07:01:02.003Z", Some("07:01:02")),
            ("2026-11-15T07:01:02.003Z", Some("11-15")),
            ("2025-11-16T07:01:02.003Z", Some("2025-11")),
            ("2026-11-16T07:01:02Z", None),
            ("2026-11-16T07:01:02.003é", None),
            ("exit_code:1", None),
        ] {
            assert_eq!(short_time(cell, now).as_deref(), shown, "{cell}");
        }
    }

    fn shown(cells: [&str; 3], screen: Screen) -> String {
        let widths = fitted(vec![5, 9, 20], |at| at == 1, screen.width);
        line(&["id", "state", "command"], &widths, &cells.map(str::to_owned), screen, true)
    }

    #[test]
    fn lines_are_as_wide_as_the_screen_and_states_have_colours() {
        let narrow = Screen { width: Some(26), colours: false };
        assert_eq!(shown(["a", "completed", "echo 日本語 and more"], narrow), "a      completed  echo 日…");
        assert_eq!(shown(["a", "completed", ""], Screen::default()), "a      completed");
        let coloured = Screen { width: Some(80), colours: true };
        assert_eq!(shown(["dead", "dead", "dead"], coloured), "dead   \u{1b}[31mdead     \u{1b}[0m  dead");
    }
}
