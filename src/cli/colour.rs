//! Colours, on a terminal that wants them.

use std::io::{IsTerminal, stdout};

/// Whether what goes to stdout may be coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colours {
    Yes,
    No,
}

/// The colours there are, as SGR codes (ECMA-48).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Green = 32,
    Yellow = 33,
    Cyan = 36,
    Dim = 2,
}

impl Colours {
    /// On a terminal, unless `NO_COLOR` is set (no-color.org) or the terminal is a dumb one.
    pub fn of_stdout() -> Self {
        let variable = |name| std::env::var_os(name).unwrap_or_default();
        match stdout().is_terminal() && variable("NO_COLOR").is_empty() && variable("TERM") != "dumb" {
            true => Self::Yes,
            false => Self::No,
        }
    }

    pub fn paint(self, colour: Colour, text: &str) -> String {
        match self {
            Self::Yes => format!("\x1b[{}m{text}\x1b[0m", colour as u8),
            Self::No => text.to_owned(),
        }
    }
}
