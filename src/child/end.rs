//! How a process ended, and the exit code that says so.

use std::fmt;

use super::Signal;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildEnd {
    /// It called exit, with this code.
    Exited(u8),
    /// A signal ended it.
    Signaled {
        /// Which one.
        signal: Signal,
        /// Whether it left a core dump.
        core_dumped: bool,
    },
}

/// The codes that tidegate reports as 0 (`child.successCodes`): a JVM, for one, ends with
/// 143 after a SIGTERM that it handled well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuccessCodes(Vec<u8>);

impl ChildEnd {
    /// The code to exit with: the process's own, or 128 + n when signal n ended it, as
    /// shells do it (POSIX 2.8.2 asks for more than 128).
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled { signal, .. } => 128 + signal.number() as u8,
        }
    }
}

impl fmt::Display for ChildEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with {code}"),
            Self::Signaled { signal, core_dumped } => {
                write!(f, "killed by {signal} ({})", signal.number())?;
                if *core_dumped {
                    f.write_str(", core dumped")?;
                }
                Ok(())
            }
        }
    }
}

impl SuccessCodes {
    /// These codes are success, beside 0.
    pub fn new(codes: impl IntoIterator<Item = u8>) -> Self {
        Self(codes.into_iter().collect())
    }

    /// The code tidegate exits with after this end.
    pub fn exit_code(&self, end: ChildEnd) -> u8 {
        match end.exit_code() {
            code if self.0.contains(&code) => 0,
            code => code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KILLED: ChildEnd = ChildEnd::Signaled {
        signal: Signal::KILL,
        core_dumped: false,
    };

    #[test]
    fn a_signal_is_told_as_128_and_its_number() {
        assert_eq!(KILLED.exit_code(), 137);
        assert_eq!(ChildEnd::Exited(255).exit_code(), 255);
    }

    #[test]
    fn success_codes_become_0_and_others_stay() {
        let codes = SuccessCodes::new([143, 137]);
        assert_eq!(codes.exit_code(KILLED), 0);
        assert_eq!(codes.exit_code(ChildEnd::Exited(143)), 0);
        assert_eq!(codes.exit_code(ChildEnd::Exited(3)), 3);
    }

    #[test]
    fn an_end_is_a_sentence() {
        assert_eq!(ChildEnd::Exited(3).to_string(), "exited with 3");
        assert_eq!(KILLED.to_string(), "killed by SIGKILL (9)");
    }
}
