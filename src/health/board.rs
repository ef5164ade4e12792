//! The board: one place for every status, and for who has seen it.
//!
//! Names are fixed when the board is made. Each has what was last *said* of it
//! and what is *shown*, which a drain or a latch may hold back:
//!
//! | | shown |
//! | --- | --- |
//! | before the first verdict | UNKNOWN |
//! | afterwards | what was last said |
//! | `recovery: manual`, fallen from SERVING | NOT_SERVING until [`Board::reset`], then UNKNOWN |
//! | while draining, or once the child has ended | NOT_SERVING |
//!
//! [`OVERALL`] (`""`) is the AND of all: NOT_SERVING if any is, else UNKNOWN if any
//! is, else SERVING. [`LIVENESS`] stands apart: SERVING while supervisor and child
//! live, so that a liveness probe does not kill a draining pod.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, watch};

use super::audience::{Audience, Change, Evidence, Peer, TooManyWatches, Topic};
use super::verdicts::{Drained, Verdicts};
use super::watching::{Seat, Watching};
use super::wire::health_check_response::ServingStatus;

pub use super::verdicts::{LIVENESS, NoSuchName, OVERALL, Readiness, Recovery, Status};

/// A handle to the board; clones show the same board.
#[derive(Clone, Debug)]
pub struct Board {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    books: Mutex<Books>,
    shown: Shown,
    evidence_changed: Notify,
}

#[derive(Debug)]
struct Books {
    verdicts: Verdicts,
    evidence: Evidence,
}

/// A channel for each name that can be asked for. Nothing is ever added, so no lock is needed.
#[derive(Debug)]
struct Shown {
    names: BTreeMap<String, watch::Sender<ServingStatus>>,
    /// What watchers of names that are not here see.
    no_such_name: watch::Sender<ServingStatus>,
}

impl From<Status> for ServingStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Unknown => Self::Unknown,
            Status::Serving => Self::Serving,
            Status::NotServing => Self::NotServing,
        }
    }
}

impl Board {
    /// A board for `services`, all UNKNOWN. [`OVERALL`] and [`LIVENESS`] are always on it; naming
    /// [`OVERALL`] gives it a verdict of its own, which counts with the others. Without any services
    /// it has only that one.
    pub fn new<S: Into<String>>(services: impl IntoIterator<Item = S>, recovery: Recovery) -> Self {
        let mut parts: BTreeMap<_, _> = services
            .into_iter()
            .map(|name| (name.into(), Part::default()))
            .collect();
        parts.remove(LIVENESS);
        if parts.is_empty() {
            parts.insert(OVERALL.to_owned(), Part::default());
        }
        let mut names: BTreeMap<_, _> = parts
            .keys()
            .map(|name| (name.clone(), watch::Sender::new(ServingStatus::Unknown)))
            .collect();
        names
            .entry(OVERALL.to_owned())
            .or_insert_with(|| watch::Sender::new(ServingStatus::Unknown));
        names.insert(LIVENESS.to_owned(), watch::Sender::new(ServingStatus::Serving));
        let books = Books {
            verdicts,
            evidence: Evidence::default(),
        };
        let shared = Shared {
            books: Mutex::new(books),
            shown,
            evidence_changed: Notify::new(),
        };
        Self {
            shared: Arc::new(Shared {
                books: Mutex::new(books),
                shown: Shown {
                    names,
                    no_such_name: watch::Sender::new(ServingStatus::ServiceUnknown),
                },
                evidence_changed: Notify::new(),
            }),
        }
    }

    /// Says `status` of `name`. Costs microseconds however many watch: each watcher is woken, and reads
    /// the latest when its turn comes.
    ///
    /// # Errors
    /// [`NoSuchName`] if the name was not given to [`Board::new`]; [`LIVENESS`] cannot be set.
    pub fn set(&self, name: &str, status: Status) -> Result<(), NoSuchName> {
        let mut books = self.books();
        let books = &mut *books;
        let held_back = books.is_held_back();
        let part = books
            .parts
            .get_mut(name)
            .ok_or_else(|| NoSuchName(name.to_owned()))?;
        part.say(status, books.recovery, held_back);
        self.shared.shown.show(name, books.shown(name));
        self.shared.shown.show(OVERALL, books.shown(OVERALL));
        Ok(())
    }

    /// Says `status` of every name: for a child whose health nothing but its life tells.
    pub fn set_every(&self, status: Status) {
        let mut books = self.books();
        books.verdicts.set_every(status);
        self.shared.shown.show_all(&books.verdicts);
    }

