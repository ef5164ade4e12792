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

/// An enum whose docs are also what it says of itself in `docs/drain.md`.
macro_rules! said {
    ($(#[$attributes:meta])* $name:ident { $(#[doc = $says:literal] $variant:ident,)* }) => {
        $(#[$attributes])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[doc = $says] $variant,)*
        }

        impl $name {
            /// What it is, in a sentence: its entry in the docs' legend.
            pub fn says(self) -> &'static str {
                match self {
                    $(Self::$variant => $says.trim_start(),)*
                }
            }
        }
    };
}

said! {
    /// What can happen, a column of the table each.
    Kind {
        /// The child runs.
        ChildUp,
        /// A stop signal or a preStop hook: stop.
        Trigger,
        /// There is less time than was thought: the deadline is this moment, if that is earlier.
        Shorten,
        /// Skip the waits.
        Hurry,
        /// Leave traffic, without a deadline.
        Hold,
        /// Come back from a hold.
        Resume,
        /// Every open Watch has been told NOT_SERVING.
        Notified,
        /// What probers and hooks have to say of how far the word has got.
        Evidence,
        /// An answer of the in-flight sources.
        Look,
        /// Whether hooks are still tried.
        Hooks,
        /// The child has been reaped.
        ChildGone,
        /// No process is left.
        AllGone,
        /// Time has passed.
        Tick,
    }
}

said! {
    /// What is done, a cell of the table each. Whatever the cell, phases whose time is up are
    /// left afterwards.
    Do {
        /// Nothing: it has no meaning here, or it is too late to matter.
        Nothing,
        /// Nothing, and whoever asked is told that it cannot be done in this phase.
        Refuse,
        /// Nothing but to leave the phase if its time is up.
        Weigh,
        /// T0 before the child runs: NOT_SERVING, the clock starts, and the child gets its stop signal as soon as it is up.
        Remember,
        /// The child runs: SERVING, unless a stop was asked for already; then it gets its stop signal at once, as nobody was ever sent here.
        Serve,
        /// T0: NOT_SERVING, the hooks that leave the registry start, the clock starts. With a grace period of 2 s or less the stop signal follows at once.
        Begin,
        /// T0 during a hold: the clock starts; the part of propagation that the hold has already spent is not waited again.
        BeginHeld,
        /// The stop goes on as it was, and so does its deadline; only a second SIGINT skips the waits.
        Join,
        /// T0 after the child's own end: the clock starts, and bounds what is left to do. A second SIGINT waits for no hook.
        Bound,
        /// The deadline moves earlier, never later.
        Shorten,
        /// The waits are over: the child gets its stop signal. It keeps its time until SIGKILL.
        HurryUp,
        /// Hooks that are still tried are waited for no longer: what else lives gets SIGTERM.
        LeaveHooks,
        /// NOT_SERVING and the hooks that leave the registry, without a clock.
        HoldOn,
        /// SERVING again, and the hooks that come back to the registry.
        Undo,
        /// NOT_SERVING is visible: propagation counts from here.
        Visible,
        /// Take the evidence in: with all of it, propagation ends between its min and its max.
        Note,
        /// Take the look in, and plan the next.
        TakeLook,
        /// Remember it: the leftovers wait for hooks that are still tried.
        Mind,
        /// The child is gone, and nothing waits for its sake. Hooks that are still tried get the time until killWait before the deadline, or 5 s without one; then what else lives gets SIGTERM, and SIGKILL after killWait.
        EndLeftovers,
        /// With no hook tried any more, what else lives gets SIGTERM now.
        Settle,
        /// Exit.
        Finish,
    }
}

use Do::{
    Begin, BeginHeld, Bound, EndLeftovers, Finish, HoldOn, HurryUp, Join, LeaveHooks, Mind, Note, Nothing,
    Refuse, Remember, Serve, Settle, Shorten, TakeLook, Undo, Visible, Weigh,
};

/// The number of phases.
pub const PHASES: usize = 10;
/// The number of kinds of events.
pub const KINDS: usize = 13;

/// Phase × event → what is done.
#[rustfmt::skip]
pub const TABLE: [[Do; KINDS]; PHASES] = [
    //                 ChildUp  Trigger    Shorten  Hurry       Hold     Resume  Notified  Evidence  Look      Hooks    ChildGone     AllGone  Tick
    /* Starting    */ [Serve,   Remember,  Shorten, Refuse,     Refuse,  Refuse, Nothing,  Nothing,  Nothing,  Mind,    EndLeftovers, Nothing, Weigh],
    /* Serving     */ [Nothing, Begin,     Nothing, Refuse,     HoldOn,  Refuse, Nothing,  Nothing,  Nothing,  Mind,    EndLeftovers, Nothing, Weigh],
    /* Held        */ [Nothing, BeginHeld, Nothing, Refuse,     Nothing, Undo,   Visible,  Note,     Nothing,  Mind,    EndLeftovers, Nothing, Weigh],
    /* Notify      */ [Nothing, Join,      Shorten, HurryUp,    Refuse,  Refuse, Visible,  Note,     Nothing,  Mind,    EndLeftovers, Nothing, Weigh],
    /* Propagation */ [Nothing, Join,      Shorten, HurryUp,    Refuse,  Refuse, Nothing,  Note,     Nothing,  Mind,    EndLeftovers, Nothing, Weigh],
    /* InFlight    */ [Nothing, Join,      Shorten, HurryUp,    Refuse,  Refuse, Nothing,  Nothing,  TakeLook, Mind,    EndLeftovers, Nothing, Weigh],
    /* Stop        */ [Nothing, Join,      Shorten, Nothing,    Refuse,  Refuse, Nothing,  Nothing,  Nothing,  Mind,    EndLeftovers, Nothing, Weigh],
    /* Kill        */ [Nothing, Join,      Shorten, Nothing,    Refuse,  Refuse, Nothing,  Nothing,  Nothing,  Mind,    EndLeftovers, Nothing, Weigh],
    /* Leftovers   */ [Nothing, Bound,     Shorten, LeaveHooks, Refuse,  Refuse, Nothing,  Nothing,  Nothing,  Settle,  Nothing,      Finish,  Weigh],
    /* Over        */ [Nothing, Nothing,   Nothing, Nothing,    Refuse,  Refuse, Nothing,  Nothing,  Nothing,  Nothing, Nothing,      Nothing, Nothing],
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
        Self::Hooks,
        Self::ChildGone,
        Self::AllGone,
        Self::Tick,
    ];
}

/// What the table says of `kind` in `phase`.
pub const fn rule(phase: Phase, kind: Kind) -> Do {
    TABLE[phase as usize][kind as usize]
}

/// The table and its legend as Markdown, for `docs/drain.md`.
pub fn markdown() -> String {
    format!("{}\n{}\n{}", grid(), events(), legend())
}

fn grid() -> String {
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

/// What each column is.
fn events() -> String {
    let mut text = String::from("| event | what has happened |\n| --- | --- |\n");
    for kind in Kind::ALL {
        text.push_str(&format!("| {kind:?} | {} |\n", kind.says()));
    }
    text
}

/// What each cell does, in the order of their first place in the table.
fn legend() -> String {
    let mut met = vec![Nothing];
    let mut text = format!(
        "| cell | what is done |\n| --- | --- |\n| · | {} |\n",
        Nothing.says()
    );
    for cell in TABLE.into_iter().flatten() {
        if !met.contains(&cell) {
            met.push(cell);
            text.push_str(&format!("| {cell:?} | {} |\n", cell.says()));
        }
    }
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
