//! The drain as a state machine that reads no clock and touches nothing.
//!
//! An [`Event`] and the time go in through [`Machine::handle`]; [`Action`]s come out of
//! [`Machine::poll_action`]; [`Machine::next_deadline`] says when to come back with
//! [`Event::Tick`] if nothing happens before. What an event does stands in
//! [`table`](super::table); when a phase is over by itself stands in [`Machine::due`].

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::budget::{Plan, Waits};
use super::quiet::{InFlight, Judgement, Look, Watch};
use super::record::{Record, Transition, Trigger, Verdict};
use super::table::{Do, Kind, Phase, rule};

/// NOT_SERVING is taken to be visible after this long even if a Watch's reader is too slow
/// to have been told: the propagation window is not to wait for one stalled peer.
pub const NOTIFY_LIMIT: Duration = Duration::from_millis(50);

/// The number of the signal a person sends with Ctrl-C; a second one skips the waits.
const SIGINT: i32 = 2;

/// The rules of one run, from its configuration.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How the budget is shared out.
    pub plan: Plan,
    /// In-flight at or below this is quiet.
    pub threshold: u64,
    /// From the begin of one look to the begin of the next.
    pub poll_interval: Duration,
    /// What to do while in-flight cannot be counted.
    pub on_unknown: OnUnknown,
    /// A gauge that stands still above the threshold for this long is `stalled`.
    pub stalled_after: Duration,
    /// Whether there is any in-flight source.
    pub measured: Measured,
}

/// What to do while in-flight cannot be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUnknown {
    /// Wait to the bound.
    Wait,
    /// Send the stop signal after it has been unknown for this long without a break.
    ProceedAfter(Duration),
}

/// Whether calls in flight can be counted at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// There is an in-flight source.
    Yes,
    /// There is none: after propagation the child gets its stop signal.
    No,
}

/// What happened in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The child runs.
    ChildUp,
    /// Stop.
    Trigger(Trigger),
    /// The deadline is this moment, if that is earlier than it was.
    Shorten(Instant),
    /// Skip the waits.
    Hurry,
    /// Leave traffic, without a deadline.
    Hold,
    /// Come back from a hold.
    Resume,
    /// Every open Watch has been told NOT_SERVING.
    Notified,
    /// What probers and hooks have to say.
    Evidence(Evidence),
    /// An answer to [`Action::Look`].
    Look(Look),
    /// The child has been reaped.
    ChildGone,
    /// No process is left.
    AllGone,
    /// Time has passed.
    Tick,
}

/// How far the word has got that this instance is leaving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Watchers and probers of the last 30 s.
    pub audience: Told,
    /// Deregistration hooks.
    pub hooks: Told,
}

/// Whether those who need to be told have been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Told {
    /// There is nobody to tell: that proves nothing.
    #[default]
    Nobody,
    /// Somebody has not been told.
    NotAll,
    /// Everybody has been told.
    All,
}

/// What is to be done in the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Show SERVING (or what the statuses were).
    ShowServing,
    /// Show NOT_SERVING, everywhere, until told otherwise.
    ShowNotServing,
    /// Start the hooks that leave the registry.
    Deregister,
    /// Start the hooks that come back to it.
    Register,
    /// Look at the in-flight sources, and answer with [`Event::Look`].
    Look,
    /// Send the child its stop signal, then SIGCONT.
    StopChild,
    /// Send the child SIGKILL.
    KillChild,
    /// Send everything that is left SIGTERM.
    StopLeftovers,
    /// Send everything that is left SIGKILL.
    KillLeftovers,
    /// Tell the log.
    Say(Transition),
    /// Tell the log that in-flight stands still above the threshold.
    SayStalled,
    /// Tell whoever asked that it cannot be done in this phase.
    Refuse(Kind, Phase),
    /// The hold is over without a stop: its report is due.
    ReportResumed(Box<Record>),
    /// Exit.
    Exit,
}

/// The clock of a stop that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clock {
    t0: Instant,
    deadline: Instant,
}

