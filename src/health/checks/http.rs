//! An HTTP probe: a GET that answers 2xx.

use http_body_util::Empty;
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONNECTION, HOST, HeaderValue, USER_AGENT};
use hyper_util::rt::TokioIo;

use super::failure::Failure;
use crate::health::dial::Dialler;
use crate::http::{Endpoint, beside};

/// The most an answer's headers may take, in bytes.
const MAX_HEADERS: usize = 64 * 1024;

/// Gets `endpoint` on a connection of its own, as the kubelet does: the answer is then that of whoever
/// takes new connections. Redirects are not followed, and the body is not read.
pub(super) async fn probe(dialler: &mut Dialler, endpoint: &Endpoint) -> Result<(), Failure> {
    let line = dialler.dial().await?;
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_HEADERS)
        .handshake(TokioIo::new(line))
        .await?;
    let answer = beside(connection, sender.send_request(request(endpoint))).await?;
    if answer.status().is_success() {
        Ok(())
    } else {
        Err(Failure::Status(answer.status()))
    }
}

fn request(endpoint: &Endpoint) -> Request<Empty<Bytes>> {
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = endpoint.target().clone();
    let headers = request.headers_mut();
    headers.insert(HOST, endpoint.authority().clone());
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers.insert(
        USER_AGENT,
        HeaderValue::from_static(concat!("tidegate/", env!("CARGO_PKG_VERSION"))),
    );
    if let Some(authorization) = endpoint.authorization() {
        headers.insert(AUTHORIZATION, authorization.clone());
    }
    request
}
