//! What the promises go by: the rules, what was said to the machine, and what it did. All that
//! is due when is worked out here anew, from the outside.

use std::time::{Duration, Instant};

use tidegate::drain::action::Action;
use tidegate::drain::budget::{LONGEST, Waits};
use tidegate::drain::event::{Event, Evidence, Hooks, OnUnknown, Rules, Told};
use tidegate::drain::machine::{Machine, NOTIFY_LIMIT};
use tidegate::drain::quiet::{InFlight, Look};
use tidegate::drain::record::{Trigger, Verdict};
use tidegate::drain::table::Phase;

/// A promise that was not kept, and at what.
#[derive(Clone, Debug)]
pub struct Broken {
    pub promise: &'static str,
    pub moment: String,
}

/// The machine as it can be seen from outside.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub phase: Phase,
    pub next_deadline: Option<Instant>,
    pub deadline: Option<Instant>,
    pub verdict: Option<Verdict>,
}

/// One event, and what came of it.
#[derive(Debug)]
pub struct Moment<'a> {
    pub now: Instant,
    pub event: Event,
    pub before: Seen,
    pub after: Seen,
    pub actions: &'a [Action],
}

/// What was said and done before this moment, the event of this moment included.
pub struct Spec {
    pub rules: Rules,
    pub t0: Option<Instant>,
    pub deadline: Option<Instant>,
    pub shortened: bool,
    pub interrupts: u32,
    pub hurried: bool,
    pub evidence: Evidence,
    pub shown: Option<Shown>,
    /// The earliest and the latest moment at which NOT_SERVING became visible.
    pub visible: Option<(Instant, Instant)>,
    pub window_begun: Option<Instant>,
    pub sights: Vec<Sight>,
    pub watched_since: Option<Instant>,
    pub look_under_way: bool,
    pub stopped: Option<Stopped>,
    pub gone: Option<Instant>,
    pub hooks: Hooks,
    /// They were tried when the child ended, and have been ever since.
    pub hooks_keep_us: bool,
    /// Without a deadline they do so no longer than to here.
    pub settle_limit: Option<Instant>,
    pub leftovers_told: Option<Instant>,
    pub leftovers_killed: bool,
    pub exited: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shown {
    Serving,
    NotServing,
}

#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    pub at: Instant,
    /// The signal came no later than the bound of the deadline of that time.
    pub in_time: bool,
}

/// A look that was answered while in-flight was watched.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    pub answered: Instant,
    pub begun: Instant,
    /// `None` is unknown.
    pub calls: Option<u64>,
    pub counter: Option<f64>,
    pub arrival: bool,
}

pub fn later(moment: Instant, span: Duration) -> Instant {
    moment + span.min(LONGEST)
}

impl Seen {
    pub fn of(machine: &Machine) -> Self {
        Self {
            phase: machine.phase(),
            next_deadline: machine.next_deadline(),
            deadline: machine.deadline(),
            verdict: machine.record().verdict,
        }
    }
}

impl Moment<'_> {
    /// In words, with moments as time since `base`.
    pub fn told_from(&self, base: Instant) -> String {
        let at = |moment: Option<Instant>| moment.map(|moment| moment.duration_since(base));
        let seen = |seen: &Seen| {
            format!(
                "{}, deadline {:?}, next {:?}, verdict {:?}",
                seen.phase,
                at(seen.deadline),
                at(seen.next_deadline),
                seen.verdict
            )
        };
        format!(
            "{:?}: {:?}\n  before: {}\n  after:  {}\n  did:    {:?}",
            at(Some(self.now)),
            self.event,
            seen(&self.before),
            seen(&self.after),
            self.actions
        )
    }

    pub fn did(&self, action: &Action) -> bool {
        self.actions.contains(action)
    }

    pub fn times(&self, action: &Action) -> usize {
        self.actions.iter().filter(|done| *done == action).count()
    }

    pub fn left(&self, phase: Phase) -> bool {
        self.before.phase == phase && self.after.phase != phase
    }
}

