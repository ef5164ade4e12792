//! A signal by its number, and a set of them as the kernel holds it.
//!
//! glibc hides signals 32 and 33 (its own two real-time signals) from `sigprocmask` and
//! `sigaction`. A supervisor that promises the mask and dispositions it was given has to
//! see all 64, so the calls here go to the kernel itself (`rt_sigprocmask(2)`).

use std::fmt;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::str::FromStr;

/// The highest signal number: the kernel's `_NSIG`.
const HIGHEST: i32 = 64;

/// SIGRTMIN as container runtimes count it (moby's signal map) and glibc does; the C library keeps
/// 32 and 33 for itself. musl keeps one more, but a config must not change its meaning with libc.
const REAL_TIME_LOWEST: i32 = 34;

/// The size of the kernel's `sigset_t` in bytes, which its calls ask for.
const SET_SIZE: usize = size_of::<u64>();

/// A signal, 1 to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signal(u8);

/// Why a signal's name was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no signal: write a name (SIGTERM, TERM, SIGRTMIN+3) or a number from 1 to 64")]
pub struct NoSuchSignal(String);

macro_rules! named {
    ($($name:ident = $constant:ident),* $(,)?) => {
        impl Signal {
            $(#[doc = concat!("`", stringify!($constant), "`, see signal(7).")]
            pub const $name: Self = Self(libc::$constant as u8);)*
        }

        /// Every signal that has a name of its own, without its `SIG`.
        const NAMES: &[(&str, Signal)] = &[$((stringify!($name), Signal::$name)),*];
    };
}

named! {
    HUP = SIGHUP, INT = SIGINT, QUIT = SIGQUIT, ILL = SIGILL, TRAP = SIGTRAP, ABRT = SIGABRT, BUS = SIGBUS,
    FPE = SIGFPE, KILL = SIGKILL, USR1 = SIGUSR1, SEGV = SIGSEGV, USR2 = SIGUSR2, PIPE = SIGPIPE, ALRM = SIGALRM,
    TERM = SIGTERM, STKFLT = SIGSTKFLT, CHLD = SIGCHLD, CONT = SIGCONT, STOP = SIGSTOP, TSTP = SIGTSTP,
    TTIN = SIGTTIN, TTOU = SIGTTOU, URG = SIGURG, XCPU = SIGXCPU, XFSZ = SIGXFSZ, VTALRM = SIGVTALRM,
    PROF = SIGPROF, WINCH = SIGWINCH, IO = SIGIO, PWR = SIGPWR, SYS = SIGSYS,
}

/// Other names of the same signals, signal(7).
const ALIASES: &[(&str, Signal)] = &[("IOT", Signal::ABRT), ("CLD", Signal::CHLD), ("POLL", Signal::IO)];

impl Signal {
    /// Every name there is but the real-time ones', without its `SIG`; aliases come last.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().chain(ALIASES).map(|(name, _)| *name)
    }

    /// The signal of this number; none outside 1 to 64.
    pub const fn new(number: i32) -> Option<Self> {
        if number >= 1 && number <= HIGHEST {
            Some(Self(number as u8))
        } else {
            None
        }
    }

    /// A number that the kernel reported as a signal.
    pub(super) const fn reported(number: i32) -> Self {
        Self(number as u8)
    }

    /// Its number, 1 to 64.
    pub const fn number(self) -> i32 {
        self.0 as i32
    }

    /// Whether it is ignored in this process. Nothing in tidegate changes a disposition but
    /// SIGCHLD's, so for every other signal this is what tidegate was started with.
    #[allow(unsafe_code)]
    pub fn is_ignored(self) -> bool {
        // The kernel's struct sigaction is the handler, the flags, a restorer on some
        // architectures, and the mask: five words hold every layout.
        let mut action = [0usize; 5];
        // SAFETY: a null new action changes nothing, and `action` has room for the old one.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                self.number(),
                std::ptr::null::<usize>(),
                action.as_mut_ptr(),
                SET_SIZE,
            )
        };
        answer == 0 && action[0] == libc::SIG_IGN
    }

    /// Sets its disposition, to be ignored or to the default. Safe between clone and exec.
    #[allow(unsafe_code)]
    pub(super) fn dispose(self, disposition: Disposition) {
        let handler = match disposition {
            Disposition::Default => libc::SIG_DFL,
            Disposition::Ignored => libc::SIG_IGN,
        };
        let action = [handler, 0, 0, 0, 0];
        // SAFETY: the action names no function of ours, only SIG_DFL or SIG_IGN; no flags,
        // so no restorer is looked at.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                self.number(),
                action.as_ptr(),
                std::ptr::null_mut::<usize>(),
                SET_SIZE,
            )
        };
    }
}

/// What a signal does that no one handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disposition {
    /// SIG_DFL
    Default,
    /// SIG_IGN
    Ignored,
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = NAMES.iter().find(|(_, signal)| signal == self) {
            return write!(f, "SIG{name}");
        }
        match self.number() - REAL_TIME_LOWEST {
            below if below < 0 => write!(f, "signal {}", self.0),
            0 => f.write_str("SIGRTMIN"),
            above => write!(f, "SIGRTMIN+{above}"),
        }
    }
}

impl FromStr for Signal {
    type Err = NoSuchSignal;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || NoSuchSignal(text.to_owned());
        if let Ok(number) = text.parse() {
            return Self::new(number).ok_or_else(refused);
        }
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        match NAMES.iter().chain(ALIASES).find(|(known, _)| *known == name) {
            Some((_, signal)) => Ok(*signal),
            None => real_time(name).ok_or_else(refused),
        }
    }
}

