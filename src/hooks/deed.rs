//! What one try does, whatever kind the hook is.

use crate::child::{Command, Signal};

use super::Way;
use super::consul::Consul;
use super::etcd::Etcd;
use super::eureka::Eureka;
use super::exec;
use super::http::{Changes, HttpCall, Line};
use super::nacos::Nacos;
use super::roster::Reach;

/// Why a try failed: a clause for the log, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure(pub String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// What a try came to that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tried {
    /// It is done.
    Done,
    /// The registry does not know the instance yet: it has to be asked again.
    NotYet,
}

/// What a hook does.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Calls a URL.
    Http(HttpCall),
    /// Runs a program to its end.
    Exec(Command),
    /// Signals the child.
    Signal(Signal),
    /// Leaves a Consul agent.
    Consul(Consul),
    /// Leaves a Eureka registry.
    Eureka(Eureka),
    /// Leaves a Nacos registry.
    Nacos(Nacos),
    /// Leaves etcd.
    Etcd(Etcd),
}

impl Deed {
    /// Whether what it leaves in a registry outlives us, and can be told from what others left or is harmless to
    /// take away.
    pub fn leaves_a_mark(&self) -> bool {
        match self {
            Self::Consul(consul) => consul.leaves_a_mark(),
            Self::Eureka(eureka) => eureka.comes_back(),
            Self::Nacos(nacos) => nacos.leaves_a_mark(),
            Self::Http(_) | Self::Exec(_) | Self::Signal(_) | Self::Etcd(_) => false,
        }
    }

    /// Whether it knows, as a hook of `onDrain`, how to come back.
    pub fn comes_back(&self) -> bool {
        match self {
            Self::Http(_) | Self::Exec(_) | Self::Signal(_) => false,
            Self::Consul(consul) => consul.comes_back(),
            Self::Eureka(eureka) => eureka.comes_back(),
            Self::Nacos(_) => true,
            Self::Etcd(etcd) => etcd.comes_back(),
        }
    }
}

/// A hook with what it reaches.
pub(super) struct Doer {
    name: String,
    deed: Deed,
    reach: Reach,
    line: Line,
    /// Its place among those of the round.
    seat: usize,
}

impl Doer {
    pub fn new(name: String, deed: Deed, reach: Reach) -> Self {
        Self {
            name,
            deed,
            reach,
            line: Line::default(),
            seat: 0,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn seat(&self) -> usize {
        self.seat
    }

    pub fn take_seat(&mut self, seat: usize) {
        self.seat = seat;
    }

    pub fn deed(&self) -> &Deed {
        &self.deed
    }

    /// What the try under way has changed.
    pub fn changes(&self) -> Changes {
        self.line.changes().clone()
    }

    /// Tries once. Dropped before its end, it leaves no program running and no connection open.
    pub async fn once(&mut self, way: Way) -> Result<Tried, Failure> {
        let line = &mut self.line;
        let done = match &mut self.deed {
            Deed::Http(call) => call.make(line).await,
            Deed::Exec(command) => exec::run(command, way, &self.name, &self.reach.spawner).await,
            Deed::Signal(signal) => Ok(self.reach.program.signal(*signal, self.reach.target)?),
            Deed::Consul(consul) => consul.go(way, line).await,
            Deed::Eureka(eureka) => eureka.go(way, line).await,
            Deed::Nacos(nacos) => return nacos.go(way, line).await,
            Deed::Etcd(etcd) => etcd.go(way, line).await,
        };
        done.map(|()| Tried::Done)
    }
}
