//! Why a command did not do what was asked, and the exit code that says so to programs.

use std::{fmt, io, process::ExitCode};

#[derive(Debug)]
pub(crate) enum Problem {
    /// It cannot be done to what is there: exit code 1.
    Refused(String),
    /// The question itself is wrong: exit code 2, as for an unknown option.
    Usage(String),
    /// Files that cannot be read or written: exit code 3.
    Storage(String),
    /// Whoever read the output has seen enough: no error at all.
    NobodyReads,
}

impl Problem {
    /// The documented words on a line of their own, for whoever looks for them, and what helps below.
    pub(crate) fn usage(words: &str, help: impl fmt::Display) -> Self {
        Self::Usage(format!("{words}\n  {help}"))
    }

    pub(crate) fn refused(words: &str, help: impl fmt::Display) -> Self {
        Self::Refused(format!("{words}\n  {help}"))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::NobodyReads => ExitCode::SUCCESS,
            Self::Refused(_) => ExitCode::from(1),
            Self::Usage(_) => ExitCode::from(2),
            Self::Storage(_) => ExitCode::from(3),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(text) | Self::Usage(text) | Self::Storage(text) => f.write_str(text),
            Self::NobodyReads => Ok(()),
        }
    }
}

/// An error while printing.
impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyReads,
            _ => Self::Storage(format!("the output cannot be written: {error}")),
        }
    }
}
