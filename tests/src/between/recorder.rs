//! A door in front of a hub that changes nothing and keeps a recording of what is said.

use super::{
    Listening,
    http::{self, Asked, Reply},
};
use crate::{
    agent::SOON,
    hub::client_with,
    recording::{Call, Entry, content},
};
use std::{net::SocketAddr, sync::Arc};
use tokio::sync::watch;

pub struct Recorder {
    listening: Listening,
    entries: Arc<watch::Sender<Vec<Entry>>>,
}

impl Recorder {
    pub async fn start(hub: SocketAddr) -> Self {
        let entries = Arc::new(watch::Sender::new(Vec::new()));
        let client = client_with(None);
        let listening = Listening::start("127.0.0.1", {
            let entries = entries.clone();
            move |stream| {
                let (client, entries) = (client.clone(), entries.clone());
                async move {
                    let through = async |asked: Asked| {
                        let reply = http::forward(&client, hub, &asked).await?;
                        let call = Entry::Call(call(&asked, &reply));
                        entries.send_modify(|entries| entries.push(call));
                        Some(reply)
                    };
                    http::serve(stream, through).await;
                }
            }
        })
        .await;
        Self { listening, entries }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.listening.address)
    }

    /// Something that the agent has no part in.
    pub fn note(&self, entry: Entry) {
        self.entries.send_modify(|entries| entries.push(entry));
    }

    /// Returns once the agent has had an answer on this route that fits.
    pub async fn until(&self, route: &str, fits: impl Fn(&Call) -> bool) {
        let is_it = |entry: &Entry| matches!(entry, Entry::Call(call) if call.route() == route && fits(call));
        let mut entries = self.entries.subscribe();
        let waited = tokio::time::timeout(SOON, entries.wait_for(|entries| entries.iter().any(is_it))).await;
        assert!(waited.is_ok(), "the agent should call {route}");
    }

    pub fn recording(&self) -> Vec<Entry> {
        self.entries.borrow().clone()
    }
}

fn call(asked: &Asked, reply: &Reply) -> Call {
    let kept = |(name, value): &(&'static str, String)| {
        let value = if *name == "authorization" { "Bearer …" } else { value };
        (name.to_string(), value.to_owned())
    };
    Call {
        method: asked.method.clone(),
        path: asked.path.clone(),
        headers: asked.headers.iter().map(kept).collect(),
        body: content(&asked.body),
        status: reply.status,
        answer: content(&reply.body),
    }
}
