//! Joins the config's types to the rooms' own. To be unified.
use crate::config::{self, Settings, SourceSettings};
use crate::drain::machine::{Measured, OnUnknown, Rules};
use crate::health::Listen;
use crate::inflight::{Absent, PrometheusConfig, PrometheusConfigError, SourceConfig};
use crate::telemetry::log;

pub(super) fn signal(signal: &config::Signal) -> crate::child::Signal {
    crate::child::Signal::new(signal.number()).unwrap_or(crate::child::Signal::TERM)
}

pub(super) fn rules(settings: &Settings) -> Rules {
    Rules {
        plan: settings.plan,
        threshold: settings.drain.threshold,
        poll_interval: settings.drain.poll_interval,
        on_unknown: match settings.drain.on_unknown {
            config::OnUnknown::Wait => OnUnknown::Wait,
            config::OnUnknown::ProceedAfter(after) => OnUnknown::ProceedAfter(after),
        },
        stalled_after: settings.drain.stalled_after,
        measured: if settings.inflight.is_empty() {
            Measured::No
        } else {
            Measured::Yes
        },
    }
}

pub(super) fn listen(listen: &config::Listen) -> Listen {
    match listen {
        config::Listen::Off => Listen::Off,
        config::Listen::Tcp(address) => Listen::Tcp(*address),
        config::Listen::Unix(path) => Listen::Unix(path.clone()),
    }
}

pub(super) fn sources(settings: &[SourceSettings]) -> Result<Vec<SourceConfig>, PrometheusConfigError> {
    settings
        .iter()
        .map(|SourceSettings::Prometheus(p)| {
            let absent = match p.absent {
                config::Absent::Zero => Absent::Zero,
                config::Absent::Unknown => Absent::Unknown,
            };
            Ok(SourceConfig::Prometheus(PrometheusConfig::new(
                &p.url.to_string(),
                &p.query,
                absent,
                p.arrivals.as_deref(),
            )?))
        })
        .collect()
}

pub(super) fn format(f: config::LogFormat) -> log::Format {
    match f {
        config::LogFormat::Text => log::Format::Text,
        config::LogFormat::Json => log::Format::Json,
    }
}

pub(super) fn verbosity(v: config::Verbosity) -> log::Verbosity {
    match v {
        config::Verbosity::Quiet => log::Verbosity::Quiet,
        config::Verbosity::Normal => log::Verbosity::Normal,
        config::Verbosity::Verbose => log::Verbosity::Verbose,
    }
}
