//! A socket whose reads are felt in the connection's pulse, and mended.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::authority::Mender;
use super::preface::Protocol;
use super::pulse::Pulse;

/// Either kind of stream socket.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

/// A socket whose reads are felt in the pulse.
pub(super) struct Felt {
    socket: Box<dyn Socket>,
    pulse: Arc<Pulse>,
    mender: Mender,
}

impl Felt {
    pub(super) fn new(socket: Box<dyn Socket>, pulse: Arc<Pulse>) -> Self {
        Self {
            socket,
            pulse,
            mender: Mender::new(),
        }
    }
}

impl AsyncRead for Felt {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.socket).poll_read(cx, buffer);
        let bytes = &mut buffer.filled_mut()[before..];
        if !bytes.is_empty() {
            let (preface, protocol) = this.pulse.read(bytes, Instant::now());
            if protocol == Protocol::Http2 {
                this.mender.mend(&mut bytes[preface..]);
            }
        }
        polled
    }
}

impl AsyncWrite for Felt {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}
