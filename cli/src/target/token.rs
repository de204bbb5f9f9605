//! Tokens in files: read only when nobody else can, written so that nobody else can.

use crate::problem::Problem;
use forge_agent::config::Token;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

const STANDARD_INPUT: &str = "-";
/// What others than the owner may do.
const OTHERS: u32 = 0o077;
/// No token is longer; a file that is was meant for something else.
const TOKEN_BYTES_MAX: u64 = 4_096;

pub(crate) fn read(path: &Path) -> Result<Token, Problem> {
    let mut text = String::new();
    if path.as_os_str() == STANDARD_INPUT {
        let read = io::stdin().lock().take(TOKEN_BYTES_MAX).read_line(&mut text);
        read.map_err(|error| Problem::storage("Standard input cannot be read", error))?;
    } else {
        let shown = path.display();
        let unreadable =
            |error: io::Error| Problem::storage(&format!("The token in {shown} cannot be read"), error);
        let file = File::open(path).map_err(unreadable)?;
        // Of the open file: what is checked is what is read.
        let mode = file.metadata().map_err(unreadable)?.mode();
        if mode & OTHERS != 0 {
            return Err(Problem::storage(
                &format!("The token in {shown} can be read by others"),
                format!(
                    "its mode is {:04o}; close it with `chmod 600 {shown}`, and think about a new token",
                    mode & 0o7777
                ),
            ));
        }
        file.take(TOKEN_BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    }
    let token = Token::from(text.as_str());
    if token.is_empty() || token.reveal().chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(Problem::storage(
            &format!("There is no token in {}", path.display()),
            "it must hold the token on one line, and nothing else",
        ));
    }
    Ok(token)
}

/// Asks whoever sits at the terminal; what is typed is not shown. `None`: nobody does.
pub(crate) fn ask(hub_url: &str) -> Result<Option<Token>, Problem> {
    let terminal = console::Term::stderr();
    if !io::stdin().is_terminal() || !terminal.is_term() {
        return Ok(None);
    }
    eprint!("The token for {hub_url} (it is not shown): ");
    let typed = terminal
        .read_secure_line()
        .map_err(|error| Problem::storage("The terminal cannot be read", error))?;
    let token = Token::from(typed.as_str());
    Ok(Some(token).filter(|token| !token.is_empty()))
}

/// Replaces the file as a whole; only its owner can read it, from the first moment on.
pub(crate) fn write(path: &Path, token: &Token) -> Result<(), Problem> {
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        writeln!(file, "{}", token.reveal())?;
        file.sync_all()?;
        fs::rename(&fresh, path)
    })();
    written.map_err(|error| {
        let _ = fs::remove_file(&fresh);
        Problem::storage(&format!("{} cannot be written", path.display()), error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn only_what_nobody_else_can_read_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        write(&path, &Token::from("fq_secret")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(read(&path).unwrap().reveal(), "fq_secret");
        for mode in [0o640, 0o604, 0o660] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let why = read(&path).unwrap_err().to_string();
            assert!(why.contains("chmod 600"), "{why}");
            assert!(!why.contains("fq_secret"));
        }
    }

    #[test]
    fn a_file_without_a_token_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        for text in ["", "\n", "two words", "a\nb"] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            assert!(read(&path).unwrap_err().to_string().contains("no token"), "{text:?}");
        }
        assert!(read(&dir.path().join("missing")).is_err());
    }
}
