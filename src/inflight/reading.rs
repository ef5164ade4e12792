//! What one look at the in-flight sources says.

use std::fmt;

/// One reading of the calls under way.
///
/// There is no third case and no default: a reading that could not be made is
/// [`Reading::Unknown`], and unknown is never zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Calls under way. Fractions are rounded up, so that a little is never nothing.
    Count(u64),
    /// It could not be known, and why.
    Unknown(Unknown),
}

/// Why a reading could not be made, as a sentence for the log, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown(pub String);

/// One poll of every source: the calls under way and, where it is counted, the calls ever begun.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Calls under way, all sources added up; one unknown makes the sum unknown,
    /// and so do arrivals that are configured and could not be read.
    pub reading: Reading,
    /// The counter of calls begun (`arrivals`), where one is configured and could be read.
    /// Only its change between two polls means anything.
    pub arrivals: Option<f64>,
}

impl Reading {
    /// A finite, non-negative number becomes a count; anything else is unknown.
    pub fn from_value(value: f64) -> Self {
        if value.is_nan() {
            Self::unknown("the value is NaN")
        } else if value.is_infinite() {
            Self::unknown("the value is infinite")
        } else if value < 0.0 {
            Self::unknown(format!("the value is negative ({value})"))
        } else {
            Self::Count(value.ceil() as u64)
        }
    }

    /// An unknown reading with its reason.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown(Unknown(why.into()))
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Unknown(Unknown(why)) => write!(f, "unknown ({why})"),
        }
    }
}
