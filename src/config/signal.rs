//! Signals by name or number, as a container image's STOPSIGNAL names them.

use std::fmt;

use super::entry::{Entry, Refusal, Scalar, quoted};
use super::nearest;

/// A signal of Linux, 1 to 64, the real-time ones included.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signal(i32);

/// The names and numbers of signal(7). They are the same on every platform the product builds
/// for (x86-64 and arm64).
const NAMES: [(&str, i32); 34] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("IOT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("KILL", 9),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("STKFLT", 16),
    ("CHLD", 17),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("VTALRM", 26),
    ("PROF", 27),
    ("WINCH", 28),
    ("IO", 29),
    ("POLL", 29),
    ("PWR", 30),
    ("SYS", 31),
    ("CLD", 17),
];

/// SIGRTMIN as container runtimes count it (moby's signal map): the C library keeps 32 and 33.
const REAL_TIME_FIRST: i32 = 34;
/// SIGRTMAX.
const REAL_TIME_LAST: i32 = 64;

impl Signal {
    /// SIGINT
    pub const INT: Self = Self(2);
    /// SIGKILL
    pub const KILL: Self = Self(9);
    /// SIGTERM
    pub const TERM: Self = Self(15);
    /// SIGSTOP
    pub const STOP: Self = Self(19);

    /// Its number, for kill(2).
    pub fn number(self) -> i32 {
        self.0
    }

    /// Parses `SIGTERM`, `TERM`, `15`, `SIGRTMIN+3` or `SIGRTMAX-1`, in any case.
    ///
    /// # Errors
    /// An unknown name, with the nearest known one, and a number outside 1 to 64.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if let Ok(number) = text.parse::<i64>() {
            return Self::numbered(number);
        }
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        if let Some((_, number)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(Self(*number));
        }
        if let Some(signal) = Self::real_time(name) {
            return Ok(signal);
        }
        if name.starts_with("RTM") {
            return Err(Refusal(format!(
                "{} is no signal; real-time ones are SIGRTMIN to SIGRTMIN+30 and SIGRTMAX-30 to SIGRTMAX",
                quoted(text)
            )));
        }
        let nearest = nearest::suggestion(name, NAMES.iter().map(|(known, _)| *known));
        Err(Refusal(format!(
            "{} is no signal; {}",
            quoted(text),
            nearest.replace("mean ", "mean SIG").replace("is ", "is SIG")
        )))
    }

    fn numbered(number: i64) -> Result<Self, Refusal> {
        match i32::try_from(number) {
            Ok(32 | 33) => Err(Refusal(format!(
                "signal {number} belongs to the C library; real-time signals begin at 34 (SIGRTMIN)"
            ))),
            Ok(number @ 1..=REAL_TIME_LAST) => Ok(Self(number)),
            _ => Err(Refusal(format!("there is no signal {number}; they are 1 to 64"))),
        }
    }

    fn real_time(name: &str) -> Option<Self> {
        let (from, offset) = if let Some(offset) = name.strip_prefix("RTMIN") {
            (REAL_TIME_FIRST, offset)
        } else {
            (REAL_TIME_LAST, name.strip_prefix("RTMAX")?)
        };
        let away = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<i32>().ok().filter(|away| plain && *away <= 30)
        };
        match (from, offset.as_bytes().first()) {
            (_, None) => Some(Self(from)),
            (REAL_TIME_FIRST, Some(b'+')) => Some(Self(from + away(&offset[1..])?)),
            (REAL_TIME_LAST, Some(b'-')) => Some(Self(from - away(&offset[1..])?)),
            _ => None,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, number)| *number == self.0) {
            Some((name, _)) => write!(f, "SIG{name}"),
            None if self.0 == REAL_TIME_FIRST => f.write_str("SIGRTMIN"),
            None => write!(f, "SIGRTMIN+{}", self.0 - REAL_TIME_FIRST),
        }
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Entry for Signal {
    const EXPECTS: &'static str = "a signal like SIGTERM";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Switch(_) => Err(Refusal::unexpected(Self::EXPECTS, written.text())),
            Scalar::Text(text) | Scalar::Number(text) => Self::parse(text),
        }
    }
}

