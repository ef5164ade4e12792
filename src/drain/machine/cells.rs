//! What the cells of the table do.

use std::time::{Duration, Instant};

use super::{
    Action, Clock, Evidence, Hooks, LeftoversNext, Machine, NOTIFY_LIMIT, Poll, SETTLE_LIMIT, State, Visible,
};
use crate::drain::budget::{Waits, after};
use crate::drain::quiet::Look;
use crate::drain::record::{Record, Trigger, Verdict};

/// The number of the signal a person sends with Ctrl-C; a second one skips the waits.
const SIGINT: i32 = 2;

impl Machine {
    /// The first of several triggers is T0.
    pub(super) fn remember(&mut self, now: Instant, by: Trigger) {
        if let State::Starting { asked: None } = self.state {
            let clock = self.start_clock(now, by);
            self.state = State::Starting { asked: Some(clock) };
            self.actions.push_back(Action::ShowNotServing);
        } else {
            self.count_interrupt(by);
        }
    }

    pub(super) fn serve(&mut self, now: Instant) {
        match self.state {
            // Nobody was ever sent here, so there is nothing to wait for.
            State::Starting { asked: Some(clock) } => {
                let visible = Visible::Yes;
                self.enter(now, State::Notify { clock, visible });
                self.stop(now, Verdict::Hurried);
            }
            _ => {
                self.actions.push_back(Action::ShowServing);
                self.enter(now, State::Serving);
            }
        }
    }

    pub(super) fn begin(&mut self, now: Instant, by: Trigger) {
        let clock = self.start_clock(now, by);
        self.leave_traffic();
        let visible = Visible::NotYet;
        self.enter(now, State::Notify { clock, visible });
        self.skip_waits_of_a_short_grace(now);
    }

    pub(super) fn begin_held(&mut self, now: Instant, by: Trigger) {
        if let State::Held { visible: since } = self.state {
            let clock = self.start_clock(now, by);
            self.enter(now, State::Propagation { clock, since });
            self.skip_waits_of_a_short_grace(now);
        }
    }

    pub(super) fn join(&mut self, now: Instant, by: Trigger) {
        self.count_interrupt(by);
        if self.is_hurried(by) {
            self.stop(now, Verdict::Hurried);
        }
    }

    /// The child ended by itself and the pod is told to stop while its leftovers end: what
    /// is left of them has to fit in the budget like everything else.
    pub(super) fn bound(&mut self, now: Instant, by: Trigger) {
        self.count_interrupt(by);
        if self.is_hurried(by) {
            self.settle(now, Hooks::Settled);
        }
        if let State::Leftovers { deadline: None, .. } = self.state {
            let to = after(now, self.rules.plan.budget.0);
            self.record.begun = Some(now);
            if let State::Leftovers { deadline, .. } = &mut self.state {
                *deadline = Some(to);
            }
            self.shorten(to);
        }
    }

    pub(super) fn shorten(&mut self, to: Instant) {
        let (reserve, kill_wait) = (self.rules.plan.reserve(), self.rules.plan.kill_wait);
        match &mut self.state {
            State::Starting { asked: Some(clock) }
            | State::Notify { clock, .. }
            | State::Propagation { clock, .. }
            | State::InFlight { clock, .. }
            | State::Stop { clock }
            | State::Kill { clock } => {
                clock.deadline = clock.deadline.min(to.max(clock.t0));
                self.record.deadline = Some(clock.deadline);
            }
            State::Leftovers {
                deadline: Some(deadline),
                next,
            } => {
                *deadline = (*deadline).min(to);
                self.record.deadline = Some(*deadline);
                match next {
                    LeftoversNext::Stop { at } => *at = (*at).min(reserved(*deadline, kill_wait)),
                    LeftoversNext::Kill { at } => *at = (*at).min(reserved(*deadline, reserve)),
                    LeftoversNext::GiveUp { at } => *at = (*at).min(*deadline),
                }
            }
            _ => {}
        }
    }

