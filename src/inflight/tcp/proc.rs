//! The kernel's socket table as text, proc_pid_net(5): what is left where netlink is refused. It
//! has the queues and nothing about when data last moved. Read in pieces, it tells a socket twice now
//! and then, as others come and go meanwhile: the count is too high for a poll.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::socket::{Socket, State};

/// Lines after which others have their turn.
const AT_ONCE: usize = 1000;

/// Hands every TCP socket of our network namespace that concerns us to `sink`.
///
/// # Errors
/// When a table cannot be read, or not understood.
pub async fn sockets(mut sink: impl FnMut(Socket)) -> io::Result<()> {
    table("/proc/net/tcp", &mut sink).await?;
    match table("/proc/net/tcp6", &mut sink).await {
        // A kernel without IPv6.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        read => read,
    }
}

async fn table(path: &str, sink: &mut impl FnMut(Socket)) -> io::Result<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
    let mut file = BufReader::with_capacity(64 * 1024, File::open(path).map_err(named)?);
    let mut line = Vec::new();
    // The first line is the heading.
    file.read_until(b'\n', &mut line).map_err(named)?;
    for number in 1.. {
        line.clear();
        if file.read_until(b'\n', &mut line).map_err(named)? == 0 {
            return Ok(());
        }
        let understood = std::str::from_utf8(&line).ok().and_then(row);
        match understood {
            Some(Row::Socket(socket)) => sink(socket),
            Some(Row::OfNoConcern) => {}
            None => {
                return Err(io::Error::other(format!(
                    "{path}: line {number} is not understood"
                )));
            }
        }
        if number % AT_ONCE == 0 {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

enum Row {
    Socket(Socket),
    /// In another state.
    OfNoConcern,
}

/// `sl: local:port remote:port st tx_queue:rx_queue …`, all of it hexadecimal.
fn row(line: &str) -> Option<Row> {
    let mut columns = line.split_ascii_whitespace().skip(1);
    let (local, remote) = (columns.next()?, columns.next()?);
    let number = u8::from_str_radix(columns.next()?, 16).ok()?;
    let (unacknowledged, unread) = columns.next()?.split_once(':')?;
    let Some(state) = State::of(number) else {
        return Some(Row::OfNoConcern);
    };
    Some(Row::Socket(Socket {
        port: address(local)?.port(),
        peer: address(remote)?,
        state,
        unread: u32::from_str_radix(unread, 16).ok()?,
        unacknowledged: u32::from_str_radix(unacknowledged, 16).ok()?,
        moved: None,
    }))
}

/// Words of 32 bits, each printed as the number that it is on this machine.
fn address(text: &str) -> Option<SocketAddr> {
    let (words, port) = text.split_once(':')?;
    let word = |at: usize| {
        let word = u32::from_str_radix(words.get(at..at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip = match words.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let bytes = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
            IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?))
        }
        _ => return None,
    };
    Some(SocketAddr::new(
        ip.to_canonical(),
        u16::from_str_radix(port, 16).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_line_brings_it_down(line in ".{0,200}") {
            let _ = row(&line);
            let _ = address(&line);
        }
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn a_row_is_read() {
        let line = "   3: 0100007F:C383 0200007F:D2F0 08 0000000A:00000001 00:00000000 00000000  0 0 9 1";
        let Some(Row::Socket(socket)) = row(line) else {
            panic!("a socket")
        };
        assert_eq!(socket.port, 50051);
        assert_eq!(socket.peer, "127.0.0.2:54000".parse().unwrap());
        assert_eq!((socket.unacknowledged, socket.unread), (10, 1));
        assert_eq!(socket.state, State::Open);
        let mapped = address("0000000000000000FFFF00000100007F:0050").unwrap();
        assert_eq!(mapped, "127.0.0.1:80".parse().unwrap());
    }
}
