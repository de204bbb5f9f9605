//! Columns for people. Their widths come from the first rows, so that a long list need not be
//! complete before it is shown. What does not fit the terminal is cut: of the widest columns first,
//! and of the first one, which names the thing, last.

use super::{
    Out, Output, Record, plain,
    text::{cut, pad, visible, width},
    tone::Tone,
};
use serde_json::Value;
use std::io::{self, Write};

/// Rows that decide how wide the columns are.
const ROWS_MEASURED: usize = 100;
const BETWEEN: &str = "  ";
/// No column becomes narrower than this, unless there is nothing else left.
const NARROWEST: usize = 6;
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
    widths: Option<Vec<usize>>,
}

impl Table {
    pub(super) fn new(out: Out, columns: &'static [&'static str], screen: Screen) -> Self {
        Self { out, columns, screen, kept: Vec::new(), widths: None }
    }

    fn cells(&self, record: &Record) -> Vec<String> {
        self.columns.iter().map(|column| visible(&readable(record.get(column)))).collect()
    }

    /// Measures, and prints the header and what was kept back.
    fn begin(&mut self) -> io::Result<()> {
        let header: Vec<String> =
            self.columns.iter().map(|column| column.to_uppercase().replace('_', " ")).collect();
        let rows = std::mem::take(&mut self.kept);
        let natural = |at: usize| {
            let cells = rows.iter().map(|row| &row[at]).chain([&header[at]]);
            cells.map(|cell| width(cell)).max().unwrap_or(0)
        };
        let natural: Vec<usize> = (0..header.len()).map(natural).collect();
        self.widths = Some(fitted(natural, self.screen.width));
        self.line(&header, false)?;
        rows.iter().try_for_each(|row| self.line(row, true))
    }

    fn line(&mut self, cells: &[String], is_row: bool) -> io::Result<()> {
        let line = line(self.columns, self.widths.as_deref().unwrap_or_default(), cells, self.screen, is_row);
        writeln!(self.out, "{line}")
    }
}

fn line(columns: &[&str], widths: &[usize], cells: &[String], screen: Screen, is_row: bool) -> String {
    let mut line = String::new();
    let last = cells.iter().rposition(|cell| !cell.is_empty()).unwrap_or(0);
    for (at, (cell, room)) in cells.iter().zip(widths).enumerate().take(last + 1) {
        // On paper there is always room for one long cell.
        let shown = if screen.width.is_some() { cut(cell, *room) } else { cell.clone() };
        let padded = if at == last { shown } else { pad(&shown, *room) };
        let tone = Tone::of(cell).filter(|_| is_row && screen.colours && STATES.contains(&columns[at]));
        line.push_str(&tone.map_or(padded.clone(), |tone| tone.paint(&padded)));
        if at < last {
            line.push_str(BETWEEN);
        }
    }
    line
}

/// A value as people read it; words without the brackets of a list.
fn readable(value: Option<&Value>) -> String {
    let words = value.and_then(Value::as_array).filter(|list| list.iter().all(Value::is_string));
    match words {
        Some(words) => words.iter().map(|word| plain(Some(word))).collect::<Vec<_>>().join(", "),
        None => plain(value),
    }
}

/// Widths that fit together into a line.
fn fitted(mut widths: Vec<usize>, screen: Option<usize>) -> Vec<usize> {
    let Some(screen) = screen else { return widths };
    let between = BETWEEN.len() * widths.len().saturating_sub(1);
    let room = screen.saturating_sub(between);
    // From the right, so that of two equally wide columns the left one keeps more.
    let widest = |widths: &[usize], from: usize, narrowest: usize| {
        let wide = widths.iter().enumerate().skip(from).filter(|(_, width)| **width > narrowest);
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
        let cells = self.cells(record);
        if self.widths.is_some() {
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
    fn the_widest_columns_shrink_first_and_the_first_one_last() {
        for (natural, screen, expected) in [
            (vec![4, 9, 50], None, vec![4, 9, 50]),
            (vec![4, 9, 50], Some(80), vec![4, 9, 50]),
            (vec![4, 9, 50], Some(40), vec![4, 9, 23]),
            (vec![32, 9, 24, 60], Some(80), vec![32, 9, 17, 16]),
            (vec![32, 9, 24, 60], Some(60), vec![32, 8, 7, 7]),
            (vec![32, 9, 24, 60], Some(40), vec![16, 6, 6, 6]),
            (vec![32, 9, 24, 60], Some(10), vec![1, 1, 1, 1]),
        ] {
            let fits = fitted(natural.clone(), screen);
            assert_eq!(fits, expected, "{natural:?} in {screen:?}");
        }
    }

    fn shown(cells: [&str; 3], screen: Screen) -> String {
        let widths = fitted(vec![5, 9, 20], screen.width);
        line(&["id", "state", "command"], &widths, &cells.map(str::to_owned), screen, true)
    }

    #[test]
    fn lines_are_as_wide_as_the_screen_and_states_have_colours() {
        let narrow = Screen { width: Some(24), colours: false };
        assert_eq!(shown(["a", "completed", "echo 日本語 and more"], narrow), "a      complet…  echo …");
        assert_eq!(shown(["a", "completed", ""], Screen::default()), "a      completed");
        let coloured = Screen { width: Some(80), colours: true };
        assert_eq!(shown(["dead", "dead", "dead"], coloured), "dead   \u{1b}[31mdead     \u{1b}[0m  dead");
    }
}
