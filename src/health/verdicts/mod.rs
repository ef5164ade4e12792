//! What was said of each name, and what that makes it show. No channels, no
//! clock, no connections: the rules of the [board](super::board) alone.

use std::collections::BTreeMap;

use thiserror::Error;

use super::ruling::{Reason, Ruling, spelt_out};
use super::status::Status;

/// The name of the whole: the AND of all others (gRPC health checking protocol: the empty service name).
pub const OVERALL: &str = "";

/// The name that says whether supervisor and child live. A drain does not touch it.
pub const LIVENESS: &str = "liveness";

/// How a name comes back from NOT_SERVING.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// By the next SERVING.
    #[default]
    Automatic,
    /// By a reset only. A name that has never been SERVING has not fallen, and does not latch.
    Manual,
}

/// A status was set for a name that is not on the board.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no health service is called {0:?}; add it to health.services")]
pub struct NoSuchName(pub String);

/// Whether new calls should come, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// They should.
    Ready,
    /// They should not; the reason is a line of plain text, without its newline.
    NotReady(String),
}

/// What was said of every name, and what holds it back.
#[derive(Debug)]
pub(super) struct Verdicts {
    parts: BTreeMap<String, Part>,
    /// Why parts were last said to be other than SERVING, where it was said.
    reasons: Vec<Reason>,
    recovery: Recovery,
    tide: Tide,
    life: Life,
}

/// What was said of one name.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    said: Status,
    latch: Latch,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Latch {
    /// Never SERVING since the start or the last reset.
    #[default]
    Untried,
    /// Was SERVING: the next NOT_SERVING shown closes the latch, where recovery is manual.
    Set,
    /// NOT_SERVING until the reset.
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tide {
    Open,
    Draining,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Living,
    ChildEnded,
}

/// Whether this drain began just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drained {
    Now,
    Already,
}

impl Verdicts {
    pub(super) fn new(services: impl Iterator<Item = String>, recovery: Recovery) -> Self {
        let mut parts: BTreeMap<_, _> = services
            .filter(|name| name != LIVENESS)
            .map(|name| (name, Part::default()))
            .collect();
        if parts.is_empty() {
            parts.insert(OVERALL.to_owned(), Part::default());
        }
        Self {
            parts,
            reasons: Vec::new(),
            recovery,
            tide: Tide::Open,
            life: Life::Living,
        }
    }

