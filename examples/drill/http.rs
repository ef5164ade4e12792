//! One HTTP/1 request on a connection of its own.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer.
pub struct Answer {
    /// Its status code.
    pub status: u16,
    /// The instance that the load balancer says it is from.
    pub instance: Option<SocketAddr>,
}

/// GETs `path`.
pub async fn get(address: SocketAddr, path: &str) -> io::Result<Answer> {
    let mut socket = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await?;
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).await?;
    let text = String::from_utf8_lossy(&bytes);
    let cut = || io::Error::new(io::ErrorKind::UnexpectedEof, "the answer is cut off");
    let (head, _) = text.split_once("\r\n\r\n").ok_or_else(cut)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let instance = head.lines().find_map(|line| line.strip_prefix("x-instance: "));
    Ok(Answer {
        status: status.ok_or_else(cut)?,
        instance: instance.and_then(|instance| instance.trim().parse().ok()),
    })
}
