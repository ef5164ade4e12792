//! Response bodies, which know when they were taken and when their call is over.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::sync::futures::OwnedNotified;
use tonic::Code;

use super::grpc::{Failure, ok};
use super::pulse::{Call, Pulse};
use super::reflection::Answers;
use super::service::message;
use super::watching::Watching;

/// The body of every response on the health port.
pub(super) struct Outgoing {
    content: Content,
    /// Held for the call's whole life, so that the connection is not idle meanwhile.
    _call: Call,
}

/// What an answer has beside its headers.
pub(super) enum Content {
    /// A text, or nothing (any more).
    Text(Option<Bytes>),
    /// One gRPC message, then OK.
    Reply(Option<Bytes>),
    /// Messages until the connection's GOAWAY.
    Watch(Watch),
    /// An answer for each question, until there are no more.
    Reflection(Answers<Incoming>),
}

/// The messages of one Watch: the status at once and at each change, and UNAVAILABLE after the
/// connection's GOAWAY.
pub(super) struct Watch {
    watching: Watching,
    pulse: Arc<Pulse>,
    goodbye: Pin<Box<OwnedNotified>>,
    handed_over: bool,
}

impl Outgoing {
    pub(super) fn new(content: Content, mut call: Call) -> Self {
        if matches!(content, Content::Watch(_)) {
            call.stays();
        }
        Self { content, _call: call }
    }
}

impl Watch {
    pub(super) fn new(watching: Watching, pulse: &Arc<Pulse>) -> Self {
        Self {
            watching,
            goodbye: Box::pin(pulse.goodbye()),
            pulse: Arc::clone(pulse),
            handed_over: false,
        }
    }

    /// hyper asks for the next frame only after the one before has gone into HTTP/2's send buffer, for
    /// which it waits until the peer's flow-control window has room. So being asked again is the proof.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Frame<Bytes>> {
        if std::mem::take(&mut self.handed_over) {
            self.watching.delivered();
        }
        // A change that came with the end is still told.
        if let Poll::Ready(status) = self.watching.poll_next(cx) {
            self.handed_over = true;
            return Poll::Ready(Frame::data(message(status)));
        }
        if self.goodbye.as_mut().poll(cx).is_ready() || self.pulse.has_said_goaway() {
            let end = Failure::new(Code::Unavailable, "the pod is going away");
            return Poll::Ready(Frame::trailers(end.trailers()));
        }
        Poll::Pending
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let frame = match &mut this.content {
            Content::Text(text) => text.take().map(Frame::data),
            Content::Reply(reply) => match reply.take() {
                Some(message) => Some(Frame::data(message)),
                None => Some(Frame::trailers(ok())),
            },
            Content::Watch(watch) => Some(ready!(watch.poll(cx))),
            Content::Reflection(answers) => Some(ready!(answers.poll(cx))),
        };
        if frame.as_ref().is_some_and(Frame::is_trailers) {
            this.content = Content::Text(None);
        }
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.content, Content::Text(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Text(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
            Content::Reply(_) | Content::Watch(_) | Content::Reflection(_) => SizeHint::default(),
        }
    }
}
