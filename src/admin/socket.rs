//! The socket, bound: mode 0600 from the first moment, a stale one replaced, a live one never stolen.
//! Whatever is in the way, the run goes on without it: one line in the log.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, UnixAddr};
use nix::sys::stat::{Mode, fchmod};
use nix::unistd::geteuid;
use thiserror::Error;
use tracing::{debug, info, warn};

use super::place::{Room, Socket};
use crate::socket_file::{InTheWay, SocketFile, clear_stale};

/// Connections the kernel keeps for us until they are accepted (listen(2)).
const BACKLOG: i32 = 128;

/// A socket that is bound and not yet served: clients wait in the kernel.
#[derive(Debug)]
pub struct Bound {
    pub(super) listener: UnixListener,
    pub(super) file: SocketFile,
}

/// Why there is no socket at a place.
#[derive(Debug, Error)]
enum Obstacle {
    #[error("another tidegate answers there")]
    Taken,
    #[error("there is a file that is not a socket")]
    NotASocket,
    #[error("{0} is a link or no directory")]
    NotADirectory(PathBuf),
    #[error("{path} belongs to user {owner}")]
    Strangers { path: PathBuf, owner: u32 },
    #[error("others may write to {0}; chmod 700 it")]
    Writable(PathBuf),
    #[error("{0}")]
    Refused(#[from] io::Error),
}

impl From<InTheWay> for Obstacle {
    fn from(why: InTheWay) -> Self {
        match why {
            InTheWay::Taken => Self::Taken,
            InTheWay::NotASocket => Self::NotASocket,
            InTheWay::Refused(error) => Self::Refused(error),
        }
    }
}

impl From<Errno> for Obstacle {
    fn from(errno: Errno) -> Self {
        Self::Refused(errno.into())
    }
}

/// Binds the socket, or says in the log why there is none. Descriptors are close-on-exec and
/// non-blocking.
pub fn open(socket: &Socket) -> Option<Bound> {
    match socket {
        Socket::Off => None,
        Socket::Path(path) => match bind(path) {
            Ok(bound) => Some(bound),
            Err(why) => {
                warn!(
                    target: "admin",
                    "no admin socket: {}: {why}; set admin.socket to another path, or to off", path.display()
                );
                None
            }
        },
        Socket::Auto => open_somewhere(),
    }
}

fn open_somewhere() -> Option<Bound> {
    let mut reasons = Vec::new();
    for room in Room::all() {
        let path = room.socket();
        match enter(&room).and_then(|()| bind(&path)) {
            Ok(bound) => return Some(bound),
            Err(why) => {
                let taken = matches!(why, Obstacle::Taken);
                reasons.push(format!("{}: {why}", path.display()));
                if taken {
                    // Its clients look there first: a second place would never be found.
                    break;
                }
            }
        }
    }
    info!(
        target: "admin",
        "no admin socket, so no prestop, drain or status: {}; set admin.socket to a path, or to off",
        reasons.join("; ")
    );
    None
}

/// Makes the directory, or makes sure that the one that is there is not a stranger's trap.
fn enter(room: &Room) -> Result<(), Obstacle> {
    let path = room.directory();
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => return Ok(()),
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
        // EROFS and EACCES come before EEXIST where nothing may be made (mkdir(2)).
        Err(_) if path.symlink_metadata().is_ok() => {}
        Err(why) => return Err(why.into()),
    }
    let directory = path.symlink_metadata()?;
    if !directory.is_dir() {
        return Err(Obstacle::NotADirectory(path.into()));
    }
    let owner = directory.uid();
    let roots = matches!(room, Room::Run(_)) && owner == 0;
    if owner != geteuid().as_raw() && !roots {
        let path = path.into();
        return Err(Obstacle::Strangers { path, owner });
    }
    match room {
        Room::Tmp(_) if directory.permissions().mode() & 0o022 != 0 => Err(Obstacle::Writable(path.into())),
        _ => Ok(()),
    }
}

