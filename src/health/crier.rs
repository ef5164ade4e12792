//! The crier: wakes those whose line on the board has changed, a handful a turn.

use super::board::Board;

/// Cries for as long as it is polled.
pub(super) async fn cry(board: Board) {
    let mut wakers = Vec::new();
    loop {
        board.news().await;
        let mut seat = None;
        loop {
            seat = board.rouse(seat, &mut wakers);
            // Outside the board's lock: a waker may run anything.
            wakers.drain(..).for_each(std::task::Waker::wake);
            if seat.is_none() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
}
