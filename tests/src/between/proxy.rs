//! An HTTP proxy that knows `CONNECT`, leads everybody to one place, and remembers all it is told.

use super::{Listening, read_head};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

pub struct Proxy {
    listening: Listening,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Proxy {
    pub async fn start(leads_to: SocketAddr) -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listening = Listening::start("127.0.0.1", {
            let heard = heard.clone();
            move |stream| {
                let heard = heard.clone();
                async move { connect(stream, leads_to, &heard).await }
            }
        })
        .await;
        Self { listening, heard }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.listening.address)
    }

    /// Everything that clients have sent so far, through it or to it.
    pub fn heard(&self) -> Vec<u8> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn connect(mut client: TcpStream, leads_to: SocketAddr, heard: &Mutex<Vec<u8>>) {
    let hear = |bytes: &[u8]| heard.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    let Some(head) = read_head(&mut client).await else { return };
    hear(head.as_bytes());
    if !head.starts_with("CONNECT ") {
        let _ = client.write_all(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n").await;
        return;
    }
    let Ok(mut server) = TcpStream::connect(leads_to).await else { return };
    if client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.is_err() {
        return;
    }
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let up = async {
        let mut chunk = vec![0; 16 << 10];
        while let Ok(length @ 1..) = from_client.read(&mut chunk).await {
            hear(&chunk[..length]);
            if to_server.write_all(&chunk[..length]).await.is_err() {
                return;
            }
        }
    };
    // Either side's end is both sides' end.
    tokio::select! {
        () = up => {}
        _ = tokio::io::copy(&mut from_server, &mut to_client) => {}
    }
}
