//! Queries of in-flight sources, parsed as they are read, so that a bad one is refused with its key.

use crate::inflight::query::Query;

use super::entry::{Entry, Refusal, Scalar};

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
