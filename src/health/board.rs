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
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::sync::Notify;

use super::audience::{Audience, Peer};
use super::evidence::{Change, Evidence, TooManyWatches, Topic};
use super::figures::{Figures, Outcome};
use super::readers::{News, Readers};
use super::ruling::Ruling;
use super::verdicts::{Drained, Verdicts};
use super::watching::Watching;
use super::wire::health_check_response::ServingStatus;

pub use super::status::Status;
pub use super::verdicts::{LIVENESS, NoSuchName, OVERALL, Readiness, Recovery};

/// A handle to the board; clones show the same board.
#[derive(Clone, Debug)]
pub struct Board {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    books: Mutex<Books>,
    /// A line of the board is other than before: the crier's turn.
    news: Notify,
    evidence_changed: Notify,
    /// The same as `news`, for whoever waits until the child serves.
    turned: Notify,
}

#[derive(Debug)]
struct Books {
    /// Every name that can be asked for. Nothing is ever added.
    names: Vec<String>,
    verdicts: Verdicts,
    readers: Readers,
    evidence: Evidence,
    /// By the name of the check.
    checks: BTreeMap<String, Figures>,
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
        let mut names: Vec<_> = verdicts.names().map(str::to_owned).collect();
        names.sort();
        let mut books = Books {
            readers: Readers::new(names.iter().map(String::as_str)),
            names,
            verdicts,
            evidence: Evidence::default(),
            checks: BTreeMap::new(),
        };
        books.show_all();
        let shared = Shared {
            books: Mutex::new(books),
            news: Notify::new(),
            evidence_changed: Notify::new(),
            turned: Notify::new(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Says `status` of `name`. Costs microseconds however many watch: the crier wakes them in their turn,
    /// and they read the latest.
    ///
    /// # Errors
    /// [`NoSuchName`] if the name was not given to [`Board::new`]; [`LIVENESS`] cannot be set.
    pub fn set(&self, name: &str, status: Status) -> Result<(), NoSuchName> {
        let mut books = self.books();
        books.verdicts.set(name, status)?;
        let news = [books.show(name), books.show(OVERALL)];
        self.announce(if news.contains(&News::Some) {
            News::Some
        } else {
            News::None
        });
        Ok(())
    }

    /// Says `status` of every name: for a child whose health nothing but its life tells.
    pub fn set_every(&self, status: Status) {
        let mut books = self.books();
        books.verdicts.set_every(status);
        self.announce(books.show_all());
    }

    /// Says what the judges make of every name, and why.
    pub(super) fn rule(&self, ruling: Ruling) {
        let mut books = self.books();
        books.verdicts.rule(ruling);
        self.announce(books.show_all());
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
            self.announce(books.show_all());
        }
    }

    /// Undoes [`Board::drain`]: shows what was said last, the drain's own time included.
    pub fn undrain(&self) {
        let mut books = self.books();
        books.verdicts.undrain();
        self.announce(books.show_all());
    }

    /// Takes every latched name to UNKNOWN and returns them. Whoever judges those names must say its
    /// verdict again, since one that has not changed is not repeated by itself.
    pub fn reset(&self) -> Vec<String> {
        let mut books = self.books();
        let taken = books.verdicts.reset();
        self.announce(books.show_all());
        taken
    }

    /// The child has ended: every name is NOT_SERVING for good, [`LIVENESS`] too.
    pub fn child_ended(&self) {
        let mut books = self.books();
        books.verdicts.child_ended();
        self.announce(books.show_all());
    }

    /// What `name` shows now, or nothing if it is not on the board. Not counted as a probe.
    pub fn status(&self, name: &str) -> Option<Status> {
        let books = self.books();
        books.readers.line(name)?;
        books.verdicts.status(name)
    }

    /// What `name` shows on the wire, or nothing if it is not on the board.
    pub(super) fn shows(&self, name: &str) -> Option<ServingStatus> {
        let books = self.books();
        books.readers.line(name).map(|line| books.readers.shown(line))
    }

    /// Every name with what it shows now, in order of name. Not counted as a probe.
    pub fn statuses(&self) -> Vec<(String, Status)> {
        let books = self.books();
        books
            .names
            .iter()
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

    /// Waits until [`OVERALL`] shows SERVING. For one waiter, the driver.
    pub async fn serving(&self) {
        while self.status(OVERALL) != Some(Status::Serving) {
            self.shared.turned.notified().await;
        }
    }

    /// Notes that `peer` asked and was answered `status`.
    pub(super) fn probed(&self, peer: Peer, status: ServingStatus, now: Instant) {
        let change = self.books().evidence.probed(peer, status, now);
        self.notify(change);
    }

    /// Opens a Watch of `name` for `peer`.
    pub(super) fn watch(&self, name: &str, peer: Peer) -> Result<Watching, TooManyWatches> {
        let mut books = self.books();
        let (topic, line) = match books.readers.line(name) {
            Some(line) if name == LIVENESS => (Topic::Liveness, line),
            Some(line) => (Topic::Name(name.into()), line),
            None => (Topic::NoSuchName, books.readers.no_such_name()),
        };
        let seat = books.evidence.sit(peer, topic)?;
        books.readers.sit(seat, line);
        drop(books);
        self.notify(Change::New);
        Ok(Watching::new(self.clone(), seat))
    }

    /// The next status for the Watch in `seat`.
    pub(super) fn read(&self, seat: u64, cx: &Context<'_>) -> Poll<ServingStatus> {
        let mut books = self.books();
        let read = books.readers.read(seat, cx);
        if let Poll::Ready(status) = read {
            books.evidence.offered(seat, status);
        }
        read
    }

    /// Notes how a probe of `check` ended, and what that check has come to.
    pub(super) fn checked(&self, check: &str, outcome: Outcome, status: Status) {
        let mut books = self.books();
        let figures = books.checks.entry(check.to_owned()).or_default();
        figures.count(outcome, status);
    }

    /// How each check goes, by its name; those that have not been probed yet are not there.
    pub fn checks(&self) -> BTreeMap<String, Figures> {
        self.books().checks.clone()
    }

    /// Waits until a line is other than when this last returned. For one waiter, the crier.
    pub(super) async fn news(&self) {
        self.shared.news.notified().await;
    }

    /// Readers to wake after `seat`, a handful; see [`Readers::rouse`].
    pub(super) fn rouse(&self, seat: Option<u64>, wakers: &mut Vec<Waker>) -> Option<u64> {
        self.books().readers.rouse(seat, wakers)
    }

    pub(super) fn delivered(&self, seat: u64) {
        let change = self.books().evidence.delivered(seat);
        self.notify(change);
    }

    pub(super) fn leave(&self, seat: u64) {
        let mut books = self.books();
        books.evidence.leave(seat);
        books.readers.leave(seat);
        drop(books);
        self.notify(Change::New);
    }

    fn announce(&self, news: News) {
        if news == News::Some {
            self.shared.news.notify_one();
            self.shared.turned.notify_one();
        }
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

impl Books {
    fn show(&mut self, name: &str) -> News {
        match (self.readers.line(name), self.verdicts.status(name)) {
            (Some(line), Some(status)) => self.readers.show(line, status.into()),
            _ => News::None,
        }
    }

    fn show_all(&mut self) -> News {
        let unknown = if self.verdicts.are_held_back() {
            ServingStatus::NotServing
        } else {
            ServingStatus::ServiceUnknown
        };
        let mut news = self.readers.show(self.readers.no_such_name(), unknown);
        for name in std::mem::take(&mut self.names) {
            if self.show(&name) == News::Some {
                news = News::Some;
            }
            self.names.push(name);
        }
        news
    }
}
