//! The books of who listens and who was told; [`Audience`] is read out of them.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::audience::{Audience, PROBER_MEMORY, Peer};
use super::wire::health_check_response::ServingStatus;

/// Peers remembered at most; more of them make [`Audience::uncounted`] true.
const MAX_PROBERS: usize = 1024;

/// Watches open at most: ten thousand, and some to be told apart from them.
const MAX_WATCHES: usize = 10_240;

/// Names given in [`Audience::untold`] at most.
const MAX_NAMED: usize = 8;

/// What a Watch asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// A name on the board, by its text.
    Name(Arc<str>),
    /// A name nobody has. Its text is the peer's and is not kept.
    NoSuchName,
    /// The liveness name, which a drain does not touch.
    Liveness,
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "{name:?}"),
            Self::NoSuchName => f.write_str("an unknown name"),
            Self::Liveness => f.write_str("liveness"),
        }
    }
}

/// Too many Watches are open already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManyWatches;

#[derive(Debug)]
struct Watcher {
    peer: Peer,
    topic: Topic,
    offered: Option<ServingStatus>,
    delivered: Option<ServingStatus>,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    last: Instant,
    told_in: Option<Drain>,
}

/// Which drain it is: a resumed one and its successor are not the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Drain(u64);

/// The books behind [`Audience`]. Memory is bounded by [`MAX_PROBERS`] and [`MAX_WATCHES`].
#[derive(Debug, Default)]
pub(super) struct Evidence {
    watchers: BTreeMap<u64, Watcher>,
    next_watcher: u64,
    /// Of the watchers, those that count, liveness being no part of it; and those of them told.
    listening: usize,
    told: usize,
    probers: HashMap<Peer, Probe>,
    overflowed_at: Option<Instant>,
    drain: Drain,
}

/// Whether the evidence is other than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Something the driver may be waiting for.
    New,
    /// The same as before.
    Nothing,
}

impl Evidence {
    /// A drain begins: what probers were told before no longer counts.
    pub(super) fn drain_begins(&mut self) {
        self.drain = Drain(self.drain.0 + 1);
    }

    /// Takes a seat for one Watch; it is given back with [`Evidence::leave`].
    pub(super) fn sit(&mut self, peer: Peer, topic: Topic) -> Result<u64, TooManyWatches> {
        if self.watchers.len() >= MAX_WATCHES {
            return Err(TooManyWatches);
        }
        let seat = self.next_watcher;
        self.next_watcher += 1;
        self.listening += usize::from(topic != Topic::Liveness);
        self.watchers.insert(
            seat,
            Watcher {
                peer,
                topic,
                offered: None,
                delivered: None,
            },
        );
        Ok(seat)
    }

    /// The Watch in `seat` is over.
    pub(super) fn leave(&mut self, seat: u64) {
        if let Some(watcher) = self.watchers.remove(&seat)
            && watcher.listens()
        {
            self.listening -= 1;
            self.told -= usize::from(watcher.is_told());
        }
    }

    /// `status` is on its way to the Watch in `seat`.
    pub(super) fn offered(&mut self, seat: u64, status: ServingStatus) {
        if let Some(watcher) = self.watchers.get_mut(&seat) {
            watcher.offered = Some(status);
        }
    }

    /// The transport has taken all that was offered to `seat`.
    pub(super) fn delivered(&mut self, seat: u64) -> Change {
        match self.watchers.get_mut(&seat) {
            Some(watcher) if watcher.delivered != watcher.offered => {
                let was_told = watcher.is_told();
                watcher.delivered = watcher.offered;
                if watcher.listens() {
                    self.told -= usize::from(was_told);
                    self.told += usize::from(watcher.is_told());
                }
                Change::New
            }
            _ => Change::Nothing,
        }
    }

    /// `peer` probed and was answered `status`.
    pub(super) fn probed(&mut self, peer: Peer, status: ServingStatus, now: Instant) -> Change {
        let told_in = (status == ServingStatus::NotServing).then_some(self.drain);
        if let Some(probe) = self.probers.get_mut(&peer) {
            // Told once is told: a later answer about another name does not take it back.
            let told_in = told_in.or(probe.told_in);
            let change = if probe.told_in == told_in {
                Change::Nothing
            } else {
                Change::New
            };
            *probe = Probe { last: now, told_in };
            return change;
        }
        if self.probers.len() >= MAX_PROBERS {
            self.forget_old_probers(now);
        }
        if self.probers.len() >= MAX_PROBERS {
            self.overflowed_at = Some(now);
        } else {
            self.probers.insert(peer, Probe { last: now, told_in });
        }
        Change::New
    }

    /// The audience as it is at `now`.
    pub(super) fn audience(&self, now: Instant) -> Audience {
        // Nobody is looked for where nobody can be: this is asked at every step of ten thousand.
        let untold_watchers = (self.watchers.values())
            .filter(|watcher| watcher.listens() && !watcher.is_told())
            .take(self.listening - self.told);
        let probers = || {
            self.probers
                .iter()
                .filter(|(_, probe)| is_recent(probe.last, now))
        };
        let untold_probers = || probers().filter(|(_, probe)| probe.told_in != Some(self.drain));

        let probed = probers().count();
        Audience {
            watchers: self.listening,
            watchers_told: self.told,
            probers: probed,
            probers_told: probed - untold_probers().count(),
            untold: untold_watchers
                .map(|watcher| format!("the watch of {} by {}", watcher.topic, watcher.peer))
                .chain(untold_probers().map(|(peer, _)| format!("the probes from {peer}")))
                .take(MAX_NAMED)
                .collect(),
            uncounted: self.overflowed_at.is_some_and(|at| is_recent(at, now)),
            next_expiry: untold_probers()
                .map(|(_, probe)| probe.last)
                .chain(self.overflowed_at.filter(|at| is_recent(*at, now)))
                .map(|last| last + PROBER_MEMORY)
                .min(),
        }
    }

