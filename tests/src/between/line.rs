//! A line between two programs that can be slow, cut, or broken off, and that can lead elsewhere later.

use super::Listening;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weather {
    Fine,
    /// Whatever is sent arrives this much later.
    Slow(Duration),
    /// Nothing arrives, and nobody is told.
    Cut,
}

pub struct Line {
    listening: Listening,
    state: Arc<watch::Sender<State>>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    leads_to: SocketAddr,
    weather: Weather,
    /// Connections of an earlier age are over.
    age: u64,
}

impl Line {
    pub async fn lay(leads_to: SocketAddr) -> Self {
        let state = Arc::new(watch::Sender::new(State { leads_to, weather: Weather::Fine, age: 0 }));
        let listening = Listening::start("127.0.0.1", {
            let state = state.clone();
            move |stream| connect(stream, state.subscribe())
        })
        .await;
        Self { listening, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.listening.address)
    }

    pub fn lead_to(&self, address: SocketAddr) {
        self.state.send_modify(|state| state.leads_to = address);
    }

    pub fn set(&self, weather: Weather) {
        self.state.send_modify(|state| state.weather = weather);
    }

    /// All connections break.
    pub fn break_off(&self) {
        self.state.send_modify(|state| state.age += 1);
    }
}

async fn connect(client: TcpStream, mut state: watch::Receiver<State>) {
    let age = state.borrow().age;
    if arrives(&mut state).await.is_none() {
        return;
    }
    let leads_to = state.borrow().leads_to;
    let Ok(server) = TcpStream::connect(leads_to).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let up = carry(from_client, to_server, state.clone());
    let down = carry(from_server, to_client, state.clone());
    // Either side's end is both sides' end.
    tokio::select! {
        () = up => {}
        () = down => {}
        _ = state.wait_for(|state| state.age != age) => {}
    }
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut state: watch::Receiver<State>) {
    let mut chunk = vec![0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        if arrives(&mut state).await.is_none() || to.write_all(&chunk[..length]).await.is_err() {
            return;
        }
    }
    // The end of a connection needs the line as much as its bytes do.
    arrives(&mut state).await;
}

/// Returns when something that was just sent has arrived; `None` when the line is gone.
async fn arrives(state: &mut watch::Receiver<State>) -> Option<()> {
    let weather = state.wait_for(|state| state.weather != Weather::Cut).await.ok()?.weather;
    if let Weather::Slow(by) = weather {
        tokio::time::sleep(by).await;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{net::TcpListener, time::timeout};

    const LONG_ENOUGH: Duration = Duration::from_millis(100);

    async fn echo(mut stream: TcpStream) {
        let (mut from, mut to) = stream.split();
        let _ = tokio::io::copy(&mut from, &mut to).await;
    }

    #[tokio::test]
    async fn what_was_sent_during_a_cut_arrives_after_it_and_a_break_ends_all() {
        let echo = Listening::start("127.0.0.1", echo).await;
        let line = Line::lay(echo.address).await;
        let mut end = TcpStream::connect(line.listening.address).await.unwrap();
        let mut heard = [0; 1];
        end.write_all(b"a").await.unwrap();
        end.read_exact(&mut heard).await.unwrap();
        line.set(Weather::Cut);
        end.write_all(b"b").await.unwrap();
        assert!(timeout(LONG_ENOUGH, end.read_exact(&mut heard)).await.is_err(), "nothing arrives");
        line.set(Weather::Slow(Duration::from_millis(1)));
        end.read_exact(&mut heard).await.unwrap();
        assert_eq!(heard, *b"b");
        line.break_off();
        assert_eq!(end.read(&mut heard).await.unwrap_or(0), 0);
        let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
        line.lead_to(elsewhere.local_addr().unwrap());
        let _end = TcpStream::connect(line.listening.address).await.unwrap();
        elsewhere.accept().await.unwrap();
    }
}
