//! A response body that knows when its frames were taken, and when its call is over.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

use super::pulse::Call;
use super::watching::Seat;

/// The body of every response on the health port.
pub(super) struct Outgoing {
    body: tonic::body::Body,
    /// The Watch behind it, where there is one.
    seat: Option<Arc<Seat>>,
    handed_over: bool,
    /// Held for the call's whole life, so that the connection is not idle meanwhile.
    _call: Call,
}

impl Outgoing {
    pub(super) fn new(body: tonic::body::Body, seat: Option<Arc<Seat>>, mut call: Call) -> Self {
        if seat.is_some() {
            call.stays();
        }
        Self {
            body,
            seat,
            handed_over: false,
            _call: call,
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = tonic::Status;

    /// hyper asks for the next frame only after the one before has gone into HTTP/2's send buffer, for
    /// which it waits until the peer's flow-control window has room. So being asked again is the proof.
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, tonic::Status>>> {
        let this = self.get_mut();
        if std::mem::take(&mut this.handed_over)
            && let Some(seat) = &this.seat
        {
            seat.delivered();
        }
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            this.handed_over = frame.is_data();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
