//! The health port or socket, bound synchronously before the runtime starts, so
//! that a port that is taken is one line on standard error and exit code 125.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage};
use thiserror::Error;

use super::tls::{Identity, Tls, TlsError};
use crate::socket_file::{InTheWay, SocketFile, clear_stale};

/// Connections the kernel keeps for us until they are accepted: as many as `net.core.somaxconn` has it
/// keep (listen(2)). A number of our own would have to be below each libc's `SOMAXCONN`, 128 in musl.
const BACKLOG: Backlog = Backlog::MAXALLOWABLE;

/// Bytes a socket path may have: `sun_path` less its closing NUL (unix(7)).
pub const MAX_PATH: usize = 107;

/// Where the health service listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Nowhere.
    Off,
    /// An address and a port; port 0 takes a free one.
    Tcp(SocketAddr),
    /// A unix socket at this path.
    Unix(PathBuf),
}

/// Where the health service is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address with the port it really has.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Why the health service cannot listen, as one line with its mend.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BindError {
    /// Another process listens there.
    #[error(
        "cannot serve health on {0}: the address is taken; stop what listens there or set health.listen to another"
    )]
    Taken(Address),
    /// Ports below `net.ipv4.ip_unprivileged_port_start` need CAP_NET_BIND_SERVICE (ip(7)).
    #[error(
        "cannot serve health on {0}: not permitted; ports below 1024 need CAP_NET_BIND_SERVICE, so set health.listen to a port from 1024 up"
    )]
    Privileged(SocketAddr),
    /// No interface here has that address.
    #[error(
        "cannot serve health on {0}: no interface has this address; set health.listen to 0.0.0.0 or [::] with the same port"
    )]
    NoSuchAddress(SocketAddr),
    /// The kernel does not speak that family.
    #[error("cannot serve health on {0}: IPv6 is not available here; set health.listen to an IPv4 address")]
    NoSuchFamily(SocketAddr),
    /// The path does not fit in a socket address.
    #[error("cannot serve health on {0}: the path has {len} bytes and a socket path may have {MAX_PATH}; set health.listen to a shorter one", len = path_len(.0))]
    PathTooLong(Address),
    /// Something that is not a socket is in the way. It is left alone.
    #[error(
        "cannot serve health on {0}: there is a file that is not a socket; remove it or set health.listen to another path"
    )]
    NotASocket(Address),
    /// The directory is missing.
    #[error(
        "cannot serve health on {0}: its directory does not exist; create it or set health.listen to another path"
    )]
    NoSuchDirectory(Address),
    /// The directory may not be written to.
    #[error(
        "cannot serve health on {0}: its directory may not be written to ({1}); mount an emptyDir there or set health.listen to another path"
    )]
    Unwritable(Address, io::Error),
    /// Anything else the kernel says.
    #[error("cannot serve health on {0}: {1}; set health.listen to another address, or to off")]
    Refused(Address, io::Error),
}

/// A listener that is bound and not yet served: connections wait in the kernel.
#[derive(Debug)]
pub struct Bound {
    pub(super) listener: Listener,
    pub(super) identity: Option<Identity>,
    address: Option<Address>,
}

#[derive(Debug)]
pub(super) enum Listener {
    Off,
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

impl Bound {
    /// With TLS on every connection.
    ///
    /// # Errors
    /// [`TlsError`] when the files make no identity.
    pub fn secured_by(self, tls: &Tls) -> Result<Self, TlsError> {
        let identity = Some(Identity::read(tls)?);
        Ok(Self { identity, ..self })
    }

