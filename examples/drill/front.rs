//! Whatever is in front of the instances, at work.

use std::net::SocketAddr;
use std::path::Path;

use crate::Failure;
use crate::balancer::Balancer;
use crate::endpoints::{Endpoint, Endpoints};
use crate::envoy::Envoy;
use crate::haproxy;
use crate::process::Process;

/// A running load balancer.
pub enum Front {
    /// An Envoy.
    Envoy(Envoy),
    /// A HAProxy, and where it listens.
    Haproxy(SocketAddr, Process),
    /// Nobody: clients know the instances.
    Nobody,
}

impl Front {
    /// Starts it.
    pub async fn start(
        balancer: Balancer,
        directory: &Path,
        endpoints: &Endpoints,
        known: &[Endpoint],
    ) -> Result<Self, Failure> {
        Ok(match balancer {
            Balancer::Endpoints | Balancer::HealthChecked | Balancer::EndpointsLate => {
                Self::Envoy(Envoy::start(directory, endpoints, balancer.checks_health()).await?)
            }
            Balancer::Haproxy => {
                let (listen, process) = haproxy::start(directory, known).await?;
                Self::Haproxy(listen, process)
            }
            Balancer::ClientSide => Self::Nobody,
        })
    }

    /// Where clients connect to, if it is to one place.
    pub fn listen(&self) -> Option<SocketAddr> {
        match self {
            Self::Envoy(envoy) => Some(envoy.listen()),
            Self::Haproxy(listen, _) => Some(*listen),
            Self::Nobody => None,
        }
    }

    /// Fails when it is gone.
    pub fn lives(&mut self) -> Result<(), Failure> {
        match self {
            Self::Envoy(envoy) => envoy.lives(),
            Self::Haproxy(_, process) => match process.ended() {
                Some(status) => Err(process.explain(&format!("it ended with {status}"))),
                None => Ok(()),
            },
            Self::Nobody => Ok(()),
        }
    }
}
