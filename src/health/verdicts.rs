//! What was said of each name, and what that makes it show. No channels, no
//! clock, no connections: the rules of the [board](super::board) alone.

use std::collections::BTreeMap;

use thiserror::Error;

use super::ruling::{Reason, Ruling, spelt_out};

/// The name of the whole: the AND of all others (gRPC health checking protocol: the empty service name).
pub const OVERALL: &str = "";

/// The name that says whether supervisor and child live. A drain does not touch it.
pub const LIVENESS: &str = "liveness";

/// What can be said of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// No verdict yet, or not any more.
    #[default]
    Unknown,
    /// New calls are welcome.
    Serving,
    /// New calls belong elsewhere.
    NotServing,
}

impl Status {
    /// As the gRPC health checking protocol writes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Serving => "SERVING",
            Self::NotServing => "NOT_SERVING",
        }
    }

    /// Both together: NOT_SERVING if either is, else UNKNOWN if either is.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::NotServing, _) | (_, Self::NotServing) => Self::NotServing,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Serving, Self::Serving) => Self::Serving,
        }
    }
}

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
mod tests {
    use super::*;

    fn verdicts_of<const N: usize>(names: [&str; N], recovery: Recovery) -> Verdicts {
        Verdicts::new(names.into_iter().map(str::to_owned), recovery)
    }

    fn two_names() -> Verdicts {
        verdicts_of(["a", "b"], Recovery::Automatic)
    }

    #[test]
    fn everything_is_unknown_before_the_first_verdict() {
        let verdicts = two_names();
        for name in ["", "a", "b"] {
            assert_eq!(verdicts.status(name), Some(Status::Unknown));
        }
        assert_eq!(verdicts.status(LIVENESS), Some(Status::Serving));
        assert_eq!(verdicts.status("c"), None);
        assert_eq!(
            verdicts.readiness(),
            Readiness::NotReady("no verdict yet: a, b".into())
        );
    }

    #[test]
    fn the_whole_is_the_and_of_all() {
        let mut verdicts = two_names();
        verdicts.set("a", Status::Serving).unwrap();
        assert_eq!(verdicts.status(OVERALL), Some(Status::Unknown));
        verdicts.set("b", Status::Serving).unwrap();
        assert_eq!(verdicts.status(OVERALL), Some(Status::Serving));
        assert_eq!(verdicts.readiness(), Readiness::Ready);
        verdicts.set("b", Status::NotServing).unwrap();
        assert_eq!(verdicts.status(OVERALL), Some(Status::NotServing));
        assert_eq!(verdicts.status("a"), Some(Status::Serving));
        assert_eq!(verdicts.readiness(), Readiness::NotReady("not serving: b".into()));
        verdicts.set("a", Status::Unknown).unwrap();
        assert_eq!(verdicts.status(OVERALL), Some(Status::NotServing));
    }

    #[test]
    fn the_whole_named_has_a_verdict_of_its_own() {
        let mut verdicts = verdicts_of(["", "a"], Recovery::Automatic);
        verdicts.set("a", Status::Serving).unwrap();
        assert_eq!(verdicts.status(OVERALL), Some(Status::Unknown));
        verdicts.set("", Status::Serving).unwrap();
        assert_eq!(verdicts.status(OVERALL), Some(Status::Serving));
        verdicts.set("", Status::NotServing).unwrap();
        assert_eq!(
            verdicts.readiness(),
            Readiness::NotReady("not serving: the child".into())
        );
    }

    #[test]
    fn without_services_the_whole_is_the_only_name() {
        let mut verdicts = verdicts_of([], Recovery::Automatic);
        verdicts.set("", Status::Serving).unwrap();
        assert_eq!(verdicts.readiness(), Readiness::Ready);
    }

    #[test]
    fn a_name_that_is_not_there_cannot_be_set() {
        let mut verdicts = two_names();
        assert_eq!(verdicts.set("c", Status::Serving), Err(NoSuchName("c".into())));
        assert_eq!(
            verdicts.set(OVERALL, Status::Serving),
            Err(NoSuchName(String::new()))
        );
        assert_eq!(
            verdicts.set(LIVENESS, Status::NotServing),
            Err(NoSuchName(LIVENESS.into()))
        );
    }

