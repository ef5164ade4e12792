//! The flags of `run`, from one definition: the command line, its help, their `TIDEGATE_*`
//! variables and the docs all come from here.

/// A flag that is a short way to write one key.
#[derive(Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name without dashes.
    pub long: &'static str,
    /// The key it sets.
    pub path: &'static str,
    /// The variable that sets the same.
    pub variable: &'static str,
    /// What its value is called in the help.
    pub value: &'static str,
    /// Its help: what it does, the default and the variable.
    pub help: &'static str,
    /// The part of the help it stands in.
    pub purpose: Purpose,
}

/// What a flag is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// How much time there is.
    Time,
    /// How the drain ends.
    Drain,
    /// How the child ends.
    Child,
    /// What others see.
    Seen,
}

impl Purpose {
    /// The heading of that part of the help.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Time => "Time",
            Self::Drain => "Drain",
            Self::Child => "Child",
            Self::Seen => "Health and logs",
        }
    }
}

macro_rules! flags {
    ($($long:literal $value:literal => $path:literal, $variable:literal, $purpose:ident, $help:literal [$default:literal];)*) => {
        &[$(Flag {
            long: $long,
            path: $path,
            variable: $variable,
            value: $value,
            help: concat!($help, "\n[default: ", $default, "] [env: ", $variable, "]"),
            purpose: Purpose::$purpose,
        }),*]
    };
}

/// Every flag that sets a key.
pub const FLAGS: &[Flag] = flags! {
    "grace-period" "SECONDS" => "terminationGracePeriodSeconds", "TIDEGATE_GRACE_PERIOD", Time,
        "The pod's terminationGracePeriodSeconds" ["30s"];
    "margin" "PERCENT" => "marginPercent", "TIDEGATE_MARGIN", Time,
        "The share of it that is never used" ["20%"];
    "propagation" "DURATION" => "drain.propagation", "TIDEGATE_PROPAGATION", Drain,
        "How long load balancers get to notice" ["up to 5s"];
    "quiet" "DURATION" => "drain.quiet", "TIDEGATE_QUIET", Drain,
        "How long in-flight stays quiet to be believed" ["up to 1s"];
    "inflight-url" "URL" => "inflight[0].prometheus.url", "TIDEGATE_INFLIGHT_URL", Drain,
        "The Prometheus page that shows the calls under way; needs --inflight-query" ["none"];
    "inflight-query" "EXPR" => "inflight[0].prometheus.query", "TIDEGATE_INFLIGHT_QUERY", Drain,
        "The calls under way, in PromQL; needs --inflight-url" ["none"];
    "stop-signal" "SIGNAL" => "child.stopSignal", "TIDEGATE_STOP_SIGNAL", Child,
        "What stops the child" ["SIGTERM"];
    "stop-timeout" "DURATION" => "child.stopTimeout", "TIDEGATE_STOP_TIMEOUT", Child,
        "Guaranteed to the child between its stop signal and SIGKILL" ["up to 5s"];
    "listen" "ADDR" => "health.listen", "TIDEGATE_LISTEN", Seen,
        "Where health is served: ADDR:PORT, unix:/path or off" ["0.0.0.0:9095"];
    "log-format" "FORMAT" => "telemetry.logFormat", "TIDEGATE_LOG_FORMAT", Seen,
        "text or json" ["text"];
};

/// `-v`: telemetry.verbosity verbose. It takes no value and has no variable of its own.
pub const VERBOSE: Flag = switch("verbose", "Log every poll and every call");

/// `-q`: telemetry.verbosity quiet. `--quiet` is the quiet period, so this one is short only.
pub const SILENT: Flag = switch("q", "Log warnings and errors only");

const fn switch(long: &'static str, help: &'static str) -> Flag {
    Flag {
        long,
        path: "telemetry.verbosity",
        variable: "TIDEGATE_TELEMETRY_VERBOSITY",
        value: "",
        help,
        purpose: Purpose::Seen,
    }
}
