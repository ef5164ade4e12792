//! When each phase is over by itself, and what is done then.

use std::time::{Duration, Instant};

use super::cells::reserved;
use super::{Action, Clock, LeftoversNext, Machine, Measured, NOTIFY_LIMIT, OnUnknown, Poll, State, Visible};
use crate::drain::budget::after;
use crate::drain::quiet::{Judgement, Watch};
use crate::drain::record::Verdict;

/// What the time that has passed asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    Propagate,
    WatchInFlight,
    Look,
    Stop(Verdict),
    Kill,
    StopLeftovers,
    KillLeftovers,
    Abandon,
    Finish,
}

impl Machine {
    /// What is due at `now`; `None` until [`Machine::next_deadline`].
    pub(super) fn due(&self, now: Instant) -> Option<Due> {
        match &self.state {
            State::Starting { asked: Some(clock) } => (now >= clock.deadline).then_some(Due::Abandon),
            State::Notify { clock, visible } => {
                let told = *visible == Visible::Yes || now >= self.notify_end(*clock);
                told.then_some(Due::Propagate)
            }
            State::Propagation { clock, since } => {
                let over = now >= self.propagation_end(*clock, *since);
                over.then_some(match self.rules.measured {
                    Measured::Yes => Due::WatchInFlight,
                    Measured::No => Due::Stop(Verdict::Unmeasured),
                })
            }
            State::InFlight { clock, watch, poll } => self.in_flight_due(now, *clock, watch, *poll),
            State::Stop { clock } => (now >= self.kill_at(*clock)).then_some(Due::Kill),
            // Not even SIGKILL ends a process that the kernel does not let go (signal(7), the
            // D state of ps(1)); the deadline holds for it too.
            State::Kill { clock } => (now >= clock.deadline).then_some(Due::Abandon),
            State::Leftovers {
                next: LeftoversNext::Stop { at },
                ..
            } => (now >= *at).then_some(Due::StopLeftovers),
            State::Leftovers {
                next: LeftoversNext::Kill { at },
                ..
            } => (now >= *at).then_some(Due::KillLeftovers),
            State::Leftovers {
                next: LeftoversNext::GiveUp { at },
                ..
            } => (now >= *at).then_some(Due::Finish),
            State::Starting { asked: None } | State::Serving | State::Held { .. } | State::Over => None,
        }
    }

    fn in_flight_due(&self, now: Instant, clock: Clock, watch: &Watch, poll: Poll) -> Option<Due> {
        if watch.judgement() == Judgement::Quiet {
            return Some(Due::Stop(Verdict::Drained));
        }
        if now >= self.stop_at(clock) {
            return Some(Due::Stop(match watch.is_stalled(now, self.rules.stalled_after) {
                true => Verdict::Stalled,
                false => Verdict::Deadline,
            }));
        }
        if self.patience_end(watch).is_some_and(|end| now >= end) {
            return Some(Due::Stop(Verdict::Unmeasured));
        }
        match poll {
            Poll::Planned { at } if now >= at => Some(Due::Look),
            Poll::Planned { .. } | Poll::UnderWay { .. } => None,
        }
    }

