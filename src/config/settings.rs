//! The config in force: every default filled in, every rule between keys held (see `rules`).

use std::path::PathBuf;
use std::time::Duration;

use crate::drain::Plan;

use super::listen::Listen;
use super::schema::{Absent, LogFormat, OnUnknown, Verbosity};
use super::signal::Signal;
use super::url::HttpUrl;

/// The name health keeps for itself, for a liveness probe that a drain must not fail.
pub const LIVENESS: &str = "liveness";

/// The whole config, valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How the grace period is shared out.
    pub plan: Plan,
    /// The wrapped program.
    pub child: ChildSettings,
    /// The drain.
    pub drain: DrainSettings,
    /// Where the calls under way are read; none makes every drain `unmeasured`.
    pub inflight: Vec<SourceSettings>,
    /// The health server.
    pub health: HealthSettings,
    /// Logs and the termination message.
    pub telemetry: TelemetrySettings,
}

/// `child`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildSettings {
    /// What it is stopped with; never SIGSTOP.
    pub stop_signal: Signal,
    /// Who gets it.
    pub signal_target: SignalTarget,
    /// Exit codes reported as 0, each once.
    pub success_codes: Vec<u8>,
}

/// Who gets the child's signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalTarget {
    /// The child alone.
    Process,
    /// Its whole process group.
    Group,
}

/// `drain`, without what the plan holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainSettings {
    /// Up to so many calls under way are quiet.
    pub threshold: u64,
    /// From the begin of one poll to the begin of the next, 10 ms at least. Polls never overlap: one
    /// that takes longer delays the next.
    pub poll_interval: Duration,
    /// A slower poll is unknown. It may be longer than the interval. Above zero.
    pub poll_timeout: Duration,
    /// What an unknown reading does.
    pub on_unknown: OnUnknown,
    /// A gauge that stands still above the threshold for so long is reported. Above zero.
    pub stalled_after: Duration,
    /// The signals that start the drain, at least one, each once.
    pub triggers: Vec<Signal>,
}

/// One item of `inflight`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceSettings {
    /// A metrics page in Prometheus' text format.
    Prometheus(PrometheusSettings),
}

/// `prometheus`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrometheusSettings {
    /// Where the page is.
    pub url: HttpUrl,
    /// The calls under way, as written; not empty.
    pub query: String,
    /// What a series that is not there means.
    pub absent: Absent,
    /// The calls ever begun, as written; not empty.
    pub arrivals: Option<String>,
}

/// `health`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthSettings {
    /// Where the server listens.
    pub listen: Listen,
    /// The services it answers for, each once, at most 100. The empty name is the AND of all and is
    /// answered for whether it is here or not.
    pub services: Vec<String>,
}

/// `telemetry`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// How the log is written.
    pub log_format: LogFormat,
    /// How much it says.
    pub verbosity: Verbosity,
    /// The file the kubelet reads the container's last words from.
    pub termination_log: PathBuf,
}
