//! `config.json`: what new jobs begin with.

use crate::{local::folder::Folder, output::Record, problem::Problem};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use std::{fs, io, path::Path};

const KEYS: &str = "there are max_retries and backoff_base";
pub(crate) const MAX_RETRIES_MAX: u32 = 10_000;
const BACKOFF_BASE_MAX: f64 = 1_000.0;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    pub(crate) max_retries: u32,
    backoff_base: Number,
    /// What somebody else may have written there is kept.
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_retries: 3, backoff_base: 2.into(), others: Map::new() }
    }
}

impl Settings {
    /// Makes the file when there is none, and fills in what is missing.
    pub(crate) fn load(folder: &Folder) -> Result<Self, Problem> {
        let path = folder.config();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(unusable(&path, &error)),
        };
        let settings = match text.trim() {
            "" => Self::default(),
            text => serde_json::from_str(text).map_err(|error| unusable(&path, &error))?,
        };
        settings.check().map_err(|why| unusable(&path, &why))?;
        let complete = ["max_retries", "backoff_base"].iter().all(|key| text.contains(&format!("\"{key}\"")));
        if !complete {
            settings.save(folder)?;
        }
        Ok(settings)
    }

    pub(crate) fn save(&self, folder: &Folder) -> Result<(), Problem> {
        let path = folder.config();
        // Whoever reads meanwhile sees the old file or the new one.
        let fresh = path.with_extension(format!("json.{}", std::process::id()));
        let mut text = serde_json::to_string_pretty(self).expect("settings are plain data");
        text.push('\n');
        fs::write(&fresh, text)
            .and_then(|()| fs::rename(&fresh, &path))
            .map_err(|error| Problem::Storage(format!("{} cannot be written: {error}", path.display())))
    }

    pub(crate) fn backoff_base(&self) -> f64 {
        self.backoff_base.as_f64().unwrap_or(f64::NAN)
    }

    fn check(&self) -> Result<(), String> {
        if self.max_retries > MAX_RETRIES_MAX {
            return Err(format!("max_retries must be a whole number from 0 to {MAX_RETRIES_MAX}"));
        }
        if !(0.0..=BACKOFF_BASE_MAX).contains(&self.backoff_base()) {
            return Err(format!("backoff_base must be a number from 0 to {BACKOFF_BASE_MAX}"));
        }
        Ok(())
    }

    pub(crate) fn set(&mut self, key: &str, value: &str) -> Result<(), Problem> {
        match key {
            "max_retries" => {
                self.max_retries = value.parse().unwrap_or(u32::MAX);
            }
            "backoff_base" => {
                let number = value.parse::<u32>().ok().map(Number::from);
                let number = number.or_else(|| Number::from_f64(value.parse().ok()?));
                self.backoff_base = number.unwrap_or_else(|| (-1).into());
            }
            _ => return Err(Problem::usage("Unknown config key", KEYS)),
        }
        self.check().map_err(|why| Problem::usage("Invalid config value", why))
    }

    pub(crate) fn record(&self) -> Record {
        Record(vec![
            ("max_retries", self.max_retries.into()),
            ("backoff_base", Value::Number(self.backoff_base.clone())),
        ])
    }

    pub(crate) fn record_of(&self, key: &str) -> Result<Record, Problem> {
        let Record(fields) = self.record();
        match fields.into_iter().find(|(name, _)| *name == key) {
            Some(field) => Ok(Record(vec![field])),
            None => Err(Problem::usage("Unknown config key", KEYS)),
        }
    }
}

fn unusable(path: &Path, why: &dyn std::fmt::Display) -> Problem {
    Problem::Storage(format!(
        "{} cannot be used: {why}; correct it, or remove it to begin with the defaults",
        path.display()
    ))
}
