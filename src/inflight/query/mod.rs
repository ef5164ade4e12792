//! What a user asks of a program's metrics: a subset of PromQL, refused at the start when it goes
//! beyond.
//!
//! ```text
//!  text ─► token (literal) ─► parse (selector_parse) ─► Query: steps + selectors ─┐
//!                                                        a tally a selector ─────┴─► program: a number, or unknown
//! ```
//!
//! Every operand is one number: an aggregation, a number, or a selector that matches exactly one
//! series. Labels are therefore never matched against each other as PromQL does between vectors.

mod error;
mod literal;
mod parse;
mod program;
mod selector;
mod selector_parse;
mod tally;
mod token;

#[cfg(test)]
mod differential;
#[cfg(test)]
mod tests;

pub use error::{Place, Problem, QueryError, SUBSET};
pub use program::{Absent, Kind, Query, Stand};
pub use selector::Selector;
pub use tally::Tally;
