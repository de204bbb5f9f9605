//! Customers: each enqueues a job, waits for its end, checks it, and comes again, through any number of deaths.

use crate::{
    hub::{SECRET, client_with},
    load::Place,
};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{sync::watch, task::JoinSet};

/// The type of their jobs.
pub const TYPE: &str = "soak";
/// What their jobs run: the result is the params.
pub const PROGRAM: &str = r#"#!/bin/sh
params=$(cat)
case $params in
*sleep*) sleep 0.3 ;;
*stumble*) test "$FORGE_ATTEMPT" -gt 1 || exit 1 ;;
*talk*) for n in 1 2 3 4 5 6 7 8 9; do echo "line $n of $FORGE_JOB_ID" >&2; done ;;
esac
printf %s "$params"
"#;
const WAYS: [&str; 5] = ["work", "work", "sleep", "stumble", "talk"];
/// Kills must not use a job up.
const ATTEMPTS: u32 = 1_000;
/// A hub that says nothing for so long is away.
const ANSWER_MAX: Duration = Duration::from_secs(15);
const WAIT_MS: u64 = 5_000;

/// What all customers know together.
#[derive(Debug, Default)]
pub struct Ledger {
    pub acknowledged: AtomicU64,
    pub completed: AtomicU64,
    /// Jobs that lost three workers in a row, which a person had to send again.
    pub sent_again: AtomicU64,
    open: Mutex<BTreeMap<String, &'static str>>,
    wrong: Mutex<Vec<String>>,
}

impl Ledger {
    /// Jobs that are acknowledged and not completed, with what is waited for.
    pub fn open(&self) -> BTreeMap<String, &'static str> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn wrong(&self) -> Vec<String> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct Customer {
    name: String,
    http: Client,
    place: watch::Receiver<Place>,
    leaving: watch::Receiver<bool>,
    checksum: String,
    ledger: Arc<Ledger>,
}

/// Sends this many of them; they leave, each after its last job, when `leaving` becomes true.
pub fn send_in(
    customers: usize,
    checksum: &str,
    place: &watch::Receiver<Place>,
    leaving: &watch::Receiver<bool>,
    ledger: &Arc<Ledger>,
) -> JoinSet<()> {
    (0..customers)
        .map(|n| Customer {
            name: format!("customer-{n}"),
            http: client_with(Some(SECRET)),
            place: place.clone(),
            leaving: leaving.clone(),
            checksum: checksum.to_owned(),
            ledger: ledger.clone(),
        })
        .map(Customer::shop)
        .collect()
}

impl Customer {
    async fn shop(mut self) {
        for n in 0_u64.. {
            if *self.leaving.borrow() {
                return;
            }
            let id = format!("{}-{n}", self.name);
            let way = WAYS[usize::try_from(n).unwrap_or(0) % WAYS.len()];
            let params = json!({"marker": id, "do": way});
            let job = json!({
                "id": id, "type": TYPE, "params": params, "solver_checksum": self.checksum, "idempotency_key": id,
                "max_attempts": ATTEMPTS, "backoff": {"kind": "fixed", "first_ms": 50},
            });
            self.until_answered(Method::POST, "/api/jobs", Some(&job)).await;
            self.ledger.acknowledged.fetch_add(1, Relaxed);
            self.open(&id, Some("its end"));
            let ended = self.end_of(&id).await;
            if ended["result"] != params {
                let wrong = format!("{id} should have the result {params}: {ended}");
                self.ledger.wrong.lock().unwrap_or_else(PoisonError::into_inner).push(wrong);
            }
            self.ledger.completed.fetch_add(1, Relaxed);
            self.open(&id, None);
        }
    }

    fn open(&self, id: &str, what: Option<&'static str>) {
        let mut open = self.ledger.open.lock().unwrap_or_else(PoisonError::into_inner);
        match what {
            Some(what) => drop(open.insert(id.to_owned(), what)),
            None => drop(open.remove(id)),
        }
    }

    /// The job when it has completed. One that was set aside is sent again, as a person would.
    async fn end_of(&mut self, id: &str) -> Value {
        loop {
            let job =
                self.until_answered(Method::GET, &format!("/api/jobs/{id}?wait_ms={WAIT_MS}"), None).await;
            match job["status"].as_str() {
                Some("completed") => return job,
                Some("quarantined") => {
                    self.open(id, Some("its end after it was sent again"));
                    self.ledger.sent_again.fetch_add(1, Relaxed);
                    self.until_answered(Method::POST, &format!("/api/jobs/{id}/retry"), None).await;
                }
                Some("pending" | "assigned" | "running") => {}
                _ => return job,
            }
        }
    }

    /// Asks until there is an answer that is not "later". A retry may find that it was made already.
    async fn until_answered(&mut self, method: Method, path: &str, body: Option<&Value>) -> Value {
        loop {
            let address = self.hub().await;
            let mut request =
                self.http.request(method.clone(), format!("http://{address}{path}")).timeout(ANSWER_MAX);
            if let Some(body) = body {
                request = request.json(body);
            }
            if let Ok(answer) = request.send().await
                && !answer.status().is_server_error()
                && let Ok(answer) = answer.bytes().await
            {
                return serde_json::from_slice(&answer).unwrap_or(Value::Null);
            }
            let _ = tokio::time::timeout(Duration::from_millis(20), self.place.changed()).await;
        }
    }

    async fn hub(&mut self) -> SocketAddr {
        loop {
            if let Place::At(address) | Place::Over(address) = *self.place.borrow_and_update() {
                return address;
            }
            let _ = self.place.changed().await;
        }
    }
}
