//! One connection, from its first byte to its GOAWAY.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::audience::Peer;
use super::felt::{Felt, Socket};
use super::http::{Caller, Routes};
use super::pulse::{Pulse, Silence, Stage};
use super::tls::Identity;
use crate::paced::Paced;

/// A peer is asked for a sign of life this often, and given so long to answer (PING).
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_ANSWER: Duration = Duration::from_secs(10);

/// A TLS handshake may take so long.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Calls a peer may have open on one connection.
const MAX_STREAMS: u32 = 1000;

/// Bytes of headers a request may have; more are answered 431.
const MAX_HEADERS: u32 = 16 * 1024;

/// Bytes kept for one connection's reading (HTTP/1, hyper's minimum is 8 KiB) and one stream's writing.
const MAX_BUFFER: usize = 16 * 1024;

/// HTTP/2's initial window (RFC 9113, section 6.9.2). Requests are a few bytes.
const WINDOW: u32 = 65_535;

/// Whether the server is leaving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    NotYet,
    Now,
}

/// What every connection is served with.
pub(super) struct Protocols {
    builder: auto::Builder<TokioExecutor>,
    routes: Routes,
}

impl Protocols {
    pub(super) fn new(routes: Routes) -> Self {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            // It would close connections that rest between two probes; the pulse tells rest from half a request.
            .header_read_timeout(None)
            // A probe by `nc` closes its side once it has asked.
            .half_close(true)
            .max_buf_size(MAX_BUFFER);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(KEEPALIVE)
            .keep_alive_timeout(KEEPALIVE_ANSWER)
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(MAX_HEADERS)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_send_buf_size(MAX_BUFFER);
        Self { builder, routes }
    }
}

/// Serves one connection until it ends, falls silent, or the server leaves.
///
/// When the server leaves, GOAWAY goes out before any Watch ends: a client whose Watch ends on a
/// connection that seems well opens it again at once, in a hot loop. A connection that has not shown its
/// protocol yet is left to do so, since a probe may be on its way; the server's deadline bounds that.
pub(super) async fn serve(
    (socket, identity): (Box<dyn Socket>, Option<Arc<Identity>>),
    peer: Peer,
    protocols: Arc<Protocols>,
    pulse: Arc<Pulse>,
    leaving: watch::Receiver<Leaving>,
) {
    let Some(socket) = secured(socket, identity).await else {
        return;
    };
    let io = TokioIo::new(Paced::new(Felt::new(socket, Arc::clone(&pulse))));
    let service = service_fn(|request: Request<Incoming>| {
        let protocols = Arc::clone(&protocols);
        let caller = Caller {
            peer,
            pulse: Arc::clone(&pulse),
            now: Instant::now(),
        };
        async move {
            // Of HTTP/1, requests that came in one read are answered one a turn as well. Of HTTP/2, each has
            // a task of its own.
            if request.version() != Version::HTTP_2 {
                tokio::task::yield_now().await;
            }
            protocols.routes.answer(request, caller).await
        }
    });
    let mut connection = pin!(protocols.builder.serve_connection(io, service));
    let mut silence = pin!(Silence::new(Arc::clone(&pulse)));

    // How a connection ends is the peer's affair: whatever it did wrong, it has been told.
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        () = silence.as_mut() => return,
        () = time_to_leave(&pulse, leaving) => {}
    }
    connection.as_mut().graceful_shutdown();
    // One poll queues the GOAWAY; what Watches say afterwards stands behind it.
    let ended = poll_fn(|cx| Poll::Ready(connection.as_mut().poll(cx).is_ready())).await;
    if ended {
        return;
    }
    pulse.reach(Stage::SaidGoaway);
    tokio::select! {
        biased;
        _ = connection.as_mut() => {}
        () = silence.as_mut() => {}
    }
}

/// The socket with TLS on it, where that is wanted; nothing if the peer does not speak it in time.
async fn secured(socket: Box<dyn Socket>, identity: Option<Arc<Identity>>) -> Option<Box<dyn Socket>> {
    let Some(identity) = identity else {
        return Some(socket);
    };
    let handshake = TlsAcceptor::from(identity.now()).accept(socket);
    let secured = tokio::time::timeout(HANDSHAKE, handshake).await.ok()?.ok()?;
    Some(Box::new(secured))
}

async fn time_to_leave(pulse: &Pulse, mut leaving: watch::Receiver<Leaving>) {
    pulse.reached(Stage::Settled).await;
    // It fails when the server was dropped, which is leaving too.
    let _ = leaving.wait_for(|leaving| *leaving == Leaving::Now).await;
}
