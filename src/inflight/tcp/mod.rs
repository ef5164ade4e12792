//! The `tcp` source: no instrumentation, the kernel's socket table.
//!
//! ```text
//!  netlink ──┐ Socket
//!  proc    ──┴────────► census ─► Reading
//!  own, peers ──────────┘ left out
//! ```
//!
//! It sees connections, not calls. `busy` takes one for busy while data waits in a queue or moved
//! within `idleAfter`; a call that is silent for longer looks idle. `established` counts every
//! connection, and is never too low.

use std::collections::HashSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tracing::warn;

use super::sources::Measured;
use super::{Reading, Unknown};
use crate::drain::budget::Seconds;

mod census;
mod netlink;
mod own;
mod peers;
mod proc;
mod socket;

use census::{Census, Found};
use netlink::{NoTable, Question};
pub use peers::{Peers, PeersError};

/// A `tcp` source, validated.
#[derive(Clone, Debug)]
pub struct TcpConfig {
    /// The ports of ours that calls come to; at least one.
    pub ports: Vec<u16>,
    /// A connection is busy until nothing moved for so long.
    pub idle_after: Duration,
    /// Which connections count.
    pub mode: Mode,
    /// Those that never count, beside our own.
    pub ignore_peers: Vec<Peers>,
}

/// Which connections count as calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Those on which something moves.
    #[default]
    Busy,
    /// All.
    Established,
}

impl TcpConfig {
    /// The default of [`idle_after`](Self::idle_after).
    pub const IDLE_AFTER: Duration = Duration::from_secs(2);

    fn ignores(&self, peer: IpAddr) -> bool {
        self.ignore_peers.iter().any(|peers| peers.contains(peer))
    }
}

impl fmt::Display for TcpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports: Vec<_> = self.ports.iter().map(u16::to_string).collect();
        write!(f, "tcp {}", ports.join(","))
    }
}

/// Where the table is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Netlink,
    Proc,
}

/// A source at work.
pub(super) struct Tcp {
    config: TcpConfig,
    way: Way,
    /// What the way does not tell, once it is not netlink.
    note: Option<String>,
    /// The ports that had a socket once.
    seen: Vec<u16>,
    /// Our own connections. One that we gave up stays there until its last socket is gone.
    own: HashSet<SocketAddr>,
}

impl Tcp {
    pub fn new(config: TcpConfig) -> Self {
        Self {
            config,
            way: Way::Netlink,
            note: None,
            seen: Vec::new(),
            own: HashSet::new(),
        }
    }

    pub fn config(&self) -> &TcpConfig {
        &self.config
    }

    pub async fn poll(&mut self, timeout: Duration) -> Measured {
        let reading = match tokio::time::timeout(timeout, self.look()).await {
            Ok(reading) => reading,
            Err(_) => Reading::unknown(format!(
                "the socket table was not read within {}",
                Seconds(timeout)
            )),
        };
        Measured {
            reading: match reading {
                Reading::Unknown(Unknown(why)) => Reading::unknown(format!("{}: {why}", self.config)),
                count => count,
            },
            note: self.note.clone(),
            ..Measured::of(Reading::Count(0))
        }
    }

    async fn look(&mut self) -> Reading {
        self.own.extend(own::connections(&self.config.ports));
        if self.way == Way::Netlink {
            let mut census = Census::new(&self.config, &self.own);
            let question = Question {
                ports: &self.config.ports,
                mode: self.config.mode,
            };
            match netlink::sockets(question, |socket| census.count(socket)).await {
                Ok(()) => {
                    let found = census.finish(&self.seen);
                    return self.take(found);
                }
                Err(NoTable::Failed(why)) => return Reading::unknown(format!("the socket table: {why}")),
                Err(NoTable::Refused(errno)) => self.fall_back(errno.desc()),
            }
        }
        let mut census = Census::new(&self.config, &self.own);
        match proc::sockets(|socket| census.count(socket)).await {
            Ok(()) => {
                let found = census.finish(&self.seen);
                self.take(found)
            }
            Err(why) => Reading::unknown(why.to_string()),
        }
    }

    /// Said once: what is refused stays refused.
    fn fall_back(&mut self, why: &str) {
        let loss = match self.config.mode {
            Mode::Busy => {
                "it has no times: a connection with empty queues is neither idle nor busy, but unknown"
            }
            Mode::Established => "which is as good for mode: established",
        };
        let note = format!("netlink is refused ({why}), so that /proc/net/tcp is read instead; {loss}");
        warn!(target: "inflight", source = %self.config, "{note}");
        self.note = Some(note);
        self.way = Way::Proc;
    }

    fn take(&mut self, found: Found) -> Reading {
        for port in found.ports {
            if !self.seen.contains(&port) {
                self.seen.push(port);
            }
        }
        self.own = found.own;
        found.reading
    }
}

#[cfg(test)]
mod tests;
