//! One HTTP/1 request, as bytes: nothing between the test and the wire.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::PATIENCE;

/// An answer, split where HTTP splits it.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The head, status line included.
    pub head: String,
    /// Everything after it, as sent (chunked, perhaps).
    pub body: String,
}

/// GETs `path`.
///
/// # Errors
/// What the socket said.
///
/// # Panics
/// When the answer is not HTTP.
pub fn get(address: SocketAddr, path: &str) -> std::io::Result<Answer> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    exchange(address, &request)
}

/// POSTs JSON to `path`, in HTTP/1.0, so that the answer is not chunked.
///
/// # Errors
/// What the socket said.
///
/// # Panics
/// When the answer is not HTTP.
pub fn post(address: SocketAddr, path: &str, body: &str) -> std::io::Result<Answer> {
    let length = body.len();
    let head = format!("POST {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {length}");
    exchange(address, &format!("{head}\r\n\r\n{body}"))
}

fn exchange(address: SocketAddr, request: &str) -> std::io::Result<Answer> {
    let mut socket = TcpStream::connect_timeout(&address, PATIENCE)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("not HTTP: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status: {head:?}"));
    Ok(Answer {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    })
}
