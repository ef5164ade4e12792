//! Failures in a row, and what they come to.

use std::num::NonZeroU32;

use crate::health::status::Status;

/// The count of one check.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally {
    limit: NonZeroU32,
    in_a_row: u32,
    status: Status,
}

impl Tally {
    /// A count that becomes NOT_SERVING at `limit` failures in a row, and is UNKNOWN until its first
    /// success or so many failures.
    pub(super) fn new(limit: NonZeroU32) -> Self {
        Self {
            limit,
            in_a_row: 0,
            status: Status::Unknown,
        }
    }

    /// One success clears the count.
    pub(super) fn succeeded(&mut self) {
        self.in_a_row = 0;
        self.status = Status::Serving;
    }

    /// One more failure.
    pub(super) fn failed(&mut self) {
        self.in_a_row = self.in_a_row.saturating_add(1);
        if self.in_a_row >= self.limit.get() {
            self.status = Status::NotServing;
        }
    }

    /// What it has come to.
    pub(super) fn status(&self) -> Status {
        self.status
    }

    /// Failures in a row up to now.
    pub(super) fn in_a_row(&self) -> u32 {
        self.in_a_row
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tally(limit: u32) -> Tally {
        Tally::new(NonZeroU32::new(limit).unwrap())
    }

    #[test]
    fn three_failures_in_a_row_and_not_two() {
        let mut tally = tally(3);
        tally.succeeded();
        for _ in 0..10 {
            tally.failed();
            tally.failed();
            assert_eq!(tally.status(), Status::Serving);
            tally.succeeded();
        }
        for _ in 0..3 {
            tally.failed();
        }
        assert_eq!(tally.status(), Status::NotServing);
        tally.succeeded();
        assert_eq!((tally.status(), tally.in_a_row()), (Status::Serving, 0));
    }

    #[test]
    fn one_failure_at_the_start_is_no_verdict() {
        let mut tally = tally(2);
        assert_eq!(tally.status(), Status::Unknown);
        tally.failed();
        assert_eq!(tally.status(), Status::Unknown);
        tally.failed();
        assert_eq!(tally.status(), Status::NotServing);
    }

    proptest! {
        /// The rule itself, over the whole history: NOT_SERVING if since the last success there were
        /// `limit` failures, SERVING if there was a success at all, else UNKNOWN.
        #[test]
        fn the_count_is_the_tail_of_the_history(limit in 1u32..5, history in prop::collection::vec(any::<bool>(), 0..50)) {
            let mut tally = tally(limit);
            for (end, success) in history.iter().enumerate() {
                if *success { tally.succeeded() } else { tally.failed() }
                let past = &history[..=end];
                let tail = past.iter().rev().take_while(|success| !**success).count() as u32;
                let wanted = if tail >= limit {
                    Status::NotServing
                } else if past.contains(&true) {
                    Status::Serving
                } else {
                    Status::Unknown
                };
                prop_assert_eq!(tally.status(), wanted);
                prop_assert_eq!(tally.in_a_row(), tail);
            }
        }
    }
}
