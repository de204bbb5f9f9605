//! What an agent and a hub of some version said to each other, kept in a file so that later versions can
//! be tried against it: one entry a line, in the order in which answers came.
//!
//! Ids that are made anew each time are replaced by `lease-01`, `boot-01` and `claim-01`, and what tells of a
//! machine by nothing; job ids are the recording's own.

pub mod replay;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A producer puts a program into the hub's store.
    Upload(String),
    /// A producer adds this job.
    Enqueue(Value),
    HubRestarts,
    AgentRestarts,
    Call(Call),
}

/// One request of the agent and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
    pub status: u16,
    pub answer: Value,
}

impl Call {
    /// The path with a `*` for what differs from job to job and machine to machine.
    pub fn route(&self) -> String {
        route(&self.method, &self.path)
    }
}

pub fn route(method: &str, path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    let mut parts: Vec<&str> = path.split('/').collect();
    if let [_, "api", "jobs" | "workers" | "ingest" | "solvers", id, ..] = parts.as_mut_slice()
        && !["claim", "results", "register"].contains(id)
    {
        *id = "*";
    }
    format!("{method} {}", parts.join("/"))
}

/// A body as it is kept: JSON as such, anything else as text, nothing as null.
pub fn content(bytes: &[u8]) -> Value {
    match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(_) if bytes.is_empty() => Value::Null,
        Err(_) => Value::String(String::from_utf8_lossy(bytes).into_owned()),
    }
}

pub fn bytes(content: &Value) -> Vec<u8> {
    match content {
        Value::Null => Vec::new(),
        Value::String(text) => text.clone().into_bytes(),
        json => json.to_string().into_bytes(),
    }
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings")
}

/// Every recording that is kept, by its name.
pub fn all() -> Vec<(String, Vec<Entry>)> {
    let files = fs::read_dir(folder()).expect("the recordings");
    let mut all: Vec<_> = files
        .flatten()
        .map(|file| {
            let text = fs::read_to_string(file.path()).expect("read a recording");
            let read = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
            (file.file_name().to_string_lossy().into_owned(), text.lines().map(read).collect())
        })
        .collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    assert!(!all.is_empty(), "there are recordings");
    all
}

/// One entry a line, without what differs from run to run or tells of the machine.
pub fn write(entries: &[Entry]) -> String {
    let mut names = Names::default();
    let mut lines = String::new();
    for entry in entries {
        let mut entry = entry.clone();
        if let Entry::Call(call) = &mut entry {
            for value in [&mut call.body, &mut call.answer] {
                names.collect(value);
                anonymous(value);
            }
        }
        lines += &serde_json::to_string(&entry).expect("an entry is JSON");
        lines.push('\n');
    }
    names.0.iter().fold(lines, |lines, (id, name)| lines.replace(id, name))
}

#[derive(Default)]
struct Names(Vec<(String, String)>);

impl Names {
    fn collect(&mut self, value: &Value) {
        for (key, value) in fields(value) {
            let kind = match key {
                "lease_id" => "lease",
                "boot_id" => "boot",
                "claim_id" => "claim",
                _ => continue,
            };
            let Value::String(id) = value else { continue };
            if self.0.iter().all(|(known, _)| known != id) {
                let number = self.0.iter().filter(|(_, name)| name.starts_with(kind)).count() + 1;
                self.0.push((id.clone(), format!("{kind}-{number:02}")));
            }
        }
    }
}

/// Every field of every object in a value.
fn fields(value: &Value) -> Vec<(&str, &Value)> {
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| fields(value).into_iter().chain([(key.as_str(), value)]))
            .collect(),
        Value::Array(items) => items.iter().flat_map(fields).collect(),
        _ => Vec::new(),
    }
}

fn anonymous(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match key.as_str() {
                    "hostname" => *value = "machine".into(),
                    "pid" => *value = 1.into(),
                    _ => anonymous(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(anonymous),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn routes_have_no_names_of_jobs_or_machines() {
        for (path, expected) in [
            ("/api/jobs/claim", "POST /api/jobs/claim"),
            ("/api/jobs/results", "POST /api/jobs/results"),
            ("/api/jobs/a/logs?offset=0", "POST /api/jobs/*/logs"),
            ("/api/workers/register", "POST /api/workers/register"),
            ("/api/workers/machine/heartbeat", "POST /api/workers/*/heartbeat"),
            ("/api/ingest/machine", "POST /api/ingest/*"),
            ("/api/ingest/machine/batch", "POST /api/ingest/*/batch"),
        ] {
            assert_eq!(route("POST", path), expected);
        }
    }

    #[test]
    fn what_is_written_has_neither_random_ids_nor_a_machine() {
        let call = Call {
            method: "POST".to_owned(),
            path: "/api/jobs/a/logs?lease_id=f00d".to_owned(),
            headers: BTreeMap::new(),
            body: json!({"hostname": "the-laptop", "pid": 17, "boot_id": "b00b"}),
            status: 200,
            answer: json!([{"lease_id": "f00d"}]),
        };
        let text = write(&[Entry::Call(call)]);
        for gone in ["f00d", "b00b", "the-laptop", "17"] {
            assert!(!text.contains(gone), "{gone} in {text}");
        }
        assert!(text.contains("logs?lease_id=lease-01") && text.contains(r#""boot_id":"boot-01""#), "{text}");
    }
}
