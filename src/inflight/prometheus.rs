//! The `prometheus` source: a query over the metrics a program exposes.

use std::time::Duration;

use thiserror::Error;

use super::exposition::{Misses, Scan, Scanner};
use super::query::{Absent, Kind, Query, QueryError, Selector, Tally};
use super::sources::{Arrivals, Measured};
use super::{Reading, Unknown};
use crate::http::{Answer, Client, Endpoint, Framing, UrlError};

/// What `curl` would get first, so that a user sees what we see; OpenMetrics where it is all there is.
const ACCEPT: &str =
    "text/plain;version=0.0.4;q=0.9, application/openmetrics-text;version=1.0.0;q=0.5, */*;q=0.1";

/// For queries with names in quotes: without `allow-utf-8` client libraries write such names with
/// underscores (<https://prometheus.io/docs/instrumenting/escaping_schemes/>). Not asked for
/// otherwise, because it would rename what `curl` shows.
const ACCEPT_UTF8: &str = "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.9, \
    application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5, text/plain;version=0.0.4;q=0.3, */*;q=0.1";

/// How far a value may be from a whole number and still be it. Sums and products of fractions end
/// a little beside; without this `0.1 + 0.2 - 0.3` would be one call that never ends.
const ROUNDING: f64 = 1e-9;

/// A `prometheus` source, validated.
#[derive(Clone, Debug)]
pub struct PrometheusConfig {
    endpoint: Endpoint,
    query: Query,
    absent: Absent,
    arrivals: Option<Query>,
}

