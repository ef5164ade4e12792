//! What goes over the socket: one request line, a word; then a JSON object a line.
//!
//! ```text
//! > status
//! < {"status":{"version":"0.1.0",…}}
//! > resume
//! < {"refused":"nothing is held"}
//! > prestop
//! < {"done":"the drain has begun"}
//! < {"status":{…}}
//! ```

use serde::{Deserialize, Serialize};

use crate::drain::order::{Answer, Order};
use crate::drain::status::Status;

/// The longest request line, its end included. The longest word has seven letters.
pub const LONGEST_REQUEST: usize = 64;

/// The longest answer line a client reads: a hundred services with long names.
pub const LONGEST_LINE: u64 = 256 * 1024;

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Do this. After a `prestop` that is not refused the statuses follow, as for [`Request::Watch`].
    Order(Order),
    /// One status.
    Status,
    /// A status now and whenever something changes.
    Watch,
}

/// One answer line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Line {
    /// It is done.
    Done(String),
    /// It is not, for this reason.
    Refused(String),
    /// What the run is doing.
    Status(Box<Status>),
}

impl Request {
    const ALL: [Self; 7] = [
        Self::Order(Order::Hold),
        Self::Order(Order::Resume),
        Self::Order(Order::Reset),
        Self::Order(Order::Hurry),
        Self::Order(Order::PreStop),
        Self::Status,
        Self::Watch,
    ];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Order(order) => order.word(),
            Self::Status => "status",
            Self::Watch => "watch",
        }
    }

    /// Reads a line without its end.
    pub fn read(line: &[u8]) -> Option<Self> {
        let line = line.trim_ascii();
        Self::ALL
            .into_iter()
            .find(|request| request.word().as_bytes() == line)
    }

    /// Every word, for a refusal.
    pub fn words() -> String {
        Self::ALL.map(Self::word).join(", ")
    }
}

impl Line {
    /// The line, its end included.
    pub fn write(&self) -> Vec<u8> {
        // Only maps with keys that are no text fail, and there are none.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

impl From<Answer> for Line {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Done(text) => Self::Done(text),
            Answer::Refused(why) => Self::Refused(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_its_word() {
        for request in Request::ALL {
            assert_eq!(Request::read(request.word().as_bytes()), Some(request));
            assert!(request.word().len() < LONGEST_REQUEST);
        }
        assert_eq!(Request::read(b" status\r"), Some(Request::Status));
        for garbage in [&b""[..], b"stat", b"STATUS", b"\xff\xfe", b"status now"] {
            assert_eq!(Request::read(garbage), None);
        }
    }

    #[test]
    fn a_line_is_a_line() {
        let line = Line::Refused("two\nlines".into()).write();
        assert_eq!(line, b"{\"refused\":\"two\\nlines\"}\n");
    }
}
