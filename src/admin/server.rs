//! The accept loop. Without clients nothing here ever wakes up.

use std::io;
use std::time::{Duration, Instant};

use nix::unistd::{Uid, geteuid};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::warn;

use super::conversation;
use super::socket::Bound;
use super::wire::Line;
use crate::drain::order::Asked;
use crate::seats::{Seats, Wants};
use crate::socket_file::SocketFile;

/// The pause before the next accept when the kernel has nothing left to give.
const PAUSE: Duration = Duration::from_secs(1);

/// The socket at work, if there is one. Dropping it ends it at once.
#[derive(Debug)]
pub struct Server {
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    accepting: JoinHandle<()>,
    seats: Seats,
    /// Closed once every conversation has ended.
    ended: mpsc::Receiver<()>,
    _file: SocketFile,
}

/// Serves `bound`; what clients want goes to `ask`. Serves nothing without a socket.
///
/// # Panics
/// Outside a tokio runtime with I/O and time.
pub fn serve(bound: Option<Bound>, ask: mpsc::Sender<Asked>) -> Server {
    let running = bound.and_then(|bound| match run(bound, ask) {
        Ok(running) => Some(running),
        Err(why) => {
            warn!(target: "admin", "no admin socket: {why}; raise the container's limits (open files, memory)");
            None
        }
    });
    Server { running }
}

fn run(bound: Bound, ask: mpsc::Sender<Asked>) -> io::Result<Running> {
    let listener = UnixListener::from_std(bound.listener)?;
    let seats = Seats::default();
    let (alive, ended) = mpsc::channel(1);
    let door = Door {
        listener,
        seats: seats.clone(),
        ask,
        alive,
    };
    Ok(Running {
        accepting: tokio::spawn(door.stand_open()),
        seats,
        ended,
        _file: bound.file,
    })
}

impl Server {
    /// The run is over: whoever waits for its end is told so, within `deadline`; nobody else is waited for.
    pub async fn shutdown(mut self, deadline: Instant) {
        let Some(running) = &mut self.running else { return };
        running.accepting.abort();
        running.seats.clear(Wants::Nothing);
        // Nothing is ever sent: the channel closes with its last sender.
        let _ = tokio::time::timeout_at(deadline.into(), running.ended.recv()).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.accepting.abort();
        self.seats.clear(Wants::Order);
    }
}

struct Door {
    listener: UnixListener,
    seats: Seats,
    ask: mpsc::Sender<Asked>,
    /// A copy goes with each conversation.
    alive: mpsc::Sender<()>,
}

impl Door {
    async fn stand_open(self) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => self.welcome(stream),
                // Descriptors or memory are short. The connection stays in the kernel's queue, so accepting
                // again at once would spin.
                Err(why) => {
                    warn!(target: "admin", "accept: {why}");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn welcome(&self, stream: UnixStream) {
        if let Err(why) = may_talk(&stream) {
            // One line into an empty buffer: it goes through, or there is nobody.
            let _ = stream.try_write(&Line::Refused(why).write());
            return;
        }
        let ticket = self.seats.take();
        let number = ticket.number();
        let (ask, alive) = (self.ask.clone(), self.alive.clone());
        let task = tokio::spawn(async move {
            conversation::hold(stream, ask, ticket).await;
            drop(alive);
        });
        self.seats.seated(number, task.abort_handle());
    }
}

/// Whether the peer is our user or root: `SO_PEERCRED`, unix(7), which the kernel noted at connect(2).
fn may_talk(stream: &UnixStream) -> Result<(), String> {
    let ours = geteuid();
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == ours.as_raw() || Uid::from_raw(peer.uid()).is_root() => Ok(()),
        Ok(_) => Err(format!("only user {ours} and root may talk to this tidegate")),
        Err(why) => Err(format!("who is asking cannot be told ({why})")),
    }
}
