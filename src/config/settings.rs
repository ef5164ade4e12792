//! The config in force: every default filled in, every rule between keys held.

use std::path::PathBuf;
use std::time::Duration;

use crate::drain::Plan;
use crate::drain::budget::{Grace, Margin, PlanError, Seconds, Waits, Window, Wishes};

use super::entry::{Refusal, quoted};
use super::error::ConfigError;
use super::layers::Layers;
use super::listen::Listen;
use super::schema::{self, Absent, Config, LogFormat, OnUnknown, Verbosity};
use super::signal::Signal;
use super::url::HttpUrl;

/// The grace period where none is written: the pod spec's own default.
pub const DEFAULT_GRACE: Grace = Grace(Duration::from_secs(30));

/// Polls closer together than this are a load of their own.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

/// The most names health answers for: List gives at most 100 (grpc.health.v1).
const MOST_SERVICES: usize = 100;

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
        Ok(Self {
            plan,
            child: rules.child(config.child.unwrap_or_default())?,
            drain,
            inflight,
            health: rules.health(config.health.unwrap_or_default())?,
            telemetry: telemetry(config.telemetry.unwrap_or_default()),
        })
    }
}

/// The rules, and the layers to say where what breaks them was written.
struct Rules<'a> {
    layers: &'a Layers,
}

impl Rules<'_> {
    /// A rule between these keys that does not hold.
    fn broken(&self, message: String, keys: &[&'static str]) -> ConfigError {
        let written = |key: &&'static str| self.layers.origin_of(key).map(|origin| (*key, origin));
        ConfigError::Relation {
            message,
            written: keys.iter().filter_map(written).collect(),
        }
    }

    /// A key whose value breaks a rule of its own.
    fn refused(&self, key: &str, why: String) -> ConfigError {
        match self.layers.origin_of(key) {
            Some(origin) => {
                let in_document = !matches!(origin, super::Origin::Variable(_) | super::Origin::Flag(_));
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

    fn plan(&self, config: &Config) -> Result<Plan, ConfigError> {
        const KEYS: &[&str] = &[
            "terminationGracePeriodSeconds",
            "marginPercent",
            "preStopSeconds",
            "drain.propagation",
            "child.stopTimeout",
            "child.killWait",
        ];
        let failed = |error: PlanError| self.broken(error.to_string(), KEYS);
        let grace = config.grace.map_or(DEFAULT_GRACE, |seconds| Grace(seconds.0));
        let margin = config
            .margin
            .map_or(Ok(Margin::default()), |percent| Margin::percent(percent.0));
        let margin = margin.map_err(failed)?;
        let pre_stop = config.pre_stop.map_or(Duration::ZERO, |seconds| seconds.0);
        let child = config.child.as_ref();
        let drain = config.drain.as_ref();
        let wishes = Wishes {
            propagation: None,
            quiet: drain.and_then(|drain| drain.quiet),
            stop_timeout: child.and_then(|child| child.stop_timeout),
            kill_wait: child.and_then(|child| child.kill_wait),
        };
        let range = drain
            .and_then(|drain| drain.propagation.as_ref())
            .map(|propagation| &propagation.0);
        let propagation = match range {
            None => None,
            Some(range) => self.window(range, grace, margin, pre_stop)?,
        };
        Plan::new(
            grace,
            margin,
            pre_stop,
            Wishes {
                propagation,
                ..wishes
            },
        )
        .map_err(failed)
    }

    /// The window of `{min, max}`: without `max` it ends at `min`, without `min` that is the default,
    /// or `max` when it is less.
    fn window(
        &self,
        range: &schema::Range,
        grace: Grace,
        margin: Margin,
        pre_stop: Duration,
    ) -> Result<Option<Window>, ConfigError> {
        match (range.min, range.max) {
            (None, None) => Ok(None),
            (Some(min), None) => Ok(Some(Window { min, max: min })),
            (None, Some(max)) => {
                let budget = crate::drain::Budget::new(grace, margin, pre_stop)
                    .map_err(|error| self.broken(error.to_string(), &["preStopSeconds"]))?;
                let min = Window::within(budget).min.min(max);
                Ok(Some(Window { min, max }))
            }
            (Some(min), Some(max)) if max < min => Err(self.broken(
                format!(
                    "drain.propagation.max {} is less than drain.propagation.min {}; raise it or leave it out",
                    Seconds(max),
                    Seconds(min)
                ),
                &["drain.propagation.max", "drain.propagation.min"],
            )),
            (Some(min), Some(max)) => Ok(Some(Window { min, max })),
        }
    }

    fn child(&self, child: schema::Child) -> Result<ChildSettings, ConfigError> {
        let codes = child.success_codes.unwrap_or_default();
        self.each_once("child.successCodes", &codes, u8::to_string)?;
        Ok(ChildSettings {
            stop_signal: child.stop_signal.map_or(Signal::TERM, |signal| signal.0),
            signal_target: match child.signal_group {
                Some(true) => SignalTarget::Group,
                Some(false) | None => SignalTarget::Process,
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

    fn inflight(&self, sources: Vec<schema::Source>) -> Result<Vec<SourceSettings>, ConfigError> {
        let mut settings = Vec::with_capacity(sources.len());
        for (index, source) in sources.into_iter().enumerate() {
            // Every other kind was refused as not supported.
            let Some(prometheus) = source.prometheus else {
                continue;
            };
            settings.push(SourceSettings::Prometheus(self.prometheus(index, prometheus)?));
        }
        Ok(settings)
    }

    fn prometheus(
        &self,
        index: usize,
        written: schema::Prometheus,
    ) -> Result<PrometheusSettings, ConfigError> {
        let place = format!("inflight[{index}].prometheus");
        // In a document both are required; a variable or flag can come without the other.
        let Some(url) = written.url else {
            let why = "needs --inflight-url or TIDEGATE_INFLIGHT_URL beside it";
            return Err(self.refused(&format!("{place}.query"), why.to_owned()));
        };
        let Some(query) = written.query else {
            let why = "needs --inflight-query or TIDEGATE_INFLIGHT_QUERY beside it";
            return Err(self.refused(&format!("{place}.url"), why.to_owned()));
        };
        for (key, text) in [("query", Some(&query)), ("arrivals", written.arrivals.as_ref())] {
            if text.is_some_and(|text| text.trim().is_empty()) {
                let why = "empty; write what to read, like sum(calls_in_flight)".to_owned();
                return Err(self.refused(&format!("{place}.{key}"), why));
            }
        }
        Ok(PrometheusSettings {
            url,
            query,
            absent: written.absent.unwrap_or(Absent::Unknown),
            arrivals: written.arrivals,
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
        Ok(HealthSettings {
            listen: health
                .listen
                .unwrap_or_else(|| Listen::Tcp(([0, 0, 0, 0], 9095).into())),
            services,
        })
    }

    fn each_once<T: PartialEq>(
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

    fn at_least(&self, least: Duration, key: &str, value: Duration) -> Result<Duration, ConfigError> {
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
        log_format: telemetry.log_format.unwrap_or(LogFormat::Text),
        verbosity: telemetry.verbosity.unwrap_or(Verbosity::Normal),
        termination_log: telemetry
            .termination_log
            .unwrap_or_else(|| PathBuf::from("/dev/termination-log")),
    }
}
