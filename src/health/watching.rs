//! One open Watch: the latest status of its name, and never twice the same.

use std::sync::Arc;

use tokio::sync::watch;

use super::board::Board;
use super::wire::health_check_response::ServingStatus;

/// A Watch of one name. A slow reader skips what it missed and gets the latest.
#[derive(Debug)]
pub(super) struct Watching {
    shown: watch::Receiver<ServingStatus>,
    given: Option<ServingStatus>,
    seat: Arc<Seat>,
}

/// A place in the audience, given back when the last handle to it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    board: Board,
    number: u64,
}

impl Watching {
    pub(super) fn new(shown: watch::Receiver<ServingStatus>, seat: Arc<Seat>) -> Self {
        Self {
            shown,
            given: None,
            seat,
        }
    }

    /// The seat, for the one who sees the messages leave.
    pub(super) fn seat(&self) -> Arc<Seat> {
        Arc::clone(&self.seat)
    }

    /// The status at once for the first call, then at each change. Flips between two calls that end
    /// where they began are no change. Safe to cancel.
    pub(super) async fn next(&mut self) -> ServingStatus {
        loop {
            let status = *self.shown.borrow_and_update();
            if self.given != Some(status) {
                self.given = Some(status);
                self.seat.board.offered(self.seat.number, status);
                return status;
            }
            if self.shown.changed().await.is_err() {
                // The board is gone, which the seat's handle to it rules out.
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Seat {
    pub(super) fn new(board: Board, number: u64) -> Self {
        Self { board, number }
    }

    /// The transport has taken every message offered so far.
    pub(super) fn delivered(&self) {
        self.board.delivered(self.number);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.board.leave(self.number);
    }
}