    #[test]
    fn a_drain_is_terminal_and_records_what_is_said() {
        let mut verdicts = two_names();
        verdicts.set_every(Status::Serving);
        verdicts.drain();
        verdicts.set("a", Status::Serving).unwrap();
        verdicts.set("b", Status::Unknown).unwrap();
        for name in ["", "a", "b"] {
            assert_eq!(verdicts.status(name), Some(Status::NotServing));
        }
        assert_eq!(verdicts.status(LIVENESS), Some(Status::Serving));
        assert_eq!(verdicts.readiness(), Readiness::NotReady("draining".into()));
        verdicts.undrain();
        assert_eq!(verdicts.status("a"), Some(Status::Serving));
        assert_eq!(verdicts.status("b"), Some(Status::Unknown));
    }

    #[test]
    fn the_childs_end_is_the_end_of_liveness() {
        let mut verdicts = two_names();
        verdicts.set_every(Status::Serving);
        verdicts.child_ended();
        verdicts.undrain();
        assert_eq!(verdicts.status(LIVENESS), Some(Status::NotServing));
        assert_eq!(verdicts.status(OVERALL), Some(Status::NotServing));
        assert_eq!(
            verdicts.readiness(),
            Readiness::NotReady("the child has ended".into())
        );
        assert!(!verdicts.is_live());
    }

    #[test]
    fn manual_recovery_latches_until_the_reset() {
        let mut verdicts = verdicts_of(["a", "b"], Recovery::Manual);
        verdicts.set_every(Status::Serving);
        verdicts.set("a", Status::NotServing).unwrap();
        verdicts.set("a", Status::Serving).unwrap();
        assert_eq!(verdicts.status("a"), Some(Status::NotServing));
        assert_eq!(verdicts.status(OVERALL), Some(Status::NotServing));
        assert_eq!(verdicts.status("b"), Some(Status::Serving));
        assert_eq!(verdicts.reset(), ["a"]);
        assert_eq!(verdicts.status("a"), Some(Status::Unknown));
        verdicts.set("a", Status::Serving).unwrap();
        assert_eq!(verdicts.status(OVERALL), Some(Status::Serving));
        assert!(verdicts.reset().is_empty());
    }

    #[test]
    fn a_name_that_never_served_does_not_latch() {
        let mut verdicts = verdicts_of(["a"], Recovery::Manual);
        verdicts.set("a", Status::NotServing).unwrap();
        verdicts.set("a", Status::Serving).unwrap();
        assert_eq!(verdicts.status("a"), Some(Status::Serving));
    }

    #[test]
    fn a_drain_does_not_latch_but_what_outlives_it_does() {
        let mut verdicts = verdicts_of(["a", "b"], Recovery::Manual);
        verdicts.set_every(Status::Serving);
        verdicts.drain();
        verdicts.set_every(Status::NotServing);
        verdicts.set("b", Status::Serving).unwrap();
        verdicts.undrain();
        verdicts.set("a", Status::Serving).unwrap();
        assert_eq!(verdicts.status("a"), Some(Status::NotServing));
        assert_eq!(verdicts.status("b"), Some(Status::Serving));
    }

    #[test]
    fn reasons_stand_before_names() {
        let mut verdicts = verdicts_of(["a", "b"], Recovery::Manual);
        verdicts.set_every(Status::Serving);
        let statuses = ["a", "b"].map(|name| (name.to_owned(), Status::NotServing));
        let reasons = [(Status::NotServing, "check db: refused"), (Status::Unknown, "x")];
        verdicts.rule(Ruling {
            statuses: statuses.into(),
            reasons: reasons
                .map(|(status, why)| Reason {
                    status,
                    why: why.to_owned(),
                })
                .into(),
        });
        assert_eq!(
            verdicts.readiness(),
            Readiness::NotReady("not serving: check db: refused".into())
        );
        verdicts.set_every(Status::Serving);
        verdicts.reasons.clear();
        assert_eq!(
            verdicts.readiness(),
            Readiness::NotReady("not serving: a, b until `tidegate reset` (recovery is manual)".into())
        );
    }

    #[test]
    fn many_culprits_are_counted() {
        let verdicts = Verdicts::new((0..30).map(|number| format!("s{number:02}")), Recovery::Automatic);
        let Readiness::NotReady(why) = verdicts.readiness() else {
            panic!("ready without a verdict")
        };
        assert!(why.ends_with("s09 and 20 more"), "{why}");
    }
}
