//! The `json` source: a number in a JSON document.

use std::time::Duration;

use serde_json::Value;
use serde_json_path::JsonPath;
use thiserror::Error;

use super::sources::Measured;
use super::{Reading, Unknown};
use crate::http::{Client, Endpoint};

/// The largest document that is read, in bytes: it has to be kept whole to be parsed.
pub const MAX_DOCUMENT: u64 = 1024 * 1024;

/// A `json` source, validated.
#[derive(Clone, Debug)]
pub struct JsonConfig {
    endpoint: Endpoint,
    path: Path,
    take: Take,
}

/// A JSONPath (RFC 9535), without functions.
#[derive(Clone, Debug)]
pub struct Path {
    source: String,
    path: JsonPath,
}

/// A text that is no JSONPath.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no JSONPath (RFC 9535): {1}; write it like $.calls.inFlight")]
pub struct PathError(String, String);

/// What of the value found is the number of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Take {
    /// The value: a number, or a string of digits.
    #[default]
    Number,
    /// The length of the array.
    Length,
}

impl Path {
    /// Reads a JSONPath.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        match JsonPath::parse(text) {
            Ok(path) => Ok(Self {
                source: text.to_owned(),
                path,
            }),
            Err(error) => Err(PathError(text.to_owned(), error.to_string())),
        }
    }
}

impl JsonConfig {
    /// A source that reads the document at `endpoint`.
    pub fn new(endpoint: Endpoint, path: Path, take: Take) -> Self {
        Self { endpoint, path, take }
    }

    /// Where the document is, without credentials.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

/// A source at work.
pub(super) struct Json {
    config: JsonConfig,
    client: Client,
}

impl Json {
    pub fn new(config: JsonConfig) -> Self {
        let client = Client::new(config.endpoint.clone(), "application/json, */*;q=0.1");
        Self {
            client: client.at_most(MAX_DOCUMENT),
            config,
        }
    }

    pub fn config(&self) -> &JsonConfig {
        &self.config
    }

    pub async fn poll(&mut self, timeout: Duration) -> Measured {
        let mut document = Vec::new();
        let answer = self
            .client
            .get(timeout, |piece| document.extend_from_slice(piece))
            .await;
        let reading = match answer {
            Ok(_) => self.config.read(&document),
            Err(fault) => Reading::unknown(fault.to_string()),
        };
        Measured::of(match reading {
            Reading::Unknown(Unknown(why)) => Reading::unknown(format!("{}: {why}", self.config.endpoint)),
            count => count,
        })
    }
}

impl JsonConfig {
    /// What a document says.
    pub fn read(&self, document: &[u8]) -> Reading {
        let document: Value = match serde_json::from_slice(document) {
            Ok(document) => document,
            Err(error) => return Reading::unknown(format!("the answer is no JSON: {error}")),
        };
        let path = &self.path.source;
        let found = self.path.path.query(&document).all();
        let value = match found[..] {
            [value] => value,
            [] => return Reading::unknown(format!("nothing is at `{path}`")),
            [..] => {
                return Reading::unknown(format!(
                    "`{path}` matches {} values: let it match one",
                    found.len()
                ));
            }
        };
        match self.take.of(value) {
            Some(number) => Reading::from_value(number),
            None => Reading::unknown(format!(
                "at `{path}` is {}, {}",
                kind(value),
                self.take.expects(value)
            )),
        }
    }
}

impl Take {
    fn of(self, value: &Value) -> Option<f64> {
        match (self, value) {
            (Self::Number, Value::Number(number)) => number.as_f64(),
            (Self::Number, Value::String(text)) => digits(text),
            (Self::Length, Value::Array(items)) => Some(items.len() as f64),
            _ => None,
        }
    }

    fn expects(self, value: &Value) -> &'static str {
        match (self, value) {
            (Self::Number, Value::Array(_)) => "no number; its items are counted with length: true",
            (Self::Number, _) => "no number",
            (Self::Length, _) => "no array that length: true could count",
        }
    }
}

/// Digits alone: numbers beyond 2^53 are written as strings by some.
fn digits(text: &str) -> Option<f64> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| text.parse().ok()).flatten()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, take: Take, document: &str) -> Reading {
        let endpoint = Endpoint::parse("http://127.0.0.1/").unwrap();
        JsonConfig::new(endpoint, Path::parse(path).unwrap(), take).read(document.as_bytes())
    }

    fn why(path: &str, take: Take, document: &str) -> String {
        match read(path, take, document) {
            Reading::Unknown(Unknown(why)) => why,
            Reading::Count(count) => panic!("a count: {count}"),
        }
    }

    #[test]
    fn a_number_or_digits_are_read() {
        for (path, document, count) in [
            ("$.inFlight", r#"{"inFlight": 3}"#, 3),
            ("$", "0", 0),
            ("$.a.b[1]", r#"{"a": {"b": [9, 2.1]}}"#, 3),
            ("$['odd key']", r#"{"odd key": "12"}"#, 12),
            (
                "$.pools[?@.name=='grpc'].active",
                r#"{"pools":[{"name":"x","active":7},{"name":"grpc","active":1}]}"#,
                1,
            ),
        ] {
            assert_eq!(
                read(path, Take::Number, document),
                Reading::Count(count),
                "{path}"
            );
        }
    }

    #[test]
    fn an_array_is_counted_on_request_only() {
        let document = r#"{"calls": [{}, {}]}"#;
        assert_eq!(read("$.calls", Take::Length, document), Reading::Count(2));
        assert_eq!(
            read("$.calls", Take::Length, r#"{"calls": []}"#),
            Reading::Count(0)
        );
        assert_eq!(
            why("$.calls", Take::Number, document),
            "at `$.calls` is an array, no number; its items are counted with length: true"
        );
        assert_eq!(
            why("$.calls", Take::Length, r#"{"calls": 0}"#),
            "at `$.calls` is a number, no array that length: true could count"
        );
    }

    #[test]
    fn anything_else_is_unknown() {
        for document in [
            "null", "true", "{}", r#""""#, r#""-1""#, r#""1e3""#, r#"" 1""#, "-1", "1e999",
        ] {
            let why = why("$", Take::Number, document);
            assert!(!why.is_empty(), "{document}");
        }
        assert_eq!(why("$.a", Take::Number, "{}"), "nothing is at `$.a`");
        assert_eq!(
            why("$[*]", Take::Number, "[0, 0]"),
            "`$[*]` matches 2 values: let it match one"
        );
        assert!(why("$", Take::Number, "").starts_with("the answer is no JSON: "));
        assert!(why("$", Take::Number, &"[".repeat(100_000)).contains("recursion limit"));
    }

    #[test]
    fn a_path_that_is_none_is_refused() {
        for path in ["", "inFlight", "$.", "$..", "$[", "$.a b"] {
            let error = Path::parse(path).unwrap_err().to_string();
            assert!(!error.contains('\n'), "{error}");
            assert!(error.ends_with("; write it like $.calls.inFlight"), "{error}");
        }
    }
}
