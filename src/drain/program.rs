//! The program that is drained, as the hands reach it: our child, one beside us, or one that only the
//! kubelet reaches.

use std::sync::Arc;

use crate::child::{Child, ChildEnd, Received, Refused, Signal, SuccessCodes, Target};
use crate::target::{Beside, Change};

/// What the child that could not be ended leaves us to exit with: as if SIGKILL had done it.
const KILLED: u8 = 137;

/// The program.
#[derive(Clone, Debug)]
pub enum Program {
    /// We started it, and our run is its run.
    Child(Arc<Child>),
    /// In a container beside ours, whose processes we see.
    Beside(Arc<Beside>),
    /// In a container beside ours. The kubelet sends its stop signal once its preStop hook is answered.
    OutOfReach,
}

/// How the program ended, as far as we are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Our child was reaped.
    Child(ChildEnd),
    /// The one beside us is gone; its code is for its own container.
    Beside,
    /// It has its stop signal from the kubelet, not from us.
    LeftToTheKubelet,
}

impl Program {
    /// Whether it is in a container of its own: our run goes on when its drain is over.
    pub fn is_beside(&self) -> bool {
        !matches!(self, Self::Child(_))
    }

    /// Its process id, where it is known.
    pub fn pid(&self) -> Option<libc::pid_t> {
        match self {
            Self::Child(child) => Some(child.pid()),
            Self::Beside(beside) => beside.pid(),
            Self::OutOfReach => None,
        }
    }

    /// Whether it was there and is not any more.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Beside(beside) if beside.is_gone())
    }

    /// Sends it a signal. A program beside us gets it alone, whatever `target` says: its group may have others.
    ///
    /// # Errors
    /// [`Refused`]: for the log, never a reason to end.
    pub fn signal(&self, signal: Signal, target: Target) -> Result<(), Refused> {
        match self {
            Self::Child(child) => child.signal(signal, target),
            Self::Beside(beside) => beside.signal(signal),
            Self::OutOfReach => Err(Refused::NotFound {
                signal,
                why: "no target is set, so its signals are the kubelet's".to_owned(),
            }),
        }
    }

    /// Passes a signal on that we were sent. One beside us has its own from the kubelet.
    ///
    /// # Errors
    /// [`Refused`]: for the log, never a reason to end.
    pub(super) fn forward(&self, received: Received, target: Target) -> Result<(), Refused> {
        match self {
            Self::Child(child) => child.forward(received, target),
            Self::Beside(_) | Self::OutOfReach => Ok(()),
        }
    }
}

impl End {
    /// What we exit with after it.
    pub(super) fn exit_code(end: Option<Self>, program: &Program, success: &SuccessCodes) -> u8 {
        match end {
            Some(Self::Child(end)) => success.exit_code(end),
            None if !program.is_beside() => KILLED,
            Some(Self::Beside | Self::LeftToTheKubelet) | None => 0,
        }
    }
}

/// What becomes of the program, told one after the other.
#[derive(Debug)]
pub(super) enum Changes {
    Child(Arc<Child>),
    Beside(crate::target::Changes),
    None,
}

impl Changes {
    pub fn of(program: &Program) -> Self {
        match program {
            Program::Child(child) => Self::Child(Arc::clone(child)),
            Program::Beside(beside) => Self::Beside(beside.changes()),
            Program::OutOfReach => Self::None,
        }
    }

    /// The next. Dropping the future loses none; a child ends once, and after that there is nothing to tell.
    pub async fn next(&mut self) -> Fate {
        match self {
            Self::Child(child) => {
                let end = child.ended().await;
                *self = Self::None;
                Fate::Ended(End::Child(end))
            }
            Self::Beside(changes) => match changes.next().await {
                Change::Gone => Fate::Ended(End::Beside),
                Change::Back => Fate::Back,
            },
            Self::None => std::future::pending().await,
        }
    }
}

/// What has become of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Ended(End),
    /// It had ended and is there again.
    Back,
}
