//! Quiet: when the calls in flight may be believed to be over.
//!
//! "Seen zero once" races with a request that is just entering, so a drain waits for a
//! quiet *period*: in-flight at or below the threshold and, where arrivals are counted, no
//! new call, unbroken from one look to another one that begins at least a period later.

use std::time::{Duration, Instant};

use super::budget::after;

/// One look at the calls in flight, with the moments it was begun and made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// When the look was begun: what it says is no older than this.
    pub begun: Instant,
    /// Calls under way.
    pub in_flight: InFlight,
    /// The counter of calls ever begun, where there is one and it could be read.
    pub arrivals: Option<f64>,
}

/// Calls under way, or that they could not be counted. Unknown is never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// So many.
    Count(u64),
    /// No telling.
    Unknown,
}

/// What the looks so far amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// No look has been answered since the moment named.
    NoneYet(Instant),
    /// Calls are under way or arriving.
    Busy,
    /// Quiet since the moment named, not yet for the whole period.
    QuietSince(Instant),
    /// Quiet, unbroken, for the whole period.
    Quiet,
    /// Not countable since the moment named.
    UnknownSince(Instant),
}

/// The watch on in-flight during one drain.
#[derive(Clone, Debug)]
pub struct Watch {
    threshold: u64,
    period: Duration,
    judgement: Judgement,
    arrivals: Option<f64>,
    /// The reading above the threshold that has not moved, and since when.
    stuck: Option<(u64, Instant)>,
}

impl Watch {
    /// A watch that calls in-flight quiet at `threshold` calls or fewer for `period`.
    /// Before the first look, begun at `now`, nothing is known.
    pub fn new(threshold: u64, period: Duration, now: Instant) -> Self {
        Self {
            threshold,
            period,
            judgement: Judgement::NoneYet(now),
            arrivals: None,
            stuck: None,
        }
    }

    /// What the looks so far amount to.
    pub fn judgement(&self) -> Judgement {
        self.judgement
    }

    /// The earliest moment at which a look can complete the quiet period.
    pub fn complete_at(&self) -> Option<Instant> {
        match self.judgement {
            Judgement::QuietSince(since) => Some(after(since, self.period)),
            _ => None,
        }
    }

    /// Whether the gauge has stood still above the threshold, with no call arriving, for
    /// `patience` or longer.
    pub fn is_stalled(&self, now: Instant, patience: Duration) -> bool {
        self.stuck
            .is_some_and(|(_, since)| now.saturating_duration_since(since) >= patience)
    }

    /// Takes in a look whose answer came at `now`.
    pub fn take(&mut self, now: Instant, look: Look) {
        let lost = self.arrivals.is_some() && look.arrivals.is_none();
        let arrived = self.arrived(look.arrivals);
        let in_flight = match look.in_flight {
            InFlight::Count(count) if count > self.threshold => look.in_flight,
            // A counter that cannot be read any more is not a counter that stands still.
            _ if lost => InFlight::Unknown,
            in_flight => in_flight,
        };
        self.judgement = match (in_flight, self.judgement) {
            (InFlight::Unknown, Judgement::UnknownSince(since) | Judgement::NoneYet(since)) => {
                Judgement::UnknownSince(since)
            }
            (InFlight::Unknown, _) => Judgement::UnknownSince(now),
            (InFlight::Count(count), _) if count > self.threshold => Judgement::Busy,
            // A call came and went between two looks: the quiet was broken, and a new one
            // begins here.
            (InFlight::Count(_), _) if arrived => Judgement::QuietSince(now),
            (InFlight::Count(_), Judgement::QuietSince(since)) if look.begun >= after(since, self.period) => {
                Judgement::Quiet
            }
            (InFlight::Count(_), Judgement::QuietSince(since)) => Judgement::QuietSince(since),
            (InFlight::Count(_), Judgement::Quiet) => Judgement::Quiet,
            // With no quiet to wait for, one look is enough.
            (InFlight::Count(_), _) if self.period.is_zero() => Judgement::Quiet,
            (InFlight::Count(_), _) => Judgement::QuietSince(now),
        };
        self.stuck = match look.in_flight {
            InFlight::Count(count) if count > self.threshold && !arrived => match self.stuck {
                Some((stuck, since)) if stuck == count => Some((stuck, since)),
                _ => Some((count, now)),
            },
            _ => None,
        };
    }

    /// Whether a call began since the look before. A counter that went backwards belongs to
    /// a program that started anew, which began at least nothing we know of: that is an
    /// arrival too. Until two looks could read it, nothing is known to have arrived.
    fn arrived(&mut self, arrivals: Option<f64>) -> bool {
        let before = self.arrivals;
        if arrivals.is_some() {
            self.arrivals = arrivals;
        }
        matches!((before, arrivals), (Some(before), Some(now)) if before != now)
    }
}

