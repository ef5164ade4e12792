//! How an instance ends: what people use today, and tidegate.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use tokio::process::Command;

use crate::process::{beside_us, tidegate};

/// A way to run, and to end, one instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Contestant {
    /// The program alone: SIGTERM ends it.
    Alone,
    /// The program under tini.
    Tini,
    /// The program with a graceful stop of its own.
    Graceful,
    /// The program alone, behind a preStop hook that sleeps.
    Sleep,
    /// Both.
    SleepGraceful,
    /// The program, as it is alone, under tidegate.
    Tidegate,
}

/// The addresses of one instance.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Where calls are served.
    pub calls: SocketAddr,
    /// Where `/metrics` is.
    pub metrics: SocketAddr,
    /// Where tidegate answers for its health.
    pub health: SocketAddr,
}

/// What preStop hooks sleep.
const SLEEP: Duration = Duration::from_secs(5);

/// Every pod's terminationGracePeriodSeconds.
pub const GRACE: Duration = Duration::from_secs(30);

impl Contestant {
    /// Its name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::Alone => "program alone",
            Self::Tini => "tini",
            Self::Graceful => "graceful stop",
            Self::Sleep => "sleep 5 s",
            Self::SleepGraceful => "sleep + graceful",
            Self::Tidegate => "tidegate",
        }
    }

    /// How long its preStop hook takes.
    pub fn pre_stop(self) -> Duration {
        match self {
            Self::Sleep | Self::SleepGraceful => SLEEP,
            _ => Duration::ZERO,
        }
    }

    /// Where its health is asked.
    pub fn health(self, addresses: &Addresses) -> SocketAddr {
        match self {
            Self::Tidegate => addresses.health,
            _ => addresses.calls,
        }
    }

    /// Its command line. `termination` is the file that the kubelet made for its last words.
    pub fn command(self, addresses: &Addresses, termination: &Path) -> Command {
        let library = beside_us("examples/library");
        let mut command = match self {
            Self::Tidegate => tidegate(&configuration(addresses, termination), &library),
            Self::Tini => {
                let mut command = Command::new("tini");
                // Not PID 1 here: a subreaper, whose end is the program's.
                command.args(["-s", "-p", "SIGKILL", "--"]).arg(&library);
                command
            }
            _ => Command::new(&library),
        };
        if self != Self::Tidegate {
            command.arg("--health");
        }
        if matches!(self, Self::Graceful | Self::SleepGraceful) {
            command.arg("--graceful");
        }
        command.arg("--listen").arg(addresses.calls.to_string());
        command.arg("--metrics-listen").arg(addresses.metrics.to_string());
        command
    }
}

/// tidegate's configuration, as it would stand in a pod spec: the same behind every load balancer.
fn configuration(addresses: &Addresses, termination: &Path) -> String {
    format!(
        r#"
terminationGracePeriodSeconds: {grace}
drain: {{propagation: {{min: 1s, max: 5s}}}}
inflight:
  - prometheus: {{url: "http://{metrics}/metrics", query: library_calls_in_flight, arrivals: sum(grpc_server_started_total)}}
health: {{listen: "{health}"}}
admin: {{socket: off}}
telemetry: {{logFormat: json, terminationLog: "{termination}"}}
"#,
        grace = GRACE.as_secs(),
        metrics = addresses.metrics,
        health = addresses.health,
        termination = termination.display(),
    )
}