fn bind(path: &Path) -> Result<Bound, Obstacle> {
    let _turn = take_turns(path)?;
    clear_stale(path)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let descriptor = socket::socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    // The file gets the mode the unbound socket has, less the umask (unix_bind in net/unix/af_unix.c), so
    // there is no moment at which it is open to others.
    fchmod(&descriptor, Mode::S_IRUSR | Mode::S_IWUSR)?;
    match socket::bind(descriptor.as_raw_fd(), &UnixAddr::new(path)?) {
        Err(Errno::EADDRINUSE) => return Err(Obstacle::Taken),
        bound => bound?,
    }
    let file = SocketFile::at(path)?;
    socket::listen(&descriptor, Backlog::new(BACKLOG)?)?;
    debug!(target: "admin", "listening on {}", path.display());
    Ok(Bound {
        listener: descriptor.into(),
        file,
    })
}

/// Between the look at a stale socket and its replacement another tidegate may bind there, so they take
/// turns. Whoever finds the directory locked is second, and does not wait.
fn take_turns(path: &Path) -> Result<Flock<File>, Obstacle> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let directory = OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_DIRECTORY.bits())
        .open(directory)?;
    match Flock::lock(directory, FlockArg::LockExclusiveNonblock) {
        Ok(turn) => Ok(turn),
        Err((_, Errno::EWOULDBLOCK)) => Err(Obstacle::Taken),
        Err((_, errno)) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn room() -> (tempfile::TempDir, PathBuf) {
        let room = tempfile::tempdir().expect("a directory");
        let path = room.path().join("admin.sock");
        (room, path)
    }

    #[test]
    fn only_the_owner_may_connect() {
        let (_room, path) = room();
        let _bound = bind(&path).expect("bound");
        let mode = path.symlink_metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let (_room, path) = room();
        drop(UnixListener::bind(&path).expect("a first one"));
        let live = bind(&path).expect("replaced");
        assert!(matches!(bind(&path), Err(Obstacle::Taken)));
        UnixStream::connect(&path).expect("the live one still answers");
        drop(live);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_in_the_way_is_left_alone() {
        let (_room, path) = room();
        std::fs::write(&path, "precious").expect("written");
        assert!(matches!(bind(&path), Err(Obstacle::NotASocket)));
        assert_eq!(std::fs::read(&path).expect("there"), b"precious");
    }

    #[test]
    fn a_successors_socket_is_left_alone() {
        let (room, path) = room();
        let first = bind(&path).expect("bound");
        std::fs::remove_file(&path).expect("removed");
        // Another file first, so that the inode just freed is not handed out again.
        std::fs::write(room.path().join("other"), "").expect("written");
        let _second = bind(&path).expect("bound");
        drop(first);
        UnixStream::connect(&path).expect("the second answers");
    }

    #[test]
    fn a_link_under_tmp_is_not_followed() {
        let (room, _) = room();
        let (target, link) = (room.path().join("theirs"), room.path().join("tidegate-0"));
        std::fs::create_dir(&target).expect("made");
        symlink(&target, &link).expect("linked");
        assert!(matches!(enter(&Room::Tmp(link)), Err(Obstacle::NotADirectory(_))));
    }

    #[test]
    fn a_directory_others_may_write_to_is_not_used_under_tmp() {
        let (room, _) = room();
        let open = room.path().join("tidegate-0");
        std::fs::create_dir(&open).expect("made");
        std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).expect("opened");
        assert!(matches!(
            enter(&Room::Tmp(open.clone())),
            Err(Obstacle::Writable(_))
        ));
        enter(&Room::Run(open)).expect("a volume is as it is");
    }

    #[test]
    fn a_directory_is_made_for_its_owner_alone() {
        let (room, _) = room();
        let made = room.path().join("tidegate-0");
        enter(&Room::Tmp(made.clone())).expect("made");
        assert_eq!(
            made.metadata().expect("there").permissions().mode() & 0o777,
            0o700
        );
        enter(&Room::Tmp(made)).expect("and used again");
    }
}
