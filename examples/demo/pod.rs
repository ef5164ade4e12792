//! The pods of an act: the program, with or without tidegate around it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

use crate::Failure;
use crate::process::{Process, beside_us, tidegate};
use crate::report::Report;

/// The pod's terminationGracePeriodSeconds, and the program's own share of the configuration.
const GRACE_SECONDS: u64 = 15;

/// Whether tidegate stands around the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wrapping {
    /// `tidegate run -- library`
    Tidegate,
    /// `library`
    None,
}

/// One pod.
pub struct Pod {
    process: Process,
    calls: SocketAddr,
    health: Option<SocketAddr>,
    directory: TempDir,
}

impl Pod {
    /// Starts the program and waits until its port answers.
    pub async fn start(name: &'static str, wrapping: Wrapping) -> Result<Self, Failure> {
        let directory = TempDir::new().map_err(|error| format!("no temporary directory: {error}"))?;
        let [calls, metrics, health] = free_ports().map_err(|error| format!("no free ports: {error}"))?;
        let library = beside_us("examples/library");
        let mut command = match wrapping {
            Wrapping::None => Command::new(&library),
            Wrapping::Tidegate => {
                let termination = directory.path().join("termination-log");
                // The kubelet makes this file; tidegate writes it only where it is.
                fs::write(&termination, "").map_err(|error| format!("{}: {error}", termination.display()))?;
                tidegate(&configuration(metrics, health, &termination), &library)
            }
        };
        // Two run at once, and nobody asks either.
        command.env("TIDEGATE_ADMIN_SOCKET", "off").args([
            "--listen",
            &calls.to_string(),
            "--metrics-listen",
            &metrics.to_string(),
        ]);
        let mut process = Process::start(name, command)?;
        process.wait_until_listening(calls).await?;
        Ok(Self {
            process,
            calls,
            health: (wrapping == Wrapping::Tidegate).then_some(health),
            directory,
        })
    }

    /// Where calls are served.
    pub fn calls(&self) -> SocketAddr {
        self.calls
    }

    /// Where tidegate says how the pod is.
    pub fn health(&self) -> Option<SocketAddr> {
        self.health
    }

    /// Sends SIGTERM to the pod's first process, as the container runtime does.
    pub fn terminate(&self) -> Result<(), Failure> {
        self.process.signal(Signal::SIGTERM)
    }

    /// Waits for the pod's end and says when it was; `told` is when it got its SIGTERM.
    pub async fn wait_gone(&mut self, told: Instant) -> Result<Instant, Failure> {
        let rest = Duration::from_secs(GRACE_SECONDS).saturating_sub(told.elapsed());
        match timeout(rest, self.process.wait()).await {
            Ok(Ok(_)) => Ok(Instant::now()),
            Ok(Err(error)) => Err(self.explain(&format!("waiting for it failed: {error}"))),
            Err(_) => Err(self.explain(&format!("it outlived its grace period of {GRACE_SECONDS} s"))),
        }
    }

    /// What tidegate left in the termination log.
    pub fn report(&self) -> Option<Report> {
        Report::read(&self.directory.path().join("termination-log"))
    }

    /// `why` with the name of the pod and its last words.
    pub fn explain(&self, why: &str) -> Failure {
        self.process.explain(why)
    }
}

/// The configuration of the old pod, as it would stand in a pod spec.
fn configuration(metrics: SocketAddr, health: SocketAddr, termination: &Path) -> String {
    format!(
        r#"
terminationGracePeriodSeconds: {GRACE_SECONDS}
drain: {{propagation: 3s, quiet: 500ms}}
inflight:
  - prometheus: {{url: "http://{metrics}/metrics", query: library_calls_in_flight, arrivals: sum(grpc_server_started_total)}}
health:
  listen: {health}
admin: {{socket: off}}
telemetry: {{logFormat: json, terminationLog: "{}"}}
"#,
        termination.display()
    )
}

/// Three different free ports on the loopback.
fn free_ports() -> std::io::Result<[SocketAddr; 3]> {
    // All three are held until all are known, so that none is given twice.
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let held = [bind()?, bind()?, bind()?];
    Ok([
        held[0].local_addr()?,
        held[1].local_addr()?,
        held[2].local_addr()?,
    ])
}
