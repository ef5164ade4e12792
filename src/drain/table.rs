//! Every rule of the drain in one table: in this phase, on that event, do this.
//!
//! What an event does once a phase's own time is up stands in `Machine::due`; everything
//! else that can happen stands here, and the chapter `docs/drain.md` prints it from here.

use std::fmt;

/// Where a run is. The order is the order of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The child is being started.
    Starting,
    /// The child serves and nobody asked it to stop.
    Serving,
    /// NOT_SERVING for maintenance, without a deadline; `resume` undoes it.
    Held,
    /// Health turns NOT_SERVING, hooks start.
    Notify,
    /// Load balancers get the time to notice; the child serves on.
    Propagation,
    /// Calls under way are watched until quiet.
    InFlight,
    /// The child has its stop signal.
    Stop,
    /// The child has SIGKILL.
    Kill,
    /// The child is gone; what else lives is told to go.
    Leftovers,
    /// Nothing is left to do but to exit.
    Over,
}

/// What can happen, a column of the table each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The child runs.
    ChildUp,
    /// A stop signal, a preStop hook, an admin call: stop.
    Trigger,
    /// There is less time than was thought.
    Shorten,
    /// Skip the waits.
    Hurry,
    /// Leave traffic, without a deadline.
    Hold,
    /// Come back.
    Resume,
    /// Every open Watch has been told NOT_SERVING.
    Notified,
    /// What probers and hooks have to say of the propagation.
    Evidence,
    /// An answer of the in-flight sources.
    Look,
    /// The child has been reaped.
    ChildGone,
    /// No process is left.
    AllGone,
    /// Time has passed.
    Tick,
}

/// What is done, a cell of the table each. In every cell that does anything, phases whose
/// time is up are left afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Do {
    /// Nothing: it has no meaning here, or it is too late to matter.
    Nothing,
    /// Nothing, and whoever asked is told why not.
    Refuse,
    /// Leave the phase if its time is up.
    Weigh,
    /// Remember that a stop was asked for before the child ran.
    Remember,
    /// The child runs: SERVING, unless a stop was asked for already.
    Serve,
    /// T0: NOT_SERVING, hooks, the clock starts.
    Begin,
    /// T0 during a hold: the clock starts, propagation already spent is not waited again.
    BeginHeld,
    /// The stop goes on as it was; a second SIGINT skips the waits.
    Join,
    /// The deadline moves earlier, never later.
    Shorten,
    /// The waits are over: the child gets its stop signal.
    HurryUp,
    /// NOT_SERVING and hooks, without a clock.
    HoldOn,
    /// SERVING again, and the hooks that come back.
    Undo,
    /// NOT_SERVING is visible.
    Visible,
    /// Take the evidence in.
    Note,
    /// Take the look in, and plan the next.
    TakeLook,
    /// The child is gone: the rest gets SIGTERM.
    EndLeftovers,
    /// Over.
    Finish,
}

use Do::{
    Begin, BeginHeld, EndLeftovers, Finish, HoldOn, HurryUp, Join, Note, Nothing, Refuse, Remember, Serve,
    Shorten, TakeLook, Undo, Visible, Weigh,
};

/// The number of phases.
pub const PHASES: usize = 10;
/// The number of kinds of events.
pub const KINDS: usize = 12;

/// Phase × event → what is done.
#[rustfmt::skip]
pub const TABLE: [[Do; KINDS]; PHASES] = [
    //                 ChildUp  Trigger    Shorten  Hurry    Hold     Resume   Notified Evidence Look      ChildGone     AllGone  Tick
    /* Starting    */ [Serve,   Remember,  Nothing, Refuse,  Refuse,  Refuse,  Nothing, Note,    Nothing,  EndLeftovers, Nothing, Weigh],
    /* Serving     */ [Nothing, Begin,     Nothing, Refuse,  HoldOn,  Refuse,  Nothing, Note,    Nothing,  EndLeftovers, Nothing, Weigh],
    /* Held        */ [Nothing, BeginHeld, Nothing, Refuse,  Nothing, Undo,    Nothing, Note,    Nothing,  EndLeftovers, Nothing, Weigh],
    /* Notify      */ [Nothing, Join,      Shorten, HurryUp, Refuse,  Refuse,  Visible, Note,    Nothing,  EndLeftovers, Nothing, Weigh],
    /* Propagation */ [Nothing, Join,      Shorten, HurryUp, Refuse,  Refuse,  Nothing, Note,    Nothing,  EndLeftovers, Nothing, Weigh],
    /* InFlight    */ [Nothing, Join,      Shorten, HurryUp, Refuse,  Refuse,  Nothing, Nothing, TakeLook, EndLeftovers, Nothing, Weigh],
    /* Stop        */ [Nothing, Nothing,   Shorten, Nothing, Refuse,  Refuse,  Nothing, Nothing, Nothing,  EndLeftovers, Nothing, Weigh],
    /* Kill        */ [Nothing, Nothing,   Shorten, Nothing, Refuse,  Refuse,  Nothing, Nothing, Nothing,  EndLeftovers, Nothing, Weigh],
    /* Leftovers   */ [Nothing, Nothing,   Shorten, Nothing, Refuse,  Refuse,  Nothing, Nothing, Nothing,  Nothing,      Finish,  Weigh],
    /* Over        */ [Nothing, Nothing,   Nothing, Nothing, Refuse,  Refuse,  Nothing, Nothing, Nothing,  Nothing,      Nothing, Nothing],
];

impl Phase {
    /// Every phase, in the table's order.
    pub const ALL: [Self; PHASES] = [
        Self::Starting,
        Self::Serving,
        Self::Held,
        Self::Notify,
        Self::Propagation,
        Self::InFlight,
        Self::Stop,
        Self::Kill,
        Self::Leftovers,
        Self::Over,
    ];

    /// Its name in logs, metrics and docs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Serving => "serving",
            Self::Held => "held",
            Self::Notify => "notify",
            Self::Propagation => "propagation",
            Self::InFlight => "in-flight",
            Self::Stop => "stop",
            Self::Kill => "kill",
            Self::Leftovers => "leftovers",
            Self::Over => "over",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Kind {
    /// Every kind of event, in the table's order.
    pub const ALL: [Self; KINDS] = [
        Self::ChildUp,
        Self::Trigger,
        Self::Shorten,
        Self::Hurry,
        Self::Hold,
        Self::Resume,
        Self::Notified,
        Self::Evidence,
        Self::Look,
        Self::ChildGone,
        Self::AllGone,
        Self::Tick,
    ];
}

/// What the table says of `kind` in `phase`.
pub const fn rule(phase: Phase, kind: Kind) -> Do {
    TABLE[phase as usize][kind as usize]
}

/// The table as Markdown, for the docs.
pub fn markdown() -> String {
    let mut text = String::from("| phase |");
    for kind in Kind::ALL {
        text.push_str(&format!(" {kind:?} |"));
    }
    text.push_str("\n| --- |");
    text.push_str(&" --- |".repeat(KINDS));
    for phase in Phase::ALL {
        text.push_str(&format!("\n| **{phase}** |"));
        for kind in Kind::ALL {
            match rule(phase, kind) {
                Nothing => text.push_str(" · |"),
                what => text.push_str(&format!(" {what:?} |")),
            }
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_are_where_their_names_say() {
        for (row, phase) in Phase::ALL.into_iter().enumerate() {
            assert_eq!(phase as usize, row);
        }
        for (column, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, column);
        }
    }
}
