//! Free ports, none of them given twice.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::socket::sockopt::ReuseAddr;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket};

use super::patience::eventually;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Listens at an address that [`free`] gave, or that was listened at before.
///
/// A process that is being forked by another thread has a copy of every descriptor until it executes its program,
/// a listener that was just closed included: so the address may be in use for another moment.
///
/// # Panics
/// When it is longer than that.
pub fn listen(address: SocketAddr) -> TcpListener {
    eventually("an address to listen at", || TcpListener::bind(address).ok())
}

/// A loopback address that nothing listens on.
///
/// All of 127/8 is this machine (RFC 1122, 3.2.1.3), so each test process has an address of its own, made from
/// its pid, and two of them never meet on a port. The ports lie below the ephemeral range (from 32768,
/// `ip_local_port_range`), so that no outgoing connection takes one between here and its use.
pub fn free() -> SocketAddr {
    const FIRST: u32 = 12_000;
    const COUNT: u32 = 20_000;
    // A pid has at most 22 bits.
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    let host = Ipv4Addr::new(127, 64 | high, middle, low);
    for _ in 0..COUNT {
        let port = (FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT) as u16;
        let address = SocketAddr::from((host, port));
        if is_free(address) {
            return address;
        }
    }
    panic!("no free port on {host} between {FIRST} and {}", FIRST + COUNT);
}

/// Whether `address` can be bound, found out without listening on it: a process forked meanwhile would hold the
/// listener for a moment more, and nobody could bind there. What is bound with SO_REUSEADDR and does not
/// listen is in nobody's way (socket(7)); the standard library sets it too.
fn is_free(address: SocketAddr) -> bool {
    let probe = socket(
        AddressFamily::Inet,
        SockType::Stream,
        SockFlag::SOCK_CLOEXEC,
        None,
    )
    .expect("a socket");
    setsockopt(&probe, ReuseAddr, &true).expect("an option every socket has");
    bind(probe.as_raw_fd(), &SockaddrStorage::from(address)).is_ok()
}
