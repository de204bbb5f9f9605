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
    /// The hub does not answer, or cannot at the moment: exit code 4.
    Unreachable(String),
    /// The hub does not accept the token, or not for this: exit code 5.
    Denied(String),
    /// The job that was waited for ended without a result: exit code 6.
    Failed(String),
    /// The job that was waited for had not ended in time: exit code 7.
    NotYet(String),
    /// Ctrl-C, after having said what that means: exit code 130, as shells have it.
    Interrupted(String),
    /// Whoever read the output has seen enough: no error at all.
    NobodyReads,
}

/// As `--help` and the docs tell them.
pub(crate) const EXIT_CODES: &str = "Exit codes:
  0  done
  1  not possible with what is there: no such job, or one that is being processed
  2  asked in a wrong way, or a question without --yes where nobody can answer it
  3  files that cannot be read or written
  4  the hub cannot be reached, or cannot answer at the moment
  5  the hub does not accept the token, or not for this
  6  the job that was waited for did not complete
  7  the job that was waited for has not ended in time
  130  interrupted by Ctrl-C";

impl Problem {
    /// The documented words on a line of their own, for whoever looks for them, and what helps below.
    pub(crate) fn usage(words: &str, help: impl fmt::Display) -> Self {
        Self::Usage(format!("{words}\n  {help}"))
    }

    pub(crate) fn refused(words: &str, help: impl fmt::Display) -> Self {
        Self::Refused(format!("{words}\n  {help}"))
    }

    pub(crate) fn unreachable(words: &str, help: impl fmt::Display) -> Self {
        Self::Unreachable(format!("{words}\n  {help}"))
    }

    pub(crate) fn denied(words: &str, help: impl fmt::Display) -> Self {
        Self::Denied(format!("{words}\n  {help}"))
    }

    pub(crate) fn storage(words: &str, help: impl fmt::Display) -> Self {
        Self::Storage(format!("{words}\n  {help}"))
    }

    /// The same problem in other words.
    pub(crate) fn with_text(self, text: String) -> Self {
        match self {
            Self::Refused(_) => Self::Refused(text),
            Self::Usage(_) => Self::Usage(text),
            Self::Storage(_) => Self::Storage(text),
            Self::Unreachable(_) => Self::Unreachable(text),
            Self::Denied(_) => Self::Denied(text),
            Self::Failed(_) => Self::Failed(text),
            Self::NotYet(_) => Self::NotYet(text),
            Self::Interrupted(_) => Self::Interrupted(text),
            Self::NobodyReads => Self::NobodyReads,
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::NobodyReads => ExitCode::SUCCESS,
            Self::Refused(_) => ExitCode::from(1),
            Self::Usage(_) => ExitCode::from(2),
            Self::Storage(_) => ExitCode::from(3),
            Self::Unreachable(_) => ExitCode::from(4),
            Self::Denied(_) => ExitCode::from(5),
            Self::Failed(_) => ExitCode::from(6),
            Self::NotYet(_) => ExitCode::from(7),
            Self::Interrupted(_) => ExitCode::from(130),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(text)
            | Self::Usage(text)
            | Self::Storage(text)
            | Self::Unreachable(text)
            | Self::Denied(text)
            | Self::Failed(text)
            | Self::NotYet(text)
            | Self::Interrupted(text) => f.write_str(text),
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
