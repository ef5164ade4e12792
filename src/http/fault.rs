//! Why a poll over HTTP gave no answer.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use hyper::StatusCode;
use thiserror::Error;

use crate::host::DialError;

/// A poll without an answer, as a sentence for the log. None holds anything the other side sent
/// but its status code.
#[derive(Debug, Error)]
pub enum Fault {
    /// There was no connection.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// It took too long.
    #[error("no answer within {timeout:?}, {stage}")]
    TimedOut {
        /// The time it had.
        timeout: Duration,
        /// How far it came.
        stage: Stage,
    },
    /// An answer other than 200.
    #[error("it answered {0}{hint}", hint = hint(*.0))]
    Status(StatusCode),
    /// An answer that has to be decoded first.
    #[error("it answered with a content encoding nobody asked for")]
    Encoded,
    /// More than is read in one poll.
    #[error("the answer is larger than {0} MiB")]
    TooLarge(u64),
    /// The headers alone are more than is read.
    #[error("the answer's headers are larger than {0} KiB")]
    HeadersTooLarge(usize),
    /// The connection ended within the answer.
    #[error("the connection was cut before the answer was complete")]
    Cut,
    /// No secure connection came about.
    #[error("TLS: {0}")]
    Tls(String),
    /// Anything else wrong with the exchange.
    #[error("{0}")]
    Exchange(String),
}

/// How far a poll came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Looking up the host's name.
    Resolving,
    /// Connecting.
    Connecting,
    /// The request is out, the answer has not begun.
    Waiting,
    /// The answer has begun; so many bytes of its body came.
    Reading(u64),
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Resolving => f.write_str("looking up its host name"),
            Self::Connecting => f.write_str("connecting"),
            Self::Waiting => f.write_str("connected, waiting for it"),
            Self::Reading(bytes) => write!(f, "after {bytes} bytes of it"),
        }
    }
}

fn hint(status: StatusCode) -> &'static str {
    match status.as_u16() {
        300..=399 => "; redirects are not followed: use the final URL",
        401 | 403 => "; credentials stand in the URL, as http://user:password@host",
        404 => "; is the path right?",
        _ => "",
    }
}

impl Fault {
    pub(super) fn exchange(error: &hyper::Error, max_header: usize) -> Self {
        if error.is_parse_too_large() {
            return Self::HeadersTooLarge(max_header / 1024);
        }
        if error.is_incomplete_message() {
            return Self::Cut;
        }
        let mut cause = error.source();
        while let Some(inner) = cause {
            if let Some(io) = inner.downcast_ref::<io::Error>()
                && matches!(
                    io.kind(),
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
                )
            {
                return Self::Cut;
            }
            cause = inner.source();
        }
        if error.is_parse() {
            return Self::Exchange(format!("the answer is not HTTP/1: {error}"));
        }
        Self::Exchange(error.to_string())
    }
}
