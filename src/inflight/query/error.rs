//! Why a query was refused, and what would have been accepted.

use thiserror::Error;

/// What the subset of PromQL has, as the end of every refusal.
pub const SUBSET: &str = "supported are selectors with = != =~ !~, \
    sum() min() max() count() avg() of a selector, + - * /, numbers and parentheses";

/// A query that is refused before anything starts. Its text is one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {problem}; {SUBSET}")]
pub struct QueryError {
    /// Where in the query.
    pub place: Place,
    /// What is wrong there.
    pub problem: Problem,
}

/// A place in a query, counted in characters from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line of the query, from 1.
    pub line: usize,
    /// Column in that line, in characters, from 1.
    pub column: usize,
}

/// What is wrong with a query.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// PromQL, but outside the subset.
    #[error("{0} is not supported")]
    NotSupported(String),
    /// Not PromQL, or PromQL that can never be a number of calls.
    #[error("{0}")]
    Malformed(String),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.line > 1 {
            write!(f, "line {}, ", self.line)?;
        }
        write!(f, "column {}", self.column)
    }
}

impl QueryError {
    pub(super) fn not_supported(source: &str, offset: usize, what: impl Into<String>) -> Self {
        Self {
            place: Place::of(source, offset),
            problem: Problem::NotSupported(what.into()),
        }
    }

    pub(super) fn malformed(source: &str, offset: usize, what: impl Into<String>) -> Self {
        Self {
            place: Place::of(source, offset),
            problem: Problem::Malformed(what.into()),
        }
    }
}

impl Place {
    fn of(source: &str, offset: usize) -> Self {
        let before = source.get(..offset).unwrap_or(source);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}
