//! Peers that are left out: an address, or a network of them.

use std::fmt;
use std::net::IpAddr;

use thiserror::Error;

/// An address or a network, as `10.0.0.7` or `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peers {
    network: IpAddr,
    /// How many leading bits count, up to 32 or 128.
    prefix: u8,
}

/// A text that is neither.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is neither an address nor a network; write it like 10.0.0.7 or 10.0.0.0/8")]
pub struct PeersError(String);

impl Peers {
    /// Reads `address` or `address/prefix`. An IPv4 address stands for its IPv6-mapped form too.
    ///
    /// # Errors
    /// When it is neither.
    pub fn parse(text: &str) -> Result<Self, PeersError> {
        let bad = || PeersError(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let network: IpAddr = address.parse().map_err(|_| bad())?;
        let most = if network.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => most,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().map_err(|_| bad())?
            }
            Some(_) => return Err(bad()),
        };
        if prefix > most {
            return Err(bad());
        }
        Ok(Self { network, prefix })
    }

    /// Whether an address is one of them.
    pub fn contains(&self, address: IpAddr) -> bool {
        let differing = match (self.network, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                (network.to_bits() ^ address.to_bits()).leading_zeros()
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                (network.to_bits() ^ address.to_bits()).leading_zeros()
            }
            _ => return false,
        };
        differing >= u32::from(self.prefix)
    }
}

impl fmt::Display for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_or_a_network_is_met() {
        for (peers, address, met) in [
            ("10.0.0.7", "10.0.0.7", true),
            ("10.0.0.7", "10.0.0.8", false),
            ("10.0.0.0/8", "10.255.1.2", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("0.0.0.0/0", "192.0.2.1", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("2001:db8::/32", "2001:db8:1::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::1", "::1", true),
        ] {
            let peers = Peers::parse(peers).unwrap();
            assert_eq!(peers.contains(address.parse().unwrap()), met, "{peers} {address}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "10.0.0",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "a.example",
            "10.0.0.0/8/8",
        ] {
            assert!(Peers::parse(text).is_err(), "{text}");
        }
    }
}