    /// Shows NOT_SERVING for every name, and to watchers of names that are not here. What is set from now
    /// on is recorded, not shown. Draining twice is draining once.
    pub fn drain(&self) {
        let mut books = self.books();
        if books.verdicts.drain() == Drained::Now {
            books.evidence.drain_begins();
            self.shared.shown.show_all(&books.verdicts);
        }
    }

    /// Undoes [`Board::drain`]: shows what was said last, the drain's own time included.
    pub fn undrain(&self) {
        let mut books = self.books();
        books.verdicts.undrain();
        self.shared.shown.show_all(&books.verdicts);
    }

    /// Takes every latched name to UNKNOWN and returns them. Whoever judges those names must say its
    /// verdict again, since one that has not changed is not repeated by itself.
    pub fn reset(&self) -> Vec<String> {
        let mut books = self.books();
        let taken = books.verdicts.reset();
        self.shared.shown.show_all(&books.verdicts);
        taken
    }

    /// The child has ended: every name is NOT_SERVING for good, [`LIVENESS`] too.
    pub fn child_ended(&self) {
        let mut books = self.books();
        books.verdicts.child_ended();
        self.shared.shown.show_all(&books.verdicts);
    }

    /// What `name` shows now, or nothing if it is not on the board. Not counted as a probe.
    pub fn status(&self, name: &str) -> Option<Status> {
        self.books().verdicts.status(name)
    }

    /// Every name with what it shows now, in order of name. Not counted as a probe.
    pub fn statuses(&self) -> Vec<(String, Status)> {
        let books = self.books();
        let names = self.shared.shown.names.keys();
        names
            .map(|name| (name.clone(), books.status(name).unwrap_or_default()))
            .collect()
    }

    /// Whether the child may take new calls, and if not, why. Not counted as a probe.
    pub fn readiness(&self) -> Readiness {
        self.books().verdicts.readiness()
    }

    /// Whether supervisor and child live: the answer for a liveness probe.
    pub fn is_live(&self) -> bool {
        self.books().verdicts.is_live()
    }

    /// Who listens and who has been told, at `now`.
    pub fn audience(&self, now: Instant) -> Audience {
        self.books().evidence.audience(now)
    }

    /// Waits until the evidence in [`Board::audience`] is other than when this last returned. It may return
    /// once too often. For one waiter, the driver. Time passing is not a change: see [`Audience::next_expiry`].
    pub async fn changed(&self) {
        self.shared.evidence_changed.notified().await;
    }

    /// Notes that `peer` asked and was answered `status`.
    pub(super) fn probed(&self, peer: Peer, status: ServingStatus, now: Instant) {
        let change = self.books().evidence.probed(peer, status, now);
        self.notify(change);
    }

    /// Opens a Watch of `name` for `peer`.
    pub(super) fn watch(&self, name: &str, peer: Peer) -> Result<Watching, TooManyWatches> {
        let (topic, channel) = match self.shared.shown.names.get(name) {
            Some(channel) if name == LIVENESS => (Topic::Liveness, channel),
            Some(channel) => (Topic::Name(name.to_owned()), channel),
            None => (Topic::NoSuchName, &self.shared.shown.no_such_name),
        };
        let seat = self.books().evidence.sit(peer, topic)?;
        self.notify(Change::New);
        Ok(Watching::new(
            channel.subscribe(),
            Arc::new(Seat::new(self.clone(), seat)),
        ))
    }

    pub(super) fn offered(&self, seat: u64, status: ServingStatus) {
        self.books().evidence.offered(seat, status);
    }

    pub(super) fn delivered(&self, seat: u64) {
        let change = self.books().evidence.delivered(seat);
        self.notify(change);
    }

    pub(super) fn leave(&self, seat: u64) {
        self.books().evidence.leave(seat);
        self.notify(Change::New);
    }

    fn notify(&self, change: Change) {
        if change == Change::New {
            self.shared.evidence_changed.notify_one();
        }
    }

    /// A panic while the books were open ends the process (panic = abort), so poison is not met in the
    /// product; in a test the books are still whole.
    fn books(&self) -> MutexGuard<'_, Books> {
        self.shared.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shown {
    fn new(verdicts: &Verdicts) -> Self {
        let names = verdicts
            .names()
            .map(|name| (name.to_owned(), watch::Sender::default()))
            .collect();
        let shown = Self {
            names,
            no_such_name: watch::Sender::default(),
        };
        shown.show_all(verdicts);
        shown
    }

    fn show(&self, name: &str, verdicts: &Verdicts) {
        if let (Some(channel), Some(status)) = (self.names.get(name), verdicts.status(name)) {
            replace(channel, status.into());
        }
    }

    fn show_all(&self, verdicts: &Verdicts) {
        for name in self.names.keys() {
            self.show(name, verdicts);
        }
        let held_back = verdicts.are_held_back();
        let unknown = if held_back {
            ServingStatus::NotServing
        } else {
            ServingStatus::ServiceUnknown
        };
        replace(&self.no_such_name, unknown);
    }
}

fn replace(channel: &watch::Sender<ServingStatus>, status: ServingStatus) {
    channel.send_if_modified(|shown| std::mem::replace(shown, status) != status);
}

/// Whether what is said is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeldBack {
    No,
    Yes,
}

