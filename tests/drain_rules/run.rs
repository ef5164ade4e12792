//! A run on an invented clock: moments are milliseconds since the base.

use std::time::{Duration, Instant};

use tidegate::drain::action::Action;
use tidegate::drain::budget::{Grace, Margin, Plan, Window, Wishes};
use tidegate::drain::event::{Event, Evidence, Measured, OnUnknown, Rules, Told};
use tidegate::drain::machine::Machine;
use tidegate::drain::quiet::{InFlight, Look};
use tidegate::drain::record::{Trigger, Verdict};
use tidegate::drain::table::Phase;

pub const SIGTERM: Event = Event::Trigger(Trigger::Signal(15));
pub const SIGINT: Event = Event::Trigger(Trigger::Signal(2));
pub const PRE_STOP: Event = Event::Trigger(Trigger::PreStop);
pub const IDLE: InFlight = InFlight::Count(0);

pub const ALL_TOLD: Event = Event::Evidence(Evidence {
    audience: Told::All,
    hooks: Told::All,
});

/// A run whose looks are answered with `calls`, `latency` after they were begun.
pub struct Run {
    base: Instant,
    now: u64,
    machine: Machine,
    done: Vec<(u64, Action)>,
    pub calls: InFlight,
    pub arrivals: Option<f64>,
    /// In milliseconds; `None` never answers.
    pub latency: Option<u64>,
    under_way: Option<(u64, Look)>,
}

/// The rules most promises are told with, by a grace period of 30 s:
/// budget 24 s, propagation 5 s, quiet 1 s, stopTimeout 5 s, killWait 1 s.
pub fn rules() -> Rules {
    with_grace(30_000, Wishes::default())
}

pub fn with_grace(grace: u64, wishes: Wishes) -> Rules {
    let grace = Grace(Duration::from_millis(grace));
    Rules {
        plan: Plan::new(grace, Margin::default(), Duration::ZERO, wishes).expect("the plan fits"),
        threshold: 0,
        poll_interval: Duration::from_millis(200),
        on_unknown: OnUnknown::Wait,
        stalled_after: Duration::from_secs(30),
        measured: Measured::Yes,
    }
}

pub fn with_window(min: u64, max: u64) -> Rules {
    let (min, max) = (Duration::from_millis(min), Duration::from_millis(max));
    with_grace(
        30_000,
        Wishes {
            propagation: Some(Window { min, max }),
            ..Wishes::default()
        },
    )
}

impl Run {
    /// A child that is about to be started, at 0.
    pub fn starting(rules: Rules) -> Self {
        Self {
            base: Instant::now(),
            now: 0,
            machine: Machine::new(rules),
            done: Vec::new(),
            calls: IDLE,
            arrivals: None,
            latency: Some(0),
            under_way: None,
        }
    }

    /// A child that serves since 0.
    pub fn serving(rules: Rules) -> Self {
        let mut run = Self::starting(rules);
        run.at(0, Event::ChildUp);
        run
    }

    /// A stop that began at 0, visible at once.
    pub fn stopping(rules: Rules) -> Self {
        let mut run = Self::serving(rules);
        run.at(0, SIGTERM).at(0, Event::Notified);
        run
    }

    /// A stop that is in `phase`, whatever its rules say of the way there.
    pub fn in_phase(phase: Phase) -> Self {
        let mut run = match phase {
            Phase::Starting => Self::starting(rules()),
            Phase::Serving | Phase::Held => Self::serving(rules()),
            _ => Self::stopping(rules()),
        };
        run.calls = InFlight::Count(1);
        match phase {
            Phase::Starting | Phase::Serving | Phase::Propagation => {}
            Phase::Held => _ = run.at(0, Event::Hold),
            Phase::Notify => {
                run = Self::serving(rules());
                run.at(0, SIGTERM);
            }
            Phase::InFlight => run.to(6_000),
            Phase::Stop => run.to(19_000),
            Phase::Kill => run.to(23_500),
            Phase::Leftovers => _ = run.at(1_000, Event::ChildGone),
            Phase::Over => _ = run.at(1_000, Event::ChildGone).at(1_000, Event::AllGone),
        }
        assert_eq!(run.phase(), phase);
        run
    }

