//! Whom to believe about where a request came from. A reverse proxy names its client in
//! `X-Forwarded-For`; anybody can send that header, so it counts only when the connection comes from
//! a proxy that the operator named.

use axum::http::HeaderMap;
use std::{
    net::{IpAddr, SocketAddr},
    str::FromStr,
    sync::Arc,
};

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The networks of trusted proxies.
#[derive(Debug, Clone, Default)]
pub struct Proxies(Arc<[Network]>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u8,
}

impl Proxies {
    /// Addresses and networks in CIDR notation, separated by commas.
    pub fn parse(list: &str) -> Result<Self, String> {
        let parts = list.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(Network::from_str).collect::<Result<Vec<_>, _>>().map(|networks| Self(networks.into()))
    }

    pub(super) fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(address))
    }

    /// The nearest address that is no trusted proxy: read from the right, where each proxy adds the
    /// one that it saw. Whatever is further left was claimed by that client itself.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if self.0.is_empty() || !self.contains(client) {
            return client;
        }
        let values: Vec<_> =
            headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok()).collect();
        for text in values.iter().rev().flat_map(|value| value.rsplit(',')) {
            let Some(address) = address_in(text.trim()) else { break };
            client = address;
            if !self.contains(client) {
                break;
            }
        }
        client
    }
}

/// Some proxies add the port.
fn address_in(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().ok().or_else(|| text.parse().ok().map(|socket: SocketAddr| socket.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is neither an address nor a network such as 10.0.0.0/8 or fd00::/8");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most {
            return Err(wrong());
        }
        Ok(Self { address, bits })
    }
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        // Shifting by all bits of the type is not defined: a network of everything is a case of its own.
        match (self.address, address) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                self.bits == 0 || (ours.to_bits() ^ theirs.to_bits()) >> (32 - self.bits) == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => {
                self.bits == 0 || (ours.to_bits() ^ theirs.to_bits()) >> (128 - self.bits) == 0
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn client(proxies: &str, peer: &str, forwarded: &[&str]) -> String {
        let proxies = Proxies::parse(proxies).unwrap();
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_str(value).unwrap());
        }
        proxies.client(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn header_counts_only_from_a_trusted_proxy() {
        let ours = "10.0.0.0/8, ::1";
        for (proxies, peer, forwarded, found) in [
            ("", "127.0.0.1", &["1.2.3.4"][..], "127.0.0.1"),
            (ours, "203.0.113.9", &["1.2.3.4"], "203.0.113.9"),
            (ours, "10.1.2.3", &["1.2.3.4"], "1.2.3.4"),
            (ours, "::ffff:10.1.2.3", &["1.2.3.4:55555"], "1.2.3.4"),
            (ours, "::1", &["[2001:db8::7]:443"], "2001:db8::7"),
            (ours, "::1", &["[2001:db8::7]"], "2001:db8::7"),
            (ours, "10.1.2.3", &[], "10.1.2.3"),
        ] {
            assert_eq!(client(proxies, peer, forwarded), found, "{peer} {forwarded:?}");
        }
    }

    #[test]
    fn what_the_client_claims_itself_is_not_believed() {
        let ours = "10.0.0.0/8";
        for (forwarded, found) in [
            (&["6.6.6.6, 1.2.3.4"][..], "1.2.3.4"),
            (&["6.6.6.6, 1.2.3.4, 10.0.0.2"], "1.2.3.4"),
            (&["6.6.6.6", "1.2.3.4, 10.0.0.2"], "1.2.3.4"),
            (&["6.6.6.6, nonsense"], "10.0.0.1"),
            (&["6.6.6.6, nonsense, 10.0.0.2"], "10.0.0.2"),
            (&["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ] {
            assert_eq!(client(ours, "10.0.0.1", forwarded), found, "{forwarded:?}");
        }
    }

    #[test]
    fn networks_are_compared_by_their_bits() {
        for (network, address, inside) in [
            ("192.168.4.0/22", "192.168.7.255", true),
            ("192.168.4.0/22", "192.168.8.0", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "fd00::1", true),
            ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe80::1", false),
            ("1.2.3.4", "1.2.3.4", true),
            ("1.2.3.4", "1.2.3.5", false),
        ] {
            assert_eq!(
                Proxies::parse(network).unwrap().contains(address.parse().unwrap()),
                inside,
                "{network}"
            );
        }
        for wrong in ["10.0.0.0/33", "::/129", "everybody", "10.0.0.0/", "10.0.0.0/8/8"] {
            assert!(Proxies::parse(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
    }
}
