//! A door in front of a hub that changes claims on their way, as a hub of another version would.

use super::{Listening, header, read_head};
use crate::{agent::SOON, hub::client_with};
use reqwest::{Client, Method};
use serde_json::Value;
use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    sync::watch,
};

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
            async move { door.serve(stream).await }
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
    async fn serve(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some(head) = read_head(&mut stream).await {
            let length = header(&head, "content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
            let mut body = vec![0; length];
            if stream.read_exact(&mut body).await.is_err() {
                return;
            }
            let Some(answer) = self.answer(&head, body).await else { return };
            if stream.write_all(&answer).await.is_err() {
                return;
            }
        }
    }

    /// `None` when the hub is not there.
    async fn answer(&self, head: &str, mut body: Vec<u8>) -> Option<Vec<u8>> {
        let mut words = head.split(' ');
        let (method, path) = (words.next()?, words.next()?);
        let is_claim = path == "/api/jobs/claim";
        if is_claim {
            let mut claim: Value = serde_json::from_slice(&body).ok()?;
            self.claims.send_modify(|claims| claims.push((Instant::now(), claim.clone())));
            if (self.changes.loses)(&claim) {
                std::future::pending::<()>().await;
            }
            (self.changes.claim)(&mut claim);
            body = claim.to_string().into_bytes();
        }
        let method = Method::from_bytes(method.as_bytes()).ok()?;
        let mut request = self.client.request(method, format!("http://{}{path}", self.hub)).body(body);
        for name in ["authorization", "content-type", "x-node-name"] {
            if let Some(value) = header(head, name) {
                request = request.header(name, value);
            }
        }
        let answer = request.timeout(Duration::from_secs(90)).send().await.ok()?;
        let status = answer.status();
        let mut body = answer.bytes().await.ok()?.to_vec();
        if is_claim && let Ok(mut claimed) = serde_json::from_slice::<Value>(&body) {
            match &mut claimed {
                Value::Array(jobs) => jobs.iter_mut().for_each(self.changes.job),
                job => (self.changes.job)(job),
            }
            body = claimed.to_string().into_bytes();
        }
        let mut bytes = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
        bytes.append(&mut body);
        Some(bytes)
    }
}
