//! A socket that is read once a turn.
//!
//! hyper goes on reading and parsing for as long as the socket has something. A peer that never
//! stops, with interim answers (100, 103) to a poll or PINGs to the health port, would keep the one
//! thread from its timers and signals.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream whose next read waits until everybody else has had a turn.
pub(crate) struct Paced<S> {
    stream: S,
    turn: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
}

impl<S> Paced<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, turn: None }
    }
}

impl<S: fmt::Debug> fmt::Debug for Paced<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stream.fmt(f)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(turn) = &mut self.turn {
            ready!(turn.as_mut().poll(context));
            self.turn = None;
        }
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        self.turn = Some(Box::pin(tokio::task::yield_now()));
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
