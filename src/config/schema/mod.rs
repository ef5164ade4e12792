//! What the user writes, key by key: the config file, `TIDEGATE_CONFIG`, and by the same keys the
//! `TIDEGATE_*` variables and the flags.
//!
//! Every key is optional; [`crate::config::Settings`] has the defaults and the rules between keys.
//! A file here carries the name of its section.

mod drain;
mod health;
mod hooks;
mod inflight;

use std::path::PathBuf;
use std::time::Duration;

use crate::admin::Socket;
use crate::health::Listen;
use crate::telemetry::log::{Format, Verbosity};

use super::entry::{Entry, Key, Refusal, Scalar};
use super::scalars::{Percent, WholeSeconds, words};
use super::section::{Shape, section};
use super::signal::StopSignal;

pub use drain::{Drain, Propagation, Range};
pub use health::{App, Check, Health, Tls};
pub use hooks::{Consul, Etcd, Eureka, Hook, Hooks, HttpHook, Nacos};
pub use inflight::{Exec, FileSource, Json, Known, Prometheus, Source, Tcp};

section! {
    /// The whole config.
    Config {
        /// The pod's own value.
        grace: WholeSeconds = "terminationGracePeriodSeconds",
        /// The share of it that is never used.
        margin: Percent = "marginPercent",
        /// Grace already spent by a hook that cannot be seen.
        pre_stop: WholeSeconds = "preStopSeconds",
        /// The wrapped program.
        child: Child = "child",
        /// The program in the container beside, for `tidegate sidecar`.
        target: Target = "target",
        /// The drain.
        drain: Drain = "drain",
        /// Where the calls under way are read.
        inflight: Vec<Source> = "inflight",
        /// The health server and what it says.
        health: Health = "health",
        /// What is called when the drain begins or is undone.
        hooks: Hooks = "hooks",
        /// The httpGet preStop endpoint.
        lifecycle: Lifecycle = "lifecycle",
        /// The owner's socket.
        admin: Admin = "admin",
        /// Logs and the termination message.
        telemetry: Telemetry = "telemetry",
    }
}

section! {
    /// `child`: the wrapped program and its end.
    Child {
        /// What it is stopped with.
        stop_signal: StopSignal = "stopSignal",
        /// Guaranteed to it before SIGKILL.
        stop_timeout: Duration = "stopTimeout",
        /// What is left for the dead to be reaped.
        kill_wait: Duration = "killWait",
        /// Whether its process group is signalled rather than it alone.
        signal_group: bool = "signalGroup",
        /// Codes reported as 0.
        success_codes: Vec<u8> = "successCodes",
    }
}

section! {
    /// `target`: what is known of the program beside.
    Target {
        /// The TCP ports it listens on, or some of them.
        ports: Vec<u16> = "ports",
        /// The file it runs.
        executable: String = "executable",
        /// The file with its process id.
        pid_file: String = "pidFile",
    }
}

section! {
    /// `lifecycle`: the httpGet preStop endpoint on the pod IP.
    Lifecycle {
        /// Where it listens.
        listen: Listen = "listen",
        /// A file whose text a caller has to know.
        token_file: String = "tokenFile",
    }
}

section! {
    /// `admin`: the owner's socket.
    Admin {
        /// Where it is.
        socket: Socket = "socket",
    }
}

section! {
    /// `telemetry`: logs and the termination message.
    Telemetry {
        /// How the log is written.
        log_format: Format = "logFormat",
        /// How much the log says.
        verbosity: Verbosity = "verbosity",
        /// The file the kubelet reads the container's last words from.
        termination_log: PathBuf = "terminationLog",
    }
}

impl Shape for Config {}
impl Shape for Child {}

impl Shape for Target {
    fn shape(&self) -> Result<(), Refusal> {
        let ways = [
            self.ports.is_some(),
            self.executable.is_some(),
            self.pid_file.is_some(),
        ];
        match ways.into_iter().filter(|there| *there).count() {
            1 => Ok(()),
            0 => Err(Refusal(
                "says nothing; write one of ports, executable, pidFile".to_owned(),
            )),
            _ => Err(Refusal(
                "says more than one of ports, executable, pidFile; keep the surest".to_owned(),
            )),
        }
    }
}

impl Shape for Lifecycle {}
impl Shape for Admin {}
impl Shape for Telemetry {}

words! { Format, "text or json" {
    Text = "text",
    Json = "json",
} }

words! { Verbosity, "quiet, normal or verbose" {
    Quiet = "quiet",
    Normal = "normal",
    Verbose = "verbose",
} }

impl Entry for Socket {
    const EXPECTS: &'static str = "auto, off or an absolute path";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Text("auto") => Ok(Self::Auto),
            Scalar::Text("off" | "false") | Scalar::Switch(false) => Ok(Self::Off),
            Scalar::Text(path) if path.starts_with('/') => PathBuf::scalar(written).map(Self::Path),
            other => Err(Refusal::unexpected(Self::EXPECTS, &other.to_string())),
        }
    }
}

/// Every key of the schema, in the order of its definition.
pub fn keys() -> Vec<Key> {
    let mut keys = Vec::new();
    Config::list("", &mut keys);
    keys
}
