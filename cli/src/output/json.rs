//! JSON: pretty, element by element, so that a long list begins at once; or one object a line.

use super::{Out, Output, Record};
use std::io::{self, Write};

pub(super) struct Json {
    out: Out,
    items: usize,
}

impl Json {
    pub(super) fn new(out: Out) -> Self {
        Self { out, items: 0 }
    }
}

impl Output for Json {
    fn one(&mut self, record: &Record) -> io::Result<()> {
        writeln!(self.out, "{}", serde_json::to_string_pretty(record)?)?;
        self.out.flush()
    }

    fn item(&mut self, record: &Record) -> io::Result<()> {
        let before = if self.items == 0 { "[" } else { "," };
        self.items += 1;
        let text = serde_json::to_string_pretty(record)?.replace('\n', "\n  ");
        write!(self.out, "{before}\n  {text}")
    }

    fn end(&mut self) -> io::Result<()> {
        let end = if self.items == 0 { "[]" } else { "\n]" };
        writeln!(self.out, "{end}")?;
        self.out.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

pub(super) struct Lines {
    out: Out,
}

impl Lines {
    pub(super) fn new(out: Out) -> Self {
        Self { out }
    }
}

impl Output for Lines {
    fn one(&mut self, record: &Record) -> io::Result<()> {
        self.item(record)?;
        self.out.flush()
    }

    fn item(&mut self, record: &Record) -> io::Result<()> {
        writeln!(self.out, "{}", serde_json::to_string(record)?)
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