    /// What happens at `at`, after everything that happens by itself until then.
    pub fn at(&mut self, at: u64, event: Event) -> &mut Self {
        self.to(at);
        self.feed(event);
        self
    }

    /// What happens now.
    pub fn then(&mut self, event: Event) -> &mut Self {
        self.feed(event);
        self
    }

    /// Time passes to `to`.
    pub fn to(&mut self, to: u64) {
        assert!(to >= self.now, "time does not go back");
        let mut happened = 0;
        loop {
            happened += 1;
            assert!(happened < 100_000, "a hot loop at {} ms", self.now);
            let answer = self.under_way.map(|(at, _)| at);
            let tick = self.machine.next_deadline().map(|at| self.millis(at));
            let next = [answer, tick].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= to) else {
                self.now = to;
                return;
            };
            self.now = self.now.max(next);
            match self.under_way.take_if(|(at, _)| *at == next) {
                Some((_, look)) => self.feed(Event::Look(look)),
                None => self.feed(Event::Tick),
            }
        }
    }

    /// Time passes to `to` and nobody wakes the machine.
    pub fn sleep_to(&mut self, to: u64) -> &mut Self {
        self.now = to;
        self
    }

    pub fn moment(&self, millis: u64) -> Instant {
        self.base + Duration::from_millis(millis)
    }

    /// In milliseconds, rounded up: a tick is never early.
    fn millis(&self, moment: Instant) -> u64 {
        u64::try_from((moment - self.base).as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    fn feed(&mut self, event: Event) {
        let now = self.moment(self.now);
        self.machine.handle(now, event);
        let next = self.machine.next_deadline();
        assert!(
            next.is_none_or(|next| next > now),
            "a hot loop at {} ms",
            self.now
        );
        while let Some(action) = self.machine.poll_action() {
            if action == Action::Look {
                assert!(self.under_way.is_none(), "looks overlap at {} ms", self.now);
                let look = Look {
                    begun: self.moment(self.now),
                    in_flight: self.calls,
                    arrivals: self.arrivals,
                };
                self.under_way = Some((self.latency.map_or(u64::MAX, |latency| self.now + latency), look));
            }
            self.done.push((self.now, action));
        }
    }

    pub fn phase(&self) -> Phase {
        self.machine.phase()
    }

    pub fn verdict(&self) -> Option<Verdict> {
        self.machine.record().verdict
    }

    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    pub fn deadline(&self) -> Option<u64> {
        self.machine.deadline().map(|at| self.millis(at))
    }

    /// Every moment at which `action` was done.
    pub fn when(&self, action: &Action) -> Vec<u64> {
        let times = self.done.iter().filter(|(_, done)| done == action);
        times.map(|(at, _)| *at).collect()
    }

    /// What has been done since `from`, in order.
    pub fn since(&self, from: u64) -> Vec<Action> {
        let later = self.done.iter().filter(|(at, _)| *at >= from);
        later.map(|(_, action)| action.clone()).collect()
    }

    /// What has been done so far; `since` that many.
    pub fn so_far(&self) -> usize {
        self.done.len()
    }

    pub fn new_since(&self, mark: usize) -> Vec<Action> {
        self.done[mark..]
            .iter()
            .map(|(_, action)| action.clone())
            .collect()
    }

    pub fn stop_signal(&self) -> Option<u64> {
        self.only(&Action::StopChild)
    }

    pub fn sigkill(&self) -> Option<u64> {
        self.only(&Action::KillChild)
    }

    pub fn exit(&self) -> Option<u64> {
        self.only(&Action::Exit)
    }

    fn only(&self, action: &Action) -> Option<u64> {
        let times = self.when(action);
        assert!(times.len() <= 1, "{action:?} at {times:?}");
        times.first().copied()
    }
}
