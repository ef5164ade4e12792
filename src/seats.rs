//! Who is connected. There are only so many seats: when all are taken, the newcomer gets that of the
//! one who wants the least, and of those the one who came first. A preStop hook always finds a seat.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

/// Clients at once.
pub(crate) const SEATS: usize = 64;

/// What a client wants, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wants {
    /// It has not said.
    Nothing,
    /// To follow.
    News,
    /// An order, and what comes of it.
    Order,
}

#[derive(Debug)]
struct Seat {
    number: u64,
    wants: Wants,
    task: Option<AbortHandle>,
}

/// The seats; clones are the same seats.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seats {
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    seats: Vec<Seat>,
    next: u64,
}

/// A seat that is taken. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Ticket {
    seats: Seats,
    number: u64,
}

impl Seats {
    /// Takes a seat, if need be another's.
    pub fn take(&self) -> Ticket {
        let mut taken = self.taken();
        if taken.seats.len() >= SEATS {
            taken.dismiss(Wants::Order);
        }
        let number = taken.next;
        taken.next += 1;
        taken.seats.push(Seat {
            number,
            wants: Wants::Nothing,
            task: None,
        });
        Ticket {
            seats: self.clone(),
            number,
        }
    }

    /// The first who has not said what it wants leaves its seat, if there is one.
    pub fn dismiss_the_silent(&self) {
        self.taken().dismiss(Wants::Nothing);
    }

    /// `task` talks to the client in that seat.
    pub fn seated(&self, number: u64, task: AbortHandle) {
        if let Some(seat) = self.taken().seats.iter_mut().find(|seat| seat.number == number) {
            seat.task = Some(task);
        }
    }

    /// Ends every conversation with a client who wants no more than `most`.
    pub fn clear(&self, most: Wants) {
        let taken = self.taken();
        for seat in taken.seats.iter().filter(|seat| seat.wants <= most) {
            if let Some(task) = &seat.task {
                task.abort();
            }
        }
    }

    /// A panic while it was held ends the process (panic = abort); in a test it is still whole.
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Ends the conversation with the first of those who want the least, if that is no more than `most`.
    fn dismiss(&mut self, most: Wants) {
        let willing = self.seats.iter().filter(|seat| seat.wants <= most);
        let least = willing.min_by_key(|seat| (seat.wants, seat.number));
        let leaving = least.map(|seat| seat.number);
        if let Some(task) = leaving.and_then(|number| self.leave(number)) {
            task.abort();
        }
    }

    fn leave(&mut self, number: u64) -> Option<AbortHandle> {
        let index = self.seats.iter().position(|seat| seat.number == number)?;
        self.seats.remove(index).task
    }
}

impl Ticket {
    /// Which seat it is.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The client has said what it wants.
    pub fn wants(&self, wants: Wants) {
        let mut taken = self.seats.taken();
        if let Some(seat) = taken.seats.iter_mut().find(|seat| seat.number == self.number) {
            seat.wants = wants;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.seats.taken().leave(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_who_wants_the_least_and_came_first_has_to_go() {
        let seats = Seats::default();
        let mut tickets: Vec<_> = (0..SEATS).map(|_| seats.take()).collect();
        tickets[0].wants(Wants::Order);
        tickets[1].wants(Wants::News);
        tickets.push(seats.take());
        let numbers = || -> Vec<u64> { seats.taken().seats.iter().map(|seat| seat.number).collect() };
        assert!(!numbers().contains(&2), "the first who had said nothing");
        for ticket in &tickets[3..] {
            ticket.wants(Wants::Order);
        }
        tickets.push(seats.take());
        assert!(!numbers().contains(&1), "then who only follows");
        assert!(numbers().contains(&0));
        assert_eq!(numbers().len(), SEATS);
        drop(tickets);
        assert_eq!(numbers().len(), 0);
    }
}