    /// Where it listens, with the port it really has; nothing if it is off.
    pub fn address(&self) -> Option<&Address> {
        self.address.as_ref()
    }
}

/// Binds and listens, blocking for no longer than the system calls take. Descriptors are close-on-exec
/// and non-blocking.
///
/// A TCP port left in TIME_WAIT by a predecessor is taken over (SO_REUSEADDR).
/// A socket file nobody listens on is replaced; one that is alive is never stolen. Its mode follows the
/// umask.
///
/// # Errors
/// A [`BindError`], which is a line for the person who set `health.listen`.
pub fn bind(listen: &Listen) -> Result<Bound, BindError> {
    match listen {
        Listen::Off => Ok(Bound {
            listener: Listener::Off,
            identity: None,
            address: None,
        }),
        Listen::Tcp(address) => bind_tcp(*address),
        Listen::Unix(path) => bind_unix(path),
    }
}

fn bind_tcp(wanted: SocketAddr) -> Result<Bound, BindError> {
    let made = || -> io::Result<_> {
        let listener = listen_at(wanted)?;
        let address = match wanted.port() {
            0 => listener.local_addr()?,
            _ => wanted,
        };
        Ok((listener, address))
    };
    match made() {
        Ok((listener, address)) => Ok(Bound {
            listener: Listener::Tcp(listener),
            identity: None,
            address: Some(Address::Tcp(address)),
        }),
        Err(error) => Err(match errno(&error) {
            Errno::EADDRINUSE => BindError::Taken(Address::Tcp(wanted)),
            Errno::EACCES | Errno::EPERM if wanted.port() != 0 && wanted.port() < 1024 => {
                BindError::Privileged(wanted)
            }
            Errno::EADDRNOTAVAIL if wanted.is_ipv6() && wanted.ip().is_unspecified() => {
                BindError::NoSuchFamily(wanted)
            }
            Errno::EADDRNOTAVAIL => BindError::NoSuchAddress(wanted),
            Errno::EAFNOSUPPORT => BindError::NoSuchFamily(wanted),
            _ => BindError::Refused(Address::Tcp(wanted), error),
        }),
    }
}

/// As the standard library does it, in half the calls: the program is not started before.
fn listen_at(wanted: SocketAddr) -> io::Result<TcpListener> {
    let family = match wanted {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let descriptor = socket::socket(family, SockType::Stream, flags, None)?;
    socket::setsockopt(&descriptor, socket::sockopt::ReuseAddr, &true)?;
    socket::bind(descriptor.as_raw_fd(), &SockaddrStorage::from(wanted))?;
    socket::listen(&descriptor, BACKLOG)?;
    Ok(descriptor.into())
}

fn bind_unix(path: &Path) -> Result<Bound, BindError> {
    let address = Address::Unix(path.to_owned());
    if path.as_os_str().len() > MAX_PATH {
        return Err(BindError::PathTooLong(address));
    }
    let listener = match UnixListener::bind(path) {
        Err(error) if errno(&error) == Errno::EADDRINUSE => {
            clear_stale(path).map_err(|why| in_the_way(&address, why))?;
            UnixListener::bind(path)
        }
        result => result,
    };
    let made = || -> io::Result<_> {
        let listener = listener?;
        listener.set_nonblocking(true)?;
        deepen_backlog(&listener)?;
        let file = SocketFile::at(path)?;
        Ok((listener, file))
    };
    match made() {
        Ok((listener, file)) => Ok(Bound {
            listener: Listener::Unix(listener, file),
            identity: None,
            address: Some(address),
        }),
        Err(error) => Err(unix_error(address, error)),
    }
}

fn in_the_way(address: &Address, why: InTheWay) -> BindError {
    let address = address.clone();
    match why {
        InTheWay::Taken => BindError::Taken(address),
        InTheWay::NotASocket => BindError::NotASocket(address),
        InTheWay::Refused(error) => unix_error(address, error),
    }
}

fn unix_error(address: Address, error: io::Error) -> BindError {
    match errno(&error) {
        // A second starter was faster between the clearing and the bind.
        Errno::EADDRINUSE => BindError::Taken(address),
        Errno::ENOENT | Errno::ENOTDIR => BindError::NoSuchDirectory(address),
        Errno::EACCES | Errno::EPERM | Errno::EROFS => BindError::Unwritable(address, error),
        Errno::ENAMETOOLONG => BindError::PathTooLong(address),
        _ => BindError::Refused(address, error),
    }
}

/// The standard library listens with a backlog of 128; listen(2) again widens it.
fn deepen_backlog(listener: &impl AsFd) -> io::Result<()> {
    socket::listen(listener, BACKLOG)?;
    Ok(())
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(0))
}

fn path_len(address: &Address) -> usize {
    match address {
        Address::Unix(path) => path.as_os_str().as_bytes().len(),
        Address::Tcp(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn localhost() -> Listen {
        Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    #[test]
    fn off_binds_nothing() {
        assert_eq!(bind(&Listen::Off).unwrap().address(), None);
    }

    #[test]
    fn a_taken_port_is_named_with_its_mend() {
        let first = bind(&localhost()).unwrap();
        let Some(Address::Tcp(address)) = first.address() else {
            panic!("no address")
        };
        let error = bind(&Listen::Tcp(*address)).unwrap_err();
        assert!(matches!(error, BindError::Taken(_)), "{error:?}");
        let line = error.to_string();
        assert!(
            line.contains(&address.to_string()) && line.contains("health.listen"),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1);
    }

    #[test]
    fn an_address_of_another_machine_is_refused_with_its_mend() {
        // 192.0.2.0/24 is for documentation (RFC 5737).
        let error = bind(&Listen::Tcp("192.0.2.1:9095".parse().unwrap())).unwrap_err();
        assert!(matches!(error, BindError::NoSuchAddress(_)), "{error:?}");
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("health.sock");
        drop(UnixListener::bind(&path).unwrap());
        let listen = Listen::Unix(path.clone());
        let live = bind(&listen).unwrap();
        let error = bind(&listen).unwrap_err();
        assert!(matches!(error, BindError::Taken(_)), "{error:?}");
        UnixStream::connect(&path).expect("the live one still answers");
        drop(live);
        assert!(!path.exists());
    }

    #[test]
    fn a_successors_socket_is_left_alone() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("health.sock");
        let first = bind(&Listen::Unix(path.clone())).unwrap();
        std::fs::remove_file(&path).unwrap();
        // Another file first, so that the inode just freed is not handed out again.
        std::fs::write(room.path().join("other"), "").unwrap();
        let second = UnixListener::bind(&path).unwrap();
        drop(first);
        UnixStream::connect(&path).unwrap();
        drop(second);
    }

    #[test]
    fn a_file_in_the_way_is_not_removed() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("health.sock");
        std::fs::write(&path, "precious").unwrap();
        let error = bind(&Listen::Unix(path.clone())).unwrap_err();
        assert!(matches!(error, BindError::NotASocket(_)), "{error:?}");
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }

    #[test]
    fn a_path_that_does_not_fit_is_said_with_its_length() {
        let path = PathBuf::from(format!("/tmp/{}", "x".repeat(103)));
        let error = bind(&Listen::Unix(path)).unwrap_err();
        assert!(error.to_string().contains("108 bytes"), "{error}");
    }

    #[test]
    fn a_missing_directory_is_named() {
        let room = tempfile::tempdir().unwrap();
        let error = bind(&Listen::Unix(room.path().join("missing/health.sock"))).unwrap_err();
        assert!(matches!(error, BindError::NoSuchDirectory(_)), "{error:?}");
    }

    #[test]
    fn an_unwritable_directory_is_named() {
        let room = tempfile::tempdir().unwrap();
        std::fs::set_permissions(room.path(), std::fs::Permissions::from_mode(0o500)).unwrap();
        let result = bind(&Listen::Unix(room.path().join("health.sock")));
        // Root may write anywhere.
        if let Err(error) = result {
            assert!(matches!(error, BindError::Unwritable(..)), "{error:?}");
        } else {
            assert!(nix::unistd::geteuid().is_root());
        }
    }
}
