//! The accept loop. Without clients nothing here ever wakes up.

use std::io;
use std::time::{Duration, Instant};

use nix::unistd::{Uid, geteuid};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::warn;

use super::conversation;
use super::seats::{Seats, Wants};
use super::socket::{Bound, SocketFile};
use super::wire::Line;
use crate::drain::order::Asked;

/// The pause before the next accept when the kernel has nothing left to give.
const PAUSE: Duration = Duration::from_secs(1);

/// The socket at work. Dropping it ends it at once.
#[derive(Debug)]
pub struct Server {
    accepting: JoinHandle<()>,
    seats: Seats,
    /// Closed once every conversation has ended.
    ended: mpsc::Receiver<()>,
    _file: SocketFile,
}

/// Serves `bound`; what clients want goes to `ask`.
///
/// # Errors
/// If the listener cannot be registered with the runtime (no descriptor or memory left).
///
/// # Panics
/// Outside a tokio runtime with I/O and time.
pub fn serve(bound: Bound, ask: mpsc::Sender<Asked>) -> io::Result<Server> {
    let listener = UnixListener::from_std(bound.listener)?;
    let seats = Seats::default();
    let (alive, ended) = mpsc::channel(1);
    let door = Door {
        listener,
        seats: seats.clone(),
        ask,
        alive,
    };
    Ok(Server {
        accepting: tokio::spawn(door.stand_open()),
        seats,
        ended,
        _file: bound.file,
    })
}

impl Server {
    /// The run is over: whoever waits for its end is told so, within `deadline`; nobody else is waited for.
    pub async fn shutdown(mut self, deadline: Instant) {
        self.accepting.abort();
        self.seats.clear(Wants::Nothing);
        // Nothing is ever sent: the channel closes with its last sender.
        let _ = tokio::time::timeout_at(deadline.into(), self.ended.recv()).await;
    }
}

impl Drop for Server {
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
