//! Says to a hub what an agent of another version said, and compares what it answers with what was
//! answered then. What is new in an answer does no harm; what is missing or different does.

use super::{Call, Entry, bytes, content};
use crate::hub::{Hub, client_with};
use data_encoding::HEXLOWER;
use reqwest::{Client, Method};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    time::{SystemTime, UNIX_EPOCH},
};

/// Fields whose values steer an agent, and so must be the same.
const STEERING: [&str; 11] = [
    "action",
    "attempt",
    "cancel",
    "code",
    "command",
    "id",
    "offset",
    "params",
    "solver_checksum",
    "status",
    "worker",
];

/// Leases as they were recorded, and those that stand for them now.
type Leases = HashMap<String, String>;

/// Replays all of it. Answers what an agent of then would stumble over.
pub async fn replay(hub: &mut Hub, token: &str, recording: &[Entry]) -> Vec<String> {
    let client = client_with(None);
    let mut leases = Leases::new();
    let mut stumbles = Vec::new();
    for entry in recording {
        match entry {
            Entry::Upload(program) => {
                let checksum = HEXLOWER.encode(&Sha256::digest(program));
                let put =
                    hub.client().put(hub.url(&format!("/api/solvers/{checksum}"))).body(program.clone());
                assert!(hub.send(put).await.status < 300);
            }
            Entry::Enqueue(job) => drop(hub.enqueue(job.clone()).await),
            Entry::HubRestarts => hub.restart().await,
            Entry::AgentRestarts => {}
            Entry::Call(call) => {
                let (status, answer) = send(&client, hub, token, call, &leases).await;
                let mut differences = Vec::new();
                if status != call.status {
                    differences.push(format!("{status} instead of {}", call.status));
                }
                compare(&call.answer, &answer, "", &mut leases, &mut differences);
                let said = |difference| format!("{} {}: {difference}", call.method, call.path);
                stumbles.extend(differences.into_iter().map(said));
            }
        }
    }
    stumbles
}

async fn send(client: &Client, hub: &Hub, token: &str, call: &Call, leases: &Leases) -> (u16, Value) {
    let now_leases = |text: String| leases.iter().fold(text, |text, (then, now)| text.replace(then, now));
    let method = Method::from_bytes(call.method.as_bytes()).expect("a method");
    let mut body = call.body.clone();
    taken_now(&mut body);
    let body = match String::from_utf8(bytes(&body)) {
        Ok(text) => now_leases(text),
        Err(_) => unreachable!("a recording is text"),
    };
    let mut request = client.request(method, hub.url(&now_leases(call.path.clone()))).body(body);
    for (name, value) in &call.headers {
        request =
            if name == "authorization" { request.bearer_auth(token) } else { request.header(name, value) };
    }
    let answer = hub.send(request).await;
    (answer.status, content(&answer.body))
}

/// A machine's numbers are of the moment in which they are sent.
fn taken_now(value: &mut Value) {
    match value {
        Value::Object(map) if map.contains_key("timestamp") => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
            map.insert(
                "timestamp".to_owned(),
                Value::from(u64::try_from(now).expect("before the year 500 million")),
            );
        }
        Value::Array(items) => items.iter_mut().for_each(taken_now),
        _ => {}
    }
}

/// Notes what was in the answer then and is not now. A lease of then is from here on the one of now.
fn compare(then: &Value, now: &Value, at: &str, leases: &mut Leases, differences: &mut Vec<String>) {
    match (then, now) {
        (Value::Null, _) => {}
        (Value::Object(then), Value::Object(now)) => {
            for (key, then) in then.iter().filter(|(_, then)| !then.is_null()) {
                let at = format!("{at}.{key}");
                let Some(now) = now.get(key) else {
                    differences.push(format!("{at} is missing"));
                    continue;
                };
                if let ("lease_id", Some(then), Some(now)) = (key.as_str(), then.as_str(), now.as_str()) {
                    let known = leases.entry(then.to_owned()).or_insert_with(|| now.to_owned());
                    if known != now {
                        differences.push(format!("{at} is another lease"));
                    }
                } else if STEERING.contains(&key.as_str()) {
                    if then != now {
                        differences.push(format!("{at} is {now} instead of {then}"));
                    }
                } else {
                    compare(then, now, &at, leases, differences);
                }
            }
        }
        (Value::Array(then), Value::Array(now)) => {
            if then.len() != now.len() {
                differences.push(format!("{at} has {} entries instead of {}", now.len(), then.len()));
            }
            for (n, (then, now)) in then.iter().zip(now).enumerate() {
                compare(then, now, &format!("{at}[{n}]"), leases, differences);
            }
        }
        _ => {
            if std::mem::discriminant(then) != std::mem::discriminant(now) {
                differences.push(format!("{at} is {now}, which is of another kind than {then}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn differences(then: Value, now: Value) -> Vec<String> {
        let mut found = Vec::new();
        compare(&then, &now, "", &mut Leases::new(), &mut found);
        found
    }

    #[test]
    fn what_is_new_does_no_harm() {
        assert_eq!(differences(json!({"a": 1, "b": null}), json!({"a": 2, "new": true})), [""; 0]);
        assert_eq!(differences(json!([{"x": "one"}]), json!([{"x": "two", "y": []}])), [""; 0]);
    }

    #[test]
    fn what_is_missing_or_of_another_kind_or_steers_otherwise_does() {
        assert_eq!(differences(json!({"a": 1}), json!({})), [".a is missing"]);
        assert_eq!(differences(json!({"a": 1}), json!({"a": "1"})).len(), 1);
        assert_eq!(differences(json!({"a": {"b": 1}}), json!({"a": {"b": null}})).len(), 1);
        assert_eq!(differences(json!([1, 2]), json!([1])).len(), 1);
        assert_eq!(differences(json!([{"action": "keep"}]), json!([{"action": "gone"}])).len(), 1);
    }

    #[test]
    fn a_lease_stays_the_same_one() {
        let then = json!([{"lease_id": "lease-01"}, {"lease_id": "lease-02"}, {"lease_id": "lease-01"}]);
        let now = |last: &str| json!([{"lease_id": "a"}, {"lease_id": "b"}, {"lease_id": last}]);
        assert_eq!(differences(then.clone(), now("a")), [""; 0]);
        assert_eq!(differences(then, now("b")).len(), 1);
    }
}