/// Where the run is, with exactly what exists there.
#[derive(Clone, Debug)]
enum State {
    Starting {
        asked: Option<Trigger>,
    },
    Serving,
    Held {
        visible: Instant,
    },
    Notify {
        clock: Clock,
        visible: Visible,
    },
    Propagation {
        clock: Clock,
        since: Instant,
    },
    InFlight {
        clock: Clock,
        watch: Watch,
        poll: Poll,
    },
    Stop {
        clock: Clock,
    },
    Kill {
        clock: Clock,
    },
    Leftovers {
        deadline: Option<Instant>,
        next: LeftoversNext,
    },
    Over,
}

/// Whether every Watch has been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visible {
    NotYet,
    Yes,
}

/// Looks never overlap: one is either under way or planned.
#[derive(Clone, Copy, Debug)]
enum Poll {
    UnderWay { begun: Instant },
    Planned { at: Instant },
}

/// What happens to the leftovers next, and when.
#[derive(Clone, Copy, Debug)]
enum LeftoversNext {
    Kill { at: Instant },
    GiveUp { at: Instant },
}

/// What ends a phase whose time is up.
#[derive(Clone, Copy, Debug)]
enum Due {
    Propagate,
    WatchInFlight,
    Look,
    Stop(Verdict),
    Kill,
    KillLeftovers,
    Finish,
}

/// The drain of one run.
#[derive(Clone, Debug)]
pub struct Machine {
    rules: Rules,
    state: State,
    evidence: Evidence,
    interrupts: u32,
    record: Record,
    actions: VecDeque<Action>,
}

