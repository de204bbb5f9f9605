//! `doctor`: looks at everything that can be looked at from here, and says of each what to do next.

mod hub;
mod local;

use super::Console;
use crate::{
    output::{self, Format, Record, Shape},
    problem::Problem,
    target::Target,
};
use serde_json::Value;
use std::io::IsTerminal as _;

/// Below this, tables and `top` are cut.
const COLUMNS_MIN: u16 = 80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    /// Worth knowing.
    Warning,
    /// Something does not work.
    Problem,
}

impl Verdict {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    check: &'static str,
    verdict: Verdict,
    found: String,
    advice: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Ok, found: found.into(), advice: None }
    }

    fn warning(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Warning, found: found.into(), advice: Some(advice.into()) }
    }

    fn problem(check: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { verdict: Verdict::Problem, ..Self::warning(check, found, advice) }
    }

    /// An error's words, and what it says to do.
    fn of(check: &'static str, problem: &Problem) -> Self {
        let text = problem.to_string();
        let (found, advice) = text.split_once('\n').unwrap_or((&text, "see above"));
        let advice: Vec<&str> = advice.lines().map(str::trim).collect();
        Self::problem(check, found, advice.join("; "))
    }

    fn record(&self) -> Record {
        Record(vec![
            ("check", self.check.into()),
            ("state", self.verdict.as_str().into()),
            ("found", self.found.clone().into()),
            ("advice", self.advice.clone().map_or(Value::Null, Value::from)),
        ])
    }
}

const FINDINGS: Shape =
    Shape { fields: &["check", "state", "found", "advice"], columns: &["check", "state", "found"] };

pub(super) fn run(console: &Console) -> Result<(), Problem> {
    let mut findings = match console.place.target()? {
        Target::Local => local::examine(console)?,
        Target::Hub(address) => {
            let hub = address.connect()?;
            super::runtime()?.block_on(hub::examine(&hub))
        }
    };
    findings.extend(terminal());
    print(&findings, console.format)?;
    match findings.iter().filter(|finding| finding.verdict == Verdict::Problem).count() {
        0 => Ok(()),
        1 => Err(Problem::Refused("1 problem was found".to_owned())),
        n => Err(Problem::Refused(format!("{n} problems were found"))),
    }
}

fn print(findings: &[Finding], format: Option<Format>) -> Result<(), Problem> {
    if !output::is_for_people(format) {
        return Ok(output::print_all(format, FINDINGS, findings.iter().map(Finding::record))?);
    }
    let checks = findings.iter().map(|finding| finding.check.len()).max().unwrap_or(0);
    for Finding { check, verdict, found, advice } in findings {
        let word = output::tone::painted(verdict.as_str(), 7);
        output::say(&format!("{word}  {check:<checks$}  {}", output::visible(found)))?;
        if let Some(advice) = advice {
            output::say(&format!("{:9}{:checks$}  -> {}", "", "", output::visible(advice)))?;
        }
    }
    Ok(())
}

/// Only where there is one: what is written to a file is never cut.
fn terminal() -> Option<Finding> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let (columns, rows) = ratatui::crossterm::terminal::size().ok()?;
    let language = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let is_unicode =
        language.as_deref().is_some_and(|value| value.to_lowercase().replace('-', "").contains("utf8"));
    let found =
        format!("{columns} x {rows} characters, language {}", language.as_deref().unwrap_or("not set"));
    Some(if columns < COLUMNS_MIN {
        Finding::warning(
            "terminal",
            found,
            format!("tables are cut; make it {COLUMNS_MIN} wide, or use -o json"),
        )
    } else if !is_unicode {
        Finding::warning("terminal", found, "lines of `queuectl top` may look odd; set LANG=C.UTF-8")
    } else {
        Finding::ok("terminal", found)
    })
}
