//! A program's metrics in the text formats of Prometheus and OpenMetrics, read as they stream.
//!
//! `scanner` finds the lines and keeps the tallies, `line` reads one, `near` notes what is like a series that
//! is not there. A broken line of a wanted
//! metric makes it unknown; a broken line of anything else is none of our business.

mod line;
mod near;
mod scanner;

#[cfg(test)]
mod tests;

pub use near::Misses;
pub use scanner::{MAX_LINE, MAX_SERIES, Scan, Scanner};
