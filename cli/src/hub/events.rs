//! The hub's event stream, followed through broken connections and restarts of the hub.

use super::{
    client::{Hub, SILENCE_MAX},
    sse::{Message, Parser},
};
use crate::problem::Problem;
use reqwest::Response;
use serde::de::DeserializeOwned;
use std::{collections::VecDeque, time::Duration};

const PAUSE_FIRST: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// What comes out of a stream.
#[derive(Debug)]
pub(crate) enum Happened {
    /// The stream is open; what happens from now on is told.
    Connected,
    /// An event: its name and its JSON.
    Event { id: Option<String>, name: String, data: String },
    /// The place in the stream, without an event.
    Place { id: String },
    /// Something was missed: whoever keeps a picture must look again.
    Reset,
    /// The connection is lost; it is being opened again.
    Lost { why: String },
}

impl Happened {
    /// The event's own data, if it is of this kind.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Option<T> {
        match self {
            Self::Event { data, .. } => serde_json::from_str(data).ok(),
            _ => None,
        }
    }
}

pub(crate) struct Events {
    hub: Hub,
    path: &'static str,
    query: Vec<(String, String)>,
    last_id: Option<String>,
    open: Option<(Response, Parser)>,
    ready: VecDeque<Happened>,
    pause: Duration,
    ever_open: bool,
}

impl Events {
    /// Of `/api/events`, beginning after `last_id`, or with what happens from now on.
    pub(crate) fn new(hub: &Hub, query: Vec<(String, String)>, last_id: Option<String>) -> Self {
        Self {
            hub: hub.clone(),
            path: "/api/events",
            query,
            last_id,
            open: None,
            ready: VecDeque::new(),
            pause: PAUSE_FIRST,
            ever_open: false,
        }
    }

    /// The stream about jobs that anybody may read, and a producer with it: without machines and reasons.
    pub(crate) fn public(hub: &Hub, query: Vec<(String, String)>) -> Self {
        Self { path: "/api/jobs/events", ..Self::new(hub, query, None) }
    }

    /// What happens next. An error is one that waiting does not mend, or that was there from the beginning.
    pub(crate) async fn next(&mut self) -> Result<Happened, Problem> {
        loop {
            if let Some(happened) = self.ready.pop_front() {
                return Ok(happened);
            }
            match &mut self.open {
                None => self.connect().await?,
                Some((response, parser)) => match tokio::time::timeout(SILENCE_MAX, response.chunk()).await {
                    Ok(Ok(Some(bytes))) => {
                        let messages = parser.push(&bytes);
                        messages.into_iter().for_each(|message| self.take(message));
                    }
                    Ok(Ok(None)) => self.lost("the hub ended the stream"),
                    Ok(Err(error)) => self.lost(&forge_agent::hub::explain(&error)),
                    Err(_) => self.lost("nothing was heard of the hub for a while"),
                },
            }
        }
    }

    fn lost(&mut self, why: &str) {
        self.open = None;
        self.ready.push_back(Happened::Lost { why: why.to_owned() });
    }

    async fn connect(&mut self) -> Result<(), Problem> {
        let mut call = self.hub.get(self.path).last_event_id(self.last_id.as_deref());
        for (name, value) in &self.query {
            call = call.query(name, value);
        }
        match call.stream().await {
            Ok(response) => {
                self.open = Some((response, Parser::default()));
                (self.pause, self.ever_open) = (PAUSE_FIRST, true);
                self.ready.push_back(Happened::Connected);
                Ok(())
            }
            Err(failure) if self.ever_open && failure.may_pass => {
                self.wait().await;
                Ok(())
            }
            Err(failure) => Err(failure.problem(&self.hub)),
        }
    }

    async fn wait(&mut self) {
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
    }

    fn take(&mut self, Message { id, event, data }: Message) {
        if let Some(id) = &id {
            self.last_id = Some(id.clone());
        }
        let happened = match (event, id) {
            (Some(name), _) if name == "reset" => Happened::Reset,
            (Some(name), id) => Happened::Event { id, name, data },
            (None, Some(id)) => Happened::Place { id },
            (None, None) => return,
        };
        self.ready.push_back(happened);
    }
}
