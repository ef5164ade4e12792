//! The kernel's socket table by netlink, sock_diag(7): everything `ss -i` knows.
//!
//! By hand, because it is two fixed layouts, `inet_diag_req_v2` out and `inet_diag_msg` with one
//! attribute in, read where they lie; the crates for it copy each socket into lists of attributes.
//! The kernel leaves out the ports that are not asked for: a pod's other connections cost next to
//! nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{self, AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType};

use super::Mode;
use super::socket::{Socket, State};

const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// NLM_F_REQUEST | NLM_F_DUMP
const DUMP: u16 = 0x301;
/// The table changed under the kernel's hands: something may be missing.
const NLM_F_DUMP_INTR: u16 = 0x10;
/// The attribute with `struct tcp_info`.
const INET_DIAG_INFO: u16 = 2;
/// The attribute of a request with a filter.
const INET_DIAG_REQ_BYTECODE: u16 = 1;
/// `inet_diag_req_v2` with its `nlmsghdr`, in bytes.
const REQUEST: usize = 72;
/// The most ports that the kernel is given to filter by: its jumps have 16 bits. With more, it
/// tells all of its sockets.
const MAX_FILTERED: usize = 1000;
/// The kernel fills up to 32 KiB at a time, when offered that much.
const BUFFER: usize = 64 * 1024;

/// Why the table was not given.
#[derive(Debug)]
pub enum NoTable {
    /// Not to us, not by this kernel: it will not be later either.
    Refused(Errno),
    /// This time.
    Failed(io::Error),
}

/// What the kernel is asked to tell.
#[derive(Clone, Copy)]
pub struct Question<'p> {
    /// Our own ports; none means any.
    pub ports: &'p [u16],
    /// Whether it is also when data last moved, for which the kernel locks each socket.
    pub mode: Mode,
}

