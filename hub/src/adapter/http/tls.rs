//! TLS with certificate files. The files are looked at every second: a new pair serves every
//! connection from then on, and those that are open go on. A pair that cannot be used changes
//! nothing but `/api/health`.

use anyhow::{Context as _, ensure};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    version::{TLS12, TLS13},
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

use crate::{
    problems::{Problems, TLS_CERTIFICATE},
    secret::{self, Digest},
};

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The first byte of every TLS connection: a handshake follows.
const HANDSHAKE: u8 = 0x16;

/// Where the certificate and its key are.
#[derive(Debug, Clone)]
pub struct Files {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

pub struct Tls {
    files: Files,
    current: RwLock<Arc<ServerConfig>>,
    loaded: Digest,
}

impl Tls {
    pub fn load(files: Files) -> anyhow::Result<Self> {
        let (certificate, key) = files.read()?;
        let config = configure(&files, &certificate, &key)?;
        Ok(Self { loaded: digest(&certificate, &key), files, current: RwLock::new(Arc::new(config)) })
    }

    /// Takes up new files until the hub stops.
    pub async fn watch(self: Arc<Self>, problems: Arc<Problems>, stop: CancellationToken) {
        let (mut done, mut seen) = (self.loaded, self.loaded);
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = stop.cancelled() => return,
            }
            let read = self.files.read();
            let now = read.as_ref().map_or([0; 32], |(certificate, key)| digest(certificate, key));
            // Two files are never written at once: they count when they have stopped changing.
            if now == done || now != std::mem::replace(&mut seen, now) {
                continue;
            }
            done = now;
            let taken = read.and_then(|(certificate, key)| configure(&self.files, &certificate, &key));
            match taken {
                Ok(config) => {
                    *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                    problems.clear(TLS_CERTIFICATE);
                    tracing::info!("a new certificate serves from now on");
                }
                Err(error) => {
                    let message =
                        "the new certificate cannot be used and the old one stays; the hub's log says why";
                    problems.raise(TLS_CERTIFICATE, message);
                    tracing::error!("the new certificate cannot be used and the old one stays: {error:#}");
                }
            }
        }
    }

    /// The handshake. `None` when the peer does not speak TLS, which it is told if it speaks HTTP.
    pub(super) async fn accept(&self, stream: TcpStream) -> std::io::Result<Option<TlsStream<TcpStream>>> {
        let mut first = [0];
        if stream.peek(&mut first).await? == 1 && first[0] != HANDSHAKE {
            say_https(&stream);
            return Ok(None);
        }
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        TlsAcceptor::from(current).accept(stream).await.map(Some)
    }
}

impl Files {
    fn read(&self) -> anyhow::Result<(Vec<u8>, Vec<u8>)> {
        let read = |name: &str, path: &Path| {
            std::fs::read(path).with_context(|| format!("cannot read {name} {}", path.display()))
        };
        Ok((read("TLS_CERT", &self.certificate)?, read("TLS_KEY", &self.key)?))
    }

    /// Whether they can be used; says why not.
    pub fn check(&self) -> anyhow::Result<()> {
        let (certificate, key) = self.read()?;
        configure(self, &certificate, &key).map(drop)
    }
}

fn digest(certificate: &[u8], key: &[u8]) -> Digest {
    secret::digest(&[secret::digest(certificate), secret::digest(key)].concat())
}

fn configure(files: &Files, certificate: &[u8], key: &[u8]) -> anyhow::Result<ServerConfig> {
    let (shown, key_shown) = (files.certificate.display(), files.key.display());
    let chain = CertificateDer::pem_slice_iter(certificate)
        .collect::<Result<Vec<_>, _>>()
        .with_context(|| format!("TLS_CERT {shown} is not a valid PEM file"))?;
    ensure!(!chain.is_empty(), "TLS_CERT {shown} holds no certificate");
    let key = PrivateKeyDer::from_pem_slice(key)
        .with_context(|| format!("TLS_KEY {key_shown} holds no private key in PEM"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .with_context(|| format!("TLS_CERT {shown} and TLS_KEY {key_shown} cannot be used together"))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// As far as the socket takes it at once.
fn say_https(stream: &TcpStream) {
    const BODY: &str = r#"{"error":"this hub speaks https: write https:// in front of its address","code":"https_required"}"#;
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    // What was sent is taken in first: closing on unread bytes would take the answer back.
    let mut request = [0; 4 << 10];
    while stream.try_read(&mut request).is_ok_and(|read| read > 0) {}
    let _ = stream.try_write(answer.as_bytes());
}