impl Machine {
    /// A machine whose child is about to be started.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            state: State::Starting { asked: None },
            evidence: Evidence::default(),
            interrupts: 0,
            record: Record::new(rules.plan),
            actions: VecDeque::new(),
        }
    }

    /// Where the run is.
    pub fn phase(&self) -> Phase {
        match self.state {
            State::Starting { .. } => Phase::Starting,
            State::Serving => Phase::Serving,
            State::Held { .. } => Phase::Held,
            State::Notify { .. } => Phase::Notify,
            State::Propagation { .. } => Phase::Propagation,
            State::InFlight { .. } => Phase::InFlight,
            State::Stop { .. } => Phase::Stop,
            State::Kill { .. } => Phase::Kill,
            State::Leftovers { .. } => Phase::Leftovers,
            State::Over => Phase::Over,
        }
    }

    /// What has happened so far.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The moment by which everything is over, once a stop has begun.
    pub fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Notify { clock, .. }
            | State::Propagation { clock, .. }
            | State::InFlight { clock, .. }
            | State::Stop { clock }
            | State::Kill { clock } => Some(clock.deadline),
            State::Leftovers { deadline, .. } => deadline,
            State::Starting { .. } | State::Serving | State::Held { .. } | State::Over => None,
        }
    }

    /// The next thing to be done in the world, in order.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Takes in what happened at `now`, and leaves every phase whose time is up.
    pub fn handle(&mut self, now: Instant, event: Event) {
        let kind = event.kind();
        let phase = self.phase();
        match (rule(phase, kind), event) {
            (Do::Nothing, _) => return,
            (Do::Refuse, _) => self.actions.push_back(Action::Refuse(kind, phase)),
            (Do::Remember, Event::Trigger(by)) => self.remember(by),
            (Do::Serve, _) => self.serve(now),
            (Do::Begin, Event::Trigger(by)) => self.begin(now, by),
            (Do::BeginHeld, Event::Trigger(by)) => self.begin_held(now, by),
            (Do::Join, Event::Trigger(by)) => self.join(now, by),
            (Do::Shorten, Event::Shorten(deadline)) => self.shorten(deadline),
            (Do::HurryUp, _) => self.stop(now, Verdict::Hurried),
            (Do::HoldOn, _) => self.hold_on(now),
            (Do::Undo, _) => self.undo(now),
            (Do::Visible, _) => self.visible(),
            (Do::Note, Event::Evidence(evidence)) => self.evidence = evidence,
            (Do::TakeLook, Event::Look(look)) => self.take_look(now, look),
            (Do::EndLeftovers, _) => self.end_leftovers(now),
            (Do::Finish, _) => self.finish(now),
            // `Weigh`, and cells that only their own event can reach.
            _ => {}
        }
        while let Some(due) = self.due(now) {
            self.perform(now, due);
        }
    }

    /// What the time that has passed asks for: when each phase is over by itself.
    fn due(&self, now: Instant) -> Option<Due> {
        match &self.state {
            State::Notify { clock, visible } => {
                let told = *visible == Visible::Yes || now >= clock.t0 + NOTIFY_LIMIT;
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
            // Not even SIGKILL ends a process that the kernel does not let go; D holds.
            State::Kill { clock } => (now >= clock.deadline).then_some(Due::Finish),
            State::Leftovers {
                next: LeftoversNext::Kill { at },
                ..
            } => (now >= *at).then_some(Due::KillLeftovers),
            State::Leftovers {
                next: LeftoversNext::GiveUp { at },
                ..
            } => (now >= *at).then_some(Due::Finish),
            State::Starting { .. } | State::Serving | State::Held { .. } | State::Over => None,
        }
    }

    fn in_flight_due(&self, now: Instant, clock: Clock, watch: &Watch, poll: Poll) -> Option<Due> {
        let judgement = watch.judgement();
        if judgement == Judgement::Quiet {
            return Some(Due::Stop(Verdict::Drained));
        }
        if now >= self.stop_at(clock) {
            return Some(Due::Stop(match watch.is_stalled(now, self.rules.stalled_after) {
                true => Verdict::Stalled,
                false => Verdict::Deadline,
            }));
        }
        if let (Judgement::UnknownSince(since), OnUnknown::ProceedAfter(patience)) =
            (judgement, self.rules.on_unknown)
            && now >= since + patience
        {
            return Some(Due::Stop(Verdict::Unmeasured));
        }
        match poll {
            Poll::Planned { at } if now >= at => Some(Due::Look),
            Poll::Planned { .. } | Poll::UnderWay { .. } => None,
        }
    }

    /// When to come back with [`Event::Tick`] if nothing happens before.
    pub fn next_deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Notify { clock, .. } => Some(clock.t0 + NOTIFY_LIMIT),
            State::Propagation { clock, since } => Some(self.propagation_end(*clock, *since)),
            State::InFlight { clock, watch, poll } => {
                let bound = self.stop_at(*clock);
                let look = match poll {
                    Poll::Planned { at } => Some(*at),
                    Poll::UnderWay { .. } => None,
                };
                let patience = match (watch.judgement(), self.rules.on_unknown) {
                    (Judgement::UnknownSince(since), OnUnknown::ProceedAfter(patience)) => {
                        Some(since + patience)
                    }
                    _ => None,
                };
                [Some(bound), look, patience].into_iter().flatten().min()
            }
            State::Stop { clock } => Some(self.kill_at(*clock)),
            State::Kill { clock } => Some(clock.deadline),
            State::Leftovers {
                next: LeftoversNext::Kill { at } | LeftoversNext::GiveUp { at },
                ..
            } => Some(*at),
            State::Starting { .. } | State::Serving | State::Held { .. } | State::Over => None,
        }
    }

    fn perform(&mut self, now: Instant, due: Due) {
        match due {
            Due::Propagate => self.propagate(now),
            Due::WatchInFlight => self.watch_in_flight(now),
            Due::Look => self.look(now),
            Due::Stop(verdict) => self.stop(now, verdict),
            Due::Kill => self.kill(now),
            Due::KillLeftovers => self.kill_leftovers(now),
            Due::Finish => self.finish(now),
        }
    }

    // The clock.

    /// SIGKILL comes here: `D − killWait`, and never so late that we would be gone after D.
    fn kill_at(&self, clock: Clock) -> Instant {
        let plan = &self.rules.plan;
        back(clock, clock.deadline, plan.kill_wait.max(plan.reserve()))
    }

    /// The stop signal comes here at the latest, whatever the gauge says:
    /// `D − killWait − stopTimeout`.
    fn stop_at(&self, clock: Clock) -> Instant {
        back(clock, self.kill_at(clock), self.rules.plan.stop_timeout)
    }

    /// The end of a propagation window that is visible `since`, on the evidence so far.
    fn propagation_end(&self, clock: Clock, since: Instant) -> Instant {
        let window = self.rules.plan.propagation;
        let length = if self.evidence.is_complete() {
            window.min
        } else {
            window.max
        };
        (since + length).min(self.stop_at(clock))
    }

    // The cells of the table.

    fn remember(&mut self, by: Trigger) {
        self.count_interrupt(by);
        self.state = State::Starting { asked: Some(by) };
    }

    fn serve(&mut self, now: Instant) {
        let asked = match self.state {
            State::Starting { asked } => asked,
            _ => None,
        };
        match asked {
            // Nobody was ever sent here, so there is nothing to wait for.
            Some(by) => {
                let clock = self.start_clock(now, by);
                self.actions.push_back(Action::ShowNotServing);
                self.enter(
                    now,
                    State::Notify {
                        clock,
                        visible: Visible::NotYet,
                    },
                );
                self.stop(now, Verdict::Hurried);
            }
            None => {
                self.actions.push_back(Action::ShowServing);
                self.enter(now, State::Serving);
            }
        }
    }

    fn begin(&mut self, now: Instant, by: Trigger) {
        self.count_interrupt(by);
        let clock = self.start_clock(now, by);
        self.leave_traffic();
        self.enter(
            now,
            State::Notify {
                clock,
                visible: Visible::NotYet,
            },
        );
        if self.rules.plan.waits == Waits::Skipped {
            self.stop(now, Verdict::Hurried);
        }
    }

    fn begin_held(&mut self, now: Instant, by: Trigger) {
        self.count_interrupt(by);
        if let State::Held { visible } = self.state {
            let clock = self.start_clock(now, by);
            self.enter(
                now,
                State::Propagation {
                    clock,
                    since: visible,
                },
            );
            if self.rules.plan.waits == Waits::Skipped {
                self.stop(now, Verdict::Hurried);
            }
        }
    }

    fn join(&mut self, now: Instant, by: Trigger) {
        self.count_interrupt(by);
        if self.interrupts >= 2 && by == Trigger::Signal(SIGINT) {
            self.stop(now, Verdict::Hurried);
        }
    }

    fn shorten(&mut self, to: Instant) {
        let reserve = self.rules.plan.reserve();
        match &mut self.state {
            State::Notify { clock, .. }
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
                let (LeftoversNext::Kill { at } | LeftoversNext::GiveUp { at }) = next;
                *at = (*at).min(deadline.checked_sub(reserve).unwrap_or(*deadline));
            }
            _ => {}
        }
    }

    fn hold_on(&mut self, now: Instant) {
        self.record.held = Some(now);
        self.leave_traffic();
        self.enter(now, State::Held { visible: now });
    }

    fn undo(&mut self, now: Instant) {
        self.evidence = Evidence::default();
        self.actions.push_back(Action::ShowServing);
        self.actions.push_back(Action::Register);
        self.enter(now, State::Serving);
        let mut resumed = std::mem::replace(&mut self.record, Record::new(self.rules.plan));
        resumed.verdict = Some(Verdict::Resumed);
        self.actions.push_back(Action::ReportResumed(Box::new(resumed)));
    }

    fn visible(&mut self) {
        if let State::Notify { visible, .. } = &mut self.state {
            *visible = Visible::Yes;
        }
    }

    fn take_look(&mut self, now: Instant, look: Look) {
        self.record.note_look(look.in_flight);
        let interval = self.rules.poll_interval;
        if let State::InFlight { watch, poll, .. } = &mut self.state {
            watch.take(now, look);
            let begun = match poll {
                Poll::UnderWay { begun } => *begun,
                Poll::Planned { .. } => now,
            };
            // The look that can complete the quiet period comes the moment it can.
            let regular = begun + interval;
            let at = watch
                .complete_at()
                .map_or(regular, |complete| complete.min(regular));
            *poll = Poll::Planned { at: at.max(now) };
            if !self.record.stalled && watch.is_stalled(now, self.rules.stalled_after) {
                self.record.stalled = true;
                self.actions.push_back(Action::SayStalled);
            }
        }
    }

    fn end_leftovers(&mut self, now: Instant) {
        if self.record.verdict.is_none() {
            self.record.verdict = Some(Verdict::ChildExited);
        }
        let plan = &self.rules.plan;
        let deadline = self.deadline();
        let at = now + plan.kill_wait;
        let at = deadline.map_or(at, |deadline| {
            at.min(deadline.checked_sub(plan.reserve()).unwrap_or(now))
        });
        self.actions.push_back(Action::ShowNotServing);
        self.actions.push_back(Action::StopLeftovers);
        self.enter(
            now,
            State::Leftovers {
                deadline,
                next: LeftoversNext::Kill { at },
            },
        );
    }

    fn finish(&mut self, now: Instant) {
        if self.record.verdict.is_none() {
            self.record.verdict = Some(Verdict::ChildExited);
        }
        self.enter(now, State::Over);
        self.actions.push_back(Action::Exit);
    }

    // What time asks for.

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

    fn stop(&mut self, now: Instant, verdict: Verdict) {
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

    fn kill_leftovers(&mut self, now: Instant) {
        if let State::Leftovers { next, deadline } = &mut self.state {
            let at = deadline.unwrap_or(now + self.rules.plan.kill_wait);
            *next = LeftoversNext::GiveUp { at };
            self.record.leftovers_killed = true;
            self.actions.push_back(Action::KillLeftovers);
        }
    }

    // What several of them share.

    fn start_clock(&mut self, now: Instant, by: Trigger) -> Clock {
        let clock = Clock {
            t0: now,
            deadline: now + self.rules.plan.budget.0,
        };
        self.record.trigger = Some(by);
        self.record.begun = Some(now);
        self.record.deadline = Some(clock.deadline);
        clock
    }

    fn leave_traffic(&mut self) {
        self.actions.push_back(Action::ShowNotServing);
        self.actions.push_back(Action::Deregister);
    }

    fn count_interrupt(&mut self, by: Trigger) {
        if by == Trigger::Signal(SIGINT) {
            self.interrupts = self.interrupts.saturating_add(1);
        }
    }

    fn enter(&mut self, now: Instant, state: State) {
        let from = self.phase();
        self.state = state;
        let to = self.phase();
        self.record.enter(to, now);
        self.actions.push_back(Action::Say(Transition {
            from,
            to,
            verdict: self.record.verdict,
        }));
    }
}

