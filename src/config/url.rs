//! URLs that are read over plain HTTP.

use crate::http::Endpoint;

use super::entry::{Entry, Refusal, Scalar};

impl Entry for Endpoint {
    const EXPECTS: &'static str = "a URL like http://127.0.0.1:9090/metrics";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Text(text) => Self::parse(text).map_err(|error| Refusal(error.to_string())),
            other => Err(Refusal::unexpected(Self::EXPECTS, &other.to_string())),
        }
    }
}
