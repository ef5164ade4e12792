//! The processes of an act: the program, with or without tidegate around it. Whatever is started here is gone
//! when its `Pod` is dropped.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::Failure;
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
    name: &'static str,
    process: Child,
    calls: SocketAddr,
    health: Option<SocketAddr>,
    said: Arc<Mutex<Vec<String>>>,
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
                let mut command = Command::new(tidegate());
                command
                    .env("TIDEGATE_CONFIG", configuration(metrics, health, &termination))
                    .args(["run", "--"])
                    .arg(&library);
                command
            }
        };
        // What the caller has set for other runs, TIDEGATE_BIN too, would be read as settings of this one.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TIDEGATE_") && name != "TIDEGATE_CONFIG" {
                command.env_remove(name);
            }
        }
        // Two run at once, and nobody asks either.
        command
            .env("TIDEGATE_ADMIN_SOCKET", "off")
            .args([
                "--listen",
                &calls.to_string(),
                "--metrics-listen",
                &metrics.to_string(),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the demo, which cleans up; the pod must not begin to drain by itself.
            .process_group(0)
            .kill_on_drop(true);
        let mut process = command.spawn().map_err(|error| {
            format!(
                "cannot start {}: {error}",
                command.as_std().get_program().display()
            )
        })?;
        let said = Arc::default();
        note(process.stdout.take(), &said);
        note(process.stderr.take(), &said);
        let health = (wrapping == Wrapping::Tidegate).then_some(health);
        let mut pod = Self {
            name,
            process,
            calls,
            health,
            said,
            directory,
        };
        pod.wait_until_listening().await?;
        Ok(pod)
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
        let pid = self
            .process
            .id()
            .ok_or_else(|| self.explain("it ended before it was told to"))?;
        kill(Pid::from_raw(pid as i32), Signal::SIGTERM)
            .map_err(|error| self.explain(&format!("SIGTERM: {error}")))
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
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let last = said
            .iter()
            .rev()
            .take(5)
            .rev()
            .map(|line| format!("\n    {line}"))
            .collect::<String>();
        let last = if last.is_empty() {
            " (it said nothing)".to_owned()
        } else {
            format!("; its last words:{last}")
        };
        format!("{}: {why}{last}", self.name)
    }

    async fn wait_until_listening(&mut self) -> Result<(), Failure> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            if tokio::net::TcpStream::connect(self.calls).await.is_ok() {
                return Ok(());
            }
            if let Ok(Some(status)) = self.process.try_wait() {
                return Err(self.explain(&format!("it ended at once with {status}")));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err(self.explain(&format!("nothing listens on {} after 10 s", self.calls)))
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        let Some(pid) = self.process.id() else { return };
        // A killed tidegate takes its child with it. The demo does not rest on what it shows: the child is
        // looked up first and killed as well.
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let _ = self.process.start_kill();
        for child in children.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            let _ = kill(Pid::from_raw(child), Signal::SIGKILL);
        }
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

/// tidegate's own binary: `TIDEGATE_BIN`, or the one built beside this example.
fn tidegate() -> PathBuf {
    std::env::var_os("TIDEGATE_BIN").map_or_else(|| beside_us("tidegate"), PathBuf::from)
}

/// A file in the target directory that this example was built into.
fn beside_us(name: &str) -> PathBuf {
    // target/debug/examples/demo → target/debug/…
    let here = std::env::current_exe().unwrap_or_default();
    here.ancestors().nth(2).unwrap_or(Path::new(".")).join(name)
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

/// Keeps the last lines of an output, for the case that something goes wrong.
fn note(output: Option<impl AsyncRead + Unpin + Send + 'static>, said: &Arc<Mutex<Vec<String>>>) {
    const KEPT: usize = 50;
    let Some(output) = output else { return };
    let said = Arc::clone(said);
    tokio::spawn(async move {
        let mut lines = BufReader::new(output).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            if said.len() == KEPT {
                said.remove(0);
            }
            said.push(line);
        }
    });
}
