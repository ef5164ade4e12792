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
use super::ruling::Ruling;
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
        let verdicts = Verdicts::new(services.into_iter().map(Into::into), recovery);
        let shown = Shown::new(&verdicts);
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
            shared: Arc::new(shared),
        }
    }

    /// Says `status` of `name`. Costs microseconds however many watch: each watcher is woken, and reads
    /// the latest when its turn comes.
    ///
    /// # Errors
    /// [`NoSuchName`] if the name was not given to [`Board::new`]; [`LIVENESS`] cannot be set.
    pub fn set(&self, name: &str, status: Status) -> Result<(), NoSuchName> {
        let mut books = self.books();
        books.verdicts.set(name, status)?;
        self.shared.shown.show(name, &books.verdicts);
        self.shared.shown.show(OVERALL, &books.verdicts);
        Ok(())
    }

    /// Says `status` of every name: for a child whose health nothing but its life tells.
    pub fn set_every(&self, status: Status) {
        let mut books = self.books();
        books.verdicts.set_every(status);
        self.shared.shown.show_all(&books.verdicts);
    }

    /// Says what the judges make of every name, and why.
    pub(super) fn rule(&self, ruling: Ruling) {
        let mut books = self.books();
        books.verdicts.rule(ruling);
        self.shared.shown.show_all(&books.verdicts);
    }

    /// The names that are judged: those given to [`Board::new`], or [`OVERALL`] without any.
    pub(super) fn judged(&self) -> Vec<String> {
        self.books().verdicts.judged().map(str::to_owned).collect()
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
            .map(|name| (name.clone(), books.verdicts.status(name).unwrap_or_default()))
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
