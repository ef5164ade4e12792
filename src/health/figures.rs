//! How a check goes, in numbers.

use super::status::Status;

/// The probes of one check since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Those that succeeded.
    pub succeeded: u64,
    /// Those that did not.
    pub failed: u64,
    /// What they have come to.
    pub status: Status,
}

/// How one probe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Succeeded,
    Failed,
}

impl Figures {
    pub(super) fn count(&mut self, outcome: Outcome, status: Status) {
        match outcome {
            Outcome::Succeeded => self.succeeded += 1,
            Outcome::Failed => self.failed += 1,
        }
        self.status = status;
    }
}
