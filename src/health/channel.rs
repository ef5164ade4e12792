//! The client side of gRPC: calls of the generated client over one HTTP/2 connection.
//!
//! tonic's own transport is not used: it dials again by itself, at its own pace, and keeps a GOAWAY
//! to itself. Here the connection is a future that whoever dialled it drives, and that ends with it.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use h2::client::{Builder, Connection, SendRequest};
use h2::{Reason, RecvStream};
use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame};
use hyper::header::{HeaderValue, USER_AGENT};
use hyper::http::uri::{Authority, Scheme};
use hyper::{Request, Response};
use tonic::Status;
use tonic::codegen::{Body, Service};

use super::dial::Line;
use super::wire::health_client::HealthClient;

/// Bytes of an answer: a hundred names in a List, each of the longest that are met.
const MAX_ANSWER: usize = 64 * 1024;

/// What an answer's headers and trailers may take, in bytes.
const MAX_HEADERS: u32 = 16 * 1024;

/// What the other side may send before it was read, in bytes, on a call and on the connection.
const WINDOW: u32 = 64 * 1024;

/// A connection's calls; clones share the connection.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    requests: SendRequest<Bytes>,
    authority: Authority,
}

/// A connection, which moves only while [`Carrier::carry`] runs. Dropped, it hangs up.
pub(super) struct Carrier {
    connection: Connection<Box<dyn Line>, Bytes>,
    requests: SendRequest<Bytes>,
}

/// Speaks HTTP/2 on `line`, without waiting for the other side to speak it too.
///
/// # Errors
/// UNAVAILABLE, with the reason.
pub(super) async fn open(line: Box<dyn Line>, authority: &str) -> Result<(Channel, Carrier), Status> {
    let authority = authority
        .parse()
        .map_err(|_| Status::unavailable("its address makes no HTTP authority"))?;
    let (requests, connection) = Builder::new()
        .enable_push(false)
        .max_header_list_size(MAX_HEADERS)
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .handshake(line)
        .await
        .map_err(status)?;
    let channel = Channel {
        requests: requests.clone(),
        authority,
    };
    Ok((channel, Carrier { connection, requests }))
}

impl Carrier {
    /// Carries the calls until the connection ends, and says how. A GOAWAY is its end too: no call
    /// can begin any more, and a server that stops gracefully waits for the streams that are open,
    /// so that a Watch kept open would keep it from stopping.
    pub(super) async fn carry(mut self) -> Status {
        poll_fn(|cx| {
            match Pin::new(&mut self.connection).poll(cx) {
                Poll::Ready(Ok(())) => return Poll::Ready(Status::unavailable("it closed the connection")),
                Poll::Ready(Err(error)) => return Poll::Ready(status(error)),
                Poll::Pending => {}
            }
            match self.requests.poll_ready(cx) {
                Poll::Ready(Err(error)) => Poll::Ready(status(error)),
                Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

impl Channel {
    /// The health client on this connection.
    pub(super) fn health(&self) -> HealthClient<Self> {
        HealthClient::new(self.clone()).max_decoding_message_size(MAX_ANSWER)
    }

    async fn call(mut self, request: Request<tonic::body::Body>) -> Result<Response<Answer>, Status> {
        let (mut head, body) = request.into_parts();
        let mut uri = head.uri.into_parts();
        uri.scheme = Some(Scheme::HTTP);
        uri.authority = Some(self.authority.clone());
        head.uri = uri.try_into().map_err(|_| Status::internal("no URI"))?;
        head.headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("tidegate/", env!("CARGO_PKG_VERSION"))),
        );
        // A name and its framing.
        let body = body.collect().await?.to_bytes();
        poll_fn(|cx| self.requests.poll_ready(cx)).await.map_err(status)?;
        let request = Request::from_parts(head, ());
        let (response, mut stream) = self.requests.send_request(request, false).map_err(status)?;
        stream.send_data(body, true).map_err(status)?;
        Ok(response.await.map_err(status)?.map(Answer))
    }
}

impl Service<Request<tonic::body::Body>> for Channel {
    type Response = Response<Answer>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Status>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<tonic::body::Body>) -> Self::Future {
        Box::pin(self.clone().call(request))
    }
}

/// The body of an answer.
pub(super) struct Answer(RecvStream);

impl Body for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(data) = ready!(self.0.poll_data(cx)) {
            let read = data.and_then(|data| {
                self.0.flow_control().release_capacity(data.len())?;
                Ok(Frame::data(data))
            });
            return Poll::Ready(Some(read.map_err(status)));
        }
        let trailers = ready!(self.0.poll_trailers(cx)).map_err(status);
        Poll::Ready(trailers.map(|trailers| trailers.map(Frame::trailers)).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }
}

/// A stream or connection that broke, as gRPC's mapping of HTTP/2 errors has it (PROTOCOL-HTTP2.md).
fn status(error: h2::Error) -> Status {
    match error.reason() {
        Some(Reason::CANCEL) => Status::cancelled("it cancelled the call"),
        Some(Reason::NO_ERROR) if error.is_go_away() => Status::unavailable("it is going away"),
        _ => Status::unavailable(error.to_string()),
    }
}
