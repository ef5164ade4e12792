//! Clients in another language: grpcio's, in a process of their own (`clients.py`), and what they say of each call.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tonic::Code;

use crate::Failure;
use crate::load::{Call, Failed, Kind};

/// Clients at work.
pub struct Clients {
    process: Child,
    over: Arc<AtomicU64>,
    calls: Arc<Mutex<Vec<Call>>>,
    reader: JoinHandle<()>,
}

/// A line of `clients.py`.
#[derive(Deserialize)]
struct Line {
    at: f64,
    kind: String,
    asked: f64,
    took: f64,
    instance: Option<SocketAddr>,
    code: Option<i32>,
    #[serde(default)]
    why: String,
}

impl Clients {
    /// Starts them, for instances at these addresses; times count from `clock`.
    pub async fn start(addresses: &[SocketAddr], rate: u32, clock: Instant) -> Result<Self, Failure> {
        const HERE: &str = env!("CARGO_MANIFEST_DIR");
        let mut process = Command::new(format!("{HERE}/.venv/bin/python"))
            .arg(format!("{HERE}/examples/drill/clients.py"))
            .arg(rate.to_string())
            .args(addresses.iter().map(SocketAddr::to_string))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                format!(
                    "cannot start grpcio's clients: {error}; `make test-needs` installs what the drill needs"
                )
            })?;
        let stdout = process.stdout.take().ok_or("no pipe to grpcio's clients")?;
        let mut lines = BufReader::new(stdout).lines();
        let first = lines.next_line().await.ok().flatten();
        if first.as_deref() != Some("begun") {
            return Err(format!("grpcio's clients have not begun: {first:?}"));
        }
        let begun = clock.elapsed();
        let (over, calls) = (Arc::<AtomicU64>::default(), Arc::<Mutex<Vec<Call>>>::default());
        let (counted, kept) = (Arc::clone(&over), Arc::clone(&calls));
        let reader = tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Ok(line) = serde_json::from_str::<Line>(&line) {
                    counted.fetch_add(1, Ordering::Relaxed);
                    let call = line.call(begun);
                    kept.lock().unwrap_or_else(PoisonError::into_inner).push(call);
                }
            }
        });
        Ok(Self {
            process,
            over,
            calls,
            reader,
        })
    }

    /// How many calls are over.
    pub fn begun(&self) -> u64 {
        self.over.load(Ordering::Relaxed)
    }

    /// Begins no more calls, waits for those under way, and gives all of them in the order they were due.
    pub async fn finish(mut self) -> Result<Vec<Call>, Failure> {
        if let Some(pid) = self.process.id() {
            // It has ended by itself if it is refused, which its status tells.
            let _ = kill(Pid::from_raw(pid as i32), Signal::SIGTERM);
        }
        let status = self
            .process
            .wait()
            .await
            .map_err(|error| format!("grpcio's clients: {error}"))?;
        if !status.success() {
            return Err(format!("grpcio's clients ended with {status}"));
        }
        (&mut self.reader)
            .await
            .map_err(|error| format!("grpcio's clients: {error}"))?;
        let mut calls = std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner));
        calls.sort_by_key(|call| call.at);
        Ok(calls)
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Line {
    fn call(self, begun: Duration) -> Call {
        Call {
            at: begun + Duration::from_secs_f64(self.at.max(0.0)),
            kind: match self.kind.as_str() {
                "long" => Kind::Long,
                "stream" => Kind::Stream,
                _ => Kind::Short,
            },
            asked: Duration::from_secs_f64(self.asked),
            took: Duration::from_secs_f64(self.took.max(0.0)),
            instance: self.instance.or_else(|| said_in(&self.why)),
            failed: self.code.map(|code| Failed {
                code: Code::from_i32(code),
                why: self.why,
            }),
        }
    }
}

/// The address in the details of a connection that broke: `ipv4:127.0.0.1:50051: …`.
fn said_in(why: &str) -> Option<SocketAddr> {
    let rest = why.split("ipv4:").nth(1)?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && !".:".contains(letter));
    let address = rest[..end.unwrap_or(rest.len())].trim_end_matches(':');
    address.parse().ok()
}