impl From<Option<u64>> for InFlight {
    fn from(count: Option<u64>) -> Self {
        count.map_or(Self::Unknown, Self::Count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(1000);

    struct Bench {
        start: Instant,
        watch: Watch,
    }

    impl Bench {
        fn new() -> Self {
            let start = Instant::now();
            Self {
                start,
                watch: Watch::new(0, PERIOD, start),
            }
        }

        /// A look begun at `at` milliseconds and answered 2 ms later.
        fn look(&mut self, at: u64, in_flight: InFlight, arrivals: Option<f64>) -> Judgement {
            let begun = self.start + Duration::from_millis(at);
            self.watch.take(
                begun + Duration::from_millis(2),
                Look {
                    begun,
                    in_flight,
                    arrivals,
                },
            );
            self.watch.judgement()
        }

        fn since(&self, at: u64) -> Judgement {
            Judgement::QuietSince(self.start + Duration::from_millis(at + 2))
        }
    }

    #[test]
    fn zero_seen_once_is_not_quiet() {
        let mut bench = Bench::new();
        assert_eq!(bench.look(0, InFlight::Count(0), None), bench.since(0));
        assert_eq!(bench.look(1001, InFlight::Count(0), None), bench.since(0));
        assert_eq!(bench.look(1002, InFlight::Count(0), None), Judgement::Quiet);
    }

    #[test]
    fn a_rise_restarts_the_quiet_period() {
        let mut bench = Bench::new();
        bench.look(0, InFlight::Count(0), None);
        assert_eq!(bench.look(900, InFlight::Count(1), None), Judgement::Busy);
        assert_eq!(bench.look(1100, InFlight::Count(0), None), bench.since(1100));
        assert_eq!(bench.look(2103, InFlight::Count(0), None), Judgement::Quiet);
    }

    #[test]
    fn an_arrival_restarts_the_quiet_period_though_the_gauge_reads_zero() {
        let mut bench = Bench::new();
        bench.look(0, InFlight::Count(0), Some(7.0));
        assert_eq!(bench.look(500, InFlight::Count(0), Some(8.0)), bench.since(500));
        assert_eq!(bench.look(1100, InFlight::Count(0), Some(8.0)), bench.since(500));
        assert_eq!(bench.look(1502, InFlight::Count(0), Some(8.0)), Judgement::Quiet);
    }

    #[test]
    fn an_arrival_is_seen_across_a_look_that_could_not_read_the_counter() {
        let mut bench = Bench::new();
        bench.look(0, InFlight::Count(0), Some(7.0));
        bench.look(400, InFlight::Unknown, None);
        assert_eq!(bench.look(800, InFlight::Count(0), Some(8.0)), bench.since(800));
    }

    #[test]
    fn a_counter_that_went_backwards_restarts_the_quiet_period() {
        let mut bench = Bench::new();
        bench.look(0, InFlight::Count(0), Some(7.0));
        assert_eq!(bench.look(500, InFlight::Count(0), Some(0.0)), bench.since(500));
    }

    #[test]
    fn unknown_is_never_zero() {
        let mut bench = Bench::new();
        bench.look(0, InFlight::Count(0), None);
        let unknown = Judgement::UnknownSince(bench.start + Duration::from_millis(502));
        assert_eq!(bench.look(500, InFlight::Unknown, None), unknown);
        assert_eq!(bench.look(2000, InFlight::Unknown, None), unknown);
        assert_eq!(bench.look(3000, InFlight::Count(0), None), bench.since(3000));
    }

    #[test]
    fn without_a_quiet_period_one_look_is_enough() {
        let mut bench = Bench::new();
        bench.watch.period = Duration::ZERO;
        assert_eq!(bench.look(0, InFlight::Count(0), None), Judgement::Quiet);
    }

    #[test]
    fn a_gauge_that_stands_still_above_the_threshold_is_stalled() {
        let mut bench = Bench::new();
        let after = Duration::from_secs(30);
        bench.look(0, InFlight::Count(2), None);
        bench.look(29_000, InFlight::Count(2), None);
        let at = |millis| bench.start + Duration::from_millis(millis);
        assert!(!bench.watch.is_stalled(at(30_001), after));
        assert!(bench.watch.is_stalled(at(30_002), after));
        bench.look(31_000, InFlight::Count(1), None);
        assert!(
            !bench
                .watch
                .is_stalled(bench.start + Duration::from_millis(31_002), after)
        );
    }

    #[test]
    fn calls_that_arrive_and_end_are_not_a_stall() {
        let mut bench = Bench::new();
        bench.look(0, InFlight::Count(2), Some(1.0));
        bench.look(31_000, InFlight::Count(2), Some(9.0));
        let now = bench.start + Duration::from_millis(31_002);
        assert!(!bench.watch.is_stalled(now, Duration::from_secs(30)));
    }
}
