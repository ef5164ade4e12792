//! The drain as a state machine that reads no clock and touches nothing.
//!
//! An [`Event`] and the time go in through [`Machine::handle`]; [`Action`]s come out of
//! [`Machine::poll_action`]; [`Machine::next_deadline`] says when to come back with
//! [`Event::Tick`] if nothing happens before. What an event does stands in
//! [`table`](super::table) and is carried out in `machine/cells.rs`; when a phase is over
//! by itself stands in `machine/time.rs`.

mod cells;
mod time;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

pub use super::action::Action;
pub use super::event::{Event, Evidence, Hooks, Measured, OnUnknown, Rules, Told};
use super::quiet::Watch;
use super::record::{Record, Transition, Verdict};
use super::table::{Do, Phase, rule};

/// NOT_SERVING is taken to be visible after this long even if a Watch's reader is too slow
/// to have been told: the propagation window is not to wait for one stalled peer.
pub const NOTIFY_LIMIT: Duration = Duration::from_millis(50);

/// Without a deadline hooks that are still tried when the child is gone get so long.
const SETTLE_LIMIT: Duration = Duration::from_secs(5);

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
        asked: Option<Clock>,
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
    Stop { at: Instant },
    Kill { at: Instant },
    GiveUp { at: Instant },
}

/// The drain of one run.
#[derive(Clone, Debug)]
pub struct Machine {
    rules: Rules,
    state: State,
    evidence: Evidence,
    hooks: Hooks,
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
            hooks: Hooks::default(),
            interrupts: 0,
            record: Record::new(rules.plan),
            actions: VecDeque::new(),
        }
    }

    /// The rules it runs by.
    pub fn rules(&self) -> Rules {
        self.rules
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

    /// Whether calls in flight can be counted.
    pub fn measured(&self) -> Measured {
        self.rules.measured
    }

    /// The moment by which everything is over, once a stop has begun.
    pub fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Notify { clock, .. }
            | State::Propagation { clock, .. }
            | State::InFlight { clock, .. }
            | State::Stop { clock }
            | State::Kill { clock } => Some(clock.deadline),
            State::Starting { asked } => asked.map(|clock| clock.deadline),
            State::Leftovers { deadline, .. } => deadline,
            State::Serving | State::Held { .. } | State::Over => None,
        }
    }

    /// The next thing to be done in the world, in order.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Whether there is something to be done.
    pub fn has_actions(&self) -> bool {
        !self.actions.is_empty()
    }

    /// Takes in what happened at `now`, and leaves every phase whose time is up.
    pub fn handle(&mut self, now: Instant, event: Event) {
        self.take(now, event);
        while let Some(due) = self.due(now) {
            self.perform(now, due);
        }
    }

    /// Does what the table says.
    fn take(&mut self, now: Instant, event: Event) {
        let kind = event.kind();
        let phase = self.phase();
        match (rule(phase, kind), event) {
            (Do::Refuse, _) => self.actions.push_back(Action::Refuse(kind, phase)),
            (Do::Remember, Event::Trigger(by)) => self.remember(now, by),
            (Do::Serve, _) => self.serve(now),
            (Do::Begin, Event::Trigger(by)) => self.begin(now, by),
            (Do::BeginHeld, Event::Trigger(by)) => self.begin_held(now, by),
            (Do::Join, Event::Trigger(by)) => self.join(now, by),
            (Do::Bound, Event::Trigger(by)) => self.bound(now, by),
            (Do::Shorten, Event::Shorten(deadline)) => self.shorten(deadline),
            (Do::HurryUp, _) => self.stop(now, Verdict::Hurried),
            (Do::LeaveHooks, _) => self.settle(now, Hooks::Settled),
            (Do::HoldOn, _) => self.hold_on(now),
            (Do::Undo, _) => self.undo(now),
            (Do::Visible, _) => self.visible(now),
            (Do::Note, Event::Evidence(evidence)) => self.evidence = evidence,
            (Do::TakeLook, Event::Look(look)) => self.take_look(now, look),
            (Do::Mind, Event::Hooks(hooks)) => self.hooks = hooks,
            (Do::EndLeftovers, _) => self.end_leftovers(now),
            (Do::Settle, Event::Hooks(hooks)) => self.settle(now, hooks),
            (Do::Finish, _) => self.finish(now),
            // `Nothing` and `Weigh`; no other cell is reached without its own event.
            _ => {}
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