impl Spec {
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            t0: None,
            deadline: None,
            shortened: false,
            interrupts: 0,
            hurried: false,
            evidence: Evidence::default(),
            shown: None,
            visible: None,
            window_begun: None,
            sights: Vec::new(),
            watched_since: None,
            look_under_way: false,
            stopped: None,
            gone: None,
            hooks: Hooks::Settled,
            hooks_keep_us: false,
            settle_limit: None,
            leftovers_told: None,
            leftovers_killed: false,
            exited: false,
        }
    }

    pub fn t0(&self) -> Option<Instant> {
        self.t0
    }

    /// Takes in what is about to be said to the machine.
    pub fn hear(&mut self, now: Instant, event: &Event, before: &Seen) {
        match *event {
            Event::Trigger(by) if before.phase != Phase::Over => self.hear_trigger(now, by, before.phase),
            Event::Shorten(to) if self.t0.is_some() && before.phase != Phase::Over => {
                self.shortened = true;
                let to = if before.phase == Phase::Leftovers {
                    Some(to)
                } else {
                    self.t0.map(|t0| to.max(t0))
                };
                self.deadline = self.deadline.min(to);
            }
            Event::Hurry => {
                self.hurried |= self.t0.is_some();
                self.hooks_keep_us &= before.phase != Phase::Leftovers;
            }
            Event::Evidence(evidence) if before.phase >= Phase::Held => self.evidence = evidence,
            Event::Resume if before.phase == Phase::Held => {
                self.evidence = Evidence::default();
                self.visible = None;
            }
            Event::Notified if matches!(before.phase, Phase::Held | Phase::Notify) => {
                if let Some((earliest, latest)) = &mut self.visible {
                    *earliest = (*earliest).max(now).min(*latest);
                    *latest = (*latest).min(now);
                }
            }
            Event::Look(look) => {
                self.look_under_way = false;
                if before.phase == Phase::InFlight {
                    self.sights
                        .push(Sight::new(now, look, &self.sights, self.rules.threshold));
                }
            }
            Event::Hooks(hooks) => {
                self.hooks = hooks;
                self.hooks_keep_us &= hooks == Hooks::Tried;
            }
            Event::ChildGone if before.phase < Phase::Leftovers => {
                self.gone = Some(now);
                self.hooks_keep_us = self.hooks == Hooks::Tried;
                let has_deadline = self.deadline.is_some();
                self.settle_limit = (!has_deadline).then(|| later(now, Duration::from_secs(5)));
            }
            _ => {}
        }
    }

    pub fn hear_trigger(&mut self, now: Instant, by: Trigger, phase: Phase) {
        if self.t0.is_none() {
            self.t0 = Some(now);
            self.deadline = Some(later(now, self.rules.plan.budget.0));
            self.hurried = phase == Phase::Starting || self.rules.plan.waits == Waits::Skipped;
        }
        if by == Trigger::Signal(2) {
            self.interrupts += 1;
            self.hurried |= self.interrupts >= 2;
            self.hooks_keep_us &= self.interrupts < 2 || phase != Phase::Leftovers;
        }
    }

    /// Takes in what the machine did.
    pub fn see(&mut self, moment: &Moment) {
        let now = moment.now;
        for action in moment.actions {
            match action {
                Action::ShowServing => self.shown = Some(Shown::Serving),
                Action::ShowNotServing => {
                    if self.shown != Some(Shown::NotServing) {
                        self.visible = Some((now, later(now, NOTIFY_LIMIT)));
                    }
                    self.shown = Some(Shown::NotServing);
                }
                Action::Look => self.look_under_way = true,
                Action::StopChild => {
                    self.stopped = Some(Stopped {
                        at: now,
                        in_time: Some(now) <= self.stop_at(),
                    });
                }
                Action::StopLeftovers => self.leftovers_told = Some(now),
                Action::KillLeftovers => self.leftovers_killed = true,
                Action::Exit => self.exited = true,
                _ => {}
            }
        }
        if moment.after.phase == Phase::Propagation && self.window_begun.is_none() {
            self.window_begun = match moment.before.phase {
                Phase::Held => self.visible.map(|(_, latest)| latest),
                _ => Some(now),
            };
        }
        if moment.after.phase == Phase::InFlight && self.watched_since.is_none() {
            self.watched_since = Some(now);
        }
    }

    pub fn before_deadline(&self, span: Duration) -> Option<Instant> {
        let at = self.deadline?.checked_sub(span)?;
        Some(at.max(self.t0?))
    }

    /// D − killWait.
    pub fn kill_at(&self) -> Option<Instant> {
        self.before_deadline(self.rules.plan.kill_wait)
    }

    /// The last moment for leftovers to be told, by the hooks that keep us.
    pub fn settle_end(&self) -> Option<Instant> {
        let by_deadline = self.deadline.map(|deadline| {
            deadline
                .checked_sub(self.rules.plan.kill_wait)
                .unwrap_or(deadline)
        });
        self.settle_limit.into_iter().chain(by_deadline).min()
    }

    /// D − killWait − stopTimeout.
    pub fn stop_at(&self) -> Option<Instant> {
        let plan = &self.rules.plan;
        self.before_deadline(plan.kill_wait.saturating_add(plan.stop_timeout))
    }

    pub fn at_the_bound(&self, now: Instant) -> bool {
        self.stop_at().is_some_and(|bound| now >= bound)
    }

    pub fn everyone_is_told(&self) -> bool {
        let Evidence { audience, hooks } = self.evidence;
        audience != Told::NotAll && hooks != Told::NotAll && (audience == Told::All || hooks == Told::All)
    }

    /// Whether the looks prove a whole quiet period: an unbroken run of looks from one
    /// answered to one begun a period later.
    pub fn quiet_is_proven(&self) -> bool {
        let Some(last) = self.sights.last() else {
            return false;
        };
        let quiet = self.rules.plan.quiet;
        let Some(first) = self.start_of_quiet() else {
            return false;
        };
        let alone = std::ptr::eq(first, last);
        match alone {
            true => quiet.is_zero() && !last.arrival,
            false => !last.arrival && last.begun >= later(first.answered, quiet),
        }
    }

    /// The first look of the unbroken run of quiet ones that the last look ends.
    pub fn start_of_quiet(&self) -> Option<&Sight> {
        let mut first = None;
        for sight in self.sights.iter().rev() {
            if sight.calls.is_none_or(|calls| calls > self.rules.threshold) {
                break;
            }
            first = Some(sight);
            if sight.arrival {
                break;
            }
        }
        first
    }

    /// Whether in-flight has been unknown for as long as it is waited for.
    pub fn patience_is_over(&self, now: Instant) -> bool {
        self.patience_end().is_some_and(|end| now >= end)
    }

    /// When in-flight will have been unknown for as long as it is waited for.
    pub fn patience_end(&self) -> Option<Instant> {
        let OnUnknown::ProceedAfter(patience) = self.rules.on_unknown else {
            return None;
        };
        if self.sights.last().is_none_or(|last| last.calls.is_some()) {
            return None;
        }
        let unknown = self
            .sights
            .iter()
            .rev()
            .take_while(|sight| sight.calls.is_none())
            .count();
        let since = match unknown == self.sights.len() {
            true => self.watched_since,
            false => Some(self.sights[self.sights.len() - unknown].answered),
        };
        since.map(|since| later(since, patience))
    }
}

impl Sight {
    pub fn new(answered: Instant, look: Look, before: &[Sight], threshold: u64) -> Self {
        let known = before.iter().rev().find_map(|sight| sight.counter);
        let lost = known.is_some() && look.arrivals.is_none();
        let calls = match look.in_flight {
            InFlight::Count(calls) if calls > threshold || !lost => Some(calls),
            _ => None,
        };
        Self {
            answered,
            begun: look.begun,
            calls,
            counter: look.arrivals,
            arrival: known.is_some() && look.arrivals.is_some() && known != look.arrivals,
        }
    }
}
