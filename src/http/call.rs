//! One exchange on a connection of its own, over http or https: what a hook is made of.

use std::future::{Future, poll_fn};
use std::pin::pin;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::rt::{Read, Write};
use hyper::{Method, StatusCode};
use hyper_util::rt::TokioIo;

use super::client::MAX_HEADER;
use super::endpoint::{Endpoint, Scheme};
use super::fault::Fault;
use super::trust::Trust;
use crate::host::{DialError, Lookup, connect};
use crate::paced::Paced;

/// The most of an answer's body that is kept, in bytes; of a longer one the rest is not read.
const MOST_BODY: usize = 64 * 1024;

/// What is asked.
#[derive(Debug)]
pub struct Request<'a> {
    method: Method,
    endpoint: &'a Endpoint,
    trust: &'a Trust,
    headers: HeaderMap,
    body: Bytes,
}

/// What was answered.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The body, or the first 64 KiB of it.
    pub body: Vec<u8>,
}

impl<'a> Request<'a> {
    /// Its method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// A request without a body.
    pub fn new(method: Method, endpoint: &'a Endpoint, trust: &'a Trust) -> Self {
        Self {
            method,
            endpoint,
            trust,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    /// Adds a header; the last of a name counts.
    pub fn header(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.insert(name, value);
    }

    /// Gives it a body.
    pub fn body(&mut self, body: String) {
        self.body = body.into();
    }

    fn into_http(self) -> hyper::Request<Full<Bytes>> {
        let mut request = hyper::Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = self.endpoint.target().clone();
        let headers = request.headers_mut();
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("tidegate/", env!("CARGO_PKG_VERSION"))),
        );
        if let Some(authorization) = self.endpoint.authorization() {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        headers.extend(self.headers);
        if !headers.contains_key(HOST) {
            headers.insert(HOST, self.endpoint.authority().clone());
        }
        // Ours, whatever was written: the connection is for one exchange.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        request
    }
}

/// Asks once. It takes as long as it takes: bound it. Redirects are answers like any other.
///
/// # Errors
/// There was no answer.
pub(crate) async fn call(request: Request<'_>, lookup: &mut Lookup) -> Result<Reply, Fault> {
    let Request { endpoint, trust, .. } = request;
    let addresses = match endpoint.host().addresses(endpoint.port()) {
        Some(addresses) => addresses,
        None => {
            let found = lookup.addresses(endpoint.host(), endpoint.port()).await;
            found.map_err(DialError::Resolve)?
        }
    };
    let stream = connect(&addresses).await.map_err(DialError::of)?;
    // A request is one small write; waiting to fill a segment would only delay it.
    let _ = stream.set_nodelay(true);
    match endpoint.scheme() {
        Scheme::Http => exchange(TokioIo::new(Paced::new(stream)), request).await,
        Scheme::Https => {
            let (host, _) = endpoint.host_and_port();
            let stream = trust.handshake(host, Paced::new(stream)).await?;
            exchange(TokioIo::new(stream), request).await
        }
    }
}

async fn exchange(io: impl Read + Write + Unpin, request: Request<'_>) -> Result<Reply, Fault> {
    let fault = |error: hyper::Error| Fault::exchange(&error, MAX_HEADER);
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_HEADER)
        .max_header_size(MAX_HEADER)
        .handshake(io)
        .await
        .map_err(fault)?;
    let talk = async {
        let response = sender.send_request(request.into_http()).await.map_err(fault)?;
        let status = response.status();
        let body = read(response.into_body()).await.map_err(fault)?;
        Ok(Reply { status, body })
    };
    beside(connection, talk).await
}

async fn read(mut body: Incoming) -> Result<Vec<u8>, hyper::Error> {
    let mut kept = Vec::new();
    while kept.len() < MOST_BODY && !body.is_end_stream() {
        match body.frame().await {
            Some(frame) => kept.extend_from_slice(frame?.data_ref().map_or(&[], |data| data)),
            None => break,
        }
    }
    kept.truncate(MOST_BODY);
    Ok(kept)
}

/// Runs `work` with the connection moving. That may end before its last bytes were taken.
pub(crate) async fn beside<T>(connection: impl Future, work: impl Future<Output = T>) -> T {
    let (mut connection, mut work) = (pin!(connection), pin!(work));
    let mut is_open = true;
    poll_fn(|context| {
        if is_open && connection.as_mut().poll(context).is_ready() {
            is_open = false;
        }
        work.as_mut().poll(context)
    })
    .await
}

/// A text as a part of a path or a query: all but the unreserved letters as `%XX` (RFC 3986, 2.3).
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => escaped.push(byte.into()),
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_url_is_escaped() {
        assert_eq!(escaped("web-1.a_b~"), "web-1.a_b~");
        assert_eq!(escaped("a b/c?&=%é"), "a%20b%2Fc%3F%26%3D%25%C3%A9");
    }
}
