//! How an instance ends: what people use today, and tidegate.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use tokio::process::Command;

use crate::balancer::Balancer;
use crate::ports;
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
    /// Where tidegate reads them.
    pub metrics_read: SocketAddr,
    /// Where tidegate answers for its health.
    pub health: SocketAddr,
}

/// What preStop hooks sleep.
const SLEEP: Duration = Duration::from_secs(5);

/// Every pod's terminationGracePeriodSeconds.
pub const GRACE: Duration = Duration::from_secs(30);

/// What an instance is.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// What is in front of it.
    pub balancer: Balancer,
    /// How it ends.
    pub contestant: Contestant,
    /// Its terminationGracePeriodSeconds.
    pub grace: Duration,
}

impl Addresses {
    /// Free ones.
    pub fn free() -> Self {
        let metrics = ports::free();
        Self {
            calls: ports::free(),
            metrics,
            metrics_read: metrics,
            health: ports::free(),
        }
    }
}

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
}

impl Setup {
    /// Where its health is asked.
    pub fn health(self, addresses: &Addresses) -> SocketAddr {
        match self.contestant {
            Contestant::Tidegate if !self.balancer.asks_the_program() => addresses.health,
            _ => addresses.calls,
        }
    }

    /// Its command line. `termination` is the file that the kubelet made for its last words.
    pub fn command(self, addresses: &Addresses, termination: &Path) -> Command {
        let Self {
            balancer, contestant, ..
        } = self;
        let program = beside_us(if balancer.is_http() {
            "examples/web"
        } else {
            "examples/library"
        });
        let mut command = match contestant {
            Contestant::Tidegate => tidegate(&configuration(self, addresses, termination), &program),
            Contestant::Tini => {
                let mut command = Command::new("tini");
                // Not PID 1 here: a subreaper, whose end is the program's.
                command.args(["-s", "-p", "SIGKILL", "--"]).arg(&program);
                command
            }
            _ => Command::new(&program),
        };
        if !balancer.is_http() {
            if contestant != Contestant::Tidegate || balancer.asks_the_program() {
                command.arg("--health");
            }
            command.arg("--metrics-listen").arg(addresses.metrics.to_string());
        }
        if matches!(contestant, Contestant::Graceful | Contestant::SleepGraceful) {
            command.arg("--graceful");
        }
        command.arg("--listen").arg(addresses.calls.to_string());
        command
    }
}

/// tidegate's configuration, as it would stand in a pod spec: the same behind every load balancer, but for what the
/// program is.
fn configuration(setup: Setup, addresses: &Addresses, termination: &Path) -> String {
    let Setup { balancer, grace, .. } = setup;
    let source = if balancer.is_http() {
        // HAProxy closes each connection with its request, and requests are silent for as long as they take.
        format!("tcp: {{ports: [{}], mode: established}}", addresses.calls.port())
    } else {
        format!(
            "prometheus: {{url: \"http://{}/metrics\", query: library_calls_in_flight, arrivals: sum(grpc_server_started_total)}}",
            addresses.metrics_read
        )
    };
    // The program answers for its own health, and turns it when it is told.
    let hooks = if balancer.asks_the_program() {
        "hooks: {onDrain: [{signal: SIGUSR1}]}"
    } else {
        ""
    };
    format!(
        r#"
terminationGracePeriodSeconds: {grace}
drain: {{propagation: {{min: 1s, max: 5s}}}}
inflight: [{{{source}}}]
health: {{listen: "{health}"}}
admin: {{socket: off}}
telemetry: {{logFormat: json, terminationLog: "{termination}"}}
{hooks}
"#,
        grace = grace.as_secs(),
        health = addresses.health,
        termination = termination.display(),
    )
}
