//! Waiting for somebody who may never come, so that a signal that would end us still does.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::signalfd::SignalFd;
use super::{Signal, SignalSet};

/// What ends a program that does nothing about it, and is sent to end one.
pub const ENDING: [Signal; 4] = [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT];

/// What a wait came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// There is something to read, or the other end is closed.
    Readable,
    /// This came first. It is taken: nobody else sees it.
    Ended(Signal),
    /// Nobody came in time.
    Nothing,
}

/// Waits until `from` can be read, at most for `patience`. Our signals are blocked from the first instruction on, so that without
/// this whoever waits before the program runs could not be ended. One that was ignored when we were started
/// ends nobody.
///
/// # Errors
/// As signalfd(2) and poll(2): no descriptor or no memory left.
pub fn wait_to_read(from: BorrowedFd<'_>, patience: Duration) -> io::Result<Awaited> {
    let ending: Vec<Signal> = ENDING.into_iter().filter(|signal| !signal.is_ignored()).collect();
    let signals = SignalFd::open(SignalSet::of(&ending))?;
    let Some(ends) = signals.descriptor() else {
        return Ok(Awaited::Readable);
    };
    let mut fds = [from, ends].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    let limit = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
    if poll(&mut fds, limit)? == 0 {
        return Ok(Awaited::Nothing);
    }
    let mut one = [MaybeUninit::uninit(); 1];
    match signals.read(&mut one)? {
        0 => Ok(Awaited::Readable),
        _ => Ok(Awaited::Ended(SignalFd::first(&one))),
    }
}
