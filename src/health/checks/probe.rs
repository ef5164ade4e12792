//! One probe of any kind, within its time.

use std::time::Duration;

use crate::child::Spawner;
use crate::health::channel;
use crate::health::dial::{Dialler, Place};
use crate::health::wire::HealthCheckRequest;
use crate::health::wire::health_check_response::ServingStatus;
use crate::http::Endpoint;

use super::exec::Exec;
use super::failure::Failure;
use super::http;
use super::{Check, Target};

/// What probes one target.
#[derive(Debug)]
pub(super) struct Probe {
    timeout: Duration,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Tcp(Dialler),
    Http(Dialler, Endpoint),
    Grpc(Dialler),
    Exec(Exec),
}

impl Probe {
    pub(super) fn new(check: &Check, spawner: Spawner) -> Self {
        let dialler = |place: &Place| Dialler::new(place.clone());
        let kind = match &check.target {
            Target::Tcp(place) => Kind::Tcp(dialler(place)),
            Target::Http(endpoint) => {
                let (host, port) = endpoint.host_and_port();
                let host = host.to_owned();
                Kind::Http(dialler(&Place::Tcp { host, port }), endpoint.clone())
            }
            Target::Grpc(place) => Kind::Grpc(dialler(place)),
            Target::Exec(command) => Kind::Exec(Exec::new(command.clone(), spawner)),
        };
        Self {
            timeout: check.timeout,
            kind,
        }
    }

    /// Probes once, name lookup, connection and answer within the timeout.
    pub(super) async fn once(&mut self) -> Result<(), Failure> {
        match tokio::time::timeout(self.timeout, self.kind.once()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.kind.late(self.timeout)),
        }
    }
}

impl Kind {
    async fn once(&mut self) -> Result<(), Failure> {
        match self {
            Self::Tcp(dialler) => {
                dialler.dial().await?;
                Ok(())
            }
            Self::Http(dialler, endpoint) => http::probe(dialler, endpoint).await,
            Self::Grpc(dialler) => grpc(dialler).await,
            Self::Exec(exec) => exec.probe().await,
        }
    }

    fn late(&mut self, timeout: Duration) -> Failure {
        match self {
            Self::Tcp(dialler) | Self::Http(dialler, _) | Self::Grpc(dialler) => Failure::TimedOut {
                timeout,
                stage: dialler.stage(),
            },
            Self::Exec(exec) => exec.late(timeout),
        }
    }
}

/// `grpc.health.v1` Check of the whole, on a connection of its own.
async fn grpc(dialler: &mut Dialler) -> Result<(), Failure> {
    let line = dialler.dial().await?;
    let (channel, carrier) = channel::open(line, &dialler.place().authority()).await?;
    let mut client = channel.health();
    let answer = tokio::select! {
        biased;
        answer = client.check(HealthCheckRequest::default()) => answer?,
        gone = carrier.carry() => return Err(gone.into()),
    };
    match answer.get_ref().status() {
        ServingStatus::Serving => Ok(()),
        other => Err(Failure::NotServing(other.as_str_name())),
    }
}
