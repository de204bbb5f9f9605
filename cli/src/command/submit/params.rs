//! What a job is given: from options, a file or standard input.

use crate::problem::Problem;
use clap::Args;
use serde_json::value::{RawValue, to_raw_value};
use std::{collections::BTreeMap, fs, io, path::PathBuf};

const STANDARD_INPUT: &str = "-";

#[derive(Debug, Args)]
#[command(next_help_heading = "Its params")]
pub(super) struct Params {
    /// One of them; the value is JSON where it is that, else text: n=3, name=Ada, list=[1,2],
    /// 'version="7"'
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// All of them as JSON
    #[arg(long, value_name = "JSON", conflicts_with = "params_file")]
    params: Option<String>,
    /// All of them from a file with JSON; - is standard input
    #[arg(long, value_name = "FILE")]
    params_file: Option<PathBuf>,
}

impl Params {
    /// `None` leaves them to the hub, which makes them `{}`.
    pub(super) fn read(&self) -> Result<Option<Box<RawValue>>, Problem> {
        let text =
            match (&self.params, &self.params_file) {
                (Some(text), _) => Some(text.clone()),
                (None, Some(path)) if path.as_os_str() == STANDARD_INPUT => Some(
                    io::read_to_string(io::stdin())
                        .map_err(|error| Problem::storage("Standard input cannot be read", error))?,
                ),
                (None, Some(path)) => Some(fs::read_to_string(path).map_err(|error| {
                    Problem::storage(&format!("{} cannot be read", path.display()), error)
                })?),
                (None, None) => None,
            };
        combine(text.as_deref(), &self.param)
    }
}

fn combine(text: Option<&str>, named: &[String]) -> Result<Option<Box<RawValue>>, Problem> {
    let invalid = |help: String| Problem::usage("Invalid params", help);
    if named.is_empty() {
        let read = |text| serde_json::from_str::<Box<RawValue>>(text);
        return text.map(read).transpose().map_err(|error| invalid(format!("they are no JSON: {error}")));
    }
    // Values stay as they are written: not a digit of a number is lost.
    let mut all: BTreeMap<String, Box<RawValue>> = match text {
        None => BTreeMap::new(),
        Some(text) => serde_json::from_str(text)
            .map_err(|error| invalid(format!("--param adds to an object, which this is not: {error}")))?,
    };
    for pair in named {
        let (name, value) = pair
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| invalid(format!("'{pair}' is not NAME=VALUE")))?;
        let value = serde_json::from_str::<Box<RawValue>>(value).or_else(|_| to_raw_value(value));
        all.insert(name.to_owned(), value.map_err(|error| invalid(error.to_string()))?);
    }
    to_raw_value(&all).map(Some).map_err(|error| invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: Option<&str>, named: &[&str], expected: Option<&str>) {
        let named: Vec<String> = named.iter().map(|pair| (*pair).to_owned()).collect();
        let params = combine(text, &named).unwrap();
        assert_eq!(params.as_ref().map(|params| params.get()), expected);
    }

    #[test]
    fn params_come_as_json_or_by_name_and_keep_their_digits() {
        check(None, &[], None);
        check(Some(r#" {"n": 1.10} "#), &[], Some(r#"{"n": 1.10}"#));
        check(Some("[1, 2]"), &[], Some("[1, 2]"));
        check(None, &["n=3", "name=Ada", "v=\"7\""], Some(r#"{"n":3,"name":"Ada","v":"7"}"#));
        check(
            None,
            &["big=12345678901234567890123", "t=a=b", "e="],
            Some(r#"{"big":12345678901234567890123,"e":"","t":"a=b"}"#),
        );
        check(Some(r#"{"n":1.10,"x":1}"#), &["x=2"], Some(r#"{"n":1.10,"x":2}"#));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, named) in
            [(Some("{n:1}"), &[][..]), (Some("[1]"), &["a=1"]), (None, &["a"]), (None, &["=1"])]
        {
            let named: Vec<String> = named.iter().map(|pair: &&str| (*pair).to_owned()).collect();
            assert!(matches!(combine(text, &named), Err(Problem::Usage(_))), "{text:?} {named:?}");
        }
    }
}
