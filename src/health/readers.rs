//! What every name shows, and who reads it: the open Watches, asleep until there is something new.
//!
//! Whoever sets a status pays for the status alone. The sleepers are woken by the [crier](super::crier),
//! a handful a turn, so that ten thousand of them hold up no stop signal.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Excluded, Unbounded};
use std::task::{Context, Poll, Waker};

use super::wire::health_check_response::ServingStatus;

/// Readers looked at in one turn.
const HANDFUL: usize = 128;

/// A name, or all the names that nobody has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line(usize);

/// The lines and their readers.
#[derive(Debug)]
pub(super) struct Readers {
    lines: HashMap<String, Line>,
    /// A status a line; the last one is of the names that nobody has.
    shown: Vec<ServingStatus>,
    reading: BTreeMap<u64, Reader>,
}

#[derive(Debug)]
struct Reader {
    line: Line,
    given: Option<ServingStatus>,
    asleep: Option<Waker>,
}

/// Whether anybody has to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// A line is other than before.
    Some,
    /// All is as it was.
    None,
}

impl Readers {
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let lines: HashMap<_, _> = names
            .enumerate()
            .map(|(line, name)| (name.to_owned(), Line(line)))
            .collect();
        Self {
            shown: vec![ServingStatus::Unknown; lines.len() + 1],
            lines,
            reading: BTreeMap::new(),
        }
    }

    /// The line of `name`, if it is on the board.
    pub(super) fn line(&self, name: &str) -> Option<Line> {
        self.lines.get(name).copied()
    }

    /// The line that whoever asks for another name reads.
    pub(super) fn no_such_name(&self) -> Line {
        Line(self.shown.len() - 1)
    }

    pub(super) fn shown(&self, line: Line) -> ServingStatus {
        self.shown[line.0]
    }

    /// Shows `status` on `line`.
    pub(super) fn show(&mut self, line: Line, status: ServingStatus) -> News {
        if std::mem::replace(&mut self.shown[line.0], status) == status {
            News::None
        } else {
            News::Some
        }
    }

    /// The reader in `seat` begins with `line`.
    pub(super) fn sit(&mut self, seat: u64, line: Line) {
        let reader = Reader {
            line,
            given: None,
            asleep: None,
        };
        self.reading.insert(seat, reader);
    }

    pub(super) fn leave(&mut self, seat: u64) {
        self.reading.remove(&seat);
    }

    /// The status at once for the first call, then whenever it is other than the last one given. Flips
    /// between two calls that end where they began are no change.
    pub(super) fn read(&mut self, seat: u64, cx: &Context<'_>) -> Poll<ServingStatus> {
        let Some(reader) = self.reading.get_mut(&seat) else {
            return Poll::Pending;
        };
        let status = self.shown[reader.line.0];
        if reader.given != Some(status) {
            reader.given = Some(status);
            reader.asleep = None;
            return Poll::Ready(status);
        }
        match &mut reader.asleep {
            Some(waker) => waker.clone_from(cx.waker()),
            asleep @ None => *asleep = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Takes those to wake of the next handful of seats after `seat`; says at which seat to go on, or
    /// nothing once all have been looked at.
    pub(super) fn rouse(&mut self, seat: Option<u64>, wakers: &mut Vec<Waker>) -> Option<u64> {
        let after = seat.map_or(Unbounded, Excluded);
        let mut next = None;
        for (seat, reader) in self.reading.range_mut((after, Unbounded)).take(HANDFUL) {
            next = Some(*seat);
            if reader.given != Some(self.shown[reader.line.0]) {
                wakers.extend(reader.asleep.take());
            }
        }
        next
    }
}