    /// When to come back with [`Event::Tick`](super::Event::Tick) if nothing happens before.
    pub fn next_deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Starting { asked } => asked.map(|clock| clock.deadline),
            State::Notify { clock, .. } => Some(self.notify_end(*clock)),
            State::Propagation { clock, since } => Some(self.propagation_end(*clock, *since)),
            State::InFlight { clock, watch, poll } => {
                let look = match poll {
                    Poll::Planned { at } => Some(*at),
                    Poll::UnderWay { .. } => None,
                };
                let moments = [Some(self.stop_at(*clock)), look, self.patience_end(watch)];
                moments.into_iter().flatten().min()
            }
            State::Stop { clock } => Some(self.kill_at(*clock)),
            State::Kill { clock } => Some(clock.deadline),
            State::Leftovers {
                next: LeftoversNext::Stop { at } | LeftoversNext::Kill { at } | LeftoversNext::GiveUp { at },
                ..
            } => Some(*at),
            State::Serving | State::Held { .. } | State::Over => None,
        }
    }

    pub(super) fn perform(&mut self, now: Instant, due: Due) {
        match due {
            Due::Propagate => self.propagate(now),
            Due::WatchInFlight => self.watch_in_flight(now),
            Due::Look => self.look(now),
            Due::Stop(verdict) => self.stop(now, verdict),
            Due::Kill => self.kill(now),
            Due::StopLeftovers => self.stop_leftovers(now),
            Due::KillLeftovers => self.kill_leftovers(now),
            Due::Abandon => self.abandon(now),
            Due::Finish => self.finish(now),
        }
    }

    // The clock.

    /// SIGKILL comes here: `D − killWait`.
    fn kill_at(&self, clock: Clock) -> Instant {
        back(clock, clock.deadline, self.rules.plan.kill_wait)
    }

    /// The stop signal comes here at the latest, whatever the gauge says:
    /// `D − killWait − stopTimeout`.
    fn stop_at(&self, clock: Clock) -> Instant {
        back(clock, self.kill_at(clock), self.rules.plan.stop_timeout)
    }

    /// A Watch's reader that has not been told by then is not waited for.
    fn notify_end(&self, clock: Clock) -> Instant {
        after(clock.t0, NOTIFY_LIMIT).min(self.stop_at(clock))
    }

    /// The end of a propagation window that is visible `since`, on the evidence so far.
    fn propagation_end(&self, clock: Clock, since: Instant) -> Instant {
        let window = self.rules.plan.propagation;
        let length = if self.evidence.is_complete() {
            window.min
        } else {
            window.max
        };
        after(since, length).min(self.stop_at(clock))
    }

    /// When in-flight has been unknown for longer than it is waited for. Before the first
    /// answer nobody has asked, which is not the same as not knowing.
    fn patience_end(&self, watch: &Watch) -> Option<Instant> {
        match (watch.judgement(), self.rules.on_unknown) {
            (Judgement::UnknownSince(since), OnUnknown::ProceedAfter(patience)) => {
                Some(after(since, patience))
            }
            _ => None,
        }
    }

    // What is done then.

    fn propagate(&mut self, now: Instant) {
        if let State::Notify { clock, .. } = self.state {
            self.enter(now, State::Propagation { clock, since: now });
        }
    }

    fn watch_in_flight(&mut self, now: Instant) {
        if let State::Propagation { clock, .. } = self.state {
            let watch = Watch::new(self.rules.threshold, self.rules.plan.quiet, now);
            self.enter(
                now,
                State::InFlight {
                    clock,
                    watch,
                    poll: Poll::Planned { at: now },
                },
            );
        }
    }

    fn look(&mut self, now: Instant) {
        if let State::InFlight { poll, .. } = &mut self.state {
            *poll = Poll::UnderWay { begun: now };
            self.actions.push_back(Action::Look);
        }
    }

    pub(super) fn stop(&mut self, now: Instant, verdict: Verdict) {
        if let State::Notify { clock, .. }
        | State::Propagation { clock, .. }
        | State::InFlight { clock, .. } = self.state
        {
            self.record.verdict = Some(verdict);
            self.enter(now, State::Stop { clock });
            self.actions.push_back(Action::StopChild);
        }
    }

    fn kill(&mut self, now: Instant) {
        if let State::Stop { clock } = self.state {
            self.record.killed = true;
            self.enter(now, State::Kill { clock });
            self.actions.push_back(Action::KillChild);
        }
    }

    fn stop_leftovers(&mut self, now: Instant) {
        let (grace, reserve) = (self.rules.plan.kill_wait, self.rules.plan.reserve());
        if let State::Leftovers { next, deadline } = &mut self.state {
            let at = after(now, grace);
            *next = LeftoversNext::Kill {
                at: deadline.map_or(at, |deadline| at.min(reserved(deadline, reserve))),
            };
            self.actions.push_back(Action::StopLeftovers);
        }
    }

    fn kill_leftovers(&mut self, now: Instant) {
        let grace = self.rules.plan.kill_wait;
        if let State::Leftovers { next, deadline } = &mut self.state {
            let at = after(now, grace);
            *next = LeftoversNext::GiveUp {
                at: deadline.map_or(at, |deadline| at.min(deadline)),
            };
            self.record.leftovers_killed = true;
            self.actions.push_back(Action::KillLeftovers);
        }
    }

    /// The deadline has come and the child is still not reaped: what else lives is not left
    /// behind, and we go.
    fn abandon(&mut self, now: Instant) {
        self.record.leftovers_killed = true;
        self.actions.push_back(Action::KillLeftovers);
        self.record.verdict = self.record.verdict.or(Some(Verdict::Deadline));
        self.finish(now);
    }

    pub(super) fn finish(&mut self, now: Instant) {
        self.enter(now, State::Over);
        self.actions.push_back(Action::Exit);
    }
}

/// `span` before `moment`, but not before the clock began.
fn back(clock: Clock, moment: Instant, span: Duration) -> Instant {
    moment.checked_sub(span).unwrap_or(clock.t0).max(clock.t0)
}
