//! What comes out of the machine: what is to be done in the world.

use super::record::{Record, Transition};
use super::table::{Kind, Phase};

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
    /// Look at the in-flight sources, and answer with [`Event::Look`](super::event::Event::Look).
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
