//! Comma-separated values as RFC 4180 has them, with a header.

use super::{Out, Output, Record, plain};
use std::io::{self, Write};

pub(super) struct Csv {
    out: Out,
    /// The header of a list that turns out to be empty.
    fields: &'static [&'static str],
    begun: bool,
}

impl Csv {
    pub(super) fn new(out: Out, fields: &'static [&'static str]) -> Self {
        Self { out, fields, begun: false }
    }

    fn line(&mut self, cells: impl Iterator<Item = String>) -> io::Result<()> {
        let quoted: Vec<String> = cells.map(|cell| quote(&cell)).collect();
        write!(self.out, "{}\r\n", quoted.join(","))
    }
}

fn quote(cell: &str) -> String {
    if cell.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

impl Output for Csv {
    fn one(&mut self, record: &Record) -> io::Result<()> {
        self.item(record)?;
        self.out.flush()
    }

    fn item(&mut self, record: &Record) -> io::Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            self.line(record.0.iter().map(|(name, _)| (*name).to_owned()))?;
        }
        self.line(record.0.iter().map(|(_, value)| plain(Some(value))))
    }

    fn end(&mut self) -> io::Result<()> {
        if !self.begun {
            self.line(self.fields.iter().map(|name| (*name).to_owned()))?;
        }
        self.out.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn only_what_needs_quotes_gets_them() {
        for (cell, written) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("a\nb", "\"a\nb\""),
        ] {
            assert_eq!(quote(cell), written);
        }
    }
}
