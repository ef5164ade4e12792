//! The controlling terminal: lent to the child, taken back when it stops or ends.
//!
//! The child is a process group of its own. On a terminal it is the foreground group, so
//! keys go to it and to it alone: one Ctrl-C is one SIGINT. When a shell with job control
//! started us, stopping the child has to stop us as well, or the shell would wait for ever:
//! the kernel would have stopped the whole group that Ctrl-Z hit, and so do we, with the same
//! signal. In an orphaned group (a container's PID 1, where nobody could wake us) the kernel
//! discards that signal, and the child runs on, as it would have without us.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use super::kill::Target;
use super::{Child, Signal, SignalSet};

/// The controlling terminal. Dropping it takes it back, with the settings it had.
#[derive(Debug)]
pub struct Terminal {
    /// 0, 1 or 2, which stay open as long as we live.
    fd: RawFd,
    settings: libc::termios,
    /// The foreground group to hand it back to: ours, when we were in front.
    foreground: libc::pid_t,
    lend_at_start: bool,
    lent: AtomicBool,
}

impl Terminal {
    /// The controlling terminal, if one of the standard descriptors is it.
    pub fn find() -> Option<Self> {
        let fd = (0..=2).find(|fd| foreground(*fd).is_some())?;
        let own_group = own_group();
        Some(Self {
            fd,
            settings: settings(fd)?,
            foreground: own_group,
            lend_at_start: foreground(fd) == Some(own_group) && is_for_us_alone(),
            lent: AtomicBool::new(false),
        })
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.fd
    }

    /// Whether a new child is to be in front: it will be, and is remembered.
    pub(super) fn is_to_be_lent(&self) -> bool {
        if self.lend_at_start {
            self.lent.store(true, Ordering::Relaxed);
        }
        self.lend_at_start
    }

    /// Goes along with the child's stops until it ends.
    pub async fn follow(&self, child: &Child) {
        let mut stops = child.stops();
        let mut childs_settings = None;
        while let Some(signal) = stops.next().await {
            self.child_stopped(child, signal, &mut childs_settings);
        }
    }

    /// The child was stopped. SIGSTOP is somebody's decision and not the terminal's.
    fn child_stopped(&self, child: &Child, signal: Signal, childs_settings: &mut Option<libc::termios>) {
        // Without the foreground the settings are somebody else's: the shell's, editing a line.
        if self.lent.load(Ordering::Relaxed) {
            *childs_settings = settings(self.fd);
        }
        let reaches = matches!(signal, Signal::TTIN | Signal::TTOU);
        if reaches && self.is_ours() {
            self.lend_to(child, childs_settings.as_ref());
        } else if reaches || signal == Signal::TSTP {
            self.stop_with(child, signal, childs_settings.as_ref());
        }
    }

    /// Stops our own group as the child's was; when that is over, lets the child go on.
    fn stop_with(&self, child: &Child, signal: Signal, childs_settings: Option<&libc::termios>) {
        self.take_back();
        let woken = stop_own_group(signal);
        if self.is_ours() {
            self.lend_to(child, childs_settings);
        } else if woken || signal == Signal::TSTP {
            let _ = child.signal(Signal::CONT, Target::Group);
        }
        // Still in the background of a group that nobody can stop: the child would read and be
        // stopped again for ever. It stays as it is.
    }

    /// Puts the child in front, with the settings it had when it last was, and wakes it.
    fn lend_to(&self, child: &Child, its_settings: Option<&libc::termios>) {
        if let Some(its_settings) = its_settings {
            set(self.fd, its_settings);
        }
        self.lent.store(true, Ordering::Relaxed);
        put_in_front(self.fd, child.pid());
        let _ = child.signal(Signal::CONT, Target::Group);
    }

    /// Takes it back if it was lent: our group in front, the settings as they were found.
    fn take_back(&self) {
        if self.lent.swap(false, Ordering::Relaxed) {
            put_in_front(self.fd, self.foreground);
            set(self.fd, &self.settings);
        }
    }

    /// Whether our group is in front.
    fn is_ours(&self) -> bool {
        foreground(self.fd) == Some(own_group())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.take_back();
    }
}

/// Whether no one else in our group needs the terminal: we lead the session, or it is our
/// output too. Otherwise (`tidegate -- cmd | less`) the pager beside us would be shut out;
/// the child gets the terminal when it first asks for it.
#[allow(unsafe_code)]
fn is_for_us_alone() -> bool {
    // SAFETY: getsid(2) and getpid(2) touch no memory.
    let leader = unsafe { libc::getsid(0) == libc::getpid() };
    leader || (foreground(0).is_some() && foreground(1).is_some())
}

/// Sends our group the signal and lets it work on us; true when a SIGCONT ended it.
fn stop_own_group(signal: Signal) -> bool {
    let set = SignalSet::of(&[signal]);
    send_own_group(signal);
    set.unblock();
    set.block();
    // Already acted upon: it must not be forwarded as well.
    SignalSet::of(&[Signal::CONT]).take_pending().is_some()
}

#[allow(unsafe_code)]
fn send_own_group(signal: Signal) {
    // SAFETY: kill(2) touches no memory.
    unsafe { libc::kill(0, signal.number()) };
}

#[allow(unsafe_code)]
fn own_group() -> libc::pid_t {
    // SAFETY: getpgrp(2) cannot fail.
    unsafe { libc::getpgrp() }
}

/// The foreground group, if `fd` is our controlling terminal (tcgetpgrp(3): ENOTTY if not).
/// 0 is a group of an outer PID namespace, and so may ours be.
#[allow(unsafe_code)]
fn foreground(fd: RawFd) -> Option<libc::pid_t> {
    // SAFETY: tcgetpgrp(3) takes a number.
    let group = unsafe { libc::tcgetpgrp(fd) };
    (group >= 0).then_some(group)
}

/// SIGTTOU is blocked in us, so this works from the background too (tcsetpgrp(3)). After a
/// hangup it fails, and there is nothing to hand back.
#[allow(unsafe_code)]
fn put_in_front(fd: RawFd, group: libc::pid_t) {
    // SAFETY: tcsetpgrp(3) takes numbers.
    unsafe { libc::tcsetpgrp(fd, group) };
}

#[allow(unsafe_code)]
fn settings(fd: RawFd) -> Option<libc::termios> {
    let mut settings = std::mem::MaybeUninit::uninit();
    // SAFETY: tcgetattr(3) fills the struct in when it returns 0.
    unsafe { (libc::tcgetattr(fd, settings.as_mut_ptr()) == 0).then(|| settings.assume_init()) }
}

/// At once: waiting for output to drain would wait for ever behind a Ctrl-S.
#[allow(unsafe_code)]
fn set(fd: RawFd, settings: &libc::termios) {
    // SAFETY: tcsetattr(3) reads the struct.
    unsafe { libc::tcsetattr(fd, libc::TCSANOW, settings) };
}
