//! One open Watch: the latest status of its name, and never twice the same.

use std::task::{Context, Poll};

use super::board::Board;
use super::wire::health_check_response::ServingStatus;

/// A Watch of one name, and its place in the audience, given back when dropped. A slow reader skips
/// what it missed and gets the latest.
#[derive(Debug)]
pub(super) struct Watching {
    board: Board,
    seat: u64,
}

impl Watching {
    pub(super) fn new(board: Board, seat: u64) -> Self {
        Self { board, seat }
    }

    /// The status at once for the first call, then at each change.
    pub(super) fn poll_next(&self, cx: &Context<'_>) -> Poll<ServingStatus> {
        self.board.read(self.seat, cx)
    }

    /// The transport has taken every message given so far.
    pub(super) fn delivered(&self) {
        self.board.delivered(self.seat);
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.board.leave(self.seat);
    }
}
