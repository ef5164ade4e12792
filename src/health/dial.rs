//! Connecting to someone else: the app's health, or what a check asks.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::host::{DialError, Host, Lookup, connect};

/// A silent connection is asked by the kernel whether it still is one after so long, and so often
/// again (tcp(7): TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT). Nobody here wakes up for it, and no
/// gRPC server counts it against us, as it does PINGs (gRPC A8: at most one in 5 minutes).
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 3;

/// Where someone listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A host and a port.
    Tcp {
        /// A name or an IP address; IPv6 with or without brackets.
        host: String,
        /// 1 to 65535
        port: u16,
    },
    /// A unix socket.
    Unix(PathBuf),
}

impl Place {
    /// As HTTP's `:authority` names it; a socket has none, so gRPC says `localhost`.
    pub(super) fn authority(&self) -> String {
        match self {
            Self::Tcp { .. } => self.to_string(),
            Self::Unix(_) => "localhost".to_owned(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') && !host.starts_with('[') => {
                write!(f, "[{host}]:{port}")
            }
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// How far a dial came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// Looking up the host's name.
    #[default]
    Resolving,
    /// Connecting.
    Connecting,
    /// There is a connection.
    Connected,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resolving => "looking up its host name",
            Self::Connecting => "connecting",
            Self::Connected => "connected, waiting for it",
        })
    }
}

/// A connection of either kind.
pub(super) trait Line: AsyncRead + AsyncWrite + Send + Unpin {}

impl Line for TcpStream {}
impl Line for UnixStream {}

/// Connects to one place, again and again.
#[derive(Debug)]
pub(super) struct Dialler {
    place: Place,
    stage: Stage,
    lookup: Lookup,
}

impl Dialler {
    pub(super) fn new(place: Place) -> Self {
        Self {
            place,
            stage: Stage::default(),
            lookup: Lookup::default(),
        }
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// How far the last dial came.
    pub(super) fn stage(&self) -> Stage {
        self.stage
    }

    /// Connects to the first address that answers. It takes as long as it takes: bound it.
    pub(super) async fn dial(&mut self) -> Result<Box<dyn Line>, DialError> {
        self.stage = Stage::Resolving;
        let line: Box<dyn Line> = match self.place.clone() {
            Place::Unix(path) => {
                self.stage = Stage::Connecting;
                Box::new(UnixStream::connect(path).await.map_err(DialError::of)?)
            }
            Place::Tcp { host, port } => {
                let host = Host::of(&host);
                let lookup = self.lookup.addresses(&host, port);
                let addresses = lookup.await.map_err(DialError::Resolve)?;
                self.stage = Stage::Connecting;
                let stream = connect(&addresses).await.map_err(DialError::of)?;
                tune(&stream);
                Box::new(stream)
            }
        };
        self.stage = Stage::Connected;
        Ok(line)
    }
}

/// What a connection is better with, and works without.
fn tune(stream: &TcpStream) {
    // A call is one small write; waiting to fill a segment would only delay it.
    let _ = stream.set_nodelay(true);
    let _ = setsockopt(stream, sockopt::KeepAlive, &true);
    let _ = setsockopt(stream, sockopt::TcpKeepIdle, &(KEEPALIVE.as_secs() as u32));
    let _ = setsockopt(
        stream,
        sockopt::TcpKeepInterval,
        &(KEEPALIVE_INTERVAL.as_secs() as u32),
    );
    let _ = setsockopt(stream, sockopt::TcpKeepCount, &KEEPALIVE_PROBES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_as_they_are_written() {
        for (host, shown) in [("::1", "[::1]:80"), ("[::1]", "[::1]:80"), ("db", "db:80")] {
            let place = Place::Tcp {
                host: host.to_owned(),
                port: 80,
            };
            assert_eq!(place.to_string(), shown);
            assert_eq!(place.authority(), shown);
        }
        let socket = Place::Unix("/run/app.sock".into());
        assert_eq!(
            (socket.to_string(), socket.authority()),
            ("unix:/run/app.sock".into(), "localhost".into())
        );
    }
}