/// `RTMIN+3`, `RTMAX-2`: the real-time signals by their place.
fn real_time(name: &str) -> Option<Signal> {
    let place = |text: &str, sign: char| match text {
        "" => Some(0),
        text => {
            let digits = text.strip_prefix(sign)?;
            // A number of Rust's may have a sign of its own.
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<u8>().ok().filter(|_| plain).map(i32::from)
        }
    };
    let number = if let Some(above) = name.strip_prefix("RTMIN") {
        REAL_TIME_LOWEST + place(above, '+')?
    } else {
        HIGHEST - place(name.strip_prefix("RTMAX")?, '-')?
    };
    Signal::new(number).filter(|_| (REAL_TIME_LOWEST..=HIGHEST).contains(&number))
}

/// A set of signals, in the kernel's own form: bit n − 1 is signal n.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SignalSet(u64);

impl SignalSet {
    /// No signal at all.
    pub const EMPTY: Self = Self(0);
    /// Every signal there is.
    pub const ALL: Self = Self(u64::MAX);

    /// Those of `signals`.
    pub const fn of(signals: &[Signal]) -> Self {
        let mut set = 0;
        let mut index = 0;
        while index < signals.len() {
            set |= 1 << (signals[index].0 - 1);
            index += 1;
        }
        Self(set)
    }

    /// This set without those of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether `signal` is in it.
    pub const fn contains(self, signal: Signal) -> bool {
        self.0 & (1 << (signal.0 - 1)) != 0
    }

    /// The signals in it, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Signal> {
        (1..=HIGHEST)
            .filter_map(Signal::new)
            .filter(move |signal| self.contains(*signal))
    }

    /// Makes this the calling thread's mask of blocked signals and returns the one before.
    pub(super) fn replace_mask(self) -> Self {
        self.change_mask(libc::SIG_SETMASK)
    }

    /// Adds these to the calling thread's blocked signals.
    pub(super) fn block(self) {
        self.change_mask(libc::SIG_BLOCK);
    }

    /// Takes these from the calling thread's blocked signals; those pending are delivered
    /// before this returns.
    pub(super) fn unblock(self) {
        self.change_mask(libc::SIG_UNBLOCK);
    }

    #[allow(unsafe_code)]
    fn change_mask(self, how: i32) -> Self {
        let mut before = 0u64;
        // SAFETY: both sets live through the call and have the size given. It cannot fail
        // with arguments like these (rt_sigprocmask(2): EINVAL and EFAULT only).
        unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, &self.0, &mut before, SET_SIZE) };
        Self(before)
    }

    /// Takes one pending signal of this set from the queue, without waiting.
    #[allow(unsafe_code)]
    pub(super) fn take_pending(self) -> Option<Signal> {
        let at_once = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the set and the time live through the call; a null info is allowed.
        let number = unsafe {
            libc::syscall(
                libc::SYS_rt_sigtimedwait,
                &self.0,
                std::ptr::null_mut::<libc::siginfo_t>(),
                &at_once,
                SET_SIZE,
            )
        };
        Signal::new(number as i32)
    }

    /// A descriptor to read signals of this set from, non-blocking and closed at exec.
    ///
    /// # Errors
    /// As signalfd(2): no descriptor or no memory left.
    #[allow(unsafe_code)]
    pub(super) fn descriptor(self) -> io::Result<OwnedFd> {
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: the set lives through the call and has the size given.
        let fd = unsafe { libc::syscall(libc::SYS_signalfd4, -1, &self.0, SET_SIZE, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor and nobody else knows it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
    }
}

impl fmt::Debug for SignalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.iter().map(|signal| signal.number()))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_known_by_name_number_and_place() {
        for (text, number) in [
            ("SIGTERM", libc::SIGTERM),
            ("term", libc::SIGTERM),
            ("15", 15),
            ("64", 64),
            ("32", 32),
            ("SIGCLD", libc::SIGCHLD),
            ("IOT", libc::SIGABRT),
            ("SIGPOLL", libc::SIGIO),
            ("SIGRTMIN", 34),
            ("rtmin+3", 37),
            ("SIGRTMIN+30", 64),
            ("SIGRTMAX", 64),
            ("SIGRTMAX-1", 63),
            ("SIGRTMAX-30", 34),
        ] {
            assert_eq!(text.parse::<Signal>().map(Signal::number), Ok(number), "{text}");
        }
    }

    #[test]
    fn what_is_no_signal_is_refused() {
        for text in [
            "",
            "0",
            "65",
            "-1",
            "SIGFOO",
            "SIG",
            "RTMIN+31",
            "RTMIN-1",
            "RTMAX+1",
            "RTMIN+",
            "RTMIN++1",
            "RTMAX-31",
            "SIGSIGTERM",
        ] {
            assert!(text.parse::<Signal>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn every_signal_reads_back_what_it_shows() {
        for signal in SignalSet::ALL.iter() {
            let shown = signal.to_string();
            match shown.strip_prefix("signal ") {
                Some(number) => assert_eq!(number.parse(), Ok(signal)),
                None => assert_eq!(shown.parse(), Ok(signal)),
            }
        }
        assert_eq!(SignalSet::ALL.iter().count(), 64);
    }

    #[test]
    fn a_set_holds_exactly_its_signals() {
        let set = SignalSet::ALL.without(SignalSet::of(&[Signal::HUP, Signal::KILL]));
        assert!(!set.contains(Signal::HUP) && !set.contains(Signal::KILL) && set.contains(Signal::INT));
        assert_eq!(set.iter().count(), 62);
    }
}
