//! From what was written to what is in force: the defaults, and the rules between keys.

use std::path::PathBuf;
use std::time::Duration;

use crate::child::{Signal, Target};
use crate::drain::budget::{Seconds, Waits};
use crate::drain::machine::OnUnknown;
use crate::health::{LIVENESS, Listen, Tls};

use super::entry::{Refusal, quoted};
use super::error::{ConfigError, Origin};
use super::layers::Layers;
use super::schema;
use super::settings::{ChildSettings, DrainSettings, HealthSettings, Settings, TelemetrySettings};

/// Polls closer together than this are a load of their own.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

/// The most names health answers for: List gives at most 100 (grpc.health.v1).
const MOST_SERVICES: usize = 100;

impl Settings {
    /// Fills the defaults in and holds the rules between keys.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn new(layers: Layers) -> Result<Self, ConfigError> {
        let rules = Rules { layers: &layers };
        let config = layers.config.clone();
        let plan = rules.plan(&config)?;
        let inflight = rules.inflight(config.inflight.unwrap_or_default())?;
        let drain = rules.drain(config.drain.unwrap_or_default())?;
        if !inflight.is_empty() && plan.waits == Waits::Kept && drain.poll_interval > plan.budget.0 {
            return Err(rules.broken(
                format!(
                    "drain.pollInterval {} is longer than the whole drain, {}; write 200ms",
                    Seconds(drain.poll_interval),
                    Seconds(plan.budget.0)
                ),
                &["drain.pollInterval"],
            ));
        }
        let health = rules.health(config.health.unwrap_or_default())?;
        Ok(Self {
            plan,
            pre_stop: config.pre_stop.map_or(Duration::ZERO, |seconds| seconds.0),
            child: rules.child(config.child.unwrap_or_default())?,
            target: rules.target(config.target)?,
            drain,
            inflight,
            lifecycle: rules.lifecycle(config.lifecycle.unwrap_or_default(), &health.listen)?,
            health,
            hooks: rules.hooks(config.hooks.unwrap_or_default())?,
            admin: config.admin.and_then(|admin| admin.socket).unwrap_or_default(),
            telemetry: telemetry(config.telemetry.unwrap_or_default()),
        })
    }
}

/// The rules, and the layers to say where what breaks them was written.
pub(super) struct Rules<'a> {
    layers: &'a Layers,
}

