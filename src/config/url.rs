//! URLs: those that are polled over plain HTTP, and those that are called over either.

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

/// A URL that is called: `http://` or `https://`.
#[derive(Clone, Debug)]
pub struct Url(pub Endpoint);

impl Entry for Url {
    const EXPECTS: &'static str = "a URL like https://registry:8443/path";

    fn scalar(written: Scalar<'_>) -> Result<Self, Refusal> {
        match written {
            Scalar::Text(text) => Endpoint::parse_any(text)
                .map(Self)
                .map_err(|error| Refusal(error.to_string())),
            other => Err(Refusal::unexpected(Self::EXPECTS, &other.to_string())),
        }
    }
}
