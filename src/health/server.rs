//! The accept loop, its limits, and an end that waits for no one.
//!
//! tonic's own server is not used: on shutdown it waits without bound for open
//! Watches, for prefaces that never come and for PINGs nobody answers.
//!
//! Without connections nothing here ever wakes up: there is no periodic timer.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::audience::Peer;
use super::board::Board;
use super::connection::{self, Leaving, Protocols};
use super::connections::Connections;
use super::crier;
use super::felt::Socket;
use super::http::Routes;
use super::listen::{Address, Bound, Listener};
use super::pulse::Pulse;
use super::tls::Identity;
use crate::socket_file::SocketFile;

/// Makes the text of `/metrics`, in Prometheus's text format, each time it is asked for.
pub type Metrics = Arc<dyn Fn() -> String + Send + Sync>;

/// Connections open at once.
const MAX_CONNECTIONS: usize = 4096;

/// The pause before the next accept when the kernel has nothing left to give: from, to.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The health service at work. Dropping it ends it at once, without a GOAWAY.
#[derive(Debug)]
pub struct Server {
    address: Option<Address>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    accepting: JoinHandle<()>,
    crying: JoinHandle<()>,
    connections: Arc<Connections>,
    leaving: watch::Sender<Leaving>,
    /// Closed once every connection older than the leaving has ended.
    ended: mpsc::Receiver<()>,
    _file: Option<SocketFile>,
}

/// Serves `board` on `bound`; `metrics` is asked for `/metrics`. Serves nothing if health is off.
///
/// # Errors
/// If the listener cannot be registered with the runtime (no descriptor or memory left).
///
/// # Panics
/// Outside a tokio runtime with I/O and time.
pub fn serve(bound: Bound, board: Board, metrics: Metrics) -> io::Result<Server> {
    let address = bound.address().cloned();
    let (acceptor, file) = match bound.listener {
        Listener::Off => {
            return Ok(Server {
                address,
                running: None,
            });
        }
        Listener::Tcp(listener) => (Acceptor::Tcp(TcpListener::from_std(listener)?), None),
        Listener::Unix(listener, file) => (Acceptor::Unix(UnixListener::from_std(listener)?), Some(file)),
    };
    let (leaving, left) = watch::channel(Leaving::NotYet);
    let (alive, ended) = mpsc::channel(1);
    let connections = Arc::new(Connections::new(capacity()));
    let crying = tokio::spawn(crier::cry(board.clone()));
    let identity = bound.identity.map(Arc::new);
    let door = Door {
        identity,
        acceptor,
        protocols: Arc::new(Protocols::new(Routes::new(board, metrics))),
        connections: Arc::clone(&connections),
        leaving: left,
        alive: Some(alive),
    };
    let accepting = tokio::spawn(door.stand_open());
    Ok(Server {
        address,
        running: Some(Running {
            accepting,
            crying,
            connections,
            leaving,
            ended,
            _file: file,
        }),
    })
}

impl Server {
    /// Where it listens; nothing if it is off.
    pub fn address(&self) -> Option<&Address> {
        self.address.as_ref()
    }

    /// Says goodbye: GOAWAY on every connection, then UNAVAILABLE on every Watch; then waits until all
    /// connections have ended, at most until `deadline`, and drops what is left. Probes are still
    /// accepted and answered meanwhile. Returns at once when nobody is connected.
    pub async fn shutdown(mut self, deadline: Instant) {
        let Some(running) = &mut self.running else { return };
        running.leaving.send_replace(Leaving::Now);
        // Nothing is ever sent: the channel closes with its last sender.
        let all_ended = running.ended.recv();
        let _ = tokio::time::timeout_at(deadline.into(), all_ended).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.accepting.abort();
        self.crying.abort();
        self.connections.close_all();
    }
}

enum Acceptor {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Acceptor {
    async fn accept(&self) -> io::Result<(Box<dyn Socket>, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (socket, address) = listener.accept().await?;
                // A status is one small packet, wanted now. Without it, it only comes later.
                let _ = socket.set_nodelay(true);
                Ok((Box::new(socket), Peer::at(address.ip())))
            }
            Self::Unix(listener) => {
                let (socket, _) = listener.accept().await?;
                Ok((Box::new(socket), Peer::Unix))
            }
        }
    }
}

/// The listener with all a new connection needs.
struct Door {
    /// Shown on every connection, where there is TLS.
    identity: Option<Arc<Identity>>,
    acceptor: Acceptor,
    protocols: Arc<Protocols>,
    connections: Arc<Connections>,
    leaving: watch::Receiver<Leaving>,
    /// A copy goes with each connection; none is left to give once the server is leaving.
    alive: Option<mpsc::Sender<()>>,
}

impl Door {
    /// Accepts for as long as the server lives: until it is dropped, a probe finds the port open.
    async fn stand_open(mut self) {
        let mut pause = SHORTEST_PAUSE;
        loop {
            let accepted = tokio::select! {
                biased;
                _ = self.leaving.changed(), if self.alive.is_some() => {
                    self.alive = None;
                    continue;
                }
                accepted = self.acceptor.accept() => accepted,
            };
            match accepted {
                Ok((socket, peer)) => {
                    pause = SHORTEST_PAUSE;
                    self.welcome(socket, peer);
                }
                Err(error) if is_the_peers(&error) => {}
                // Descriptors or memory are short. The connection stays in the kernel's queue, so accepting
                // again at once would spin.
                Err(_) => {
                    self.connections.close_least();
                    tokio::time::sleep(pause).await;
                    pause = LONGEST_PAUSE.min(pause * 2);
                }
            }
        }
    }

    fn welcome(&self, socket: Box<dyn Socket>, peer: Peer) {
        let pulse = Arc::new(Pulse::new(Instant::now()));
        let alive = self.alive.clone();
        let ticket = self.connections.admit(Arc::clone(&pulse));
        let number = ticket.number();
        let serving = connection::serve(
            (socket, self.identity.clone()),
            peer,
            Arc::clone(&self.protocols),
            pulse,
            self.leaving.clone(),
        );
        let task = tokio::spawn(async move {
            serving.await;
            drop((ticket, alive));
        });
        self.connections.started(number, task.abort_handle());
    }
}

/// Errors of the one connection that was about to be accepted (accept(2), "Error handling").
fn is_the_peers(error: &io::Error) -> bool {
    let errno = Errno::from_raw(error.raw_os_error().unwrap_or(0));
    matches!(
        errno,
        Errno::ECONNABORTED
            | Errno::EINTR
            | Errno::EPERM
            | Errno::EPROTO
            | Errno::ENOPROTOOPT
            | Errno::ENETDOWN
            | Errno::ENETUNREACH
            | Errno::EHOSTDOWN
            | Errno::EHOSTUNREACH
            | Errno::ENONET
            | Errno::EOPNOTSUPP
    )
}

/// Half of the descriptors we may have, since hooks and checks need theirs, and at most
/// [`MAX_CONNECTIONS`].
fn capacity() -> usize {
    let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
    usize::try_from(descriptors / 2)
        .unwrap_or(usize::MAX)
        .clamp(1, MAX_CONNECTIONS)
}
