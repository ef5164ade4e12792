//! A small world around the machine: a child, its leftovers, calls, and time.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use tidegate::drain::action::Action;
use tidegate::drain::budget::LONGEST;
use tidegate::drain::event::Event;
use tidegate::drain::machine::Machine;
use tidegate::drain::quiet::{InFlight, Look};
use tidegate::drain::record::{Transition, Trigger, Verdict};
use tidegate::drain::table::{Kind, Phase};

use crate::promises::keep;
use crate::schedule::{Counter, End, Leftovers, Schedule, Step, Ticks, Wait, What};
use crate::spec::{Broken, Moment, Seen, Spec};

/// More ticks than any run needs from its trigger to its end.
const ENOUGH_TICKS: u32 = 20_000;

/// More happenings than a single wait is worth; time stops there until the next step.
const ENOUGH_OF_ONE_WAIT: u32 = 300;

pub struct World<'a> {
    schedule: &'a Schedule,
    base: Instant,
    now: Instant,
    machine: Machine,
    spec: Spec,
    calls: InFlight,
    counter: Option<f64>,
    begun: u32,
    latency: Duration,
    look: Option<(Instant, Look)>,
    child_ends: Option<Instant>,
    leftovers_end: Option<Instant>,
    pub handled: u64,
    /// The cells of the table that were met.
    pub cells: HashSet<(Phase, Kind)>,
    pub verdicts: HashSet<Verdict>,
}

fn later(moment: Instant, span: Duration) -> Instant {
    moment + span.min(LONGEST)
}

impl<'a> World<'a> {
    pub fn new(schedule: &'a Schedule, base: Instant) -> Self {
        Self {
            schedule,
            base,
            now: base,
            machine: Machine::new(schedule.rules),
            spec: Spec::new(schedule.rules),
            calls: InFlight::Count(1),
            counter: None,
            begun: 0,
            latency: Duration::from_millis(2),
            look: None,
            child_ends: None,
            leftovers_end: None,
            handled: 0,
            cells: HashSet::new(),
            verdicts: HashSet::new(),
        }
    }

    /// Runs the schedule, and then to the end of the run.
    pub fn run(&mut self) -> Result<(), Broken> {
        for step in &self.schedule.steps {
            self.step(step)?;
        }
        if self.spec.t0().is_none() {
            self.feed(Event::Trigger(Trigger::Signal(15)))?;
        }
        self.make_haste()?;
        for _ in 0..ENOUGH_TICKS {
            let Some(deadline) = self.machine.next_deadline() else {
                break;
            };
            self.advance(deadline)?;
            self.feed(Event::Tick)?;
        }
        match self.machine.phase() {
            Phase::Over => Ok(()),
            phase => Err(Broken {
                promise: "every_run_ends",
                moment: format!("{phase} is left by no tick"),
            }),
        }
    }

