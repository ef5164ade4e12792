//! The program's first moment, which is left to it.
//!
//! A start is bound by page faults and cold caches. What tidegate does next (a runtime, its servers) takes
//! as long as a small program's whole start, and done at once it is done beside it, on a neighbouring
//! processor that shares its cache and its host: a program under tidegate began a third of a millisecond
//! later for it. The ports are open already, so whoever comes meanwhile waits in the kernel's queue.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{Reaper, Signals};

/// Longer than a small program's start, shorter than anyone waits.
const MOMENT_MILLIS: u16 = 2;

/// Sleeps for a moment, or until there is something to do: a signal, or the program's end.
pub fn leave_the_first_moment_to_it(reaper: &Reaper, signals: &Signals) {
    let mut wakers: Vec<PollFd<'_>> = [reaper.descriptor(), signals.descriptor()]
        .into_iter()
        .flatten()
        .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
        .collect();
    // Refused (poll(2): no memory), it was only a courtesy.
    let _ = poll(&mut wakers, PollTimeout::from(MOMENT_MILLIS));
}
