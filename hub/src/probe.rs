//! Is the hub on this machine up? For health checks in images that carry no other program.

use crate::config::Config;
use anyhow::{Context, bail};
use std::{
    io::{Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
    time::Duration,
};

const PATIENCE: Duration = Duration::from_secs(3);
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// What `/api/health` of the hub with these settings says. Blocks.
pub fn ask(config: &Config) -> anyhow::Result<String> {
    let host = match config.host {
        IpAddr::V4(host) if host.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(host) if host.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        host => host,
    };
    let address = SocketAddr::from((host, config.port));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)
        .with_context(|| format!("nothing listens on {address}; is the hub running, and PORT the same?"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET /api/health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream
        .take(ANSWER_BYTES_MAX)
        .read_to_end(&mut answer)
        .with_context(|| format!("the hub on {address} takes connections but does not answer"))?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        bail!("{address} answered '{status}' instead of its health");
    }
    Ok(body.to_owned())
}
