//! The file of a unix socket: a stale one is replaced, a live one is never stolen, and nobody
//! else's is ever removed.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, UnixAddr};

/// The socket's file, known by its inode. Dropped, it is removed, unless a successor has put its
/// own there.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    /// The one that was just bound at `path`.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let metadata = path.symlink_metadata()?;
        Ok(Self {
            path: path.to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Ok(metadata) = self.path.symlink_metadata()
            && (metadata.dev(), metadata.ino()) == (self.device, self.inode)
        {
            // It is gone or it stays; a stale file is replaced by the next to bind.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Why a path is not free to bind.
#[derive(Debug)]
pub(crate) enum InTheWay {
    /// Somebody listens there, as far as can be known.
    Taken,
    /// A file that is no socket.
    NotASocket,
    /// It could not be looked at or removed.
    Refused(io::Error),
}

/// Removes the socket at `path` if nobody listens on it.
pub(crate) fn clear_stale(path: &Path) -> Result<(), InTheWay> {
    let kind = match path.symlink_metadata() {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(InTheWay::Refused(error)),
    };
    if !kind.is_socket() {
        return Err(InTheWay::NotASocket);
    }
    match knock(path) {
        Err(Errno::ECONNREFUSED) => match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(InTheWay::Refused(error)),
            _ => Ok(()),
        },
        Err(Errno::ENOENT) => Ok(()),
        // Connected, or EAGAIN (its backlog is full), or we may not ask: somebody's, as far as can be known.
        _ => Err(InTheWay::Taken),
    }
}

/// Connects without waiting: a blocking connect hangs on a full backlog (unix(7)).
fn knock(path: &Path) -> Result<(), Errno> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let descriptor = socket::socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    socket::connect(descriptor.as_raw_fd(), &UnixAddr::new(path)?)
}
