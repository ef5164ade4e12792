//! Findings as people, programs and code-scanning services read them.

mod json;
mod sarif;

use std::io::{self, Write};

use super::check::Checked;

pub use json::json;
pub use sarif::sarif;

/// A line each, those that could not be read last.
///
/// # Errors
/// Only when nothing can be printed.
pub fn text(checked: &Checked, out: &mut impl Write) -> io::Result<()> {
    for finding in &checked.findings {
        writeln!(out, "{finding}")?;
    }
    for error in &checked.unreadable {
        writeln!(out, "{error}")?;
    }
    Ok(())
}
