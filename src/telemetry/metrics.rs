//! `/metrics`: what a run is doing, in the Prometheus text format.
//!
//! Names follow Prometheus' conventions: base units, `_total` for counters, one meaning a
//! name. What is not known is left out rather than shown as zero.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::health::HealthMetrics;
use super::stderr;
use crate::drain::record::Verdict;
use crate::drain::table::{PHASES, Phase};
use crate::health::Board;
use crate::hooks::{HookState, Way};

/// The numbers of one run; clones share them.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Mutex<Numbers>>);

/// What is counted.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// Where the run is.
    pub phase: Phase,
    /// The last reading of in-flight, if it was a count.
    pub in_flight: Option<u64>,
    /// Polls of in-flight that gave a count.
    pub polls_counted: u64,
    /// Polls of in-flight that did not.
    pub polls_unknown: u64,
    /// D, once a stop has begun.
    pub deadline: Option<Instant>,
    /// How long each phase lasted, of those that are over.
    pub phase_durations: [Option<Duration>; PHASES],
    /// Drains and holds that ended, by verdict.
    pub verdicts: [u64; Verdict::ALL.len()],
    /// Children that had to be killed because the deadline was near.
    pub forced_kills: u64,
    /// What hooks came to.
    pub hook_results: HookResults,
    /// Processes reaped that were not the child.
    pub orphans_reaped: u64,
}

/// What hooks came to, by the way they were for.
#[derive(Clone, Debug, Default)]
pub struct HookResults([[u64; 3]; 3]);

const WAYS: [Way; 3] = [Way::Out, Way::Back, Way::Anew];
const RESULTS: [(HookState, &str); 3] = [
    (HookState::Done, "success"),
    (HookState::Failed, "failure"),
    (HookState::Abandoned, "abandoned"),
];

impl HookResults {
    /// One more that ended so; one that runs has no result.
    pub fn count(&mut self, way: Way, state: HookState) {
        if let Some(result) = RESULTS.iter().position(|(known, _)| *known == state) {
            self.0[way as usize][result] += 1;
        }
    }

    fn each(&self) -> impl Iterator<Item = ([(&'static str, &'static str); 2], u64)> {
        WAYS.into_iter().flat_map(|way| {
            let counts = RESULTS.iter().zip(self.0[way as usize]);
            counts.map(move |((_, result), count)| ([("on", way.key()), ("result", *result)], count))
        })
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Numbers {
            phase: Phase::Starting,
            in_flight: None,
            polls_counted: 0,
            polls_unknown: 0,
            deadline: None,
            phase_durations: [None; PHASES],
            verdicts: [0; Verdict::ALL.len()],
            forced_kills: 0,
            hook_results: HookResults::default(),
            orphans_reaped: 0,
        })))
    }
}

impl Metrics {
    /// Changes the numbers.
    pub fn update(&self, change: impl FnOnce(&mut Numbers)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The page a scraper reads, with what `board` shows.
    pub fn page(&self, board: &Board) -> String {
        let mut registry = Registry::with_prefix("tidegate");
        registry.register_collector(Box::new(self.clone()));
        registry.register_collector(Box::new(HealthMetrics(board.clone())));
        let mut page = String::new();
        // Writing to a String cannot fail.
        let _ = prometheus_text::encode(&mut page, &registry);
        page
    }

    fn numbers(&self) -> Numbers {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let numbers = self.numbers();
        let page = &mut Page(&mut encoder);
        page.gauges(
            "phase",
            "The phase the run is in: 1 for that one, 0 for the others",
            Phase::ALL.map(|phase| {
                (
                    [("phase", phase.name())],
                    i64::from(phase == numbers.phase) as f64,
                )
            }),
        )?;
        page.gauge(
            "in_flight",
            "Calls under way in the child at the last poll; absent while unknown",
            numbers.in_flight.map(|count| count as f64),
        )?;
        page.counters(
            "in_flight_polls",
            "Polls of the in-flight sources",
            [
                ([("result", "count")], numbers.polls_counted),
                ([("result", "unknown")], numbers.polls_unknown),
            ],
        )?;
        page.gauge(
            "deadline_left_seconds",
            "Time left until everything has to be over; absent before a stop begins",
            numbers
                .deadline
                .map(|d| d.saturating_duration_since(Instant::now()).as_secs_f64()),
        )?;
        page.gauges(
            "phase_duration_seconds",
            "How long a phase of the stop lasted, once it is over",
            Phase::ALL
                .into_iter()
                .zip(numbers.phase_durations)
                .filter_map(|(phase, lasted)| Some(([("phase", phase.name())], lasted?.as_secs_f64()))),
        )?;
        page.counters(
            "drains",
            "Drains and holds that ended, by why they did",
            Verdict::ALL
                .into_iter()
                .zip(numbers.verdicts)
                .map(|(verdict, count)| ([("verdict", verdict.name())], count)),
        )?;
        page.counter(
            "forced_kills",
            "Children killed because the deadline was near",
            numbers.forced_kills,
        )?;
        page.counters(
            "hook_results",
            "Hooks that ended, by what they were for and what they came to",
            numbers.hook_results.each(),
        )?;
        page.counter(
            "orphans_reaped",
            "Processes reaped that were not the child",
            numbers.orphans_reaped,
        )?;
        page.counter(
            "log_lines_dropped",
            "Log lines that could not be written",
            stderr::dropped(),
        )?;
        page.gauges(
            "build_info",
            "This binary: always 1",
            [([("version", env!("CARGO_PKG_VERSION"))], 1.0)],
        )
    }
}

/// One metric family after the other.
pub(super) struct Page<'a, 'e>(pub(super) &'a mut DescriptorEncoder<'e>);

impl Page<'_, '_> {
    fn gauge(&mut self, name: &str, help: &str, value: Option<f64>) -> fmt::Result {
        match value {
            Some(value) => {
                let gauge = ConstGauge::new(value);
                gauge.encode(self.0.encode_descriptor(name, help, None, MetricType::Gauge)?)
            }
            None => Ok(()),
        }
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let counter = ConstCounter::new(value);
        counter.encode(self.0.encode_descriptor(name, help, None, MetricType::Counter)?)
    }

