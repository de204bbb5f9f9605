//! What a state means at a glance. Colours only ever repeat what a word says.

use std::io::{self, IsTerminal as _};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Active,
    Warning,
    Bad,
}

impl Tone {
    /// Of a state of a job, worker or machine, in either mode.
    pub(crate) fn of(word: &str) -> Option<Self> {
        match word {
            "completed" | "online" | "ok" => Some(Self::Good),
            "processing" | "assigned" | "running" => Some(Self::Active),
            "retrying" | "cancelling" | "draining" | "degraded" | "warning" => Some(Self::Warning),
            "failed" | "dead" | "quarantined" | "lost" | "offline" | "problem" => Some(Self::Bad),
            _ => None,
        }
    }

    /// `text` between the sequences that colour it.
    pub(super) fn paint(self, text: &str) -> String {
        let code = match self {
            Self::Good => 32,
            Self::Active => 36,
            Self::Warning => 33,
            Self::Bad => 31,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// A state's word in its colour, filled up to so many columns.
pub(crate) fn painted(word: &str, columns: usize) -> String {
    let padded = super::text::pad(word, columns);
    Tone::of(word).filter(|_| is_wanted()).map_or(padded.clone(), |tone| tone.paint(&padded))
}

/// Whether standard output should have colours at all.
pub(crate) fn is_wanted() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal()
        && !is_set("NO_COLOR")
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