/// What the child is stopped with: any signal but SIGSTOP.
///
/// SIGKILL is allowed, as STOPSIGNAL allows it: the calls under way are still waited for, only
/// the child itself gets no say. SIGSTOP would freeze it, and the SIGCONT that follows every stop
/// signal would wake it again, so that it never ends by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopSignal(pub Signal);

impl Entry for StopSignal {
    const EXPECTS: &'static str = Signal::EXPECTS;

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match Signal::scalar(written)? {
            Signal::STOP => Err(Refusal(
                "SIGSTOP freezes the child and never ends it; write SIGTERM".to_owned(),
            )),
            signal => Ok(Self(signal)),
        }
    }
}

/// What starts the drain: a signal that a process can take from outside and wait for.
///
/// Not SIGKILL and SIGSTOP, which nobody can take, not SIGCHLD, by which we reap, and not those the
/// kernel raises for a fault of our own (signal(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger(pub Signal);

impl Entry for Trigger {
    const EXPECTS: &'static str = Signal::EXPECTS;

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        let signal = Signal::scalar(written)?;
        let why = match signal.number() {
            9 | 19 => "cannot be caught",
            17 => "is how ended children are noticed",
            4 | 5 | 6 | 7 | 8 | 11 | 31 => "is how the kernel reports a fault",
            _ => return Ok(Self(signal)),
        };
        Err(Refusal(format!(
            "{signal} {why} and starts no drain; write SIGTERM"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Signal::parse(text).expect_err(text).0
    }

    #[test]
    fn signals_read_as_a_stopsignal_does() {
        for (text, number) in [
            ("SIGTERM", 15),
            ("TERM", 15),
            ("sigterm", 15),
            ("15", 15),
            ("SIGRTMIN", 34),
            ("SIGRTMIN+3", 37),
            ("RTMAX-1", 63),
            ("SIGRTMIN+30", 64),
            ("64", 64),
            ("WINCH", 28),
        ] {
            assert_eq!(Signal::parse(text).map(Signal::number), Ok(number), "{text}");
        }
    }

    #[test]
    fn every_signal_reads_as_it_is_shown() {
        for number in (1..=31).chain(34..=64) {
            let signal = Signal(number);
            assert_eq!(Signal::parse(&signal.to_string()), Ok(signal));
        }
    }

    #[test]
    fn what_is_no_signal_is_refused_with_the_nearest() {
        assert_eq!(
            refused("SIGTREM"),
            "\"SIGTREM\" is no signal; did you mean SIGTERM?"
        );
        assert_eq!(
            refused("SIGQIUT"),
            "\"SIGQIUT\" is no signal; did you mean SIGQUIT?"
        );
        assert_eq!(refused("0"), "there is no signal 0; they are 1 to 64");
        assert_eq!(refused("-1"), "there is no signal -1; they are 1 to 64");
        assert_eq!(refused("65"), "there is no signal 65; they are 1 to 64");
        assert!(refused("32").starts_with("signal 32 belongs to the C library"));
        for text in [
            "SIGRTMIN+31",
            "SIGRTMIN-1",
            "SIGRTMAX+1",
            "SIGRTMIN+",
            "SIGRTMIN++1",
        ] {
            assert!(refused(text).contains("real-time ones are"), "{text}");
        }
    }

    #[test]
    fn a_stop_signal_that_never_ends_a_child_is_refused() {
        let stop = |text| StopSignal::scalar(Scalar::Text(text));
        assert_eq!(
            stop("SIGSTOP"),
            Err(Refusal(
                "SIGSTOP freezes the child and never ends it; write SIGTERM".into()
            ))
        );
        assert_eq!(stop("SIGKILL"), Ok(StopSignal(Signal::KILL)));
    }

    #[test]
    fn a_trigger_that_cannot_come_is_refused() {
        for text in ["SIGKILL", "SIGSTOP", "SIGCHLD", "SIGSEGV"] {
            let refusal = Trigger::scalar(Scalar::Text(text)).expect_err(text);
            assert!(refusal.0.starts_with(text) && refusal.0.ends_with("starts no drain; write SIGTERM"));
        }
        assert!(Trigger::scalar(Scalar::Text("SIGQUIT")).is_ok());
    }
}
