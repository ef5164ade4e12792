//! What the user writes, key by key: the config file, `TIDEGATE_CONFIG`, and by the same keys the
//! `TIDEGATE_*` variables and the flags.
//!
//! Every key is optional; [`crate::config::Settings`] has the defaults and the rules between keys.
//! A file here carries the name of its section.

mod health;
mod hooks;
mod inflight;

use std::path::PathBuf;
use std::time::Duration;

use serde::de::MapAccess;

use super::entry::{At, Entry, Form, Key, Refusal, Scalar};
use super::listen::Listen;
use super::scalars::{Percent, WholeSeconds, choice};
use super::section::{Shape, section};
use super::signal::{StopSignal, Trigger};

pub use health::{App, Check, Health, Recovery, Tls};
pub use hooks::{Consul, ConsulMode, Eureka, Hook, Hooks, HttpHook, Nacos};
pub use inflight::{Absent, Exec, FileSource, Json, Preset, PresetName, Prometheus, Source, Tcp};

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
    /// `drain`: from the trigger to the stop signal.
    Drain {
        /// How long load balancers need to notice.
        propagation: Propagation = "propagation",
        /// How long in-flight has to stay quiet to be believed.
        quiet: Duration = "quiet",
        /// Up to so many calls under way are quiet.
        threshold: u64 = "threshold",
        /// From the begin of one poll to the begin of the next.
        poll_interval: Duration = "pollInterval",
        /// A slower poll is unknown.
        poll_timeout: Duration = "pollTimeout",
        /// What an unknown reading does.
        on_unknown: OnUnknown = "onUnknown",
        /// A gauge that stands still above the threshold for so long is reported.
        stalled_after: Duration = "stalledAfter",
        /// The signals that start the drain.
        triggers: Vec<Trigger> = "triggers",
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
        log_format: LogFormat = "logFormat",
        /// How much the log says.
        verbosity: Verbosity = "verbosity",
        /// The file the kubelet reads the container's last words from.
        termination_log: PathBuf = "terminationLog",
    }
}

impl Shape for Config {}
impl Shape for Child {}
impl Shape for Drain {}
impl Shape for Lifecycle {}
impl Shape for Admin {}
impl Shape for Telemetry {}

choice! {
    /// How the log is written.
    LogFormat, "text or json" {
        /// For people.
        Text = "text",
        /// For machines: an object a line.
        Json = "json",
    }
}

choice! {
    /// How much the log says.
    Verbosity, "quiet, normal or verbose" {
        /// Warnings and errors.
        Quiet = "quiet",
        /// The story of the drain.
        Normal = "normal",
        /// Every poll and every call.
        Verbose = "verbose",
    }
}

/// `admin.socket`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Socket {
    /// The first place that works.
    Auto,
    /// None.
    Off,
    /// There.
    Path(PathBuf),
}

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

section! {
    /// `{min: 5s, max: 10s}`
    Range {
        /// It lasts this long, whatever is known.
        min: Duration = "min",
        /// It never lasts longer.
        max: Duration = "max",
    }
}

impl Shape for Range {}

/// `drain.propagation`: `5s`, which sets both ends, or `{min: 5s, max: 10s}`.
#[derive(Clone, Debug, Default)]
pub struct Propagation(pub Range);

impl Entry for Propagation {
    const EXPECTS: &'static str = "a duration like 5s, or {min: 5s, max: 10s}";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        let window = Some(Duration::scalar(written)?);
        Ok(Self(Range {
            min: window,
            max: window,
        }))
    }

    fn mapping<'de, A: MapAccess<'de>>(at: &At<'_>, map: A) -> Result<Self, A::Error> {
        Range::mapping(at, map).map(Self)
    }

    fn merge(&mut self, later: Self) {
        self.0.merge(later.0);
    }

    fn assign(slot: &mut Option<Self>, steps: &[&str], text: &str) -> Result<(), Refusal> {
        if steps.is_empty() {
            *slot = Some(Self::scalar(Scalar::Text(text))?);
            return Ok(());
        }
        let mut range = slot.take().map(|Self(range)| range);
        let done = Range::assign(&mut range, steps, text);
        *slot = range.map(Self);
        done
    }

    fn holds(&self, steps: &[&str]) -> bool {
        self.0.holds(steps)
    }

    fn list(path: &str, keys: &mut Vec<Key>) {
        keys.push(Key {
            path: path.to_owned(),
            form: Form::Scalar,
        });
        Range::list(path, keys);
    }
}

/// `drain.onUnknown`: `wait`, or `{proceedAfter: 10s}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnUnknown {
    /// Unknown is waited out, up to the deadline.
    Wait,
    /// Unknown for so long without a break ends the wait.
    ProceedAfter(Duration),
}

section! {
    /// `{proceedAfter: 10s}`
    Proceed {
        /// So long without a break.
        after: Duration = "proceedAfter",
    }
}

impl Shape for Proceed {
    fn shape(&self) -> Result<(), Refusal> {
        super::section::required("proceedAfter", &self.after)
    }
}

impl Entry for OnUnknown {
    const EXPECTS: &'static str = "wait, or {proceedAfter: 10s}";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Text("wait") => Ok(Self::Wait),
            other => Err(Refusal::unexpected(Self::EXPECTS, &other.to_string())),
        }
    }

    fn mapping<'de, A: MapAccess<'de>>(at: &At<'_>, map: A) -> Result<Self, A::Error> {
        let after = Proceed::mapping(at, map)?.after;
        Ok(after.map_or(Self::Wait, Self::ProceedAfter))
    }

    fn assign(slot: &mut Option<Self>, steps: &[&str], text: &str) -> Result<(), Refusal> {
        *slot = Some(match steps {
            [] => Self::scalar(Scalar::Text(text))?,
            _ => {
                let mut proceed = None;
                Proceed::assign(&mut proceed, steps, text)?;
                let after = proceed.and_then(|proceed| proceed.after);
                after.map_or(Self::Wait, Self::ProceedAfter)
            }
        });
        Ok(())
    }

    fn list(path: &str, keys: &mut Vec<Key>) {
        keys.push(Key {
            path: path.to_owned(),
            form: Form::Scalar,
        });
        Proceed::list(path, keys);
    }
}

/// Every key of the schema, in the order of its definition.
pub fn keys() -> Vec<Key> {
    let mut keys = Vec::new();
    Config::list("", &mut keys);
    keys
}
