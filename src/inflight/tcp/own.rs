//! Our own connections to the child: polls, health that is followed, checks. They are no calls.

use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::RawFd;

use nix::sys::socket::{SockaddrStorage, getpeername, getsockname};

/// Without /proc to list our descriptors, so many are tried.
const TRIED: RawFd = 4096;

/// Our end of every connection that we have to one of these ports, found among our descriptors, so
/// that nobody has to remember to register.
pub fn connections(ports: &[u16]) -> Vec<SocketAddr> {
    let mut found = Vec::new();
    let mut look = |fd| found.extend(local_end(fd, ports));
    match std::fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .for_each(&mut look),
        Err(_) => (0..TRIED).for_each(&mut look),
    }
    found
}

fn local_end(fd: RawFd, ports: &[u16]) -> Option<SocketAddr> {
    // Most descriptors are no sockets, and most sockets go elsewhere.
    let peer = address(&getpeername(fd).ok()?)?;
    if !ports.contains(&peer.port()) {
        return None;
    }
    address(&getsockname(fd).ok()?)
}

fn address(address: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(&v4) = address.as_sockaddr_in() {
        return Some(SocketAddrV4::from(v4).into());
    }
    let v6 = SocketAddrV6::from(*address.as_sockaddr_in6()?);
    Some(SocketAddr::new(v6.ip().to_canonical(), v6.port()))
}
