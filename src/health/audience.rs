//! Who listens to the board, and who has been told that it is closing.
//!
//! The audience is every open Watch, and every peer that probed within the last
//! [`PROBER_MEMORY`]. It is evidence for one decision, whether the propagation
//! window may end before its maximum, so every doubt counts as "not told".
//!
//! A Watch has been told once the message was taken into HTTP/2's send buffer
//! within the flow-control window the peer had granted: as close to "written"
//! as can be seen from outside the kernel. A peer with a full window is untold.
//! A prober has been told once a probe of its own was answered NOT_SERVING, or
//! 503, since the drain began. Liveness is no part of this: it does not change.

use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How long a peer that probed counts as listening. Three missed probes at the kubelet's default
/// period of 10 s.
pub const PROBER_MEMORY: Duration = Duration::from_secs(30);

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Peer {
    /// An address; ports are left out, since probers use a new one each time.
    Ip(IpAddr),
    /// Anyone on the unix socket.
    Unix,
}

impl Peer {
    /// The peer at `address`; an IPv4 address in IPv6 clothes is the IPv4 address.
    pub fn at(address: IpAddr) -> Self {
        Self::Ip(address.to_canonical())
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Unix => f.write_str("the unix socket"),
        }
    }
}

/// Who listens and who has been told, at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audience {
    /// Watches open, liveness aside.
    pub watchers: usize,
    /// Those of them whose last delivered message is NOT_SERVING.
    pub watchers_told: usize,
    /// Peers that probed within the last [`PROBER_MEMORY`], liveness aside.
    pub probers: usize,
    /// Those of them answered NOT_SERVING since the drain began.
    pub probers_told: usize,
    /// A few of those not told, for a person to read.
    pub untold: Vec<String>,
    /// More peers probed than could be remembered: nobody can say that all were told.
    pub uncounted: bool,
    /// When the next untold prober is forgotten, if none of this changes before.
    pub next_expiry: Option<Instant>,
}

impl Audience {
    /// Whether everyone known has been told, and nobody unknown may be left. True of an empty audience.
    pub fn all_told(&self) -> bool {
        !self.uncounted && self.watchers == self.watchers_told && self.probers == self.probers_told
    }
}