/// Hands the TCP sockets of our network namespace in one of the [wanted](State::WANTED) states to
/// `sink`, those of other ports perhaps among them. Between pieces of the table others have their
/// turn.
pub async fn sockets(question: Question<'_>, mut sink: impl FnMut(Socket)) -> Result<(), NoTable> {
    let netlink = socket::socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkSockDiag,
    )
    .map_err(NoTable::Refused)?;
    let mut buffer = vec![0; BUFFER];
    // Sockets of `[::]` carry IPv4 as well, and are told as IPv6.
    for family in [libc::AF_INET, libc::AF_INET6] {
        let sent = socket::send(
            netlink.as_raw_fd(),
            &request(family as u8, question),
            MsgFlags::empty(),
        );
        sent.map_err(NoTable::Refused)?;
        while let More::Yes = piece(&netlink, &mut buffer, &mut sink)? {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

/// `nlmsghdr`, `inet_diag_req_v2` and the filter: the sockets of a family.
fn request(family: u8, Question { ports, mode }: Question<'_>) -> Vec<u8> {
    let mut request = vec![0; REQUEST];
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&DUMP.to_ne_bytes());
    request[16] = family;
    request[17] = libc::IPPROTO_TCP as u8;
    request[18] = match mode {
        Mode::Busy => 1 << (INET_DIAG_INFO - 1),
        Mode::Established => 0,
    };
    request[20..24].copy_from_slice(&State::WANTED.to_ne_bytes());
    if (1..=MAX_FILTERED).contains(&ports.len()) {
        let filter = any_of(ports);
        request.extend(((4 + filter.len()) as u16).to_ne_bytes());
        request.extend(INET_DIAG_REQ_BYTECODE.to_ne_bytes());
        request.extend(filter);
    }
    let length = request.len() as u32;
    request[0..4].copy_from_slice(&length.to_ne_bytes());
    request
}

/// Lets the sockets of these ports through: `inet_diag_bc_op`s, each with the way to go on if it
/// holds and if not, in bytes. Who comes to the end exactly is let through, who jumps beyond it is
/// not (`inet_diag_bc_run`). A comparison's number is in an operation of its own behind it.
///
/// Two comparisons rather than `INET_DIAG_BC_S_EQ`, which older kernels do not have (before 4.20).
fn any_of(ports: &[u16]) -> Vec<u8> {
    const JUMP: u8 = 1;
    const AT_LEAST: u8 = 2;
    const AT_MOST: u8 = 3;
    /// Two comparisons of two, and a jump.
    const BLOCK: u16 = 20;
    let mut code = Vec::with_capacity(ports.len() * usize::from(BLOCK));
    let mut add = |operation: u8, yes: u8, no: u16| {
        code.extend([operation, yes]);
        code.extend(no.to_ne_bytes());
    };
    for (at, &port) in ports.iter().enumerate() {
        let left = (ports.len() - at) as u16;
        let other = if left == 1 { BLOCK + 4 } else { BLOCK };
        add(AT_LEAST, 8, other);
        add(0, 0, port);
        add(AT_MOST, 8, other - 8);
        add(0, 0, port);
        // To the end. The kernel's check of the code walks by `yes`.
        add(JUMP, 4, left * BLOCK - 16);
    }
    code
}

enum More {
    Yes,
    No,
}

/// Reads one piece. The kernel writes it while we ask, so that there is nothing to wait for.
fn piece(netlink: &OwnedFd, buffer: &mut [u8], sink: &mut impl FnMut(Socket)) -> Result<More, NoTable> {
    // MSG_TRUNC: the whole length, also of what did not fit (recv(2)).
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
    let length = match socket::recv(netlink.as_raw_fd(), buffer, flags) {
        Ok(length) => length,
        Err(errno) => return Err(NoTable::Failed(errno.into())),
    };
    let Some(mut rest) = buffer.get(..length) else {
        return Err(failed("a piece of the socket table was cut"));
    };
    while !rest.is_empty() {
        let (kind, flags, payload) = message(&mut rest).ok_or_else(|| failed("a message was cut"))?;
        if flags & NLM_F_DUMP_INTR != 0 {
            return Err(failed("the socket table changed while it was read"));
        }
        match kind {
            NLMSG_DONE => return finished(payload),
            NLMSG_ERROR => return Err(NoTable::Refused(errno(payload))),
            SOCK_DIAG_BY_FAMILY => {
                if let Some(socket) = socket_of(payload) {
                    sink(socket);
                }
            }
            _ => {}
        }
    }
    Ok(More::Yes)
}

fn failed(why: &'static str) -> NoTable {
    NoTable::Failed(io::Error::other(why))
}

/// The end of a dump says whether it went well, by a negative errno or 0.
fn finished(payload: &[u8]) -> Result<More, NoTable> {
    match errno(payload) {
        Errno::UnknownErrno => Ok(More::No),
        errno => Err(NoTable::Refused(errno)),
    }
}

fn errno(payload: &[u8]) -> Errno {
    Errno::from_raw(number(payload, 0).map_or(0, |number| (number as i32).wrapping_neg()))
}

/// Takes the next `nlmsghdr` and its payload off the front.
fn message<'b>(rest: &mut &'b [u8]) -> Option<(u16, u16, &'b [u8])> {
    let length = number(rest, 0)? as usize;
    let half = |at: usize| Some(u16::from_ne_bytes(rest.get(at..at + 2)?.try_into().ok()?));
    let (kind, flags) = (half(4)?, half(6)?);
    let payload = rest.get(HEADER..length)?;
    *rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((kind, flags, payload))
}

/// An `inet_diag_msg` with its attributes.
fn socket_of(payload: &[u8]) -> Option<Socket> {
    const ATTRIBUTES: usize = 72;
    let state = State::of(*payload.get(1)?)?;
    let port = |at: usize| Some(u16::from_be_bytes(payload.get(at..at + 2)?.try_into().ok()?));
    let peer = match i32::from(*payload.first()?) {
        libc::AF_INET => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(payload.get(24..28)?).ok()?)),
        _ => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(payload.get(24..40)?).ok()?)),
    };
    Some(Socket {
        port: port(4)?,
        peer: SocketAddr::new(peer.to_canonical(), port(6)?),
        state,
        unread: number(payload, 56)?,
        unacknowledged: number(payload, 60)?,
        moved: moved(payload.get(ATTRIBUTES..)?),
    })
}

/// The later of `tcpi_last_data_sent` and `tcpi_last_data_recv`, which are milliseconds ago. A new
/// connection has both at its beginning.
fn moved(mut attributes: &[u8]) -> Option<Duration> {
    loop {
        let half = |at: usize| Some(u16::from_ne_bytes(attributes.get(at..at + 2)?.try_into().ok()?));
        let (length, kind) = (usize::from(half(0)?), half(2)?);
        let value = attributes.get(4..length)?;
        if kind == INET_DIAG_INFO {
            let (sent, received) = (number(value, 44)?, number(value, 52)?);
            return Some(Duration::from_millis(sent.min(received).into()));
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bytes_bring_it_down(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut rest = &bytes[..];
            while let Some((_, _, payload)) = message(&mut rest) {
                let _ = socket_of(payload);
            }
            let _ = (socket_of(&bytes), moved(&bytes), errno(&bytes));
        }
    }
}
