//! One instance, and what a kubelet does with it: readiness probes, the preStop hook, the signal, SIGKILL at the end.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tonic::transport::Endpoint as Peer;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::Failure;
use crate::balancer::Balancer;
use crate::contestant::{Addresses, Setup};
use crate::endpoints::Endpoint;
use crate::http;
use crate::process::Process;

/// Where the kubelet's probes come from.
const KUBELET: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// The readiness probe's period.
const PERIOD: Duration = Duration::from_secs(1);
/// How long an instance may take to be SERVING.
const START: Duration = Duration::from_secs(15);

/// A running instance.
pub struct Instance {
    /// Its name: the slot, and which of those that ran there it is.
    pub name: String,
    setup: Setup,
    addresses: Addresses,
    process: Process,
    directory: TempDir,
    probes: JoinHandle<()>,
}

/// Who an instance was.
pub struct Ended {
    /// Its name.
    pub name: String,
    /// Where it was.
    pub addresses: Addresses,
}

/// How an instance ended.
pub struct Stopped {
    /// When it was to stop: the preStop hook begins, the endpoint is on its way out.
    pub told: Instant,
    /// When it was gone.
    pub gone: Instant,
    /// The kubelet had to kill it.
    pub killed: bool,
    /// tidegate's termination message.
    pub report: Option<Value>,
}

impl Instance {
    /// Starts it at these addresses, and waits until it is SERVING.
    pub async fn start(name: String, setup: Setup, addresses: Addresses) -> Result<Self, Failure> {
        let directory = TempDir::new().map_err(|error| format!("no temporary directory: {error}"))?;
        let termination = directory.path().join("termination-log");
        std::fs::write(&termination, "").map_err(|error| format!("{}: {error}", termination.display()))?;
        let mut process = Process::start(&name, setup.command(&addresses, &termination))?;
        let health = setup.health(&addresses);
        process.wait_until_listening(addresses.calls).await?;
        let begun = Instant::now();
        while !serving(setup.balancer, health).await {
            if begun.elapsed() > START || process.ended().is_some() {
                return Err(process.explain("it is not SERVING"));
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(Self {
            name,
            setup,
            addresses,
            process,
            directory,
            probes: tokio::spawn(async move {
                loop {
                    sleep(PERIOD).await;
                    serving(setup.balancer, health).await;
                }
            }),
        })
    }

    /// What a load balancer is told of it.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint {
            calls: self.addresses.calls,
            health: self.setup.health(&self.addresses),
        }
    }

    /// SIGKILL, from somebody who is no kubelet.
    pub async fn kill(mut self) -> Result<(Ended, Stopped), Failure> {
        let told = Instant::now();
        self.process.signal(Signal::SIGKILL)?;
        // Whatever it says of its end, it has none of its own.
        let _ = self.process.wait().await;
        let stopped = Stopped {
            told,
            gone: Instant::now(),
            killed: true,
            report: None,
        };
        Ok((self.ended(), stopped))
    }

    /// Stops it as the kubelet does: the hook and the signal share one grace period.
    pub async fn stop(mut self) -> Result<(Ended, Stopped), Failure> {
        let told = Instant::now();
        let hook = self.setup.contestant.pre_stop();
        if !hook.is_zero() {
            sleep(hook).await;
        }
        self.process.signal(Signal::SIGTERM)?;
        let rest = self.setup.grace.saturating_sub(told.elapsed());
        let killed = timeout(rest, self.process.wait()).await.is_err();
        if killed {
            self.process.signal(Signal::SIGKILL)?;
            // Whatever it says of its end, it has none of its own.
            let _ = self.process.wait().await;
        }
        let gone = Instant::now();
        let text = std::fs::read_to_string(self.directory.path().join("termination-log")).unwrap_or_default();
        let stopped = Stopped {
            told,
            gone,
            killed,
            report: serde_json::from_str(&text).ok(),
        };
        Ok((self.ended(), stopped))
    }

    fn ended(&self) -> Ended {
        Ended {
            name: self.name.clone(),
            addresses: self.addresses,
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.probes.abort();
    }
}

/// One readiness probe, on a connection of its own.
async fn serving(balancer: Balancer, address: SocketAddr) -> bool {
    if balancer.is_http() {
        return http::get(address, "/readyz")
            .await
            .is_ok_and(|answer| answer.status == 200);
    }
    let peer = Peer::try_from(format!("http://{address}")).expect("a socket address makes a valid URI");
    let peer = peer.local_address(Some(KUBELET)).timeout(Duration::from_secs(1));
    let Ok(channel) = peer.connect().await else {
        return false;
    };
    let answer = HealthClient::new(channel)
        .check(HealthCheckRequest::default())
        .await;
    answer.is_ok_and(|answer| answer.into_inner().status() == ServingStatus::Serving)
}
