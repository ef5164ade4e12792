//! What is said of every name at one moment, and why: what judges hand to the board.

use std::collections::BTreeMap;

use super::status::Status;

/// Names spelt out in a line at most; the others are counted.
const MAX_NAMES: usize = 10;

/// A verdict on each name, with the reasons for those that are not SERVING.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ruling {
    pub statuses: BTreeMap<String, Status>,
    pub reasons: Vec<Reason>,
}

/// Why something is not SERVING: a clause of plain text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reason {
    /// What it makes of the names.
    pub status: Status,
    pub why: String,
}

impl Ruling {
    /// Adds a verdict that holds for every name.
    pub(super) fn and_of_all(&mut self, status: Status, why: Option<String>) {
        for stands in self.statuses.values_mut() {
            *stands = stands.and(status);
        }
        if let Some(why) = why {
            self.reasons.push(Reason { status, why });
        }
    }

    /// The AND of all names.
    pub(super) fn overall(&self) -> Status {
        self.statuses
            .values()
            .fold(Status::Serving, |whole, part| whole.and(*part))
    }

    /// The reasons for `status`.
    pub(super) fn because(&self, status: Status) -> impl Iterator<Item = &str> {
        let of_it = move |reason: &&Reason| reason.status == status;
        self.reasons
            .iter()
            .filter(of_it)
            .map(|reason| reason.why.as_str())
    }
}

/// Names as a person reads them. The whole is the child's.
pub(super) fn spelt_out<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(MAX_NAMES);
    let mut list = names
        .take(MAX_NAMES)
        .map(|name| if name.is_empty() { "the child" } else { name })
        .collect::<Vec<_>>()
        .join(", ");
    if more > 0 {
        list.push_str(&format!(" and {more} more"));
    }
    list
}
