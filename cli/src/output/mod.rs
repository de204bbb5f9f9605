//! How answers are printed: a table for people, JSON, JSON lines or CSV for programs. Commands hand
//! over [`Record`]s and do not know which it is.

mod csv;
mod json;
mod table;
pub(crate) mod text;
pub(crate) mod tone;

pub(crate) use text::visible;

use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Value, value::RawValue};
use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Columns for people; the default on a terminal.
    Table,
    /// An object or an array; the default elsewhere.
    Json,
    /// One JSON object a line.
    Jsonl,
    /// A header and one line for each.
    Csv,
}

/// One answer: fields in the order in which they are shown. JSON leaves out those without a value.
#[derive(Debug, Clone)]
pub(crate) struct Record(pub(crate) Vec<(&'static str, Value)>);

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0.iter().filter(|(_, value)| !value.is_null()) {
            match exact_text(value).map(|text| RawValue::from_string(text.to_owned())) {
                Some(Ok(json)) => map.serialize_entry(name, &json)?,
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

impl Record {
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }
}

/// One way of printing.
pub(crate) trait Output: Send {
    /// The only answer.
    fn one(&mut self, record: &Record) -> io::Result<()>;
    /// One of several. It may be kept back until [`flush`](Self::flush).
    fn item(&mut self, record: &Record) -> io::Result<()>;
    /// After the last of several, also when there was none.
    fn end(&mut self) -> io::Result<()>;
    fn flush(&mut self) -> io::Result<()>;
}

/// What is known of records before there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) fields: &'static [&'static str],
    /// What a table has room for; what is too long for the terminal is cut.
    pub(crate) columns: &'static [&'static str],
}

impl Shape {
    /// There will be exactly one.
    pub(crate) const ONE: Self = Self { fields: &[], columns: &[] };
}

pub(crate) fn to_stdout(format: Option<Format>, shape: Shape) -> Box<dyn Output> {
    let out = BufWriter::new(io::stdout());
    match format.unwrap_or_else(default_format) {
        Format::Table => Box::new(table::Table::new(out, shape.columns, table::Screen::of_stdout())),
        Format::Json => Box::new(json::Json::new(out)),
        Format::Jsonl => Box::new(json::Lines::new(out)),
        Format::Csv => Box::new(csv::Csv::new(out, shape.fields)),
    }
}

/// The only answer.
pub(crate) fn print_one(format: Option<Format>, record: &Record) -> io::Result<()> {
    to_stdout(format, Shape::ONE).one(record)
}

/// Several that are all there already.
pub(crate) fn print_all(
    format: Option<Format>,
    shape: Shape,
    records: impl IntoIterator<Item = Record>,
) -> io::Result<()> {
    let mut output = to_stdout(format, shape);
    records.into_iter().try_for_each(|record| output.item(&record))?;
    output.end()
}

fn default_format() -> Format {
    if io::stdout().is_terminal() { Format::Table } else { Format::Json }
}

type Out = BufWriter<Stdout>;

/// The one field of a value that must come out as it came in.
const EXACT: &str = "queuectl::exact";

/// JSON whose numbers keep every digit. Where reading and writing it changes nothing, it is an ordinary
/// value; else the text itself is carried along.
pub(crate) fn exact(json: &RawValue) -> Value {
    let read = serde_json::from_str::<Value>(json.get()).ok();
    let written = read.as_ref().map(Value::to_string);
    match read {
        Some(value) if written.as_deref() == Some(json.get()) => value,
        _ => serde_json::json!({ EXACT: json.get() }),
    }
}

/// The text that [`exact`] carried along.
fn exact_text(value: &Value) -> Option<&str> {
    value.as_object()?.get(EXACT)?.as_str()
}

/// A value as people read it: text without quotes, nothing for nothing.
fn plain(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => exact_text(other).map_or_else(|| other.to_string(), str::to_owned),
    }
}

/// Prints a line of a person's language, where a table would say less.
pub(crate) fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")
}

/// So many jobs, in words.
pub(crate) fn jobs(n: u64) -> String {
    if n == 1 { "1 job".to_owned() } else { format!("{n} jobs") }
}

/// Whether an answer should be a sentence rather than data.
pub(crate) fn is_for_people(format: Option<Format>) -> bool {
    format.unwrap_or_else(default_format) == Format::Table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_every_digit() {
        for text in [r#"{"n":1.10}"#, "123456789012345678901234567890", r#"{ "a" : 1 }"#, r#"{"a":[1,"x"]}"#]
        {
            let json = RawValue::from_string(text.to_owned()).unwrap();
            let record = Record(vec![("params", exact(&json))]);
            assert_eq!(serde_json::to_string(&record).unwrap(), format!("{{\"params\":{text}}}"));
            assert_eq!(plain(record.get("params")), text);
        }
    }
}