/// A `prometheus` source that cannot be. The text is one line and begins with the key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PrometheusConfigError {
    /// The URL.
    #[error("url: {0}")]
    Url(#[from] UrlError),
    /// The query.
    #[error("query: {0}")]
    Query(#[source] QueryError),
    /// The query of the calls begun.
    #[error("arrivals: {0}")]
    Arrivals(#[source] QueryError),
}

impl PrometheusConfig {
    /// Checks a source, as written.
    ///
    /// # Errors
    ///
    /// The first key that is wrong, with the reason.
    pub fn new(
        url: &str,
        query: &str,
        absent: Absent,
        arrivals: Option<&str>,
    ) -> Result<Self, PrometheusConfigError> {
        Ok(Self::of(
            Endpoint::parse(url)?,
            Query::parse(query).map_err(PrometheusConfigError::Query)?,
            absent,
            arrivals
                .map(Query::parse)
                .transpose()
                .map_err(PrometheusConfigError::Arrivals)?,
        ))
    }

    /// A source of parts that are parsed already.
    pub fn of(endpoint: Endpoint, query: Query, absent: Absent, arrivals: Option<Query>) -> Self {
        Self {
            endpoint,
            query,
            absent,
            arrivals,
        }
    }

    /// Where the metrics are, without credentials.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The number of calls under way.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// What a series that is not there means, in both queries.
    pub fn absent(&self) -> Absent {
        self.absent
    }

    /// The counter of calls begun.
    pub fn arrivals(&self) -> Option<&Query> {
        self.arrivals.as_ref()
    }

    fn selectors(&self) -> impl Iterator<Item = &Selector> {
        self.query
            .selectors()
            .iter()
            .chain(self.arrivals.iter().flat_map(Query::selectors))
    }
}

/// A source at work: its connection, and where its counters stood.
pub(super) struct Prometheus {
    config: PrometheusConfig,
    client: Client,
    /// Where the query's series stood at the last poll.
    stood: Vec<(Kind, f64)>,
    misses: Misses,
}

impl Prometheus {
    pub fn new(config: PrometheusConfig) -> Self {
        let utf8 = config.selectors().any(Selector::needs_utf8_names);
        let client = Client::new(config.endpoint.clone(), if utf8 { ACCEPT_UTF8 } else { ACCEPT });
        Self {
            config,
            client,
            stood: Vec::new(),
            misses: Misses::Ignored,
        }
    }

    pub fn config(&self) -> &PrometheusConfig {
        &self.config
    }

    /// From now on, notes what is close to a series that is not there.
    pub fn explain(&mut self) {
        self.misses = Misses::Noted;
    }

    /// One look, both queries over one pass of the body.
    pub async fn poll(&mut self, timeout: Duration) -> Measured {
        let mut scanner = Scanner::new(self.config.selectors()).with(self.misses);
        let answer = self.client.get(timeout, |piece| scanner.feed(piece)).await;
        let scan = scanner.finish();
        let complete = match answer {
            Ok(answer) => believable(&answer, &scan),
            Err(fault) => Err(Unknown(fault.to_string())),
        };
        match complete {
            Ok(()) => Measured {
                note: (!scan.near.is_empty()).then(|| scan.near.join("; ")),
                ..self.judge(&scan.tallies)
            },
            Err(why) => Measured {
                arrivals: match self.config.arrivals {
                    Some(_) => Arrivals::Unknown(why.clone()),
                    None => Arrivals::NotCounted,
                },
                ..Measured::of(self.named(Reading::Unknown(why)))
            },
        }
    }

    fn judge(&mut self, tallies: &[Tally]) -> Measured {
        let (mine, others) = tallies.split_at(self.config.query.selectors().len().min(tallies.len()));
        let value = self.config.query.evaluate(mine, self.config.absent);
        let reading = match value.and_then(|value| self.no_counter_fell(mine).map(|()| value)) {
            Ok(value) => Reading::from_value(settled(value)),
            Err(why) => Reading::Unknown(why),
        };
        Measured {
            arrivals: self.arrivals(others),
            ..Measured::of(self.named(reading))
        }
    }

    fn arrivals(&self, tallies: &[Tally]) -> Arrivals {
        let Some(query) = &self.config.arrivals else {
            return Arrivals::NotCounted;
        };
        match query.evaluate(tallies, self.config.absent) {
            Ok(count) if count.is_finite() => Arrivals::Counted(count),
            Ok(count) => Arrivals::Unknown(self.at_endpoint(&format!("the value is {count}"))),
            Err(Unknown(why)) => Arrivals::Unknown(self.at_endpoint(&why)),
        }
    }

    /// A counter that stands lower than before was begun anew: the program restarted between two
    /// polls, and the difference of its counters says nothing of the calls it lost.
    fn no_counter_fell(&mut self, tallies: &[Tally]) -> Result<(), Unknown> {
        let mut outcome = Ok(());
        for (at, now) in self.config.query.stands(tallies).enumerate() {
            let Some(before) = self.stood.get_mut(at) else {
                self.stood.push((now.kind, now.value));
                continue;
            };
            // Declared once, it stays a counter: after a restart the page may not have it yet.
            if before.0 == Kind::Counter && now.value < before.1 {
                outcome = outcome.and(Err(Unknown(format!(
                    "the counter `{}` went back from {} to {}: the program restarted",
                    now.selector.text(),
                    before.1,
                    now.value
                ))));
            }
            if now.kind == Kind::Counter {
                before.0 = Kind::Counter;
            }
            before.1 = now.value;
        }
        outcome
    }

    fn named(&self, reading: Reading) -> Reading {
        match reading {
            Reading::Unknown(Unknown(why)) => Reading::Unknown(self.at_endpoint(&why)),
            count => count,
        }
    }

    fn at_endpoint(&self, why: &str) -> Unknown {
        Unknown(format!("{}: {why}", self.config.endpoint))
    }
}

/// Whether a body is an exposition, and all of it.
fn believable(answer: &Answer, scan: &Scan) -> Result<(), Unknown> {
    if !scan.recognised {
        // A wanted line that is broken, where it is the only one, says more than that there is no other.
        let fault = scan.tallies.iter().find_map(|tally| tally.fault());
        let fault = fault.map_or_else(String::new, |fault| format!("; {fault}"));
        return Err(Unknown(format!(
            "the answer is no exposition: it has no metric at all{fault}"
        )));
    }
    // OpenMetrics ends with `# EOF` so that a cut one is known (its section "Overall structure").
    if answer.content_type.starts_with("application/openmetrics-text") && !scan.eof_marker {
        return Err(Unknown(
            "the answer was cut: it is OpenMetrics without its `# EOF`".into(),
        ));
    }
    if answer.framing == Framing::UntilClose && scan.unterminated {
        return Err(Unknown("the answer was cut: its last line has no end".into()));
    }
    Ok(())
}

/// The whole number a value is but for rounding.
fn settled(value: f64) -> f64 {
    let whole = value.round();
    // Adding 0 turns -0 into 0.
    if (value - whole).abs() <= ROUNDING {
        whole + 0.0
    } else {
        value
    }
}
