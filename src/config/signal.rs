//! Signals as the config has them: by name or number, as a container image's STOPSIGNAL names them.

use crate::child::Signal;

use super::entry::{Entry, Refusal, Scalar, quoted};
use super::nearest;

/// Parses `SIGTERM`, `TERM`, `15`, `SIGRTMIN+3` or `SIGRTMAX-1`, in any case.
fn parse(text: &str) -> Result<Signal, Refusal> {
    if let Ok(number) = text.parse::<i64>() {
        return numbered(number);
    }
    text.parse().map_err(|_| {
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        if name.starts_with("RTM") {
            return Refusal(format!(
                "{} is no signal; real-time ones are SIGRTMIN to SIGRTMIN+30 and SIGRTMAX-30 to SIGRTMAX",
                quoted(text)
            ));
        }
        let nearest = nearest::suggestion(name, Signal::names());
        Refusal(format!(
            "{} is no signal; {}",
            quoted(text),
            nearest.replace("mean ", "mean SIG").replace("is ", "is SIG")
        ))
    })
}

fn numbered(number: i64) -> Result<Signal, Refusal> {
    // glibc hides its own two from everyone who could wait for them (sigprocmask(2)).
    if matches!(number, 32 | 33) {
        return Err(Refusal(format!(
            "signal {number} belongs to the C library; real-time signals begin at 34 (SIGRTMIN)"
        )));
    }
    let signal = i32::try_from(number).ok().and_then(Signal::new);
    signal.ok_or_else(|| Refusal(format!("there is no signal {number}; they are 1 to 64")))
}

impl Entry for Signal {
    const EXPECTS: &'static str = "a signal like SIGTERM";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Switch(_) => Err(Refusal::unexpected(Self::EXPECTS, written.text())),
            Scalar::Text(text) | Scalar::Number(text) => parse(text),
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
        let why = match signal {
            Signal::KILL | Signal::STOP => "cannot be caught",
            Signal::CHLD => "is how ended children are noticed",
            Signal::ILL
            | Signal::TRAP
            | Signal::ABRT
            | Signal::BUS
            | Signal::FPE
            | Signal::SEGV
            | Signal::SYS => "is how the kernel reports a fault",
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
        parse(text).expect_err(text).0
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
            assert_eq!(parse(text).map(Signal::number), Ok(number), "{text}");
        }
    }

    #[test]
    fn every_signal_reads_as_it_is_shown() {
        for number in (1..=31).chain(34..=64) {
            let signal = Signal::new(number).expect("a signal");
            assert_eq!(parse(&signal.to_string()), Ok(signal));
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