    /// The end of most runs goes without answers to looks, and that of no run takes hours:
    /// both would be many steps of no interest.
    fn make_haste(&mut self) -> Result<(), Broken> {
        let soon = self.now + Duration::from_secs(60);
        if self.machine.deadline().is_some_and(|deadline| deadline > soon) {
            self.feed(Event::Shorten(soon))?;
        }
        if self.schedule.world.end == End::Mute {
            self.latency = LONGEST;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), Broken> {
        let to = match step.wait {
            Wait::No => self.now,
            Wait::Span(span) => later(self.now, span),
            Wait::ToDeadline => self.machine.next_deadline().unwrap_or(self.now),
            Wait::PastDeadline(span) => later(self.machine.next_deadline().unwrap_or(self.now), span),
        };
        // Time has no end here, but the clock has.
        self.advance(to.min(self.base + LONGEST))?;
        match step.what {
            What::ChildUp => self.feed(Event::ChildUp),
            What::Trigger(by) => self.feed(Event::Trigger(by)),
            What::ShortenTo(span) => self.feed(Event::Shorten(later(self.base, span))),
            What::ShortenIn(span) => self.feed(Event::Shorten(later(self.now, span))),
            What::Hurry => self.feed(Event::Hurry),
            What::Hold => self.feed(Event::Hold),
            What::Resume => self.feed(Event::Resume),
            What::Notified => self.feed(Event::Notified),
            What::Hooks(hooks) => self.feed(Event::Hooks(hooks)),
            What::Evidence(evidence) => self.feed(Event::Evidence(evidence)),
            // While one is under way, it would be the answer.
            What::StrayLook if self.look.is_some() => Ok(()),
            What::StrayLook => self.feed(Event::Look(self.sight())),
            What::ChildExits => self.end_child(),
            What::AllGone => self.feed(Event::AllGone),
            What::Tick => self.feed(Event::Tick),
            What::Calls(calls) => {
                self.calls = calls;
                Ok(())
            }
            What::Arrival => {
                self.begun += 1;
                self.counter = self.counter.map(|_| f64::from(self.begun));
                Ok(())
            }
            What::Counter(Counter::Readable) => {
                self.counter = Some(f64::from(self.begun));
                Ok(())
            }
            What::Counter(Counter::Unreadable) => {
                self.counter = None;
                Ok(())
            }
            What::Latency(latency) => {
                self.latency = latency;
                Ok(())
            }
        }
    }

    /// Lets time pass to `to`, with everything that happens by itself until then.
    fn advance(&mut self, to: Instant) -> Result<(), Broken> {
        for _ in 0..ENOUGH_OF_ONE_WAIT {
            let world = [self.look.map(|(at, _)| at), self.child_ends, self.leftovers_end];
            let world = world.into_iter().flatten().min();
            let tick = match self.schedule.world.ticks {
                Ticks::Late => None,
                _ => self.machine.next_deadline(),
            };
            let Some(next) = [world, tick]
                .into_iter()
                .flatten()
                .min()
                .filter(|next| *next <= to)
            else {
                self.now = self.now.max(to);
                return Ok(());
            };
            self.now = self.now.max(next);
            let tick_first = self.schedule.world.ticks == Ticks::BeforeTheWorld || world != Some(next);
            if tick == Some(next) && tick_first {
                self.feed(Event::Tick)?;
            } else {
                self.happen(next)?;
            }
        }
        Ok(())
    }

    fn happen(&mut self, next: Instant) -> Result<(), Broken> {
        if let Some((_, look)) = self.look.take_if(|(at, _)| *at == next) {
            return self.feed(Event::Look(look));
        }
        if self.child_ends.take_if(|at| *at == next).is_some() {
            return self.end_child();
        }
        self.leftovers_end = None;
        self.feed(Event::AllGone)
    }

    fn end_child(&mut self) -> Result<(), Broken> {
        self.child_ends = None;
        self.feed(Event::ChildGone)
    }

    fn sight(&self) -> Look {
        Look {
            begun: self.now,
            in_flight: self.calls,
            arrivals: self.counter,
        }
    }

    fn feed(&mut self, event: Event) -> Result<(), Broken> {
        let before = Seen::of(&self.machine);
        self.spec.hear(self.now, &event, &before);
        self.machine.handle(self.now, event);
        self.handled += 1;
        self.cells.insert((before.phase, event.kind()));
        let actions: Vec<Action> = std::iter::from_fn(|| self.machine.poll_action()).collect();
        let moment = Moment {
            now: self.now,
            event,
            before,
            after: Seen::of(&self.machine),
            actions: &actions,
        };
        keep(&self.spec, &moment, self.base)?;
        self.spec.see(&moment);
        for action in &actions {
            self.obey(action);
        }
        Ok(())
    }

    fn obey(&mut self, action: &Action) {
        let temper = &self.schedule.world;
        let at = |span: Option<Duration>| span.map(|span| later(self.now, span));
        match action {
            Action::Say(Transition {
                verdict: Some(verdict),
                ..
            }) => {
                self.verdicts.insert(*verdict);
            }
            Action::Look => self.look = Some((later(self.now, self.latency), self.sight())),
            Action::StopChild => self.child_ends = at(temper.obeys),
            Action::KillChild => self.child_ends = at(temper.dies),
            Action::StopLeftovers => {
                self.leftovers_end = match temper.leftovers {
                    Leftovers::None => Some(self.now),
                    Leftovers::Obey(span) => at(Some(span)),
                    Leftovers::DieOfSigkill(_) | Leftovers::Immortal => None,
                };
            }
            Action::KillLeftovers => {
                if let Leftovers::DieOfSigkill(span) = temper.leftovers {
                    self.leftovers_end = at(Some(span));
                }
            }
            _ => {}
        }
    }
}
