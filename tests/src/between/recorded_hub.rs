//! A hub of another version, as far as a recording knows it: it answers each call as that hub did.

use super::{
    Listening,
    http::{self, Asked, Reply},
};
use crate::{
    agent::SOON,
    recording::{Call, Entry, bytes, content, route},
};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::watch;

/// What is done to every answer on its way.
pub type Change = fn(&mut Value);

pub struct RecordedHub {
    listening: Option<Listening>,
    address: SocketAddr,
    memory: Arc<Memory>,
}

struct Memory {
    calls: Vec<Call>,
    /// Answers to claims that brought jobs.
    jobs: Mutex<VecDeque<Value>>,
    change: Change,
    heard: watch::Sender<Vec<(String, Value)>>,
}

impl RecordedHub {
    pub async fn start(recording: &[Entry], change: Change) -> Self {
        let calls: Vec<Call> = recording
            .iter()
            .filter_map(|entry| match entry {
                Entry::Call(call) => Some(call.clone()),
                _ => None,
            })
            .collect();
        let brought_jobs = |call: &&Call| call.route() == CLAIM && call.answer.get(0).is_some();
        let jobs = calls.iter().filter(brought_jobs).map(|call| call.answer.clone()).collect();
        let memory =
            Arc::new(Memory { calls, jobs: Mutex::new(jobs), change, heard: watch::Sender::new(Vec::new()) });
        let listening = Listening::start("127.0.0.1", serving(memory.clone())).await;
        Self { address: listening.address, listening: Some(listening), memory }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Nobody is there any more.
    pub fn go_away(&mut self) {
        self.listening = None;
    }

    pub async fn come_back(&mut self) {
        self.listening = Some(Listening::again_at(self.address, serving(self.memory.clone())).await);
    }

    /// What the agent sent on this route, once it is something like this.
    pub async fn until(&self, route: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let mut heard = self.memory.heard.subscribe();
        let is_it = |(on, body): &&(String, Value)| on == route && fits(body);
        let waited =
            tokio::time::timeout(SOON, heard.wait_for(|heard| heard.iter().any(|call| is_it(&call))));
        match waited.await {
            Ok(heard) => heard.expect("somebody listens").iter().find(is_it).expect("it is there").1.clone(),
            Err(_) => panic!("the agent should call {route}; it said {:#?}", *self.memory.heard.borrow()),
        }
    }
}

const CLAIM: &str = "POST /api/jobs/claim";

fn serving(
    memory: Arc<Memory>,
) -> impl Fn(tokio::net::TcpStream) -> futures_util::future::BoxFuture<'static, ()> {
    move |stream| {
        let memory = memory.clone();
        Box::pin(async move { http::serve(stream, |asked| memory.answer(asked)).await })
    }
}

impl Memory {
    async fn answer(&self, asked: Asked) -> Option<Reply> {
        let (on, body) = (route(&asked.method, &asked.path), content(&asked.body));
        self.heard.send_modify(|heard| heard.push((on.clone(), body.clone())));
        if on == CLAIM {
            // Who does not wait asks ahead, and there was nothing then either.
            if body["wait_ms"].is_null() {
                return Some(self.reply(200, json!([])));
            }
            let next = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(jobs) = next else { return std::future::pending().await };
            return Some(self.reply(200, jobs));
        }
        // What that hub did not know, it said so.
        let Some(call) = self.calls.iter().find(|call| call.route() == on) else {
            return Some(self.reply(404, json!({"error": "there is nothing here", "code": "no_such_route"})));
        };
        let mut answer = call.answer.clone();
        match on.as_str() {
            "POST /api/jobs/results" => answer = self.verdicts(&on, &body),
            "POST /api/workers/register" | "POST /api/workers/*/heartbeat" => {
                let keep = |held: &Value| json!({"lease_id": held["lease_id"], "action": "keep"});
                answer["leases"] =
                    body["holding"].as_array().map(|all| all.iter().map(keep).collect()).unwrap_or_default();
            }
            "POST /api/jobs/*/logs" => {
                let offset = asked
                    .path
                    .split(['?', '&'])
                    .find_map(|part| part.strip_prefix("offset=")?.parse::<usize>().ok());
                answer["offset"] = json!(offset.unwrap_or(0) + asked.body.len());
            }
            _ => {}
        }
        Some(self.reply(call.status, answer))
    }

    /// One answer for each report, as the job's was.
    fn verdicts(&self, on: &str, reports: &Value) -> Value {
        let recorded = || {
            self.calls
                .iter()
                .filter(|call| call.route() == on)
                .filter_map(|call| call.answer.as_array())
                .flatten()
        };
        let verdict = |report: &Value| {
            let of_job = recorded().find(|answer| answer["id"] == report["job_id"]);
            of_job.cloned().unwrap_or_else(|| json!({"id": report["job_id"], "code": 409}))
        };
        reports.as_array().map(|all| all.iter().map(verdict).collect()).unwrap_or_default()
    }

    fn reply(&self, status: u16, mut answer: Value) -> Reply {
        (self.change)(&mut answer);
        Reply { status, headers: Vec::new(), body: bytes(&answer) }
    }
}
