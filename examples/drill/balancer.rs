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
}

impl Balancer {
    /// Its name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::Endpoints => "Envoy, endpoints only, 1 s late",
            Self::HealthChecked => "Envoy, endpoints 1 s late, active gRPC health checks",
            Self::EndpointsLate => "Envoy, endpoints only, 8 s late",
        }
    }

    /// How late it hears of endpoints that come and go.
    pub fn lag(self) -> Duration {
        match self {
            Self::Endpoints | Self::HealthChecked => Duration::from_secs(1),
            Self::EndpointsLate => Duration::from_secs(8),
        }
    }

    /// Whether it asks the endpoints itself.
    pub fn checks_health(self) -> bool {
        self == Self::HealthChecked
    }

    /// How long an instance has to be ready before the next is told to stop, the Deployment's minReadySeconds:
    /// until then the load balancer may not know it yet.
    pub fn min_ready(self) -> Duration {
        self.lag() + Duration::from_secs(1)
    }
}
