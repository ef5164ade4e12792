//! The connections open now, and which of them goes when there is no more room.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

use super::pulse::{Pulse, Worth};

/// Of the connections, one in so many goes at once when there is no more room.
const SHARE: usize = 128;

/// The connections open now.
#[derive(Debug)]
pub(super) struct Connections {
    capacity: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    entries: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    pulse: Arc<Pulse>,
    task: Option<AbortHandle>,
}

/// A connection's place, given back when dropped.
pub(super) struct Ticket {
    connections: Arc<Connections>,
    number: u64,
}

impl Ticket {
    /// Whose place it is.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

impl Connections {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            open: Mutex::default(),
        }
    }

    /// Takes in a connection. When all places are taken, the one worth least goes: a probe must
    /// always find a place.
    pub(super) fn admit(self: &Arc<Self>, pulse: Arc<Pulse>) -> Ticket {
        if self.open().entries.len() >= self.capacity {
            self.close_least();
        }
        let mut open = self.open();
        let number = open.next;
        open.next += 1;
        open.entries.insert(number, Entry { pulse, task: None });
        Ticket {
            connections: Arc::clone(self),
            number,
        }
    }

    pub(super) fn started(&self, number: u64, task: AbortHandle) {
        if let Some(entry) = self.open().entries.get_mut(&number) {
            entry.task = Some(task);
        }
    }

    /// Closes the connection worth least, and with it a few that are as idle: a flood would otherwise
    /// have all of them looked through again for every newcomer.
    pub(super) fn close_least(&self) {
        let mut open = self.open();
        let mut worths: Vec<_> = open
            .entries
            .iter()
            .map(|(number, entry)| (entry.pulse.worth(), *number))
            .collect();
        let few = (worths.len() / SHARE).max(1);
        if worths.len() > few {
            worths.select_nth_unstable(few);
        }
        worths.truncate(few);
        worths.sort_unstable();
        let leaving: Vec<_> = worths
            .iter()
            .enumerate()
            .filter(|(place, (worth, _))| *place == 0 || matches!(worth, Worth::Idle(_)))
            .filter_map(|(_, (_, number))| open.entries.remove(number))
            .collect();
        // A task that ends takes the same lock.
        drop(open);
        leaving.into_iter().for_each(Entry::close);
    }

    pub(super) fn close_all(&self) {
        let entries = std::mem::take(&mut self.open().entries);
        for entry in entries.into_values() {
            entry.close();
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn close(self) {
        if let Some(task) = self.task {
            task.abort();
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.connections.open().entries.remove(&self.number);
    }
}
