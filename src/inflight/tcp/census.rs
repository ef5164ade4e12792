//! The sockets counted as they come by. None of them is kept.

use std::collections::HashSet;
use std::net::SocketAddr;

use super::socket::{Socket, State};
use super::{Mode, TcpConfig};
use crate::inflight::Reading;

/// The count of one look at the table.
pub struct Census<'c> {
    config: &'c TcpConfig,
    own: &'c HashSet<SocketAddr>,
    /// Those of ours that were there.
    own_seen: HashSet<SocketAddr>,
    /// The ports with a socket.
    ports: Vec<u16>,
    busy: u64,
    idle: u64,
    /// Empty queues, and no telling when data last moved.
    untold: u64,
}

/// What a look found.
pub struct Found {
    /// The number of calls under way.
    pub reading: Reading,
    /// The ports that had a socket.
    pub ports: Vec<u16>,
    /// Our own connections that were there.
    pub own: HashSet<SocketAddr>,
}

impl<'c> Census<'c> {
    /// A count without the connections of ours at these addresses.
    pub fn new(config: &'c TcpConfig, own: &'c HashSet<SocketAddr>) -> Self {
        Self {
            config,
            own,
            own_seen: HashSet::new(),
            ports: Vec::new(),
            busy: 0,
            idle: 0,
            untold: 0,
        }
    }

    /// Counts a socket.
    pub fn count(&mut self, socket: Socket) {
        if !self.config.ports.contains(&socket.port) {
            return;
        }
        if !self.ports.contains(&socket.port) {
            self.ports.push(socket.port);
        }
        if socket.state == State::Listening {
            return;
        }
        if self.own.contains(&socket.peer) {
            self.own_seen.insert(socket.peer);
            return;
        }
        if self.config.ignores(socket.peer.ip()) {
            return;
        }
        match (socket.state, self.config.mode) {
            // Only what is left of an answer counts; the FIN behind it is one, too.
            (State::Closing, _) if socket.unacknowledged <= 1 => {}
            (State::Closing, _) | (_, Mode::Established) => self.busy += 1,
            _ if socket.unread > 0 || socket.unacknowledged > 0 => self.busy += 1,
            _ => match socket.moved {
                None => self.untold += 1,
                Some(ago) if ago < self.config.idle_after => self.busy += 1,
                Some(_) => self.idle += 1,
            },
        }
    }

    /// The result. `seen` are the ports that had a socket in an earlier look: that a program closes
    /// its listener is its affair, but a port that never was there is a wrong number.
    pub fn finish(self, seen: &[u16]) -> Found {
        let missing = self
            .config
            .ports
            .iter()
            .find(|port| !self.ports.contains(port) && !seen.contains(port));
        let reading = match missing {
            Some(port) => Reading::unknown(format!("nothing listens on port {port} here")),
            None if self.untold > 0 => Reading::unknown(format!(
                "/proc/net/tcp does not say when data last moved on {} of {} connections; \
                 mode: established counts them all",
                self.untold,
                self.untold + self.busy
            )),
            None => Reading::Count(self.busy),
        };
        Found {
            reading,
            ports: self.ports,
            own: self.own_seen,
        }
    }
}
