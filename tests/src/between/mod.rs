//! What can stand between an agent and a server: an older hub's manners, a recorder, a bad line, TLS, a
//! proxy, and servers of solvers that behave badly.

pub mod front;
pub mod http;
pub mod line;
pub mod origin;
pub mod proxy;
pub mod recorded_hub;
pub mod recorder;
pub mod tls;

use std::{future::Future, net::SocketAddr};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

/// Listens until it is dropped, which also ends every connection.
struct Listening {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Listening {
    async fn start<F>(host: &str, serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind((host, 0)).await.expect("listen on a port of our own");
        Self::on(listener, serve)
    }

    /// At an address that was listened on before.
    async fn again_at<F>(address: SocketAddr, serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.expect("listen there again");
        Self::on(listener, serve)
    }

    fn on<F>(listener: TcpListener, serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let address = listener.local_addr().expect("an address");
        let task = tokio::spawn(async move {
            let mut open = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => match accepted {
                        Ok((stream, _)) => drop(open.spawn(serve(stream))),
                        Err(_) => return,
                    },
                    Some(_) = open.join_next() => {}
                }
            }
        });
        Self { address, task }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The first lines of a request, up to the empty one. `None`: the other side hung up.
async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}
