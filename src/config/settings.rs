//! The config in force: every default filled in, every rule between keys held (see `rules`).

use std::path::PathBuf;
use std::time::Duration;

use crate::admin::Socket;
use crate::child::{Signal, Target};
use crate::drain::Plan;
use crate::drain::machine::OnUnknown;
use crate::health::{Judges, Listen, Recovery, Tls};
use crate::hooks::HookSettings;
use crate::inflight::SourceConfig;
use crate::lifecycle::LifecycleSettings;
use crate::target::Clue;
use crate::telemetry::log::{Format, Verbosity};

/// The whole config, valid.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How the grace period is shared out.
    pub plan: Plan,
    /// Grace already spent by a hook that cannot be seen; the plan's budget is without it.
    pub pre_stop: Duration,
    /// The wrapped program.
    pub child: ChildSettings,
    /// What is known of the program beside; for a sidecar alone.
    pub target: Option<Clue>,
    /// The drain.
    pub drain: DrainSettings,
    /// Where the calls under way are read; none makes every drain `unmeasured`.
    pub inflight: Vec<SourceConfig>,
    /// The health server.
    pub health: HealthSettings,
    /// What is called when the instance leaves traffic and when it comes back.
    pub hooks: HookSettings,
    /// Where preStop hooks are called.
    pub lifecycle: LifecycleSettings,
    /// Where the owner's socket is.
    pub admin: Socket,
    /// Logs and the termination message.
    pub telemetry: TelemetrySettings,
}

/// `child`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildSettings {
    /// What it is stopped with; never SIGSTOP.
    pub stop_signal: Signal,
    /// Who gets it.
    pub signal_target: Target,
    /// Exit codes reported as 0, each once.
    pub success_codes: Vec<u8>,
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

/// `health`
#[derive(Clone, Debug)]
pub struct HealthSettings {
    /// Where the server listens; never on port 0, a unix socket by its absolute path.
    pub listen: Listen,
    /// The services it answers for, each once, at most 100. The empty name is the AND of all and is
    /// answered for whether it is here or not.
    pub services: Vec<String>,
    /// Who sets their states.
    pub judges: Judges,
    /// How NOT_SERVING ends.
    pub recovery: Recovery,
    /// TLS on the port; its files are read at the start.
    pub tls: Option<Tls>,
}

/// `telemetry`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// How the log is written.
    pub log_format: Format,
    /// How much it says.
    pub verbosity: Verbosity,
    /// The file the kubelet reads the container's last words from.
    pub termination_log: PathBuf,
}
