//! What in-flight sources are told, parsed as it is read, so that a bad query is refused with its key.

use crate::inflight::query::Query;
use crate::inflight::{Absent, Mode, Path, Peers, Preset};

use super::entry::{Entry, Refusal, Scalar, quoted};
use super::scalars::words;

impl Entry for Query {
    const EXPECTS: &'static str = "a query like sum(calls_in_flight)";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Text(text) if text.trim().is_empty() => Err(Refusal(
                "empty; write what to read, like sum(calls_in_flight)".to_owned(),
            )),
            Scalar::Text(text) => Self::parse(text).map_err(|error| Refusal(error.to_string())),
            other => Err(Refusal::unexpected(Self::EXPECTS, &other.to_string())),
        }
    }
}

impl Entry for Path {
    const EXPECTS: &'static str = "a JSONPath like $.calls.inFlight";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Text(text) => Self::parse(text).map_err(|error| Refusal(error.to_string())),
            other => Err(Refusal::unexpected(Self::EXPECTS, &other.to_string())),
        }
    }
}

impl Entry for Peers {
    const EXPECTS: &'static str = "an address or a network like 10.0.0.0/8";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Text(text) => Self::parse(text).map_err(|error| Refusal(error.to_string())),
            other => Err(Refusal::unexpected(Self::EXPECTS, &other.to_string())),
        }
    }
}

impl Entry for Preset {
    const EXPECTS: &'static str = "a program whose metrics are known";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        let Scalar::Text(text) = written else {
            return Err(Refusal::unexpected(Self::EXPECTS, &written.to_string()));
        };
        Self::ALL
            .into_iter()
            .find(|preset| preset.name() == text)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                Refusal(format!("{} is not known; known are {names}", quoted(text)))
            })
    }
}

words! { Absent, "zero or unknown" {
    Zero = "zero",
    Unknown = "unknown",
} }

words! { Mode, "busy or established" {
    Busy = "busy",
    Established = "established",
} }