impl Part {
    /// A latch closes over what was shown, not over what a drain kept from view.
    fn say(&mut self, status: Status, recovery: Recovery, held_back: HeldBack) {
        self.said = status;
        self.latch = match (self.latch, status) {
            (Latch::Untried, Status::Serving) => Latch::Set,
            (Latch::Set, Status::NotServing) if recovery == Recovery::Manual && held_back == HeldBack::No => {
                Latch::Closed
            }
            (latch, _) => latch,
        };
    }

    fn stands(self) -> Status {
        if self.latch == Latch::Closed {
            Status::NotServing
        } else {
            self.said
        }
    }
}

impl Books {
    fn is_held_back(&self) -> HeldBack {
        if self.tide == Tide::Draining || self.life == Life::ChildEnded {
            HeldBack::Yes
        } else {
            HeldBack::No
        }
    }

    fn shown(&self, name: &str) -> Option<ServingStatus> {
        self.status(name).map(ServingStatus::from)
    }

    fn status(&self, name: &str) -> Option<Status> {
        match (name, self.life) {
            (LIVENESS, Life::Living) => return Some(Status::Serving),
            (LIVENESS, Life::ChildEnded) => return Some(Status::NotServing),
            _ => {}
        }
        let stands = if name == OVERALL {
            self.overall()
        } else {
            self.parts.get(name)?.stands()
        };
        Some(if self.is_held_back() == HeldBack::Yes {
            Status::NotServing
        } else {
            stands
        })
    }

    fn overall(&self) -> Status {
        let any = |status| self.parts.values().any(|part| part.stands() == status);
        if any(Status::NotServing) {
            Status::NotServing
        } else if any(Status::Unknown) {
            Status::Unknown
        } else {
            Status::Serving
        }
    }

    fn readiness(&self) -> Readiness {
        if self.life == Life::ChildEnded {
            return Readiness::NotReady("the child has ended".to_owned());
        }
        if self.tide == Tide::Draining {
            return Readiness::NotReady("draining".to_owned());
        }
        match self.overall() {
            Status::Serving => Readiness::Ready,
            Status::NotServing => {
                Readiness::NotReady(format!("not serving: {}", self.all(Status::NotServing)))
            }
            Status::Unknown => Readiness::NotReady(format!("no verdict yet: {}", self.all(Status::Unknown))),
        }
    }