impl Rules<'_> {
    /// A rule between these keys that does not hold.
    pub(super) fn broken(&self, message: String, keys: &[&'static str]) -> ConfigError {
        ConfigError::Relation {
            message,
            written: self.written(keys),
        }
    }

    /// Times that do not fit.
    pub(super) fn over(&self, message: String, keys: &[&'static str]) -> ConfigError {
        ConfigError::Budget {
            message,
            written: self.written(keys),
        }
    }

    fn written(&self, keys: &[&'static str]) -> Vec<(&'static str, Origin)> {
        let written = |key: &&'static str| self.layers.origin_of(key).map(|origin| (*key, origin));
        keys.iter().filter_map(written).collect()
    }

    /// A key whose value breaks a rule of its own.
    pub(super) fn refused(&self, key: &str, why: String) -> ConfigError {
        match self.layers.origin_of(key) {
            Some(origin) => {
                let in_document = !matches!(origin, Origin::Variable(_) | Origin::Flag(_));
                ConfigError::Refused {
                    origin,
                    line: None,
                    key: in_document.then(|| key.to_owned()),
                    refusal: Refusal(why),
                }
            }
            None => ConfigError::Relation {
                message: format!("{key}: {why}"),
                written: Vec::new(),
            },
        }
    }

    fn child(&self, child: schema::Child) -> Result<ChildSettings, ConfigError> {
        let codes = child.success_codes.unwrap_or_default();
        self.each_once("child.successCodes", &codes, u8::to_string)?;
        Ok(ChildSettings {
            stop_signal: child.stop_signal.map_or(Signal::TERM, |signal| signal.0),
            signal_target: match child.signal_group {
                Some(true) => Target::Group,
                Some(false) | None => Target::Process,
            },
            success_codes: codes,
        })
    }

    fn drain(&self, drain: schema::Drain) -> Result<DrainSettings, ConfigError> {
        let millis = Duration::from_millis;
        let nonzero = millis(1);
        let triggers = drain.triggers.map_or_else(
            || vec![Signal::TERM, Signal::INT],
            |triggers| triggers.into_iter().map(|trigger| trigger.0).collect(),
        );
        if triggers.is_empty() {
            let why = "empty, so that nothing would start a drain; write [SIGTERM, SIGINT]";
            return Err(self.refused("drain.triggers", why.to_owned()));
        }
        self.each_once("drain.triggers", &triggers, Signal::to_string)?;
        let on_unknown = drain.on_unknown.unwrap_or(OnUnknown::Wait);
        Ok(DrainSettings {
            threshold: drain.threshold.unwrap_or(0),
            poll_interval: self.at_least(
                SHORTEST_INTERVAL,
                "drain.pollInterval",
                drain.poll_interval.unwrap_or(millis(200)),
            )?,
            poll_timeout: self.at_least(
                nonzero,
                "drain.pollTimeout",
                drain.poll_timeout.unwrap_or(millis(150)),
            )?,
            on_unknown,
            stalled_after: self.at_least(
                nonzero,
                "drain.stalledAfter",
                drain.stalled_after.unwrap_or(millis(30_000)),
            )?,
            triggers,
        })
    }

    fn health(&self, health: schema::Health) -> Result<HealthSettings, ConfigError> {
        const KEY: &str = "health.services";
        let services = health.services.unwrap_or_else(|| vec![String::new()]);
        if services.len() > MOST_SERVICES {
            let why = format!(
                "{} names, and health lists at most {MOST_SERVICES}",
                services.len()
            );
            return Err(self.refused(KEY, why));
        }
        if services.iter().any(|service| service == LIVENESS) {
            let why = format!("{LIVENESS} is tidegate's own name, for liveness probes; choose another");
            return Err(self.refused(KEY, why));
        }
        self.each_once(KEY, &services, |service| quoted(service))?;
        let listen = health
            .listen
            .unwrap_or_else(|| Listen::Tcp(([0, 0, 0, 0], 9095).into()));
        Ok(HealthSettings {
            judges: self.judges(health.app, health.checks.unwrap_or_default(), &listen)?,
            listen,
            services,
            recovery: health.recovery.unwrap_or_default(),
            tls: health.tls.map(|tls| self.tls(tls)).transpose()?.flatten(),
        })
    }

    fn tls(&self, tls: schema::Tls) -> Result<Option<Tls>, ConfigError> {
        match (tls.cert, tls.key) {
            (Some(cert), Some(key)) => Ok(Some(Tls { cert, key })),
            (None, None) => Ok(None),
            (cert, _) => {
                let (there, missing) = if cert.is_some() {
                    ("cert", "key")
                } else {
                    ("key", "cert")
                };
                let why = format!("needs health.tls.{missing} beside it");
                Err(self.refused(&format!("health.tls.{there}"), why))
            }
        }
    }

    pub(super) fn each_once<T: PartialEq>(
        &self,
        key: &str,
        items: &[T],
        show: fn(&T) -> String,
    ) -> Result<(), ConfigError> {
        let twice = items
            .iter()
            .enumerate()
            .find(|(index, item)| items[..*index].contains(item));
        twice.map_or(Ok(()), |(_, item)| {
            Err(self.refused(key, format!("{} twice; keep one", show(item))))
        })
    }

    pub(super) fn at_least(
        &self,
        least: Duration,
        key: &str,
        value: Duration,
    ) -> Result<Duration, ConfigError> {
        if value < least {
            let why = format!(
                "{} is too short; write {} or more",
                Seconds(value),
                Seconds(least)
            );
            return Err(self.refused(key, why));
        }
        Ok(value)
    }
}

fn telemetry(telemetry: schema::Telemetry) -> TelemetrySettings {
    TelemetrySettings {
        log_format: telemetry.log_format.unwrap_or_default(),
        verbosity: telemetry.verbosity.unwrap_or_default(),
        termination_log: telemetry
            .termination_log
            .unwrap_or_else(|| PathBuf::from("/dev/termination-log")),
    }
}
