//! Columns for people. Their widths come from the first rows, so that a long list need not be
//! complete before it is shown; control characters are spelled out, so that no job's command can
//! speak to the terminal.

use super::{Out, Output, Record, plain};
use std::io::{self, Write};

/// Rows that decide how wide the columns are.
const ROWS_MEASURED: usize = 100;
const BETWEEN: &str = "  ";

pub(super) struct Table {
    out: Out,
    columns: &'static [&'static str],
    /// Of the terminal; the last column is cut to it.
    width: Option<usize>,
    kept: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
}

/// How many characters fit into a line, if lines are limited at all.
pub(super) fn terminal_width() -> Option<usize> {
    use std::io::IsTerminal as _;
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.filter(|_| io::stdout().is_terminal())
}

impl Table {
    pub(super) fn new(out: Out, columns: &'static [&'static str], width: Option<usize>) -> Self {
        Self { out, columns, width, kept: Vec::new(), widths: None }
    }

    fn cells(&self, record: &Record) -> Vec<String> {
        self.columns.iter().map(|column| visible(&plain(record.get(column)))).collect()
    }

    /// Measures, and prints the header and what was kept back.
    fn begin(&mut self) -> io::Result<()> {
        let header: Vec<String> =
            self.columns.iter().map(|column| column.to_uppercase().replace('_', " ")).collect();
        let rows = std::mem::take(&mut self.kept);
        let width = |at: usize| {
            let cells = rows.iter().map(|row| &row[at]).chain([&header[at]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        self.widths = Some((0..header.len()).map(width).collect());
        self.line(&header)?;
        rows.iter().try_for_each(|row| self.line(row))
    }

    fn line(&mut self, cells: &[String]) -> io::Result<()> {
        let widths = self.widths.as_deref().unwrap_or_default();
        let padded: Vec<String> =
            cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let mut line = padded.join(BETWEEN);
        if let Some(width) = self.width
            && line.trim_end().chars().count() > width
        {
            line = line.chars().take(width.saturating_sub(1)).chain(['…']).collect();
        }
        writeln!(self.out, "{}", line.trim_end())
    }
}

pub(crate) fn visible(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let spelled: Box<dyn Iterator<Item = char>> =
                if c.is_control() { Box::new(c.escape_default()) } else { Box::new(std::iter::once(c)) };
            spelled
        })
        .collect()
}

impl Output for Table {
    /// Fields below each other.
    fn one(&mut self, record: &Record) -> io::Result<()> {
        let shown = record.0.iter().filter(|(_, value)| !value.is_null());
        let width = shown.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in shown {
            writeln!(self.out, "{name:<width$}{BETWEEN}{}", visible(&plain(Some(value))))?;
        }
        self.out.flush()
    }

    fn item(&mut self, record: &Record) -> io::Result<()> {
        let cells = self.cells(record);
        if self.widths.is_some() {
            return self.line(&cells);
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
    use super::visible;

    #[test]
    fn no_command_speaks_to_the_terminal() {
        assert_eq!(visible("echo \u{1b}[31mred\n"), r"echo \u{1b}[31mred\n");
        assert_eq!(visible("größe"), "größe");
    }
}