    pub(super) fn gauges<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, f64)>,
    ) -> fmt::Result {
        let values = values.into_iter();
        self.family(
            name,
            help,
            values.map(|(labels, value)| (labels, ConstGauge::new(value))),
        )
    }

    pub(super) fn counters<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, u64)>,
    ) -> fmt::Result {
        let values = values.into_iter();
        self.family(
            name,
            help,
            values.map(|(labels, value)| (labels, ConstCounter::new(value))),
        )
    }

    fn family<L: EncodeLabelSet, M: EncodeMetric>(
        &mut self,
        name: &str,
        help: &str,
        metrics: impl Iterator<Item = (L, M)>,
    ) -> fmt::Result {
        let mut metrics = metrics.peekable();
        let Some(kind) = metrics.peek().map(|(_, metric)| metric.metric_type()) else {
            return Ok(());
        };
        let mut family = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, metric) in metrics {
            metric.encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_prometheus_text_and_leaves_the_unknown_out() {
        let metrics = Metrics::default();
        let board = Board::new(["a"], crate::health::Recovery::Automatic);
        metrics.update(|numbers| numbers.phase = Phase::Serving);
        let page = metrics.page(&board);
        assert!(page.contains("tidegate_phase{phase=\"serving\"} 1"), "{page}");
        assert!(page.contains("# TYPE tidegate_drains_total counter"), "{page}");
        assert!(
            !page.contains("tidegate_in_flight "),
            "unknown is not a number: {page}"
        );
        metrics.update(|numbers| numbers.in_flight = Some(3));
        assert!(
            metrics.page(&board).contains("tidegate_in_flight 3"),
            "{}",
            metrics.page(&board)
        );
    }

    #[test]
    fn every_metric_has_its_row_in_the_docs_and_every_row_its_metric() {
        let docs = include_str!("../../docs/telemetry.md");
        let rows = docs
            .lines()
            .filter_map(|line| line.strip_prefix("| `tidegate_")?.split('`').next());
        let rows: std::collections::BTreeSet<&str> = rows.collect();
        // Whatever is absent is there for once.
        let metrics = Metrics::default();
        metrics.update(|numbers| {
            numbers.in_flight = Some(1);
            numbers.deadline = Some(Instant::now());
            numbers.phase_durations[0] = Some(Duration::ZERO);
        });
        let board = Board::new(["a"], crate::health::Recovery::Automatic);
        board.set_every(crate::health::Status::Serving);
        let page = metrics.page(&board);
        let names = page
            .lines()
            .filter_map(|line| line.strip_prefix("tidegate_")?.split([' ', '{']).next());
        let mut names: std::collections::BTreeSet<&str> = names.collect();
        // These two need a check.
        names.extend(["check_serving", "check_probes_total"]);
        assert_eq!(rows, names);
    }
}
