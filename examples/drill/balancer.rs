//! What stands between the clients and the instances, and how soon it hears of a change.

use std::time::Duration;

use clap::ValueEnum;

/// A load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Balancer {
    /// Envoy, fed with endpoints alone.
    Endpoints,
    /// Envoy, fed with endpoints, that asks each of them for its health by gRPC.
    HealthChecked,
    /// Envoy, fed with endpoints that come very late.
    EndpointsLate,
    /// None: grpcio's own round_robin, with client-side health checking.
    ClientSide,
    /// HAProxy in front of plain HTTP/1, that asks each instance for its health.
    Haproxy,
}

impl Balancer {
    /// Its name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::Endpoints => "Envoy, endpoints only, 1 s late",
            Self::HealthChecked => "Envoy, endpoints 1 s late, active gRPC health checks",
            Self::EndpointsLate => "Envoy, endpoints only, 8 s late",
            Self::ClientSide => "grpcio clients, round_robin, client-side health checking",
            Self::Haproxy => "HAProxy, HTTP/1, health checks every 500 ms",
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Endpoints => "endpoints",
            Self::HealthChecked => "health-checked",
            Self::EndpointsLate => "endpoints-late",
            Self::ClientSide => "client-side",
            Self::Haproxy => "haproxy",
        }
    }

    /// How late it hears of endpoints that come and go; none where an instance comes back at the address it had.
    pub fn lag(self) -> Option<Duration> {
        match self {
            Self::Endpoints | Self::HealthChecked => Some(Duration::from_secs(1)),
            Self::EndpointsLate => Some(Duration::from_secs(8)),
            Self::ClientSide | Self::Haproxy => None,
        }
    }

    /// Whether it is an Envoy that asks the endpoints itself.
    pub fn checks_health(self) -> bool {
        self == Self::HealthChecked
    }

    /// Whether it asks the program, where the calls go.
    pub fn asks_the_program(self) -> bool {
        self == Self::ClientSide
    }

    /// Whether calls are plain HTTP/1.
    pub fn is_http(self) -> bool {
        self == Self::Haproxy
    }

    /// How long an instance has to be ready before the next is told to stop, the Deployment's minReadySeconds:
    /// until then the load balancer may not know it yet.
    pub fn min_ready(self) -> Duration {
        self.lag().unwrap_or(Duration::from_secs(1)) + Duration::from_secs(1)
    }
}
