//! Whom to trust: the system's certificates, and those of a file.

use anyhow::Context;
use reqwest::{Certificate, Client, ClientBuilder};
use std::path::Path;

#[derive(Clone, Debug, Default)]
pub struct Trust {
    further: Vec<Certificate>,
}

impl Trust {
    /// The system's certificates and those of a PEM file.
    pub fn read(ca_file: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = ca_file else { return Ok(Self::default()) };
        let shown = path.display();
        let pem = std::fs::read(path).with_context(|| format!("cannot read HUB_CA_FILE {shown}"))?;
        let further = Certificate::from_pem_bundle(&pem)
            .with_context(|| format!("HUB_CA_FILE {shown} holds no valid PEM certificates"))?;
        anyhow::ensure!(!further.is_empty(), "HUB_CA_FILE {shown} holds no certificate");
        Ok(Self { further })
    }

    /// Builds a client that trusts them. On a machine without any certificates of its own only those of
    /// the file are trusted; plain http works there too.
    pub fn build(&self, builder: impl Fn() -> ClientBuilder) -> reqwest::Result<Client> {
        // A second install is refused, and the first one holds.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let all = match self.further.is_empty() {
            true => builder().build(),
            false => builder().tls_certs_merge(self.further.clone()).build(),
        };
        all.or_else(|_| builder().tls_certs_only(self.further.clone()).build())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_without_certificates_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.pem");
        std::fs::write(&path, "nothing here").unwrap();
        let error = Trust::read(Some(&path)).unwrap_err().to_string();
        assert!(error.contains("ca.pem") && error.contains("certificate"), "{error}");
        assert!(Trust::read(Some(&dir.path().join("missing"))).is_err());
        assert!(Trust::default().build(Client::builder).is_ok());
    }
}