    fn forget_old_probers(&mut self, now: Instant) {
        self.probers.retain(|_, probe| is_recent(probe.last, now));
    }
}

impl Watcher {
    fn listens(&self) -> bool {
        self.topic != Topic::Liveness
    }

    fn is_told(&self) -> bool {
        self.delivered == Some(ServingStatus::NotServing)
    }
}

fn is_recent(then: Instant, now: Instant) -> bool {
    now.saturating_duration_since(then) < PROBER_MEMORY
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::Duration;

    use super::*;

    fn peer(number: u32) -> Peer {
        Peer::at(IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + number)))
    }

    #[test]
    fn a_probe_before_the_drain_does_not_count_as_told() {
        let mut books = Evidence::default();
        let start = Instant::now();
        books.probed(peer(1), ServingStatus::NotServing, start);
        books.drain_begins();
        assert!(!books.audience(start).all_told());
        assert_eq!(books.audience(start).untold, ["the probes from 10.0.0.1"]);
        books.probed(peer(1), ServingStatus::NotServing, start);
        assert!(books.audience(start).all_told());
    }

    #[test]
    fn a_prober_is_forgotten_after_thirty_seconds() {
        let mut books = Evidence::default();
        let start = Instant::now();
        books.probed(peer(1), ServingStatus::Serving, start);
        books.drain_begins();
        let nearly = start + PROBER_MEMORY - Duration::from_millis(1);
        assert_eq!(books.audience(nearly).probers, 1);
        assert_eq!(books.audience(nearly).next_expiry, Some(start + PROBER_MEMORY));
        assert_eq!(books.audience(start + PROBER_MEMORY).probers, 0);
        assert!(books.audience(start + PROBER_MEMORY).all_told());
    }

    #[test]
    fn more_probers_than_memory_never_end_the_window_early() {
        let mut books = Evidence::default();
        let start = Instant::now();
        books.drain_begins();
        for number in 0..5000 {
            books.probed(peer(number), ServingStatus::NotServing, start);
        }
        let audience = books.audience(start);
        assert_eq!(audience.probers, MAX_PROBERS);
        assert_eq!(audience.probers_told, MAX_PROBERS);
        assert!(audience.uncounted);
        assert!(!audience.all_told());
        assert!(books.audience(start + PROBER_MEMORY).all_told());
    }

    #[test]
    fn old_probers_make_room_for_new_ones() {
        let mut books = Evidence::default();
        let start = Instant::now();
        for number in 0..MAX_PROBERS as u32 {
            books.probed(peer(number), ServingStatus::Serving, start);
        }
        let later = start + PROBER_MEMORY;
        books.probed(peer(9999), ServingStatus::Serving, later);
        let audience = books.audience(later);
        assert_eq!((audience.probers, audience.uncounted), (1, false));
    }

    #[test]
    fn a_watch_is_told_only_when_delivered() {
        let mut books = Evidence::default();
        let now = Instant::now();
        let seat = books.sit(peer(1), Topic::Name("a".into())).unwrap();
        books.drain_begins();
        books.offered(seat, ServingStatus::NotServing);
        assert!(!books.audience(now).all_told());
        assert_eq!(books.audience(now).untold, ["the watch of \"a\" by 10.0.0.1"]);
        assert_eq!(books.delivered(seat), Change::New);
        assert_eq!(books.delivered(seat), Change::Nothing);
        assert!(books.audience(now).all_told());
        books.leave(seat);
        assert_eq!(books.audience(now).watchers, 0);
    }

    #[test]
    fn liveness_watchers_are_not_waited_for() {
        let mut books = Evidence::default();
        books.sit(peer(1), Topic::Liveness).unwrap();
        books.drain_begins();
        assert_eq!(books.audience(Instant::now()).watchers, 0);
    }

    #[test]
    fn a_told_prober_stays_told_in_its_drain() {
        let mut books = Evidence::default();
        let now = Instant::now();
        books.drain_begins();
        assert_eq!(books.probed(peer(1), ServingStatus::NotServing, now), Change::New);
        assert_eq!(
            books.probed(peer(1), ServingStatus::NotServing, now),
            Change::Nothing
        );
        books.probed(peer(1), ServingStatus::Serving, now);
        assert!(books.audience(now).all_told());
        books.drain_begins();
        assert!(!books.audience(now).all_told());
    }

    #[test]
    fn watches_are_bounded() {
        let mut books = Evidence::default();
        for _ in 0..MAX_WATCHES {
            books.sit(peer(1), Topic::NoSuchName).unwrap();
        }
        assert_eq!(books.sit(peer(1), Topic::NoSuchName), Err(TooManyWatches));
    }
}
