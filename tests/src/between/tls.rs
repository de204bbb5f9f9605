//! A certificate authority of the test's own, and TLS in front of a hub that has none.

use super::Listening;
use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{ServerConfig, pki_types::PrivatePkcs8KeyDer};
use std::{net::SocketAddr, sync::Arc};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// The certificate to trust.
    pub pem: String,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("make a key");
        let pem = params.self_signed(&key).expect("sign a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate for this host and its key, as PEM.
    pub fn certify(&self, host: &str) -> (String, String) {
        let (certificate, key) = self.sign(host);
        (certificate.pem(), key.serialize_pem())
    }

    fn sign(&self, host: &str) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().expect("make a key");
        let params = CertificateParams::new([host.to_owned()]).expect("a host name");
        (params.signed_by(&key, &self.issuer).expect("sign a certificate"), key)
    }

    fn server(&self, host: &str) -> ServerConfig {
        let (certificate, key) = self.sign(host);
        // The first provider holds; a second install is refused.
        let _ = rustls::crypto::ring::default_provider().install_default();
        ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )
            .expect("a certificate and its key")
    }
}

/// Speaks TLS under a host name, and plainly to what is behind it.
pub struct TlsFront {
    listening: Listening,
}

impl TlsFront {
    pub async fn start(authority: &Authority, host: &str, hub: SocketAddr) -> Self {
        let acceptor = TlsAcceptor::from(Arc::new(authority.server(host)));
        let listening = Listening::start("127.0.0.1", move |stream| {
            let acceptor = acceptor.clone();
            async move {
                // A client that does not trust us hangs up here.
                let Ok(mut client) = acceptor.accept(stream).await else { return };
                let Ok(mut server) = TcpStream::connect(hub).await else { return };
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            }
        })
        .await;
        Self { listening }
    }

    pub fn address(&self) -> SocketAddr {
        self.listening.address
    }
}
