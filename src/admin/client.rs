//! The other side: finds a running tidegate, asks it, reads what it says.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::{Uid, geteuid};
use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::place::{Socket, VARIABLE};
use super::wire::{LONGEST_LINE, Line, Request};

/// A tidegate that does not answer for this long is stopped, or stuck.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often a socket at which nobody listens is looked at, [`ARRIVAL`] apart. Its file is there from bind(2) on, and
/// whoever comes before listen(2) is refused as by one that was left behind (unix(7)).
const ARRIVALS: usize = 10;
const ARRIVAL: Duration = Duration::from_millis(20);

/// A conversation with a running tidegate.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    stream: BufReader<UnixStream>,
    /// What has been read of a line. Here, so that a wait that is given up loses nothing.
    line: Vec<u8>,
}

/// Why there is no conversation, as one line with its mend.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The variable, or the option, says something odd.
    #[error("{0}")]
    Misnamed(String),
    /// It says that there is no socket.
    #[error("{VARIABLE} is off, so there is no tidegate to talk to; set it to auto or to the socket's path")]
    Off,
    /// Nobody listens anywhere.
    #[error("no tidegate found at {}: is it running, here and as this user? {VARIABLE} says where else its socket is", places(.0))]
    NoneFound(Vec<PathBuf>),
    /// The socket is another user's.
    #[error("{}: not permitted; ask as the user that tidegate runs as, or as root", .0.display())]
    NotPermitted(PathBuf),
    /// Who listens there may be anybody.
    #[error("{}: user {} listens there, not this user or root; it is not asked", .0.display(), .1)]
    Stranger(PathBuf, u32),
    /// There is somebody, and no answer.
    #[error("{}: tidegate does not answer; is it stopped (SIGSTOP, a debugger, a frozen container)?", .0.display())]
    Silent(PathBuf),
    /// It ended, or threw us out, before it had answered.
    #[error("{}: tidegate went away before it answered", .0.display())]
    WentAway(PathBuf),
    /// What it says is nothing we know.
    #[error("{}: not understood ({}); is it a tidegate of this version?", .0.display(), .1)]
    NotUnderstood(PathBuf, String),
    /// Anything else the kernel says.
    #[error("{}: {}", .0.display(), .1)]
    Refused(PathBuf, io::Error),
}

/// Who is at the places where a tidegate may be.
enum Found {
    Somebody(Client),
    /// A socket's file is there, and nobody: they have gone, or are about to come.
    NobodyAtAFile,
    Nobody,
}

fn places(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(" or ")
}

impl Client {
    /// Connects to the first tidegate there is at the places of `socket`. One that is only just being bound is waited
    /// for, [`ARRIVALS`] times.
    ///
    /// # Errors
    /// As [`ClientError`].
    pub async fn connect(socket: &Socket) -> Result<Self, ClientError> {
        if *socket == Socket::Off {
            return Err(ClientError::Off);
        }
        let places = socket.places();
        for _ in 0..ARRIVALS {
            match Self::look(&places).await? {
                Found::Somebody(client) => return Ok(client),
                Found::NobodyAtAFile => tokio::time::sleep(ARRIVAL).await,
                Found::Nobody => break,
            }
        }
        Err(ClientError::NoneFound(places))
    }

    async fn look(places: &[PathBuf]) -> Result<Found, ClientError> {
        let (mut denied, mut found) = (None, Found::Nobody);
        for path in places {
            match UnixStream::connect(path).await {
                Ok(stream) => {
                    trust(path, &stream)?;
                    let stream = BufReader::new(stream);
                    let (path, line) = (path.clone(), Vec::new());
                    return Ok(Found::Somebody(Self { path, stream, line }));
                }
                Err(why) => match why.kind() {
                    // Nobody was ever here.
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {}
                    io::ErrorKind::ConnectionRefused => found = Found::NobodyAtAFile,
                    io::ErrorKind::PermissionDenied => denied = denied.or(Some(path.clone())),
                    _ => return Err(ClientError::Refused(path.clone(), why)),
                },
            }
        }
        match denied {
            Some(path) => Err(ClientError::NotPermitted(path)),
            None => Ok(found),
        }
    }

    /// Asks; the answer is the next line.
    ///
    /// # Errors
    /// As [`Client::next`].
    pub async fn ask(&mut self, request: Request) -> Result<Line, ClientError> {
        let line = format!("{}\n", request.word());
        let talk = async {
            // Where it was not taken, what was said instead is there to be read.
            let _ = self.stream.write_all(line.as_bytes()).await;
            self.next().await
        };
        match tokio::time::timeout(PATIENCE, talk).await {
            Ok(answer) => answer?.ok_or_else(|| ClientError::WentAway(self.path.clone())),
            Err(_) => Err(ClientError::Silent(self.path.clone())),
        }
    }

    /// The next line, however long it takes; none when the run is over.
    ///
    /// # Errors
    /// [`ClientError::NotUnderstood`], or what the kernel says.
    pub async fn next(&mut self) -> Result<Option<Line>, ClientError> {
        let room = LONGEST_LINE.saturating_sub(self.line.len() as u64);
        let mut stream = (&mut self.stream).take(room);
        match stream.read_until(b'\n', &mut self.line).await {
            // Half a line: it ended while it spoke.
            Ok(_) if self.line.last() != Some(&b'\n') && room > 0 => Ok(None),
            Ok(_) => {
                let line = std::mem::take(&mut self.line);
                let read = serde_json::from_slice(&line);
                read.map(Some)
                    .map_err(|why| ClientError::NotUnderstood(self.path.clone(), why.to_string()))
            }
            // Closed with our question unread: the run has just ended.
            Err(why) if why.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            Err(why) => Err(ClientError::Refused(self.path.clone(), why)),
        }
    }
}

/// A socket under /tmp or on a shared volume may be anybody's. Root believes everyone: it may talk to any
/// user's tidegate.
fn trust(path: &Path, stream: &UnixStream) -> Result<(), ClientError> {
    let ours = geteuid();
    match stream.peer_cred() {
        Ok(peer) if ours.is_root() || Uid::from_raw(peer.uid()).is_root() || peer.uid() == ours.as_raw() => {
            Ok(())
        }
        Ok(peer) => Err(ClientError::Stranger(path.to_owned(), peer.uid())),
        Err(why) => Err(ClientError::Refused(path.to_owned(), why)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use nix::sys::socket::{self, AddressFamily, Backlog, SockFlag, SockType, UnixAddr};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_has_bound_and_does_not_listen_yet_is_waited_for_and_not_for_long() {
        let room = tempfile::tempdir().expect("a directory");
        let path = room.path().join("admin.sock");
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let bound = socket::socket(AddressFamily::Unix, SockType::Stream, flags, None).expect("a socket");
        let address = UnixAddr::new(&path).expect("an address");
        socket::bind(bound.as_raw_fd(), &address).expect("bound");
        let place = Socket::Path(path);
        let refused = Client::connect(&place).await;
        assert!(matches!(refused, Err(ClientError::NoneFound(_))), "{refused:?}");
        let listen = async {
            tokio::time::sleep(ARRIVAL / 2).await;
            socket::listen(&bound, Backlog::new(1).expect("a backlog")).expect("listening");
        };
        let (client, ()) = tokio::join!(Client::connect(&place), listen);
        client.expect("a listener");
    }
}
