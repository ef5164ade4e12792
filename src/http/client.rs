//! One connection, kept alive, for one poll at a time.
//!
//! The connection is driven only while a poll runs: between polls nothing of it wakes anyone up,
//! and a poll that is given up takes its connection with it, so that a late answer can never be
//! read as the next one's.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::endpoint::Endpoint;
use super::fault::{Fault, Stage};
use crate::host::{DialError, Lookup, connect};
use crate::paced::Paced;

/// The most of a body that is read in one poll, in bytes. Large meshes expose some ten.
pub const MAX_BODY: u64 = 64 * 1024 * 1024;

/// The most an answer's headers may take, in bytes; also the most of a body that is buffered.
pub const MAX_HEADER: usize = 64 * 1024;

/// A client for one endpoint.
pub struct Client {
    endpoint: Endpoint,
    accept: HeaderValue,
    /// The most of a body that is read, in bytes.
    max_body: u64,
    link: Option<Link>,
    lookup: Lookup,
}

/// What is known of an answer besides its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The Content-Type, lower case, "" without one.
    pub content_type: String,
    /// How the body's end was known.
    pub framing: Framing,
}

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// By a length or chunks: it is complete.
    Delimited,
    /// By the connection's end alone: it may have been cut and nobody can tell (RFC 9112, 6.3).
    UntilClose,
}

/// A connection: the handle that takes requests, and the wire that carries them.
struct Link {
    sender: http1::SendRequest<Empty<Bytes>>,
    wire: Wire,
}

/// The protocol and the socket, which move only while [`Wire::drive`] runs.
struct Wire {
    /// None once it has ended: dropped, it fails whatever still waits for it. Kept, it would let
    /// a request sent to it wait for ever.
    connection: Option<http1::Connection<TokioIo<Paced<TcpStream>>, Empty<Bytes>>>,
}

impl Wire {
    /// Runs `work` with the wire moving.
    async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            // Its outcome comes out of `work` too, as the answer or an error.
            if self
                .connection
                .as_mut()
                .is_some_and(|wire| Pin::new(wire).poll(context).is_ready())
            {
                self.connection = None;
            }
            work.as_mut().poll(context)
        })
        .await
    }
}

impl Client {
    /// A client that asks `endpoint` for one of the media types in `accept`.
    pub fn new(endpoint: Endpoint, accept: &'static str) -> Self {
        Self {
            endpoint,
            accept: HeaderValue::from_static(accept),
            max_body: MAX_BODY,
            link: None,
            lookup: Lookup::default(),
        }
    }

    /// The client, reading bodies of at most `bytes`, which have to be whole MiB to be told.
    #[must_use]
    pub fn at_most(mut self, bytes: u64) -> Self {
        self.max_body = bytes;
        self
    }

    /// The address it polls.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Gets the endpoint once and hands the body to `sink` as it comes, all within `timeout`.
    ///
    /// # Errors
    ///
    /// Anything but a complete answer 200. What `sink` was given is then worth nothing.
    pub async fn get(&mut self, timeout: Duration, sink: impl FnMut(&[u8])) -> Result<Answer, Fault> {
        let mut stage = Stage::Connecting;
        match tokio::time::timeout(timeout, self.exchange(&mut stage, sink)).await {
            Ok(answer) => answer,
            Err(_) => Err(Fault::TimedOut { timeout, stage }),
        }
    }

    async fn exchange(&mut self, stage: &mut Stage, sink: impl FnMut(&[u8])) -> Result<Answer, Fault> {
        let (mut link, response) = match self.ask_again(stage).await {
            Some(answered) => answered,
            None => {
                let mut link = self.dial(stage).await?;
                *stage = Stage::Waiting;
                let response = self.ask(&mut link).await?;
                (link, response)
            }
        };
        *stage = Stage::Reading(0);
        if response.status() != StatusCode::OK {
            return Err(Fault::Status(response.status()));
        }
        let answer = read_head(&response, self.max_body)?;
        read_body(&mut link.wire, response.into_body(), self.max_body, stage, sink).await?;
        self.link = Some(link);
        Ok(answer)
    }