    pub(super) fn hold_on(&mut self, now: Instant) {
        self.record.held = Some(now);
        self.leave_traffic();
        let visible = after(now, NOTIFY_LIMIT);
        self.enter(now, State::Held { visible });
    }

    pub(super) fn undo(&mut self, now: Instant) {
        self.evidence = Evidence::default();
        self.actions.push_back(Action::ShowServing);
        self.actions.push_back(Action::Register);
        self.record.verdict = Some(Verdict::Resumed);
        let resumed = self.record.clone();
        self.enter(now, State::Serving);
        self.record = Record::new(self.rules.plan);
        self.actions.push_back(Action::ReportResumed(Box::new(resumed)));
    }

    pub(super) fn visible(&mut self, now: Instant) {
        match &mut self.state {
            State::Notify { visible, .. } => *visible = Visible::Yes,
            State::Held { visible } => *visible = (*visible).min(now),
            _ => {}
        }
    }

    pub(super) fn take_look(&mut self, now: Instant, look: Look) {
        self.record.note_look(look.in_flight);
        let interval = self.rules.poll_interval;
        if let State::InFlight { watch, poll, .. } = &mut self.state {
            watch.take(now, look);
            let begun = match poll {
                Poll::UnderWay { begun } => *begun,
                Poll::Planned { .. } => now,
            };
            let took = now.saturating_duration_since(begun);
            let regular = after(begun, interval).max(now);
            // The look that can complete the quiet period comes the moment it can. A regular
            // one that would still be under way then, if it takes as long as this one did,
            // would only put it off.
            let at = match watch.complete_at() {
                Some(complete) if complete <= after(regular, took) => complete.max(now),
                _ => regular,
            };
            *poll = Poll::Planned { at };
            if !self.record.stalled && watch.is_stalled(now, self.rules.stalled_after) {
                self.record.stalled = true;
                self.actions.push_back(Action::SayStalled);
            }
        }
    }

    pub(super) fn end_leftovers(&mut self, now: Instant) {
        self.record.verdict = self.record.verdict.or(Some(Verdict::ChildExited));
        let deadline = self.deadline();
        let at = match self.hooks {
            Hooks::Settled => now,
            Hooks::Tried => deadline.map_or(after(now, SETTLE_LIMIT), |deadline| {
                reserved(deadline, self.rules.plan.kill_wait)
            }),
        };
        self.actions.push_back(Action::ShowNotServing);
        let next = LeftoversNext::Stop { at };
        self.enter(now, State::Leftovers { deadline, next });
    }

    pub(super) fn settle(&mut self, now: Instant, hooks: Hooks) {
        if let (
            Hooks::Settled,
            State::Leftovers {
                next: LeftoversNext::Stop { at },
                ..
            },
        ) = (hooks, &mut self.state)
        {
            *at = (*at).min(now);
        }
    }

    // What several of them share.

    fn start_clock(&mut self, now: Instant, by: Trigger) -> Clock {
        let clock = Clock {
            t0: now,
            deadline: after(now, self.rules.plan.budget.0),
        };
        self.count_interrupt(by);
        self.record.trigger = Some(by);
        self.record.begun = Some(now);
        self.record.deadline = Some(clock.deadline);
        clock
    }

    fn leave_traffic(&mut self) {
        self.actions.push_back(Action::ShowNotServing);
        self.actions.push_back(Action::Deregister);
    }

    fn skip_waits_of_a_short_grace(&mut self, now: Instant) {
        if self.rules.plan.waits == Waits::Skipped {
            self.stop(now, Verdict::Hurried);
        }
    }

    fn is_hurried(&self, by: Trigger) -> bool {
        self.interrupts >= 2 && by == Trigger::Signal(SIGINT)
    }

    fn count_interrupt(&mut self, by: Trigger) {
        if by == Trigger::Signal(SIGINT) {
            self.interrupts = self.interrupts.saturating_add(1);
        }
    }
}

/// The last moment for what takes `reserve` and has to be over by `deadline`.
pub(super) fn reserved(deadline: Instant, reserve: Duration) -> Instant {
    deadline.checked_sub(reserve).unwrap_or(deadline)
}