/// `span` before `moment`, but not before the clock began.
fn back(clock: Clock, moment: Instant, span: Duration) -> Instant {
    moment.checked_sub(span).unwrap_or(clock.t0).max(clock.t0)
}

impl Event {
    /// Its column in the table.
    pub fn kind(&self) -> Kind {
        match self {
            Self::ChildUp => Kind::ChildUp,
            Self::Trigger(_) => Kind::Trigger,
            Self::Shorten(_) => Kind::Shorten,
            Self::Hurry => Kind::Hurry,
            Self::Hold => Kind::Hold,
            Self::Resume => Kind::Resume,
            Self::Notified => Kind::Notified,
            Self::Evidence(_) => Kind::Evidence,
            Self::Look(_) => Kind::Look,
            Self::ChildGone => Kind::ChildGone,
            Self::AllGone => Kind::AllGone,
            Self::Tick => Kind::Tick,
        }
    }
}

impl Evidence {
    /// Whether the propagation window may end between `min` and `max`: everyone who asks
    /// has been told and the hooks are done. Where there is neither, nothing is proven.
    fn is_complete(&self) -> bool {
        use Told::{All, Nobody};
        matches!((self.audience, self.hooks), (All, All | Nobody) | (Nobody, All))
    }
}

/// The last reading a drain had of the calls in flight.
impl From<Option<u64>> for InFlight {
    fn from(count: Option<u64>) -> Self {
        count.map_or(Self::Unknown, Self::Count)
    }
}