    /// Asks on the connection of the last poll, if it is still good. A server may close an idle
    /// connection at any moment, also as the request goes out, so that no failure before an answer
    /// counts: the request is then made again on a new one (RFC 9112, 9.3.1; GET is idempotent).
    async fn ask_again(&mut self, stage: &mut Stage) -> Option<(Link, Response<Incoming>)> {
        // Out of `self` while it is in use: who drops this future drops the connection with it.
        let mut link = self.link.take()?;
        *stage = Stage::Waiting;
        link.wire.drive(link.sender.ready()).await.ok()?;
        let response = self.ask(&mut link).await.ok()?;
        Some((link, response))
    }

    async fn ask(&self, link: &mut Link) -> Result<Response<Incoming>, Fault> {
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = self.endpoint.target().clone();
        let headers = request.headers_mut();
        headers.insert(HOST, self.endpoint.authority().clone());
        headers.insert(ACCEPT, self.accept.clone());
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("tidegate/", env!("CARGO_PKG_VERSION"))),
        );
        if let Some(authorization) = self.endpoint.authorization() {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        let answered = link.wire.drive(link.sender.send_request(request)).await;
        answered.map_err(|error| Fault::exchange(&error, MAX_HEADER))
    }

    async fn dial(&mut self, stage: &mut Stage) -> Result<Link, Fault> {
        let addresses = match self.endpoint.host().addresses(self.endpoint.port()) {
            Some(addresses) => addresses,
            None => {
                *stage = Stage::Resolving;
                let lookup = self.lookup.addresses(self.endpoint.host(), self.endpoint.port());
                lookup.await.map_err(DialError::Resolve)?
            }
        };
        *stage = Stage::Connecting;
        let stream = connect(&addresses).await.map_err(DialError::of)?;
        // A request is one small write; waiting to fill a segment would only delay it.
        let _ = stream.set_nodelay(true);
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(MAX_HEADER)
            .max_header_size(MAX_HEADER)
            .handshake(TokioIo::new(Paced::new(stream)))
            .await
            .map_err(|error| Fault::exchange(&error, MAX_HEADER))?;
        Ok(Link {
            sender,
            wire: Wire {
                connection: Some(connection),
            },
        })
    }
}

fn read_head(response: &Response<Incoming>, max_body: u64) -> Result<Answer, Fault> {
    let headers = response.headers();
    let encoded = headers
        .get(CONTENT_ENCODING)
        .is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if encoded {
        return Err(Fault::Encoded);
    }
    if response.body().size_hint().lower() > max_body {
        return Err(Fault::TooLarge(max_body >> 20));
    }
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let delimited = response.body().size_hint().exact().is_some()
        || headers.contains_key(hyper::header::TRANSFER_ENCODING);
    Ok(Answer {
        content_type: content_type.to_ascii_lowercase(),
        framing: if delimited {
            Framing::Delimited
        } else {
            Framing::UntilClose
        },
    })
}

async fn read_body(
    wire: &mut Wire,
    mut body: Incoming,
    max_body: u64,
    stage: &mut Stage,
    mut sink: impl FnMut(&[u8]),
) -> Result<(), Fault> {
    let mut length = 0u64;
    while let Some(frame) = wire.drive(body.frame()).await {
        let frame = frame.map_err(|error| Fault::exchange(&error, MAX_HEADER))?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len() as u64;
        if length > max_body {
            return Err(Fault::TooLarge(max_body >> 20));
        }
        *stage = Stage::Reading(length);
        sink(&data);
        // A body that is always ready would keep the one thread from its timers and signals.
        tokio::task::yield_now().await;
    }
    Ok(())
}

// A poll may be spawned on any runtime.
const _: fn(&mut Client) = |client| {
    fn is_send(_: impl Send) {}
    is_send(client.get(Duration::ZERO, |_| {}));
};
