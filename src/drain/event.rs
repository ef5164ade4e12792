//! What goes into the machine: the rules of a run, and what happens in the world.

use std::time::{Duration, Instant};

use super::budget::Plan;
use super::quiet::Look;
use super::record::Trigger;
use super::table::Kind;

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
    /// An answer to [`Action::Look`](super::action::Action::Look).
    Look(Look),
    /// Whether hooks are still tried.
    Hooks(Hooks),
    /// The child has been reaped.
    ChildGone,
    /// No process is left.
    AllGone,
    /// Time has passed.
    Tick,
}

/// Whether hooks are still tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hooks {
    /// At least one is.
    Tried,
    /// None is: they are done, given up, or there are none.
    #[default]
    Settled,
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
            Self::Hooks(_) => Kind::Hooks,
            Self::ChildGone => Kind::ChildGone,
            Self::AllGone => Kind::AllGone,
            Self::Tick => Kind::Tick,
        }
    }
}

impl Evidence {
    /// Whether the propagation window may end between `min` and `max`: everyone who asks
    /// has been told and the hooks are done. Where there is neither, nothing is proven.
    pub(super) fn is_complete(&self) -> bool {
        use Told::{All, Nobody};
        matches!((self.audience, self.hooks), (All, All | Nobody) | (Nobody, All))
    }
}