    /// Every name that can be asked for, each once.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let parts = self
            .parts
            .keys()
            .map(String::as_str)
            .filter(|name| *name != OVERALL);
        [OVERALL, LIVENESS].into_iter().chain(parts)
    }

    /// The names that have a verdict of their own.
    pub(super) fn judged(&self) -> impl Iterator<Item = &str> {
        self.parts.keys().map(String::as_str)
    }

    pub(super) fn set(&mut self, name: &str, status: Status) -> Result<(), NoSuchName> {
        let recovery = self.effective_recovery();
        let part = self
            .parts
            .get_mut(name)
            .ok_or_else(|| NoSuchName(name.to_owned()))?;
        part.say(status, recovery);
        Ok(())
    }

    pub(super) fn set_every(&mut self, status: Status) {
        let recovery = self.effective_recovery();
        for part in self.parts.values_mut() {
            part.say(status, recovery);
        }
    }

    /// Says a whole ruling; names that are not here are passed over.
    pub(super) fn rule(&mut self, ruling: Ruling) {
        let recovery = self.effective_recovery();
        for (name, status) in ruling.statuses {
            if let Some(part) = self.parts.get_mut(&name) {
                part.say(status, recovery);
            }
        }
        self.reasons = ruling.reasons;
    }

    pub(super) fn drain(&mut self) -> Drained {
        match std::mem::replace(&mut self.tide, Tide::Draining) {
            Tide::Open => Drained::Now,
            Tide::Draining => Drained::Already,
        }
    }

    pub(super) fn undrain(&mut self) {
        self.tide = Tide::Open;
        let recovery = self.effective_recovery();
        for part in self.parts.values_mut() {
            part.say(part.said, recovery);
        }
    }

    pub(super) fn reset(&mut self) -> Vec<String> {
        let mut taken = Vec::new();
        for (name, part) in &mut self.parts {
            if part.latch == Latch::Closed {
                *part = Part::default();
                taken.push(name.clone());
            }
        }
        taken
    }

    pub(super) fn child_ended(&mut self) {
        self.life = Life::ChildEnded;
    }

    pub(super) fn is_live(&self) -> bool {
        self.life == Life::Living
    }

    /// Whether a drain or the child's end shows NOT_SERVING in place of what was said.
    pub(super) fn are_held_back(&self) -> bool {
        self.tide == Tide::Draining || self.life == Life::ChildEnded
    }

    /// What `name` shows, or nothing if it is not here.
    pub(super) fn status(&self, name: &str) -> Option<Status> {
        if name == LIVENESS {
            return Some(if self.is_live() {
                Status::Serving
            } else {
                Status::NotServing
            });
        }
        let stands = if name == OVERALL {
            self.overall()
        } else {
            self.parts.get(name)?.stands()
        };
        Some(if self.are_held_back() {
            Status::NotServing
        } else {
            stands
        })
    }

    pub(super) fn readiness(&self) -> Readiness {
        let why = match (self.life, self.tide, self.overall()) {
            (Life::ChildEnded, _, _) => "the child has ended".to_owned(),
            (_, Tide::Draining, _) => "draining".to_owned(),
            (_, _, Status::Serving) => return Readiness::Ready,
            (_, _, Status::NotServing) => format!("not serving: {}", self.because(Status::NotServing)),
            (_, _, Status::Unknown) => format!("no verdict yet: {}", self.because(Status::Unknown)),
        };
        Readiness::NotReady(why)
    }

    /// A latch closes over what is shown, not over what a drain keeps from view.
    fn effective_recovery(&self) -> Recovery {
        if self.are_held_back() {
            Recovery::Automatic
        } else {
            self.recovery
        }
    }

    fn overall(&self) -> Status {
        let parts = self.parts.values().map(|part| part.stands());
        parts.fold(Status::Serving, Status::and)
    }

    /// Why the whole stands at `status`: the reasons that were given, else the names it comes from.
    fn because(&self, status: Status) -> String {
        let given = self.reasons.iter().filter(|reason| reason.status == status);
        let mut why: Vec<String> = given.map(|reason| reason.why.clone()).collect();
        let latched = self.names_of(|part| part.is_held() && status == Status::NotServing);
        if !latched.is_empty() {
            let names = spelt_out(latched.into_iter());
            why.push(format!("{names} until `tidegate reset` (recovery is manual)"));
        }
        if why.is_empty() {
            return spelt_out(self.names_of(|part| part.stands() == status).into_iter());
        }
        why.join("; ")
    }

    fn names_of(&self, wanted: impl Fn(Part) -> bool) -> Vec<&str> {
        let parts = self.parts.iter().filter(|(_, part)| wanted(**part));
        parts.map(|(name, _)| name.as_str()).collect()
    }
}

impl Part {
    fn say(&mut self, status: Status, recovery: Recovery) {
        self.said = status;
        self.latch = match (self.latch, status, recovery) {
            (Latch::Untried, Status::Serving, _) => Latch::Set,
            (Latch::Set, Status::NotServing, Recovery::Manual) => Latch::Closed,
            (latch, _, _) => latch,
        };
    }

    /// Whether the latch alone keeps it from what was said.
    fn is_held(self) -> bool {
        self.latch == Latch::Closed && self.said != Status::NotServing
    }

    fn stands(self) -> Status {
        if self.latch == Latch::Closed {
            Status::NotServing
        } else {
            self.said
        }
    }
}

#[cfg(test)]
mod tests;
