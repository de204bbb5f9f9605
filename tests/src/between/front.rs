//! A door in front of a hub that changes claims on their way, as a hub of another version would.

use super::{
    Listening,
    http::{self, Asked, Reply},
};
use crate::{agent::SOON, hub::client_with};
use reqwest::Client;
use serde_json::Value;
use std::{net::SocketAddr, sync::Arc, time::Instant};
use tokio::sync::watch;

/// What is done to every claim and to every job that is its answer.
#[derive(Clone, Copy)]
pub struct Changes {
    pub claim: fn(&mut Value),
    pub job: fn(&mut Value),
    /// Claims that are lost on their way.
    pub loses: fn(&Value) -> bool,
}

impl Default for Changes {
    fn default() -> Self {
        Self { claim: |_| {}, job: |_| {}, loses: |_| false }
    }
}

pub struct Front {
    listening: Listening,
    claims: watch::Receiver<Vec<(Instant, Value)>>,
}

struct Door {
    hub: SocketAddr,
    changes: Changes,
    client: Client,
    claims: watch::Sender<Vec<(Instant, Value)>>,
}

impl Front {
    pub async fn start(hub: SocketAddr, changes: Changes) -> Self {
        let (sender, claims) = watch::channel(Vec::new());
        let door = Arc::new(Door { hub, changes, client: client_with(None), claims: sender });
        let listening = Listening::start("127.0.0.1", move |stream| {
            let door = door.clone();
            async move { http::serve(stream, |asked| door.answer(asked)).await }
        })
        .await;
        Self { listening, claims }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.listening.address)
    }

    /// The claims as the agent sent them, once there is one like this.
    pub async fn until_claims(&self, enough: impl Fn(&[(Instant, Value)]) -> bool) -> Vec<(Instant, Value)> {
        let mut claims = self.claims.clone();
        let waited = tokio::time::timeout(SOON, claims.wait_for(|claims| enough(claims))).await;
        match waited {
            Ok(claims) => claims.expect("the door is open").clone(),
            Err(_) => panic!("the agent should claim otherwise: {:?}", *self.claims.borrow()),
        }
    }
}

impl Door {
    /// `None` when the hub is not there.
    async fn answer(&self, mut asked: Asked) -> Option<Reply> {
        let is_claim = asked.path == "/api/jobs/claim";
        if is_claim {
            let mut claim: Value = serde_json::from_slice(&asked.body).ok()?;
            self.claims.send_modify(|claims| claims.push((Instant::now(), claim.clone())));
            if (self.changes.loses)(&claim) {
                std::future::pending::<()>().await;
            }
            (self.changes.claim)(&mut claim);
            asked.body = claim.to_string().into_bytes();
        }
        let mut reply = http::forward(&self.client, self.hub, &asked).await?;
        if is_claim && let Ok(mut claimed) = serde_json::from_slice::<Value>(&reply.body) {
            match &mut claimed {
                Value::Array(jobs) => jobs.iter_mut().for_each(self.changes.job),
                job => (self.changes.job)(job),
            }
            reply.body = claimed.to_string().into_bytes();
        }
        Some(reply)
    }
}