    /// The names that stand at `status`, as a person reads them.
    fn all(&self, status: Status) -> String {
        let names = || {
            self.parts
                .iter()
                .filter(|(_, part)| part.stands() == status)
                .map(|(name, _)| name)
        };
        let mut list = names()
            .take(MAX_CULPRITS)
            .map(|name| if name == OVERALL { "the child" } else { name })
            .collect::<Vec<_>>()
            .join(", ");
        let more = names().count().saturating_sub(MAX_CULPRITS);
        if more > 0 {
            list.push_str(&format!(" and {more} more"));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board() -> Board {
        Board::new(["a", "b"], Recovery::Automatic)
    }

    #[test]
    fn everything_is_unknown_before_the_first_verdict() {
        let board = board();
        for name in ["", "a", "b"] {
            assert_eq!(board.status(name), Some(Status::Unknown));
        }
        assert_eq!(board.status(LIVENESS), Some(Status::Serving));
        assert_eq!(board.status("c"), None);
        assert_eq!(
            board.readiness(),
            Readiness::NotReady("no verdict yet: a, b".into())
        );
    }

    #[test]
    fn the_whole_is_the_and_of_all() {
        let board = board();
        board.set("a", Status::Serving).unwrap();
        assert_eq!(board.status(OVERALL), Some(Status::Unknown));
        board.set("b", Status::Serving).unwrap();
        assert_eq!(board.status(OVERALL), Some(Status::Serving));
        assert_eq!(board.readiness(), Readiness::Ready);
        board.set("b", Status::NotServing).unwrap();
        assert_eq!(board.status(OVERALL), Some(Status::NotServing));
        assert_eq!(board.status("a"), Some(Status::Serving));
        assert_eq!(board.readiness(), Readiness::NotReady("not serving: b".into()));
        board.set("a", Status::Unknown).unwrap();
        assert_eq!(board.status(OVERALL), Some(Status::NotServing));
    }

    #[test]
    fn the_whole_named_has_a_verdict_of_its_own() {
        let board = Board::new(["", "a"], Recovery::Automatic);
        board.set("a", Status::Serving).unwrap();
        assert_eq!(board.status(OVERALL), Some(Status::Unknown));
        board.set("", Status::Serving).unwrap();
        assert_eq!(board.status(OVERALL), Some(Status::Serving));
        board.set("", Status::NotServing).unwrap();
        assert_eq!(
            board.readiness(),
            Readiness::NotReady("not serving: the child".into())
        );
    }

    #[test]
    fn without_services_the_whole_is_the_only_name() {
        let board = Board::new(Vec::<String>::new(), Recovery::Automatic);
        board.set("", Status::Serving).unwrap();
        assert_eq!(board.readiness(), Readiness::Ready);
    }

    #[test]
    fn a_name_that_is_not_there_cannot_be_set() {
        let board = board();
        assert_eq!(board.set("c", Status::Serving), Err(NoSuchName("c".into())));
        assert_eq!(
            board.set(OVERALL, Status::Serving),
            Err(NoSuchName(String::new()))
        );
        assert_eq!(
            board.set(LIVENESS, Status::NotServing),
            Err(NoSuchName(LIVENESS.into()))
        );
    }

    #[test]
    fn a_drain_is_terminal_and_records_what_is_said() {
        let board = board();
        board.set_every(Status::Serving);
        board.drain();
        board.set("a", Status::Serving).unwrap();
        board.set("b", Status::Unknown).unwrap();
        for name in ["", "a", "b"] {
            assert_eq!(board.status(name), Some(Status::NotServing));
        }
        assert_eq!(board.status(LIVENESS), Some(Status::Serving));
        assert_eq!(board.readiness(), Readiness::NotReady("draining".into()));
        board.undrain();
        assert_eq!(board.status("a"), Some(Status::Serving));
        assert_eq!(board.status("b"), Some(Status::Unknown));
    }

    #[test]
    fn the_childs_end_is_the_end_of_liveness() {
        let board = board();
        board.set_every(Status::Serving);
        board.child_ended();
        board.undrain();
        assert_eq!(board.status(LIVENESS), Some(Status::NotServing));
        assert_eq!(board.status(OVERALL), Some(Status::NotServing));
        assert_eq!(
            board.readiness(),
            Readiness::NotReady("the child has ended".into())
        );
        assert!(!board.is_live());
    }

    #[test]
    fn manual_recovery_latches_until_the_reset() {
        let board = Board::new(["a", "b"], Recovery::Manual);
        board.set_every(Status::Serving);
        board.set("a", Status::NotServing).unwrap();
        board.set("a", Status::Serving).unwrap();
        assert_eq!(board.status("a"), Some(Status::NotServing));
        assert_eq!(board.status(OVERALL), Some(Status::NotServing));
        assert_eq!(board.status("b"), Some(Status::Serving));
        assert_eq!(board.reset(), ["a"]);
        assert_eq!(board.status("a"), Some(Status::Unknown));
        board.set("a", Status::Serving).unwrap();
        assert_eq!(board.status(OVERALL), Some(Status::Serving));
        assert!(board.reset().is_empty());
    }

    #[test]
    fn a_name_that_never_served_does_not_latch() {
        let board = Board::new(["a"], Recovery::Manual);
        board.set("a", Status::NotServing).unwrap();
        board.set("a", Status::Serving).unwrap();
        assert_eq!(board.status("a"), Some(Status::Serving));
    }

    #[test]
    fn a_drain_does_not_latch_but_what_outlives_it_does() {
        let board = Board::new(["a", "b"], Recovery::Manual);
        board.set_every(Status::Serving);
        board.drain();
        board.set_every(Status::NotServing);
        board.set("b", Status::Serving).unwrap();
        board.undrain();
        board.set("a", Status::Serving).unwrap();
        assert_eq!(board.status("a"), Some(Status::NotServing));
        assert_eq!(board.status("b"), Some(Status::Serving));
    }

    #[test]
    fn many_culprits_are_counted() {
        let board = Board::new((0..30).map(|number| format!("s{number:02}")), Recovery::Automatic);
        let Readiness::NotReady(why) = board.readiness() else {
            panic!("ready without a verdict")
        };
        assert!(why.ends_with("s09 and 20 more"), "{why}");
    }
}
