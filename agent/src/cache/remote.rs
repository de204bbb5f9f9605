//! Asking a server for a solver: where the token may go, and where a redirect may lead.

use std::error::Error as _;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderValue, IF_RANGE, LOCATION, RANGE};
use reqwest::{Client, Response, Url};

use super::checksum::Checksum;
use super::{CacheError, Source};
use crate::config::is_this_machine;
use crate::tls::Trust;

const REDIRECTS_MAX: usize = 5;

/// Says of an address whether the whole internet can reach it.
pub type IsPublic = Arc<dyn Fn(IpAddr) -> bool + Send + Sync>;

pub(super) struct Remote {
    hub: Url,
    authorization: HeaderValue,
    pub(super) is_public: IsPublic,
    connect_timeout: Duration,
    trust: Trust,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("hub", &self.hub.as_str()).finish_non_exhaustive()
    }
}

impl Remote {
    pub(super) fn new(
        hub_url: &str,
        token: &str,
        trust: Trust,
        connect_timeout: Duration,
    ) -> anyhow::Result<Self> {
        use anyhow::Context as _;
        let hub = Url::parse(hub_url.trim_end_matches('/'))
            .with_context(|| format!("HUB_URL {hub_url:?} is no URL"))?;
        let mut authorization = HeaderValue::from_str(&format!("Bearer {token}"))
            .ok()
            .context("the token for the hub contains characters that no header may carry")?;
        authorization.set_sensitive(true);
        Ok(Self { hub, authorization, is_public: Arc::new(is_public), connect_timeout, trust })
    }

    pub(super) fn url(&self, source: &Source, checksum: &Checksum) -> Result<Url, CacheError> {
        let text = match source {
            Source::Url(url) => url.clone(),
            Source::Hub => format!("{}/api/solvers/{checksum}", self.hub.as_str().trim_end_matches('/')),
        };
        Url::parse(&text)
            .map_err(|error| CacheError::Forbidden(format!("the solver_url is no URL ({error})")))
    }

    /// Follows redirects by hand, since each may lead somewhere that the token or the request must not go.
    pub(super) async fn get(
        &self,
        mut url: Url,
        resume: Option<(u64, &str)>,
    ) -> Result<Response, CacheError> {
        let mut with_token = true;
        let mut from_public = false;
        for _ in 0..=REDIRECTS_MAX {
            // Once off the hub's origin for good: a stranger must not lead the token back to a path it chose.
            with_token &= url.origin() == self.hub.origin();
            let addresses = self.reachable(&url, from_public).await?;
            from_public |= addresses.is_empty() || addresses.iter().any(|found| self.is_public_at(found));
            let response = self.ask(&url, &addresses, with_token, resume).await?;
            let status = response.status().as_u16();
            if !matches!(status, 301 | 302 | 303 | 307 | 308) {
                return Ok(response);
            }
            let Some(location) = response.headers().get(LOCATION).and_then(|value| value.to_str().ok())
            else {
                return Err(CacheError::Refused { status, origin: origin(&url) });
            };
            url = url.join(location).map_err(|_| {
                CacheError::Forbidden(format!("{} redirects to what is no URL", origin(&url)))
            })?;
        }
        Err(CacheError::Forbidden(format!(
            "more than {REDIRECTS_MAX} redirects, the last to {}",
            origin(&url)
        )))
    }

    /// The addresses behind a URL that may be asked. None when only a proxy can resolve the name.
    async fn reachable(&self, url: &Url, from_public: bool) -> Result<Vec<SocketAddr>, CacheError> {
        let (Some(host), Some(port), "http" | "https") =
            (url.host_str(), url.port_or_known_default(), url.scheme())
        else {
            return Err(CacheError::Forbidden(format!("{:?} is neither http nor https", url.scheme())));
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let found = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => tokio::net::lookup_host((host, port)).await.map(Vec::from_iter).unwrap_or_default(),
        };
        if !from_public || found.is_empty() {
            return Ok(found);
        }
        let public: Vec<_> = found.into_iter().filter(|address| self.is_public_at(address)).collect();
        if public.is_empty() {
            return Err(CacheError::Forbidden(format!(
                "a public server redirects to {}, which is a private address",
                origin(url)
            )));
        }
        Ok(public)
    }

    /// Connects to the addresses that were checked, not to what the name means by then.
    async fn ask(
        &self,
        url: &Url,
        addresses: &[SocketAddr],
        with_token: bool,
        resume: Option<(u64, &str)>,
    ) -> Result<Response, CacheError> {
        let unreachable = |error: reqwest::Error| CacheError::Unreachable {
            origin: origin(url),
            why: if addresses.is_empty() { "its name does not resolve".into() } else { why(error) },
        };
        let client = self.client(url, addresses).map_err(unreachable)?;
        let mut request = client.get(url.clone()).header(ACCEPT_ENCODING, "identity");
        if with_token {
            request = request.header(AUTHORIZATION, self.authorization.clone());
        }
        if let Some((offset, version)) = resume {
            request = request.header(RANGE, format!("bytes={offset}-")).header(IF_RANGE, version);
        }
        request.send().await.map_err(unreachable)
    }

    fn client(&self, url: &Url, addresses: &[SocketAddr]) -> reqwest::Result<Client> {
        let builder = || {
            let builder = Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .referer(false)
                .user_agent(concat!("forge-agent/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(self.connect_timeout)
                .pool_max_idle_per_host(0)
                .resolve_to_addrs(url.host_str().unwrap_or_default(), addresses);
            if is_this_machine(url) { builder.no_proxy() } else { builder }
        };
        self.trust.build(builder)
    }

    fn is_public_at(&self, address: &SocketAddr) -> bool {
        (self.is_public)(address.ip().to_canonical())
    }
}

/// Enough to find the server by; paths and queries may hold credentials.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The innermost cause is the one that a person can act on.
pub(super) fn why(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    text
}

pub(super) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            !(address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_multicast()
                || a == 0
                || a >= 240
                || (a == 100 && b & 0xc0 == 64)
                || (a == 192 && b == 0 && c == 0)
                || (a == 198 && b & 0xfe == 18))
        }
        IpAddr::V6(address) => {
            let parts = address.segments();
            let embedded = |high: u16, low: u16| {
                let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
                is_public(IpAddr::from([a, b, c, d]))
            };
            match parts {
                // NAT64 and 6to4 carry an IPv4 address that the packet ends up at.
                [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
                [0, 0, 0, 0, 0, 0, ..] => false,
                [first, ..] => {
                    !(address.is_multicast()
                        || address.is_unique_local()
                        || address.is_unicast_link_local()
                        || first & 0xffc0 == 0xfec0)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(addresses: &[&str], expect: bool) {
        for address in addresses {
            assert_eq!(is_public(address.parse().unwrap()), expect, "{address}");
        }
    }

    #[test]
    fn addresses_that_only_this_side_can_reach_are_private() {
        check(&["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"], false);
        check(&["100.64.0.1", "100.127.255.255", "255.255.255.255", "224.0.0.1", "198.18.0.1"], false);
        check(&["::", "::1", "fe80::1", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "::7f00:1"], false);
        check(&["::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::"], false);
    }

    #[test]
    fn addresses_that_everybody_can_reach_are_public() {
        check(&["1.1.1.1", "100.63.0.1", "100.128.0.1", "172.32.0.1", "192.169.0.1", "198.20.0.1"], true);
        check(&["2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::"], true);
    }
}
