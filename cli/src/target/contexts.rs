//! Hubs that were saved under a name: `contexts.toml` in the user's configuration folder, and a token
//! for each in a file of its own beside it.

use super::token;
use crate::problem::Problem;
use forge_agent::config::Token;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

/// The context that is always there: no hub, but the queue of the folder.
pub(crate) const LOCAL: &str = "local";
const NAME_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Context {
    pub(crate) hub: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ca_file: Option<PathBuf>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Saved {
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<String>,
    contexts: BTreeMap<String, Context>,
}

#[derive(Debug)]
pub(crate) struct Contexts {
    folder: PathBuf,
    saved: Saved,
}

impl Contexts {
    pub(crate) fn load() -> Result<Self, Problem> {
        Self::load_from(&folder())
    }

    fn load_from(folder: &Path) -> Result<Self, Problem> {
        let path = folder.join("contexts.toml");
        let saved = match fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).map_err(|error| {
                Problem::storage(
                    &format!("{} cannot be used", path.display()),
                    format!("mend or remove it: {error}"),
                )
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Saved::default(),
            Err(error) => {
                return Err(Problem::storage(&format!("{} cannot be read", path.display()), error));
            }
        };
        Ok(Self { folder: folder.to_owned(), saved })
    }

    pub(crate) fn current(&self) -> Option<&str> {
        self.saved.current.as_deref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Context)> {
        self.saved.contexts.iter().map(|(name, context)| (name.as_str(), context))
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.saved.contexts.contains_key(name)
    }

    pub(crate) fn get(&self, name: &str) -> Result<&Context, Problem> {
        self.saved.contexts.get(name).ok_or_else(|| {
            Problem::usage(
                &format!("There is no context '{name}'"),
                "`queuectl context list` shows them, `queuectl context add` makes one",
            )
        })
    }

    /// `None`: the hub was saved without one.
    pub(crate) fn token(&self, name: &str) -> Result<Option<Token>, Problem> {
        let path = self.token_path(name);
        if path.exists() { token::read(&path).map(Some) } else { Ok(None) }
    }

    /// Also replaces one.
    pub(crate) fn add(&mut self, name: &str, context: Context, token: Option<&Token>) -> Result<(), Problem> {
        check_name(name)?;
        let mut folders = fs::DirBuilder::new();
        let tokens = self.folder.join("tokens");
        folders
            .recursive(true)
            .mode(0o700)
            .create(&tokens)
            .map_err(|error| Problem::storage(&format!("{} cannot be made", tokens.display()), error))?;
        match token {
            Some(token) => token::write(&self.token_path(name), token)?,
            None => self.forget_token(name)?,
        }
        self.saved.contexts.insert(name.to_owned(), context);
        self.save()
    }

    pub(crate) fn choose(&mut self, name: &str) -> Result<(), Problem> {
        if name == LOCAL {
            self.saved.current = None;
        } else {
            self.get(name)?;
            self.saved.current = Some(name.to_owned());
        }
        self.save()
    }

    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Problem> {
        self.get(name)?;
        self.saved.contexts.remove(name);
        if self.current() == Some(name) {
            self.saved.current = None;
        }
        // First, so that no context is left without the token that it had.
        self.save()?;
        self.forget_token(name)
    }

    fn forget_token(&self, name: &str) -> Result<(), Problem> {
        let path = self.token_path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Problem::storage(&format!("{} cannot be removed", path.display()), error))
            }
            _ => Ok(()),
        }
    }

    fn token_path(&self, name: &str) -> PathBuf {
        self.folder.join("tokens").join(name)
    }

    fn save(&self) -> Result<(), Problem> {
        let path = self.folder.join("contexts.toml");
        let text = toml::to_string(&self.saved).expect("contexts are plain data");
        // Whoever reads meanwhile sees the old file or the new one.
        let fresh = self.folder.join(format!("contexts.toml.{}", std::process::id()));
        let folder = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        folder
            .and_then(|()| fs::write(&fresh, text))
            .and_then(|()| fs::rename(&fresh, &path))
            .map_err(|error| Problem::storage(&format!("{} cannot be written", path.display()), error))
    }
}

fn folder() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let base = base
        .or_else(|| std::env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(".config")));
    // Without a home there are no saved hubs, which is no reason to refuse anything else.
    base.unwrap_or_else(|| PathBuf::from("/nonexistent")).join("forge-fleet")
}

/// It becomes the name of a file.
fn check_name(name: &str) -> Result<(), Problem> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_good =
        !name.is_empty() && name.len() <= NAME_MAX && name.chars().all(plain) && !name.starts_with('.');
    if name == LOCAL {
        return Err(Problem::usage(
            "Invalid name",
            "'local' always means the queue of the folder; choose another",
        ));
    }
    if !is_good {
        let help =
            format!("a context has 1 to {NAME_MAX} letters, digits, '-', '_' or '.', and no dot first");
        return Err(Problem::usage("Invalid name", help));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_come_back_as_they_were_saved() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("forge-fleet");
        let context = |hub: &str| Context { hub: hub.to_owned(), ca_file: None };
        let mut contexts = Contexts::load_from(&folder).unwrap();
        contexts.add("prod", context("https://a.example"), Some(&Token::from("fq_a"))).unwrap();
        contexts.add("lab", context("http://127.0.0.1:3000"), None).unwrap();
        contexts.choose("prod").unwrap();
        let mut again = Contexts::load_from(&folder).unwrap();
        assert_eq!((again.current(), again.iter().count()), (Some("prod"), 2));
        assert_eq!(again.get("prod").unwrap().hub, "https://a.example");
        assert_eq!(again.token("prod").unwrap().unwrap().reveal(), "fq_a");
        assert!(again.token("lab").unwrap().is_none());
        again.remove("prod").unwrap();
        assert_eq!((again.current(), again.contains("prod")), (None, false));
        assert!(again.token("prod").unwrap().is_none(), "its token is gone too");
        assert!(again.choose("prod").is_err());
        let text = fs::read_to_string(folder.join("contexts.toml")).unwrap();
        assert!(!text.contains("fq_a"), "{text}");
    }

    #[test]
    fn names_are_names_of_files() {
        for bad in ["", "..", ".hidden", "a/b", "a b", "local", &"x".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
        for good in ["prod", "eu-1", "a.b_c"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
    }
}
