//! A host that is dialled: its addresses, looked up at most once at a time, and the first of them
//! that answers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use thiserror::Error;
use tokio::net::TcpStream;

use crate::aside::Aside;

/// What has to be dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// Known without asking anyone.
    Addresses(Vec<IpAddr>),
    /// For the system's resolver.
    Name(String),
}

impl Host {
    /// The host of this name or address; IPv6 with or without brackets.
    pub(crate) fn of(host: &str) -> Self {
        let literal = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        if let Ok(address) = literal.parse() {
            Self::Addresses(vec![address])
        } else if host.eq_ignore_ascii_case("localhost") {
            // RFC 6761: always loopback. No resolver, and so no thread, for the usual case.
            Self::Addresses(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
        } else {
            Self::Name(host.to_owned())
        }
    }

    /// The addresses to dial, where they are known without asking.
    pub(crate) fn addresses(&self, port: u16) -> Option<Vec<SocketAddr>> {
        match self {
            Self::Addresses(addresses) => {
                Some(addresses.iter().map(|&ip| SocketAddr::new(ip, port)).collect())
            }
            Self::Name(_) => None,
        }
    }
}

/// The lookups of one host, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Lookup {
    /// One that outlived its dial: the next dial waits for it rather than starting another, so that
    /// a resolver that hangs costs one thread, not one a dial.
    running: Option<Aside<io::Result<Vec<SocketAddr>>>>,
}

impl Lookup {
    /// The addresses of `host`. It takes as long as it takes: bound it.
    ///
    /// # Errors
    /// What the resolver says.
    pub(crate) async fn addresses(&mut self, host: &Host, port: u16) -> io::Result<Vec<SocketAddr>> {
        let name = match host {
            Host::Addresses(_) => return Ok(host.addresses(port).unwrap_or_default()),
            Host::Name(name) => name,
        };
        let running = match &mut self.running {
            Some(running) => running,
            none => {
                let name = name.clone();
                none.insert(Aside::begin(move || {
                    Ok((name.as_str(), port).to_socket_addrs()?.collect())
                })?)
            }
        };
        let found = running.done().await;
        self.running = None;
        found?
    }
}

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum DialError {
    /// The host name has no address.
    #[error("its host name cannot be resolved: {0}")]
    Resolve(io::Error),
    /// Nothing listens there.
    #[error("connection refused: nothing listens there")]
    Refused,
    /// It cannot be reached otherwise.
    #[error("it cannot be reached: {0}")]
    Connect(io::Error),
}

impl DialError {
    /// What connecting came to.
    pub(crate) fn of(error: io::Error) -> Self {
        match error.kind() {
            // A unix socket that nobody has made yet is a port that nobody listens on yet.
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Self::Refused,
            _ => Self::Connect(error),
        }
    }
}

/// Connects to the first address that answers.
///
/// # Errors
/// What the last of them said.
pub(crate) async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::AddrNotAvailable, "the host name has no address");
    for &address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_addresses_and_localhost_need_no_resolver() {
        let known = |host: &str| Host::of(host).addresses(80);
        let one = |text: &str| Some(vec![text.parse().unwrap()]);
        assert_eq!(known("127.0.0.1"), one("127.0.0.1:80"));
        assert_eq!(known("[::1]"), one("[::1]:80"));
        assert_eq!(known("::1"), one("[::1]:80"));
        assert_eq!(known("LocalHost").map(|found| found.len()), Some(2));
        assert_eq!(known("db.example"), None);
    }
}
